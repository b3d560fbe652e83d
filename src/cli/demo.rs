//! `mive demo`: the main job on real activations that are built into the program, from any folder.
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde_json::json;

use super::{Failure, load, output, progress};
use crate::config;
use crate::emit;
use crate::engine::Engine;
use crate::report::{self, Request, RunFigures};

/// Arguments of `mive demo`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Folder for tensors, configurations, results and RTL; made when it is not there.
    #[arg(long, value_name = "DIR", default_value = "demo")]
    out: PathBuf,
    /// Print the figures as JSON.
    #[arg(long)]
    json: bool,
}

macro_rules! built_in {
    ($folder:literal: $($name:literal),+ $(,)?) => {
        [$(($name, include_bytes!(concat!("../../", $folder, "/", $name)) as &[u8])),+]
    };
}
const TENSORS: [(&str, &[u8]); 8] = built_in!("data":
    "layernorm_x.npy", "layernorm_gamma.npy", "layernorm_beta.npy", "rmsnorm_x.npy",
    "rmsnorm_gamma.npy", "softmax_x.npy", "softmax_keep.npy", "NOTICE.md",
);
const EDGE: &str = include_str!("../../hw_configs/edge.toml");
const EDGE16: &str = include_str!("../../hw_configs/edge16.toml");

/// A run: operator, file of the configuration, its text.
const RUNS: [(&str, &str, &str); 4] = [
    ("softmax", "edge.toml", EDGE),
    ("softmax", "edge16.toml", EDGE16),
    ("layernorm", "edge16.toml", EDGE16),
    ("rmsnorm", "edge16.toml", EDGE16),
];

pub fn run(args: &Args) -> Result<ExitCode, Failure> {
    let refuse = |path: &Path, e: std::io::Error| {
        Failure::input(format!(
            "{}: found {e}, expected a folder that may be written; choose another with --out",
            path.display()
        ))
    };
    // Everything is made in a folder beside the target's content and moved when it is complete.
    let is_new = !args.out.exists();
    std::fs::create_dir_all(&args.out).map_err(|e| refuse(&args.out, e))?;
    let work = tempfile::Builder::new()
        .prefix(".mive-demo-")
        .tempdir_in(&args.out)
        .map_err(|e| refuse(&args.out, e))?;
    let made = fill(work.path());
    let figures = match made {
        Ok(figures) => figures,
        Err(failure) => {
            drop(work);
            if is_new {
                // Only an empty folder goes.
                let _ = std::fs::remove_dir(&args.out);
            }
            return Err(failure);
        }
    };
    for entry in std::fs::read_dir(work.path()).map_err(|e| refuse(work.path(), e))? {
        let from = entry.map_err(|e| refuse(work.path(), e))?.path();
        let Some(name) = from.file_name() else { continue };
        let to = args.out.join(name);
        std::fs::rename(&from, &to).map_err(|e| refuse(&to, e))?;
    }
    let rtl = emit_rtl(&args.out)?;
    if args.json {
        let runs: Vec<_> = figures.iter().map(RunFigures::to_json).collect();
        output::print_json(
            &json!({"schema_version": 1, "out": args.out, "rtl": rtl, "runs": runs}),
        )?;
    } else {
        output::print(&text(&args.out, &rtl, &figures))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Writes the tensors and configurations to a folder, and the outputs of every run.
fn fill(folder: &Path) -> Result<Vec<RunFigures>, Failure> {
    let write = |name: &str, bytes: &[u8]| {
        let path = folder.join(name);
        std::fs::write(&path, bytes).map_err(|e| {
            Failure::input(format!(
                "{}: found {e}, expected room to write; free some or choose another --out",
                path.display()
            ))
        })
    };
    for (name, bytes) in TENSORS {
        write(name, bytes)?;
    }
    write("edge.toml", EDGE.as_bytes())?;
    write("edge16.toml", EDGE16.as_bytes())?;
    let display = progress::Display::new();
    let mut figures = vec![];
    for (operator, place, text) in RUNS {
        let config = config::parse(text, place)?;
        let tensor = |part: &str| {
            let name = format!("{operator}_{part}.npy");
            TENSORS.iter().any(|&(n, _)| n == name).then(|| folder.join(name))
        };
        let request = Request {
            operator: operator.into(),
            input: folder.join(format!("{operator}_x.npy")),
            gamma: tensor("gamma"),
            beta: tensor("beta"),
            keep: tensor("keep"),
            output: Some(folder.join(format!("{operator}_{}_y.npy", config.name))),
            ..Request::default()
        };
        let engine = Engine::describe(&config);
        figures.push(report::run_tensor(&request, &engine, &|p| display.show(p))?);
    }
    display.finish();
    Ok(figures)
}

/// Emits `edge` as Verilog into the demo's folder.
fn emit_rtl(out: &Path) -> Result<PathBuf, Failure> {
    let folder = out.join("rtl_edge");
    let engine = load::engine(&out.join("edge.toml"))?;
    emit::write(&folder, &engine, &emit::Options::default())?;
    Ok(folder)
}

fn text(out: &Path, rtl: &Path, figures: &[RunFigures]) -> String {
    let mut text = format!(
        "{:<18}{:<8}{:>9} {:<11}{:>8}{:>11}{:>9}{:>9}{:>10}{:>11}\n",
        "program",
        "engine",
        "rows x N",
        " formats",
        "max LSB",
        "rounded %",
        "SQNR dB",
        "ideal",
        "cyc/row",
        "elem/cycle"
    );
    for f in figures {
        let number =
            |v: Option<f64>, digits: usize| v.map_or("-".to_string(), |v| format!("{v:.digits$}"));
        text += &format!(
            "{:<18}{:<8}{:>9} {:<11}{:>8}{:>11}{:>9}{:>9}{:>10}{:>11.3}\n",
            f.program,
            f.config,
            format!("{} x {}", f.rows, f.row_len),
            format!(" {} to {}", f.in_format, f.out_format),
            number(f.held.max_error_lsb().map(|(e, _)| e), 3),
            number(f.held.correctly_rounded_share().map(|s| 100.0 * s), 2),
            number(f.held.sqnr_db(), 2),
            number(f.held.ideal_sqnr_db(), 2),
            f.cycles.per_row,
            f.cycles.elements_per_cycle,
        );
    }
    text += "\nErrors are against the exact operator on the same quantised input and parameters.\n";
    text += &format!("Tensors, configurations and results are in {}", out.display());
    text += &format!(", the RTL of `edge` in {}\n", rtl.display());
    text
}
