//! `mive run`: a tensor through an engine.
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use super::{Failure, args, output, progress};
use crate::config;
use crate::engine::Engine;
use crate::isa::{self, Program};
use crate::num::IntFormat;
use crate::report::{self, Request};

/// Arguments of `mive run`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Configuration of the engine, TOML.
    config: PathBuf,
    /// softmax, layernorm, rmsnorm or the path of a .mive program.
    #[arg(value_name = "OP")]
    operator: String,
    /// Input tensor, .npy; the last axis is the row.
    #[arg(long, value_name = "X.npy")]
    input: PathBuf,
    /// Gamma of a norm, .npy, one element for each of the row.
    #[arg(long, value_name = "G.npy")]
    gamma: Option<PathBuf>,
    /// Beta of layernorm, .npy.
    #[arg(long, value_name = "B.npy")]
    beta: Option<PathBuf>,
    /// Mask for softmax, .npy of uint8 or bool in the input's shape; 0 masks.
    #[arg(long, value_name = "K.npy")]
    keep: Option<PathBuf>,
    /// Epsilon of a norm in real units [default: 1e-5].
    #[arg(long, value_name = "E", allow_hyphen_values = true)]
    eps: Option<f64>,
    /// Real value of one input code [default: absmax of the tensor; required for integers].
    #[arg(long, value_name = "S", allow_hyphen_values = true)]
    input_scale: Option<f64>,
    /// Give each row a power-of-two part of the tensor's scale.
    #[arg(long, conflicts_with = "input_scale")]
    row_scale: bool,
    /// Take each row's maximum off before quantising (softmax of floats).
    #[arg(long)]
    subtract_max: bool,
    /// Real value of one output code [default: full scale for softmax, absmax of the exact result for norms].
    #[arg(long, value_name = "S", allow_hyphen_values = true)]
    output_scale: Option<f64>,
    /// Input format: s8 or s16 [default: the widest for norms, the narrowest for softmax].
    #[arg(long, value_name = "FORMAT", value_parser = args::input_format)]
    in_format: Option<IntFormat>,
    /// Output format: s8, u8, s16 or u16 [default: u8 for softmax, s8 for norms].
    #[arg(long, value_name = "FORMAT", value_parser = args::output_format)]
    out_format: Option<IntFormat>,
    /// Where the output codes go, .npy.
    #[arg(long, value_name = "Y.npy")]
    output: Option<PathBuf>,
    /// Threads; 0 takes every core. The results do not depend on it.
    #[arg(long, value_name = "N", default_value_t = 0)]
    jobs: usize,
    /// Print what every cycle does, of the first rows [default: cycles 0..200].
    #[arg(long, value_name = "FIRST..LAST", num_args = 0..=1, default_missing_value = "0..200")]
    #[arg(value_parser = args::cycles, conflicts_with = "json")]
    trace: Option<std::ops::Range<u64>>,
    /// Every word of the first rows in every cycle, as a VCD.
    #[arg(long, value_name = "FILE.vcd")]
    vcd: Option<PathBuf>,
    /// Print the figures as JSON.
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args) -> Result<ExitCode, Failure> {
    let config = config::load(&args.config)?;
    let request = Request {
        operator: args.operator.clone(),
        program: own_program(&args.operator)?,
        input: args.input.clone(),
        gamma: args.gamma.clone(),
        beta: args.beta.clone(),
        keep: args.keep.clone(),
        output: args.output.clone(),
        eps: args.eps,
        input_scale: args.input_scale,
        row_scale: args.row_scale,
        subtract_max: args.subtract_max,
        output_scale: args.output_scale,
        in_format: args.in_format,
        out_format: args.out_format,
        jobs: args.jobs,
    };
    let display = progress::Display::new();
    let engine = Engine::describe(&config);
    let figures = report::run_tensor(&request, &engine, &|p| display.show(p));
    let watch = report::Watch { trace: args.trace.clone(), vcd: args.vcd.clone() };
    let watched = (figures.is_ok() && (watch.trace.is_some() || watch.vcd.is_some()))
        .then(|| report::watch_tensor(&request, &engine, &watch, &|p| display.show(p)));
    display.finish();
    let figures = figures?;
    let watched = watched.transpose()?;
    if args.json {
        output::print_json(&figures.to_json())?;
    } else {
        output::print(&figures.to_text())?;
        if let Some(watched) = watched {
            output::print(&watched.to_text(args.vcd.as_deref()))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// A program in a file: anything that is not a bare word.
fn own_program(operator: &str) -> Result<Option<Program>, Failure> {
    let path = Path::new(operator);
    let is_path = path.extension().is_some() || path.components().count() > 1;
    if !is_path {
        return Ok(None);
    }
    let text = std::fs::read_to_string(path).map_err(|e| {
        Failure::input(format!(
            "{operator}: found {e}, expected a readable .mive program; check the path, or give \
             softmax, layernorm or rmsnorm"
        ))
    })?;
    let program = isa::assemble(&text).map_err(|e| Failure::input(format!("{operator}:{e}")))?;
    Ok(Some(program))
}
