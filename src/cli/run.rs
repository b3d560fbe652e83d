//! `mive run`: a tensor through an engine.
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use super::{Failure, args, load, output, progress};
use crate::isa::{self, Program};
use crate::num::IntFormat;
use crate::report::{self, Request, TraceTo, Watch};

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
    /// Threads, up to 1024; 0 takes every core. The results do not depend on it.
    #[arg(long, value_name = "N", default_value_t = 0, allow_hyphen_values = true)]
    #[arg(value_parser = args::jobs)]
    jobs: usize,
    /// What every cycle does, a line each: printed, or in FILE.
    ///
    /// Cycle 0 is the one that accepts the first beat, after loading.
    #[arg(long, value_name = "FILE", num_args = 0..=1)]
    trace: Option<Option<PathBuf>>,
    /// Every word in every cycle, as a VCD with the names of the emitted test bench.
    ///
    /// Cycle k is the time from 10 k to 10 k + 10 ns; the clock rises where a cycle begins. Cycle 0 is the one
    /// that accepts the first beat: the test bench has loading before it.
    #[arg(long, value_name = "FILE.vcd")]
    vcd: Option<PathBuf>,
    /// Cycles that --trace and --vcd show, the last one excluded [default: 0..200 printed, 0..4096 in a file].
    #[arg(long, value_name = "FIRST..LAST", value_parser = args::cycles)]
    watch: Option<std::ops::Range<u64>>,
    /// Print the figures as JSON.
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args) -> Result<ExitCode, Failure> {
    let engine = load::engine(&args.config)?;
    let request = Request {
        operator: args.operator.clone(),
        program: own_program(&args.operator)?,
        input: args.input.clone(),
        gamma: args.gamma.clone(),
        beta: args.beta.clone(),
        keep: args.keep.clone(),
        output: args.output.clone(),
        sources: sources(args),
        eps: args.eps,
        input_scale: args.input_scale,
        row_scale: args.row_scale,
        subtract_max: args.subtract_max,
        output_scale: args.output_scale,
        in_format: args.in_format,
        out_format: args.out_format,
        jobs: args.jobs,
        watch: watch(args)?,
    };
    let display = progress::Display::new();
    let figures = report::run_tensor(&request, &engine, &|event| display.show(event));
    display.finish();
    let figures = figures?;
    if args.json {
        output::print_json(&figures.to_json())?;
    } else {
        output::print(&figures.to_text())?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The configuration, and the program if it is a file.
fn sources(args: &Args) -> Vec<(&'static str, PathBuf)> {
    let program = PathBuf::from(&args.operator);
    let program = program.is_file().then_some(("the program", program));
    [("the configuration", args.config.clone())].into_iter().chain(program).collect()
}

/// What to show cycle by cycle.
fn watch(args: &Args) -> Result<Watch, Failure> {
    let trace = match &args.trace {
        None => None,
        Some(None) if args.json => {
            return Err(Failure::input(
                "--trace: found no file beside --json, expected standard output for one of them; give \
                 --trace FILE, or leave --json out",
            ));
        }
        Some(None) => Some(TraceTo::Text),
        Some(Some(path)) => {
            if args::cycles(&path.to_string_lossy()).is_ok() {
                let cycles = path.display();
                return Err(Failure::input(format!(
                    "--trace: found {cycles}, expected the name of a file; cycles are given as --watch {cycles}"
                )));
            }
            Some(TraceTo::File(path.clone()))
        }
    };
    if args.watch.is_some() && trace.is_none() && args.vcd.is_none() {
        return Err(Failure::input(
            "--watch: found neither --trace nor --vcd, expected one that shows the cycles; add it",
        ));
    }
    Ok(Watch { trace, vcd: args.vcd.clone(), cycles: args.watch.clone() })
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
