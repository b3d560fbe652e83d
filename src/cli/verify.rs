//! `mive verify`: an engine's simulator against its printed Verilog, cycle by cycle.
use std::path::PathBuf;
use std::process::ExitCode;

use serde_json::{Value, json};

use super::emit::DialectArg;
use super::{Failure, load, output};
use crate::tools::lockstep::Backend;
use crate::tools::verify::{Options, Report, verify};

/// Arguments of `mive verify`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Configuration of the engine, TOML.
    config: PathBuf,
    /// Rows of each program and pair of formats.
    #[arg(long, default_value_t = 24, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    rows: u32,
    /// Probability of a pause in a cycle, on each side; 0 to 0.95.
    #[arg(long, value_name = "P", default_value_t = 0.3, value_parser = probability)]
    stall: f64,
    /// Decides rows and pauses.
    #[arg(long, default_value_t = 1, allow_hyphen_values = true)]
    seed: u64,
    /// Language of the text.
    #[arg(long, value_enum, default_value = "sv")]
    dialect: DialectArg,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

fn probability(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(p) if (0.0..=0.95).contains(&p) => Ok(p),
        _ => Err("expected a number from 0 to 0.95".into()),
    }
}

pub fn run(args: &Args) -> Result<ExitCode, Failure> {
    let engine = load::engine(&args.config)?;
    let options = Options {
        rows: args.rows as usize,
        stall: args.stall,
        seed: args.seed,
        dialect: args.dialect.into(),
        backends: vec![Backend::Icarus, Backend::Verilator],
        checks_intervals: false,
    };
    let folder = tempfile::tempdir().map_err(|e| {
        Failure::input(format!(
            "{}: found {}, expected a folder for temporary files; set TMPDIR to one",
            std::env::temp_dir().display(),
            e.kind()
        ))
    })?;
    let report = verify(&engine, &options, folder.path())?;
    match args.json {
        true => output::print_json(&to_json(&engine.config.name, args, &report))?,
        false => output::print(&to_text(&engine.config.name, &report))?,
    }
    Ok(if report.is_clean() { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

fn to_text(name: &str, report: &Report) -> String {
    let mut text = format!("{name}: {} cases\n{}", report.cases, report.table());
    for reason in &report.refused {
        text += &format!("not run: {reason}\n");
    }
    if let Some(first) = &report.first {
        text += &format!("first mismatch: {first}\n");
    }
    text
}

fn to_json(name: &str, args: &Args, report: &Report) -> Value {
    let counts: Vec<Value> = (report.counts.iter())
        .map(|c| {
            json!({
                "tool": c.tool,
                "cycles": c.cycles,
                "rows": c.rows,
                "mismatches": c.mismatches,
            })
        })
        .collect();
    json!({
        "schema_version": 1,
        "config": name,
        "ok": report.is_clean(),
        "cases": report.cases,
        "seed": args.seed,
        "stall": args.stall,
        "counts": counts,
        "refused": report.refused,
        "first_mismatch": report.first,
    })
}
