//! `mive check`: every problem of a configuration, or what it can run.
use std::path::PathBuf;
use std::process::ExitCode;

use serde_json::{Value, json};

use super::{Failure, output};
use crate::config::{self, HwConfig};
use crate::engine::Engine;
use crate::isa::Family;
use crate::program::{Binding, bind, library};

/// Arguments of `mive check`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Configuration of the engine, TOML.
    config: PathBuf,
    /// Print JSON, problems included.
    #[arg(long)]
    json: bool,
}

/// Largest real result that a norm's output scale is taken for; 8 standard deviations.
const NORM_RANGE: f64 = 8.0;

/// Whether one program runs with one pair of formats at `n_max`.
struct Ability {
    program: &'static str,
    input: String,
    output: String,
    refusal: Option<String>,
}

pub fn run(args: &Args) -> Result<ExitCode, Failure> {
    let config = match config::load(&args.config) {
        Ok(config) => config,
        Err(errors) => {
            if args.json {
                output::print_json(
                    &json!({"schema_version": 1, "ok": false, "problems": errors.problems}),
                )?;
            }
            return Err(errors.into());
        }
    };
    let engine = Engine::describe(&config);
    let widths = widths(&engine);
    let abilities = abilities(&engine);
    if args.json {
        let table: serde_json::Map<String, Value> =
            widths.iter().map(|&(name, _, v)| (name.to_string(), json!(v))).collect();
        let runs: Vec<Value> = (abilities.iter())
            .map(|a| {
                json!({
                    "program": a.program,
                    "input": a.input,
                    "output": a.output,
                    "ok": a.refusal.is_none(),
                    "reason": a.refusal,
                })
            })
            .collect();
        output::print_json(&json!({
            "schema_version": 1,
            "ok": true,
            "config": config,
            "sha256": config.sha256(),
            "widths": table,
            "programs": runs,
        }))?;
    } else {
        output::print(&text(args, &config, &widths, &abilities))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// (name in JSON, meaning, bits) of the derived widths worth knowing.
fn widths(engine: &Engine) -> Vec<(&'static str, &'static str, u32)> {
    let w = &engine.widths;
    vec![
        ("input", "input element and gamma", w.input),
        ("output", "output code", w.output),
        ("multiplier", "broadcast operand of a lane's multiplier", w.p),
        ("addend", "addend of a lane", w.addend),
        ("beta", "beta in the parameter store", w.beta),
        ("total", "sum of a pass: squares or exponentials", w.total),
        ("element_total", "sum of a row's elements", w.element_total),
        ("accumulator", "scalar accumulator", w.accumulator),
        ("scalar", "scalar register", w.scalar),
        ("digits", "digits of a scalar product", w.digits),
        ("chunks", "chunks of the longest row", w.chunks),
    ]
}

fn abilities(engine: &Engine) -> Vec<Ability> {
    let config = &engine.config;
    let mut all = vec![];
    for &(name, _) in library::SHIPPED {
        let Some(program) = library::shipped(name) else { continue };
        for &input in &config.input_formats {
            for &output in &config.output_formats {
                let most = output.max() as f64;
                let is_softmax = program.family == Family::Softmax;
                let half = if output.is_signed { most } else { most / 2.0 };
                let gamma_most = libm::exp2(f64::from(engine.widths.input - 1)) - 1.0;
                let binding = Binding {
                    row_len: config.n_max,
                    input_format: input,
                    output_format: output,
                    input_scale: NORM_RANGE / input.max() as f64,
                    output_scale: if is_softmax { 1.0 / most } else { NORM_RANGE / half },
                    gamma_scale: if program.has_gamma { 1.0 / gamma_most } else { 1.0 },
                    eps: if is_softmax { 0.0 } else { crate::report::plan::EPS_DEFAULT },
                    k_max: 0,
                };
                all.push(Ability {
                    program: name,
                    input: input.to_string(),
                    output: output.to_string(),
                    refusal: bind(&program, engine, &binding).err().map(|e| e.to_string()),
                });
            }
        }
    }
    all
}

fn text(
    args: &Args,
    config: &HwConfig,
    widths: &[(&str, &str, u32)],
    abilities: &[Ability],
) -> String {
    let mut text = format!(
        "{}: `{}` is legal; {} lanes, rows of 1 to {} elements\n\nderived widths, bits or counts\n",
        args.config.display(),
        config.name,
        config.lanes,
        config.n_max
    );
    for (_, meaning, value) in widths {
        text += &format!("  {meaning:<42}{value:>7}\n");
    }
    text += &format!("\nprograms at N = {}, norms with outputs to +-{NORM_RANGE}\n", config.n_max);
    for a in abilities {
        let verdict = match &a.refusal {
            None => "runs".to_string(),
            Some(reason) => format!("refused: {reason}"),
        };
        text += &format!("  {:<18}{:<4}to {:<5}{verdict}\n", a.program, a.input, a.output);
    }
    text
}
