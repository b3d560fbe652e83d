//! `mive estimate`: area and cycles of an engine from its netlist, without any tool.
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde_json::{Map, Value, json};

use super::energy::{self, EnergyArgs};
use super::{Failure, load, output};
use crate::engine::Engine;
use crate::estimate::area::{self, Area};
use crate::estimate::memory::{Memory, memories};
use crate::isa::Program;
use crate::program::listing::{Cycles, cycles};
use crate::program::{Loaded, bind, library};
use crate::report::nominal;
use crate::tech::{AreaModel, Flow, SHIPPED, Tech};

/// Arguments of `mive estimate`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Configuration of the engine, TOML.
    config: PathBuf,
    /// Technology: a built-in name or the path of a .toml file.
    ///
    /// Built in are sky130hd, ihp-sg13g2, asap7, gf180mcu and osu018 (ASIC), ice40, ecp5 and xc7 (FPGA).
    #[arg(long, value_name = "T", default_value = "sky130hd")]
    tech: String,
    /// Synthesis that the area stands for [default: the technology's first].
    #[arg(long, value_enum)]
    flow: Option<FlowArg>,
    /// Program whose cycles are shown, such as softmax, layernorm_affine or rmsnorm.
    #[arg(long, value_name = "OP", requires = "n")]
    op: Option<String>,
    /// Row length in elements.
    #[arg(long, value_name = "N", requires = "op")]
    n: Option<u32>,
    #[command(flatten)]
    energy: EnergyArgs,
    /// Clock period that the power is for, ps [default: pipeline.clock_ps of the configuration].
    #[arg(long, value_name = "PS", value_parser = clap::value_parser!(u32).range(1..))]
    clock_ps: Option<u32>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// A synthesis script for ASICs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum FlowArg {
    /// Full-adder cells, carry-save sums and ripple chains.
    Area,
    /// Yosys's plain `synth; dfflibmap; abc`.
    Plain,
}

impl From<FlowArg> for Flow {
    fn from(flow: FlowArg) -> Self {
        match flow {
            FlowArg::Area => Flow::Area,
            FlowArg::Plain => Flow::Plain,
        }
    }
}

/// A technology by name or by path.
pub fn tech(name: &str) -> Result<Tech, Failure> {
    let path = Path::new(name);
    if path.extension().is_none() && path.components().count() == 1 {
        return Ok(Tech::shipped(name)?);
    }
    let text = std::fs::read_to_string(path).map_err(|e| {
        let names: Vec<&str> = SHIPPED.iter().map(|(n, _)| *n).collect();
        Failure::input(format!(
            "{name}: found {e}, expected a technology file; check the path, or name one of {}",
            names.join(", ")
        ))
    })?;
    Ok(Tech::parse(&text, name)?)
}

/// The costs of a flow, or what there is instead.
pub fn model(tech: &Tech, flow: Option<Flow>) -> Result<&AreaModel, Failure> {
    tech.area_model(flow).ok_or_else(|| {
        let known: Vec<&str> = tech.area.iter().map(|m| m.flow.name()).collect();
        let wanted = flow.map_or("any flow", Flow::name);
        let known = if known.is_empty() { "none".to_string() } else { known.join(", ") };
        Failure::input(format!(
            "{}: found costs for {known}, expected some for {wanted}; run `mive calibrate`, or \
             choose another --flow",
            tech.name
        ))
    })
}

/// Everything that is estimated of one engine.
struct Estimate<'t> {
    engine: Engine,
    tech: &'t Tech,
    model: &'t AreaModel,
    area: Area,
    flops: u64,
    memories: Vec<Memory>,
    /// Program, row length and cycles.
    cycles: Option<(String, u32, Cycles)>,
    energy: Option<energy::Known>,
    clock_ps: Option<u32>,
}

pub fn run(args: &Args) -> Result<ExitCode, Failure> {
    let engine = load::engine(&args.config)?;
    let tech = tech(&args.tech)?;
    let model = model(&tech, args.flow.map(Flow::from))?;
    let blocks = area::blocks_of(&engine.config);
    let area = area::area(&blocks, model);
    let (mut cycles, mut energy) = (None, None);
    if let (Some(op), Some(n)) = (&args.op, args.n) {
        let program = program(op)?;
        let loaded = bound(&program, n, &engine)?;
        // Enough rows for two in flight to settle.
        cycles = Some((op.clone(), n, self::cycles(&loaded, &engine, 2)));
        let ge = area.core() + area.shell();
        let known = energy::estimate(&args.energy, &program, &loaded.binding, &engine, &tech, ge)?;
        energy = Some(known);
    }
    let clock_ps = args.clock_ps.or(Some(engine.config.clock_ps).filter(|&ps| ps > 0));
    let estimate = Estimate {
        area,
        flops: blocks.iter().map(|b| b.copies * b.counts.flops()).sum(),
        memories: memories(&engine),
        engine,
        tech: &tech,
        model,
        cycles,
        energy,
        clock_ps,
    };
    match args.json {
        true => output::print_json(&estimate.to_json())?,
        false => output::print(&estimate.to_text())?,
    }
    Ok(ExitCode::SUCCESS)
}

/// A shipped program.
pub fn program(op: &str) -> Result<Program, Failure> {
    library::shipped(op).ok_or_else(|| {
        let names: Vec<&str> = library::SHIPPED.iter().map(|(name, _)| *name).collect();
        Failure::input(format!("--op: found `{op}`, expected one of {}", names.join(", ")))
    })
}

/// A program with the first formats that it runs with.
pub fn bound(program: &Program, n: u32, engine: &Engine) -> Result<Loaded, Failure> {
    let config = &engine.config;
    let pairs = config
        .input_formats
        .iter()
        .flat_map(|i| config.output_formats.iter().map(move |o| (*i, *o)));
    let mut refusal = None;
    for formats in pairs {
        match bind(program, engine, &nominal::binding(program, engine, formats, n)) {
            Ok(loaded) => return Ok(loaded),
            Err(e) => refusal = refusal.or(Some(e)),
        }
    }
    Err(refusal.map_or_else(|| Failure::input("the engine has no format"), Failure::from))
}

impl Estimate<'_> {
    fn unit(&self) -> &'static str {
        if self.tech.device.is_some() { "LUTs" } else { "GE" }
    }

    fn block_rams(&self) -> Option<u64> {
        let shapes = &self.tech.device.as_ref()?.block_ram;
        Some(self.memories.iter().map(|m| m.block_rams(shapes)).sum())
    }

    fn to_text(&self) -> String {
        let (tech, model, unit) = (self.tech, self.model, self.unit());
        let corner = match (&tech.library, &tech.device) {
            (Some(library), _) => &library.corner,
            (_, Some(device)) => &device.family,
            _ => "",
        };
        let mut text = format!(
            "{} in {} ({}; {corner})\nas {} measures with the {} flow\n\n",
            self.engine.config.name,
            tech.name,
            tech.title,
            model.tool,
            model.flow.name()
        );
        text += &format!("{:<14}{:>7}{:>11}{:>11}\n", "block", "copies", "one", unit);
        for b in &self.area.blocks {
            text += &format!("{:<14}{:>7}{:>11.0}{:>11.0}\n", b.name, b.copies, b.one, b.all());
        }
        for (name, value, [mean, worst]) in [
            ("core", self.area.core(), model.core_error_percent),
            ("shell", self.area.shell(), model.shell_error_percent),
        ] {
            let um2 =
                tech.ge_um2().map_or(String::new(), |one| format!("  {:.0} um^2", one * value));
            text += &format!(
                "{name:<32}{value:>11.0}{um2}  (error {mean} % in the mean, {worst} % at worst)\n"
            );
        }
        text += &format!("flip-flops{:>33}\n", self.flops);
        text += "\nmemories, apart          words   bits each        bits\n";
        for m in &self.memories {
            text += &format!("  {:<19}{:>9}{:>12}{:>12}\n", m.name, m.depth, m.width, m.bits());
        }
        if let Some(rams) = self.block_rams() {
            text += &format!("  block RAMs{:>42}\n", rams);
        }
        if let Some((op, n, c)) = &self.cycles {
            text += &format!(
                "\n{op}, rows of {n}: {} cycles for the first row, {} for each in steady state\n",
                c.first_row, c.per_row
            );
        }
        if let Some(energy) = &self.energy {
            text += &energy.to_text(self.clock_ps);
        }
        text
    }

    fn to_json(&self) -> Value {
        let blocks: Map<String, Value> =
            self.area.blocks.iter().map(|b| (b.name.clone(), json!(b.all()))).collect();
        let bits: Map<String, Value> =
            self.memories.iter().map(|m| (m.name.clone(), json!(m.bits()))).collect();
        let mut area = Map::new();
        let unit = self.unit().to_lowercase();
        let mut put = |name: String, value: f64, error: [f64; 2]| {
            area.insert(format!("{name}_error_percent"), json!(error[1]));
            area.insert(format!("{name}_error_mean_percent"), json!(error[0]));
            area.insert(name, json!(value));
        };
        for (part, value, error) in [
            ("core", self.area.core(), self.model.core_error_percent),
            ("shell", self.area.shell(), self.model.shell_error_percent),
        ] {
            put(format!("{part}_{unit}"), value, error);
            if let Some(um2) = self.tech.ge_um2() {
                put(format!("{part}_um2"), um2 * value, error);
            }
        }
        area.insert("blocks".into(), Value::Object(blocks));
        area.insert("flip_flops".into(), json!(self.flops));
        area.insert("memory_bits".into(), Value::Object(bits));
        if let Some(rams) = self.block_rams() {
            area.insert("block_rams".into(), json!(rams));
            area.insert("dsp_blocks".into(), json!(0));
        }
        let cycles = self.cycles.as_ref().map(|(op, n, c)| {
            json!({ "op": op, "n": n, "first_row": c.first_row, "per_row": c.per_row })
        });
        let mut all = json!({
            "schema_version": 1,
            "config": self.engine.config.name,
            "sha256": self.engine.config.sha256(),
            "tech": self.tech.name,
            "flow": self.model.flow.name(),
            "tool": self.model.tool,
            "area": area,
            "cycles": cycles,
        });
        if let (Some(energy), Some(all)) = (&self.energy, all.as_object_mut()) {
            all.extend(energy.to_json(self.clock_ps, self.model.core_error_percent[1]));
        }
        all
    }
}
