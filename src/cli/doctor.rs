//! `mive doctor`: the external tools that other commands can use.
use std::process::ExitCode;

use serde_json::json;

use super::{Failure, output};
use crate::tools::{self, ToolStatus};

/// Arguments of `mive doctor`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args) -> Result<ExitCode, Failure> {
    let tools = tools::survey();
    match args.json {
        true => output::print_json(&to_json(&tools))?,
        false => output::print(&to_text(&tools))?,
    }
    Ok(ExitCode::SUCCESS)
}

fn to_json(tools: &[ToolStatus]) -> serde_json::Value {
    let tool = |t: &ToolStatus| {
        json!({
            "name": t.name,
            "needed": t.oldest,
            "found": t.found_version,
            "ok": t.is_enough,
            "purpose": t.needed_for,
            "install": t.install,
        })
    };
    json!({"schema_version": 1, "tools": tools.iter().map(tool).collect::<Vec<_>>()})
}

fn to_text(tools: &[ToolStatus]) -> String {
    let mut text = format!("{:<11}{:<9}{:<9}{:<9}{}\n", "tool", "needed", "found", "", "used for");
    for t in tools {
        let verdict = match (&t.found_version, t.is_enough) {
            (None, _) => "missing",
            (_, false) => "too old",
            _ => "ok",
        };
        let found = t.found_version.as_deref().unwrap_or("-");
        text += &format!("{:<11}{:<9}{found:<9}{verdict:<9}{}\n", t.name, t.oldest, t.needed_for);
        if !t.is_enough {
            text += &format!("{:<11}{}\n", "", t.install);
        }
    }
    text
}
