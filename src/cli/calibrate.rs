//! `mive calibrate`: measures random engines with the user's own library and fits the costs of gates.
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde_json::{Map, Value, json};

use super::estimate::{self, FlowArg};
use super::{Failure, calibrate_energy, output, synth};
use crate::tech::power::Cells;
use crate::tech::{Flow, Tech};
use crate::tensor::AtomicFile;
use crate::tools::YOSYS;
use crate::tools::calibrate::{Error, ErrorTable, calibrate};
use crate::tools::energy;
use crate::tools::library::LibraryFiles;
use crate::tools::operations;
use crate::tools::samples::{self, HELD_OUT, Subject};
use crate::tools::synthesis::Target;

/// Arguments of `mive calibrate`.
#[derive(Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("what").required(true).multiple(true).args(["liberty", "fpga", "tech"]))]
pub struct Args {
    /// Liberty file, .lib or .lib.gz; again for each file of a library that has several.
    #[arg(long, value_name = "FILE", conflicts_with = "fpga")]
    liberty: Vec<PathBuf>,
    /// FPGA family: ice40, ecp5 or xc7.
    #[arg(long, value_name = "F", conflicts_with = "tech")]
    fpga: Option<String>,
    /// Technology whose costs are measured again: a built-in name or the path of a .toml file. Several are
    /// measured together faster than apart.
    #[arg(long, value_name = "T")]
    tech: Vec<String>,
    /// Name of the technology of a Liberty file that has none yet.
    #[arg(long, value_name = "NAME", default_value = "own")]
    name: String,
    /// Synthesis script of an ASIC technology.
    #[arg(long, value_enum, default_value = "area")]
    flow: FlowArg,
    /// Random engines to fit to.
    #[arg(long, value_name = "COUNT", default_value_t = 40, value_parser = clap::value_parser!(u32).range(1..=1000))]
    fit: u32,
    /// Random engines to judge by; none of them is fitted to.
    #[arg(long, value_name = "COUNT", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=1000))]
    check: u32,
    /// Folder of measured areas, NAME_FLOW.csv. What is in them is not measured again, and what is
    /// measured is added, so that an interrupted run goes on where it stopped.
    #[arg(long, value_name = "DIR")]
    runs: Option<PathBuf>,
    /// Folder in which each technology is written with its new costs, NAME.toml.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Measure the energy of gates instead of their area: synthesised netlists on real rows, cell by cell.
    #[arg(long, conflicts_with = "fpga")]
    energy: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args) -> Result<ExitCode, Failure> {
    let techs = techs(args)?;
    let flows: Vec<Flow> = techs.iter().map(|(t, _)| synth::flow(t, args.flow)).collect();
    if flows.iter().any(|f| *f != flows[0]) {
        return Err(Failure::input(
            "--tech: found ASIC and FPGA technologies, expected one sort; calibrate them apart",
        ));
    }
    let flow = flows[0];
    // A file that cannot be written is refused before the work.
    let file = |tech: &Tech| {
        let path = args.out.as_ref().map(|folder| folder.join(format!("{}.toml", tech.name)));
        path.map(AtomicFile::create).transpose()
    };
    let outs = techs.iter().map(|(tech, _)| file(tech)).collect::<Result<Vec<_>, _>>()?;
    let temporary = tempfile::tempdir()?;
    let runs = args.runs.as_deref().unwrap_or(temporary.path());
    std::fs::create_dir_all(runs).map_err(|e| {
        Failure::input(format!("--runs: found {e}, expected a folder that can be written"))
    })?;
    let held_out = (0..u64::from(args.check)).map(|k| HELD_OUT + k);
    let seeds: Vec<u64> = (0..u64::from(args.fit)).chain(held_out).collect();
    if args.energy {
        return energies(args, techs, outs, runs, &seeds);
    }
    let mut subjects = vec![];
    for (tech, library) in &techs {
        let target = Target::new(tech, flow, library.as_ref())?;
        let path = runs.join(format!("{}_{}.csv", tech.name, flow.name()));
        subjects.push(Subject::new(target, path)?);
    }
    let bar = indicatif::ProgressBar::new(seeds.len() as u64);
    samples::complete(&mut subjects, &seeds, |done| bar.set_position(done as u64))?;
    bar.finish_and_clear();
    let alone = |subject: &Subject<'_>| {
        let path = subject.path.with_extension("").to_string_lossy().into_owned();
        operations::complete(Path::new(&format!("{path}_operations.csv")), &subject.target)
    };
    let alone = subjects.iter().map(alone).collect::<Result<Vec<_>, _>>()?;
    let tool = format!("Yosys {}", YOSYS.version().unwrap_or_else(|| "of unknown version".into()));
    let mut all = Map::new();
    for (((subject, alone), (tech, _)), out) in subjects.iter().zip(&alone).zip(&techs).zip(outs) {
        let mut samples = subject.samples.clone();
        samples.retain(|seed, _| seeds.contains(seed));
        let unit = tech.ge_um2().unwrap_or(1.0);
        let (model, table) = calibrate(&samples, alone, flow, tool.clone(), unit);
        if !args.json {
            output::print(&to_text(&tech.name, flow, args, &table))?;
        }
        all.insert(tech.name.clone(), to_json(&table));
        let mut tech = tech.clone();
        tech.area.retain(|m| m.flow != flow);
        tech.area.push(model);
        tech.area.sort_by_key(|m| m.flow);
        if let Some(mut out) = out {
            out.write_all(tech.to_toml().as_bytes())
                .map_err(|e| Failure::input(out.refusal(&e)))?;
            out.finish()?;
        }
    }
    if args.json {
        output::print_json(&json!({
            "schema_version": 1,
            "flow": flow.name(),
            "tool": tool,
            "fitted": args.fit,
            "held_out": args.check,
            "error_percent": all,
        }))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// `--energy`: fits the energies of each technology in turn.
fn energies(
    args: &Args,
    techs: Vec<(Tech, Option<LibraryFiles>)>,
    outs: Vec<Option<AtomicFile>>,
    runs: &Path,
    seeds: &[u64],
) -> Result<ExitCode, Failure> {
    let mut all = Map::new();
    for ((mut tech, library), out) in techs.into_iter().zip(outs) {
        let table = calibrate_energy::energies(&mut tech, library.as_ref(), runs, seeds)?;
        if !args.json {
            output::print(&to_text(&format!("{}, energy", tech.name), Flow::Area, args, &table))?;
        }
        all.insert(tech.name.clone(), to_json(&table));
        if let Some(mut out) = out {
            out.write_all(tech.to_toml().as_bytes())
                .map_err(|e| Failure::input(out.refusal(&e)))?;
            out.finish()?;
        }
    }
    if args.json {
        output::print_json(&json!({
            "schema_version": 1,
            "flow": Flow::Area.name(),
            "quantity": "energy",
            "fitted": args.fit,
            "held_out": args.check,
            "error_percent": all,
        }))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// What is calibrated, each with its library.
fn techs(args: &Args) -> Result<Vec<(Tech, Option<LibraryFiles>)>, Failure> {
    let names: Vec<&String> = args.tech.iter().chain(&args.fpga).collect();
    if names.len() > 1 && !args.liberty.is_empty() {
        return Err(Failure::input(
            "--liberty: found several technologies, expected one; put their files in a folder and name \
             it in MIVE_LIBERTY",
        ));
    }
    let mut techs = vec![];
    for name in names {
        let tech = estimate::tech(name)?;
        if args.fpga.is_some() && tech.device.is_none() {
            return Err(Failure::input(format!(
                "--fpga: found {name}, which is an ASIC technology; expected ice40, ecp5 or xc7, or \
                 --tech {name}"
            )));
        }
        let library = synth::library(&tech, &args.liberty)?;
        techs.push((tech, library));
    }
    if techs.is_empty() {
        let library = LibraryFiles::read(&args.liberty)?;
        let facts = library.facts()?;
        techs.push((
            Tech {
                name: args.name.clone(),
                title: library.group.name().to_string(),
                library: Some(facts),
                device: None,
                area: vec![],
                energy: energy::from_cells(&Cells::of(&library.group)),
            },
            Some(library),
        ));
    }
    Ok(techs)
}

fn to_json(table: &ErrorTable) -> Value {
    let of = |e: &Error| json!({ "mean": e.mean, "worst": e.worst, "bias": e.bias });
    Value::Object(table.iter().map(|(block, e)| (block.clone(), of(e))).collect())
}

fn to_text(name: &str, flow: Flow, args: &Args, table: &ErrorTable) -> String {
    let mut text = format!(
        "{name}, {} flow: fitted to {} engines, error over {} others, percent\n\n{:<26}{:>9}{:>9}{:>9}\n",
        flow.name(),
        args.fit,
        args.check,
        "block",
        "mean",
        "worst",
        "bias"
    );
    for (block, e) in table {
        text += &format!("{block:<26}{:>9.2}{:>9.2}{:>+9.2}\n", e.mean, e.worst, e.bias);
    }
    text
}
