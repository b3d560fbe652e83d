//! `mive programs`: what ships.
use std::process::ExitCode;

use serde_json::json;

use super::{Failure, output};
use crate::isa::{Block, Family, Program};
use crate::program::library;

/// Arguments of `mive programs`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Print the text of this program.
    name: Option<String>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args) -> Result<ExitCode, Failure> {
    if let Some(name) = &args.name {
        let Some((name, text)) = library::SHIPPED.iter().find(|(n, _)| n == name) else {
            let known: Vec<&str> = library::SHIPPED.iter().map(|&(n, _)| n).collect();
            return Err(Failure::input(format!(
                "NAME: found `{name}`, expected one of {}; `mive programs` describes them",
                known.join(", ")
            )));
        };
        match args.json {
            true => output::print_json(&json!({"schema_version": 1, "name": name, "text": text}))?,
            false => output::print(text)?,
        }
        return Ok(ExitCode::SUCCESS);
    }
    let mut rows = vec![];
    let mut text = format!("{:<18}{:<9}{:>5}  {}\n", "program", "family", "slots", "operator");
    for (name, source) in library::SHIPPED {
        let Some(program) = library::shipped(name) else { continue };
        let family = if program.family == Family::Softmax { "softmax" } else { "norm" };
        let what = source.lines().next().unwrap_or("").trim_start_matches('#').trim();
        let slots = slots(&program);
        text += &format!("{name:<18}{family:<9}{slots:>5}  {what}\n");
        rows.push(json!({
            "name": name,
            "family": family,
            "slots": slots,
            "reference": program.reference,
            "gamma": program.has_gamma,
            "beta": program.has_beta,
            "summary": what,
        }));
    }
    match args.json {
        true => output::print_json(&json!({"schema_version": 1, "programs": rows}))?,
        false => output::print(&text)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Micro-ops a chunk.
fn slots(program: &Program) -> usize {
    let lines = program.blocks.iter().map(|block| match block {
        Block::Vector(lines) => lines.len(),
        Block::Scalar(_) => 0,
    });
    lines.sum()
}
