//! `mive synth`: Yosys on the emitted text, and the estimate beside it, block by block.
use std::path::PathBuf;
use std::process::ExitCode;

use serde_json::{Map, Value, json};

use super::energy::EnergyArgs;
use super::estimate::{self, FlowArg};
use super::{Failure, load, output, synth_energy};
use crate::estimate::area::{SHELL, area, blocks};
use crate::tech::{Flow, Tech};
use crate::tools::library::LibraryFiles;
use crate::tools::synthesis::Target;

/// Arguments of `mive synth`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Configuration of the engine, TOML.
    config: PathBuf,
    /// Technology: a built-in name or the path of a .toml file.
    #[arg(long, value_name = "T", default_value = "sky130hd")]
    tech: String,
    /// Synthesis script of an ASIC technology.
    #[arg(long, value_enum, default_value = "area")]
    flow: FlowArg,
    /// Liberty file of the technology, .lib or .lib.gz; again for each of its files.
    ///
    /// Without it the files are looked for in the folders that the variable MIVE_LIBERTY names.
    #[arg(long, value_name = "FILE")]
    liberty: Vec<PathBuf>,
    /// Keep the printed text, the scripts and the figures of Yosys in this folder.
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
    /// Program whose energy is metered on the synthesised netlist (ASIC, area flow).
    #[arg(long, value_name = "OP", requires = "n")]
    op: Option<String>,
    /// Row length in elements.
    #[arg(long, value_name = "N", requires = "op")]
    n: Option<u32>,
    #[command(flatten)]
    energy: EnergyArgs,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// The library of a technology: the files given, or those that are found.
pub fn library(tech: &Tech, given: &[PathBuf]) -> Result<Option<LibraryFiles>, Failure> {
    if tech.device.is_some() {
        return match given {
            [] => Ok(None),
            [path, ..] => Err(Failure::input(format!(
                "--liberty: found {}, expected none for {}, which is an FPGA; leave it out",
                path.display(),
                tech.name
            ))),
        };
    }
    match given {
        [] => Ok(LibraryFiles::find(tech)?),
        given => Ok(Some(LibraryFiles::read(given)?)),
    }
}

/// The flow that an option means for a technology.
pub fn flow(tech: &Tech, flow: FlowArg) -> Flow {
    if tech.device.is_some() { Flow::Fpga } else { flow.into() }
}

/// One line of the comparison, in GE or look-up tables.
struct Line {
    name: String,
    copies: u64,
    /// All copies.
    measured: f64,
    estimated: Option<f64>,
}

impl Line {
    fn error_percent(&self) -> Option<f64> {
        self.estimated.filter(|_| self.measured > 0.0).map(|e| 100.0 * (e / self.measured - 1.0))
    }

    fn to_text(&self) -> String {
        let copies = if self.copies == 0 { String::new() } else { self.copies.to_string() };
        let estimated = self.estimated.map_or("-".into(), |e| format!("{e:.0}"));
        let error = self.error_percent().map_or("-".into(), |e| format!("{e:+.2} %"));
        format!("{:<14}{copies:>7}{:>12.0}{estimated:>12}{error:>11}\n", self.name, self.measured)
    }
}

pub fn run(args: &Args) -> Result<ExitCode, Failure> {
    let engine = load::engine(&args.config)?;
    let tech = estimate::tech(&args.tech)?;
    let flow = flow(&tech, args.flow);
    let library = library(&tech, &args.liberty)?;
    let target = Target::new(&tech, flow, library.as_ref())?;
    let temporary = tempfile::tempdir()?;
    let folder = args.keep.as_deref().unwrap_or(temporary.path());
    std::fs::create_dir_all(folder).map_err(|e| {
        Failure::input(format!("--keep: found {e}, expected a folder that can be written"))
    })?;
    let (measured, energy) = match (&args.op, args.n, &library) {
        (Some(op), Some(n), Some(library)) => {
            let (measured, json) = target.measure_and_netlist(&engine.top, folder)?;
            let what = (op.as_str(), n, &args.energy);
            (measured, Some(synth_energy::compare(what, &engine, (&tech, library), &json)?))
        }
        (Some(op), ..) => {
            return Err(Failure::input(format!(
                "--op: found {op}, expected none for {}, which is an FPGA; leave it out",
                tech.name
            )));
        }
        _ => (target.measure(&engine.top, folder)?, None),
    };
    let unit = tech.ge_um2().unwrap_or(1.0);
    let blocks = blocks(&engine);
    let estimated = tech.area_model(Some(flow)).map(|model| area(&blocks, model));
    let lines: Vec<Line> = (measured.iter())
        .filter_map(|m| {
            let copies = blocks.iter().find(|b| b.name == m.block)?.copies;
            let own = estimated.as_ref().and_then(|a| a.blocks.iter().find(|b| b.name == m.block));
            Some(Line {
                name: m.block.clone(),
                copies,
                measured: m.area / unit * copies as f64,
                estimated: own.map(|b| b.all()),
            })
        })
        .collect();
    let sum = |name: &str, is_in: &dyn Fn(&Line) -> bool| Line {
        name: name.into(),
        copies: 0,
        measured: lines.iter().filter(|l| is_in(l)).map(|l| l.measured).sum(),
        estimated: lines.iter().filter(|l| is_in(l)).map(|l| l.estimated).sum(),
    };
    let core = sum("core, whole", &|l| l.name != SHELL);
    let whole = sum("engine", &|_| true);
    let furthest = (lines.iter())
        .filter_map(|l| Some((l, l.estimated? - l.measured)))
        .max_by(|a, b| a.1.abs().total_cmp(&b.1.abs()));
    let word = if tech.device.is_some() { "LUT" } else { "GE" };
    if args.json {
        let of = |l: &Line| {
            json!({
                "measured": l.measured, "estimated": l.estimated,
                "error_percent": l.error_percent(),
            })
        };
        let table: Map<String, Value> = lines.iter().map(|l| (l.name.clone(), of(l))).collect();
        output::print_json(&json!({
            "schema_version": 1,
            "config": engine.config.name,
            "tech": tech.name,
            "flow": flow.name(),
            "unit": word.to_lowercase(),
            "blocks": table,
            "core": of(&core),
            "engine": of(&whole),
            "furthest_apart": furthest.map(|(l, _)| l.name.clone()),
            "energy": energy.map(|e| e.to_json()),
        }))?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut text = format!(
        "{} in {}, {} flow, all copies in {word}, memories apart\n\n{:<14}{:>7}{:>12}{:>12}{:>11}\n",
        engine.config.name,
        tech.name,
        flow.name(),
        "block",
        "copies",
        "Yosys",
        "estimate",
        "error"
    );
    for line in lines.iter().chain([&core, &whole]) {
        text += &line.to_text();
    }
    text += &match furthest {
        Some((line, by)) => {
            format!("\nThey part most in {}: the estimate is {by:+.0} {word} off.\n", line.name)
        }
        None => {
            format!("\n{} has no costs for this flow; `mive calibrate` finds them.\n", tech.name)
        }
    };
    text += &energy.map_or(String::new(), |e| e.to_text());
    output::print(&text)?;
    Ok(ExitCode::SUCCESS)
}
