//! `mive doctor`: the external tools that other commands can use.
use std::process::{Command, ExitCode, Stdio};

use serde_json::json;

use super::{Failure, output};

/// Arguments of `mive doctor`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// A tool, how it is asked for its version, the oldest that is known to do, and what it is for.
struct Tool {
    name: &'static str,
    flag: &'static str,
    needed: &'static str,
    purpose: &'static str,
}

const TOOLS: [Tool; 3] = [
    Tool { name: "yosys", flag: "-V", needed: "0.23", purpose: "area and netlist checks" },
    Tool { name: "verilator", flag: "--version", needed: "5.006", purpose: "lint and lockstep" },
    Tool { name: "iverilog", flag: "-V", needed: "11.0", purpose: "lockstep" },
];

pub fn run(args: &Args) -> Result<ExitCode, Failure> {
    let mut rows = vec![];
    let mut text = format!("{:<11}{:<9}{:<9}{:<9}{}\n", "tool", "needed", "found", "", "used for");
    for tool in &TOOLS {
        let found = version(tool);
        let is_enough = found.as_deref().is_some_and(|v| parts(v) >= parts(tool.needed));
        let install = format!("sudo apt-get install {}", tool.name);
        let verdict = match (&found, is_enough) {
            (None, _) => "missing",
            (_, false) => "too old",
            _ => "ok",
        };
        text += &format!(
            "{:<11}{:<9}{:<9}{verdict:<9}{}\n",
            tool.name,
            tool.needed,
            found.as_deref().unwrap_or("-"),
            tool.purpose
        );
        if !is_enough {
            text += &format!("{:<11}{install}\n", "");
        }
        rows.push(json!({
            "name": tool.name,
            "needed": tool.needed,
            "found": found,
            "ok": is_enough,
            "purpose": tool.purpose,
            "install": install,
        }));
    }
    match args.json {
        true => output::print_json(&json!({"schema_version": 1, "tools": rows}))?,
        false => output::print(&text)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// The first number with a point in what the tool says of itself.
fn version(tool: &Tool) -> Option<String> {
    let said = Command::new(tool.name)
        .arg(tool.flag)
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .ok()?;
    first_version(&String::from_utf8_lossy(&said.stdout))
}

fn first_version(text: &str) -> Option<String> {
    let is_version = |w: &&str| w.starts_with(|c: char| c.is_ascii_digit()) && w.contains('.');
    let word = text.split_whitespace().find(is_version)?;
    let end = word.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(word.len());
    Some(word[..end].to_string())
}

fn parts(version: &str) -> Vec<u32> {
    version.split('.').map(|p| p.parse().unwrap_or(0)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_found_and_ordered() {
        let found = |t| first_version(t).unwrap_or_default();
        assert_eq!(found("Yosys 0.23 (git sha1 7ce5011c24b)"), "0.23");
        assert_eq!(found("Verilator 5.006 2023-01-22 rev (Debian 5.006-3)"), "5.006");
        assert_eq!(found("Icarus Verilog version 11.0 (stable) ()"), "11.0");
        assert_eq!(found("Yosys 0.33+34 (git)"), "0.33");
        assert_eq!(first_version("no number"), None);
        assert!(parts("0.9") < parts("0.23") && parts("5.020") > parts("5.006"));
    }
}
