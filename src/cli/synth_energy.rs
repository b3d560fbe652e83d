//! The energy part of `mive synth`: the netlist metered cell by cell, the estimate beside it.
use serde_json::{Map, Value, json};

use super::energy::{EnergyArgs, Prepared, prepare};
use super::{Failure, estimate};
use crate::engine::Engine;
use crate::estimate::activity::activity;
use crate::estimate::energy::energy;
use crate::tech::Tech;
use crate::tech::power::Cells;
use crate::tools::library::LibraryFiles;
use crate::tools::meter::{Metered, meter};
use crate::tools::netlist::Netlist;
use crate::tools::synthesis::Target;

/// Energy of a row by block, pJ: metered and estimated.
pub struct Comparison {
    program: String,
    n: u32,
    rows: String,
    /// Blocks, then the engine.
    lines: Vec<(String, f64, Option<f64>)>,
    /// uW.
    leakage: (f64, Option<f64>),
}

/// Meters a synthesised netlist on rows of a program.
///
/// # Errors
/// The program or its rows do not run on the engine, or the library has no energies.
pub fn compare(
    (op, n, args): (&str, u32, &EnergyArgs),
    engine: &Engine,
    (tech, library): (&Tech, &LibraryFiles),
    json: &str,
) -> Result<Comparison, Failure> {
    let program = estimate::program(op)?;
    let loaded = estimate::bound(&program, n, engine)?;
    let Prepared { work, rows } = prepare(args, &program, &loaded.binding, engine)?;
    let cells = Cells::of(&library.group);
    let (top, prefix) = Target::names(&engine.top);
    let mut netlist = Netlist::read(json, (&top, &prefix), &cells)?;
    let reading = meter(engine, &work, &mut netlist, cells.voltage)?;
    let sum = |of: &dyn Fn(&Metered) -> f64| reading.blocks.values().map(of).sum::<f64>();
    let ge = sum(&|m| m.area_um2) / tech.ge_um2().unwrap_or(1.0);
    let estimated = tech.energy.as_ref().map(|model| energy(&activity(engine, &work), ge, model));
    let own = |block: &str| estimated.as_ref().and_then(|e| e.blocks.get(block).copied());
    let mut lines: Vec<(String, f64, Option<f64>)> =
        reading.blocks.iter().map(|(b, m)| (b.clone(), m.row_pj, own(b))).collect();
    let whole = estimated.as_ref().map(|e| e.per_row_pj);
    lines.push(("engine".into(), reading.row_pj(), whole));
    let leakage = (sum(&|m| m.leakage_nw) * 1e-3, estimated.map(|e| e.leakage_uw));
    Ok(Comparison { program: op.into(), n, rows, lines, leakage })
}

fn error_percent(measured: f64, estimated: Option<f64>) -> Option<f64> {
    estimated.filter(|_| measured > 0.0).map(|e| 100.0 * (e / measured - 1.0))
}

impl Comparison {
    pub fn to_text(&self) -> String {
        let mut text = format!(
            "\nenergy of {}, rows of {}, pJ a row, cell by cell on {}\n\n{:<21}{:>12}{:>12}{:>11}\n",
            self.program, self.n, self.rows, "block", "metered", "estimate", "error"
        );
        let mut line = |name: &str, digits: usize, measured: f64, estimated: Option<f64>| {
            let shown = estimated.map_or("-".into(), |e| format!("{e:.digits$}"));
            let error = error_percent(measured, estimated);
            let error = error.map_or("-".into(), |e| format!("{e:+.2} %"));
            text += &format!("{name:<21}{measured:>12.digits$}{shown:>12}{error:>11}\n");
        };
        for (name, measured, estimated) in &self.lines {
            line(name, 1, *measured, *estimated);
        }
        line("leakage, uW", 3, self.leakage.0, self.leakage.1);
        text
    }

    pub fn to_json(&self) -> Value {
        let of = |measured: f64, estimated: Option<f64>| {
            let error = error_percent(measured, estimated);
            json!({ "metered": measured, "estimated": estimated, "error_percent": error })
        };
        let blocks: Map<String, Value> =
            self.lines.iter().map(|(name, m, e)| (name.clone(), of(*m, *e))).collect();
        json!({
            "op": self.program,
            "n": self.n,
            "rows": self.rows,
            "per_row_pj": blocks,
            "leakage_uw": of(self.leakage.0, self.leakage.1),
        })
    }
}
