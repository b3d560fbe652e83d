//! `mive check`: every problem of a configuration, or what it can run.
use std::path::PathBuf;
use std::process::ExitCode;

use serde_json::{Value, json};

use super::{Failure, load, output};
use crate::engine::Engine;
use crate::program::{bind, library};
use crate::report::nominal::{self, NORM_RANGE};

/// Arguments of `mive check`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Configuration of the engine, TOML.
    config: PathBuf,
    /// Print JSON, problems included.
    #[arg(long)]
    json: bool,
}

/// Whether one program runs with one pair of formats at `n_max`.
struct Ability {
    program: &'static str,
    input: String,
    output: String,
    refusal: Option<String>,
}

pub fn run(args: &Args) -> Result<ExitCode, Failure> {
    let engine = match load::engine(&args.config) {
        Ok(engine) => engine,
        Err(errors) => {
            if args.json {
                output::print_json(
                    &json!({"schema_version": 1, "ok": false, "problems": errors.problems}),
                )?;
            }
            return Err(errors.into());
        }
    };
    let config = &engine.config;
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
            "pipeline": pipeline(&engine),
            "programs": runs,
        }))?;
    } else {
        output::print(&text(args, &engine, &widths, &abilities))?;
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
                let binding = nominal::binding(&program, engine, (input, output), config.n_max);
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

/// Where registers stand, what they cost in time, and the path that they leave.
fn pipeline(engine: &Engine) -> Value {
    let (cuts, lanes) = (&engine.cuts, engine.widths.lanes);
    let path = engine.longest_path();
    json!({
        "stages": cuts.stages(),
        "tree_levels": cuts.tree_levels,
        "chunks_in_turn": cuts.group(),
        "cycles_to_maximum": cuts.maximum(lanes),
        "cycles_to_sum": cuts.root(lanes),
        "cycles_to_output": cuts.outputs(),
        "register_bits": engine.top.register_bits(),
        "longest_path_ps": path.ps,
        "longest_path": path.words,
    })
}

fn text(
    args: &Args,
    engine: &Engine,
    widths: &[(&str, &str, u32)],
    abilities: &[Ability],
) -> String {
    let config = &engine.config;
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
    let (cuts, lanes) = (&engine.cuts, engine.widths.lanes);
    let asked = match config.clock_ps {
        0 => String::new(),
        clock => format!(" for a clock of {clock} ps"),
    };
    text += &format!("\npipeline registers{asked}: {}\n", cuts.names());
    for (meaning, value) in [
        ("chunks that take turns in a body", cuts.group()),
        ("more cycles to a row's maximum", cuts.maximum(lanes)),
        ("more cycles to a pass's sums", cuts.root(lanes)),
        ("more cycles to the output", cuts.outputs()),
    ] {
        text += &format!("  {meaning:<42}{value:>7}\n");
    }
    let path = engine.longest_path();
    let between = match path.words.as_slice() {
        [from, .., to] => format!(", from {from} to {to}"),
        _ => String::new(),
    };
    text += &format!("  longest path, about {} ps{between}\n", path.ps);
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
