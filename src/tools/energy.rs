//! The energy of what gates do: from single cells of a library, and fitted to metered engines.
use std::collections::BTreeMap;

use super::calibrate::Error;
use super::energy_samples::{EnergyError, EnergySample, EnergySamples, work};
use super::meter::{Metered, SLEW_NS};
use super::samples::HELD_OUT;
use super::synthesis::text_hash;
use crate::engine::Engine;
use crate::estimate::activity::{Activity, Event, Events, activity};
use crate::estimate::energy::energy;
use crate::estimate::fit::{self, non_negative};
use crate::tech::EnergyModel;
use crate::tech::power::{Cell, Cells};

/// The smallest gate with such a function of so many inputs.
fn smallest(cells: &Cells, inputs: usize, is_wanted: impl Fn(u64) -> bool) -> Option<&Cell> {
    let fits = |c: &&Cell| {
        c.flop.is_none()
            && c.inputs.len() == inputs
            && c.outputs.len() == 1
            && is_wanted(c.outputs[0].function)
    };
    cells.cells.values().filter(fits).min_by(|a, b| a.area.total_cmp(&b.area))
}

/// Energy of a toggle of a cell's output with a load, fJ: internal, the mean over its inputs, and switching.
fn toggle_fj(cell: &Cell, load: f64, voltage: f64) -> f64 {
    let arcs = &cell.outputs[0].toggle;
    let own: Vec<f64> =
        arcs.iter().filter(|a| !a.is_empty()).map(|a| a.at(SLEW_NS, load)).collect();
    let internal = own.iter().sum::<f64>() / own.len().max(1) as f64;
    1e3 * (internal + 0.5 * load * voltage * voltage)
}

/// The energy of a flip-flop's clock in a cycle in which it holds, fJ: both edges, and the clock's pin.
fn clock_fj(cell: &Cell, voltage: f64) -> f64 {
    let Some(flop) = &cell.flop else { return 0.0 };
    let edges = |k: usize| flop.rise[k].at(SLEW_NS, 0.0) + flop.fall[k].at(SLEW_NS, 0.0);
    let pin = cell.inputs[flop.clock].capacitance * voltage * voltage;
    1e3 * (0.5 * (edges(0b00) + edges(0b11)) + pin)
}

/// Costs from single cells: what each event would take if it were one small cell that drives two gates.
/// `None` where the library has no two-input gates, no flip-flop or no energies.
pub fn from_cells(cells: &Cells) -> Option<EnergyModel> {
    let v = cells.voltage;
    let nand = smallest(cells, 2, |f| f == 0b0111)?;
    let xor = smallest(cells, 2, |f| f == 0b0110 || f == 0b1001)?;
    let mux = smallest(cells, 3, |f| [0xCA, 0xAC, 0xB8, 0xD8, 0xE2, 0xE4].contains(&f));
    let is_plain = |c: &&Cell| c.flop.as_ref().is_some_and(|f| f.next_state.count_ones() > 0);
    let flop = cells.cells.values().filter(is_plain).min_by(|a, b| a.area.total_cmp(&b.area))?;
    if flop.flop.as_ref().is_none_or(|f| f.rise[0].is_empty()) {
        return None;
    }
    let load = 2.0 * nand.inputs[0].capacitance;
    let gate = |cell: &Cell| toggle_fj(cell, load, v);
    let (and, xor) = (gate(nand), gate(xor));
    let mux = mux.map_or(3.0 * and, gate);
    let cost = |event: Event| match event {
        Event::And | Event::Carry | Event::Table => and,
        // The sum of three bits is two exclusive ors; the first toggles about as often.
        Event::SumChain | Event::SumSave => 2.0 * xor,
        Event::Xor => xor,
        Event::Mux | Event::Data => mux,
        Event::State => gate(flop),
        Event::Entry => 1e3 * 0.5 * load * v * v,
        Event::Clock => clock_fj(flop, v),
    };
    let rounded = |x: f64| (x * 1e3).round() / 1e3;
    let costs: BTreeMap<String, f64> =
        Event::ALL.iter().map(|e| (e.name().to_string(), rounded(cost(*e)))).collect();
    Some(EnergyModel {
        source: format!(
            "cells {}, {} and {} of the library",
            nand.name,
            xor_name(cells),
            flop.name
        ),
        fitted: 0,
        held_out: 0,
        error_percent: None,
        leakage_error_percent: None,
        leakage_nw_per_ge: rounded(nand.leakage),
        costs_fj: costs,
    })
}

fn xor_name(cells: &Cells) -> &str {
    smallest(cells, 2, |f| f == 0b0110 || f == 0b1001).map_or("", |c| &c.name)
}

/// A sample beside what was counted for it.
struct Pair<'s> {
    sample: &'s EnergySample,
    activity: Activity,
}

/// Counts the activity of every sample whose engine still has the text that was metered.
fn pairs(samples: &EnergySamples) -> Result<Vec<Pair<'_>>, EnergyError> {
    let mut made = vec![];
    for sample in samples.values() {
        let engine = Engine::describe(&sample.config());
        if text_hash(&engine.top) != sample.rtl {
            continue;
        }
        if let Some(work) = work(&engine, &sample.program, sample.n)? {
            made.push(Pair { sample, activity: activity(&engine, &work) });
        }
    }
    Ok(made)
}

/// The smallest part of its engine's energy that a block has to have to be fitted to alone.
const LEAST_SHARE: f64 = 0.02;

fn total(blocks: &BTreeMap<String, Metered>, of: impl Fn(&Metered) -> f64) -> f64 {
    blocks.values().map(of).sum()
}

fn row(events: &Events, rows: u64, measured: f64) -> fit::Sample<EVENTS> {
    let counts = Event::ALL.map(|e| events[e] as f64 * 1e-3 / rows as f64);
    fit::Sample { counts, measured }
}

const EVENTS: usize = Event::ALL.len();

/// Costs of events in fJ, from metered engines and the blocks in them.
fn fit_costs(pairs: &[&Pair<'_>], prior: &EnergyModel) -> BTreeMap<String, f64> {
    let mut rows = vec![];
    for Pair { sample, activity } in pairs {
        let all = total(&sample.blocks, |m| m.row_pj);
        rows.push(row(&activity.total(), activity.rows, all));
        for (block, metered) in &sample.blocks {
            if let (Some(events), true) =
                (activity.blocks.get(block), metered.row_pj > LEAST_SHARE * all)
            {
                rows.push(row(events, activity.rows, metered.row_pj));
            }
        }
    }
    let prior = Event::ALL.map(|e| prior.costs_fj.get(e.name()).copied().unwrap_or(1.0));
    let costs = non_negative(&rows, &prior);
    let rounded = |x: f64| (x * 1e3).round() / 1e3;
    Event::ALL.iter().zip(costs).map(|(e, c)| (e.name().to_string(), rounded(c))).collect()
}

/// The error of each program's rows, of all rows, of the blocks and of the leakage.
pub type EnergyTable = BTreeMap<String, Error>;

/// Judges a model on samples.
fn errors(pairs: &[&Pair<'_>], model: &EnergyModel, ge_um2: f64) -> EnergyTable {
    let mut all: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for Pair { sample, activity } in pairs {
        let area = total(&sample.blocks, |m| m.area_um2);
        let estimate = energy(activity, area / ge_um2, model);
        let measured = total(&sample.blocks, |m| m.row_pj);
        let mut put = |name: &str, estimated: f64, measured: f64| {
            all.entry(name.into()).or_default().push(100.0 * (estimated / measured - 1.0));
        };
        put("row", estimate.per_row_pj, measured);
        put(&format!("row_{}", sample.program), estimate.per_row_pj, measured);
        let leakage = total(&sample.blocks, |m| m.leakage_nw) * 1e-3;
        put("leakage_of_known_area", estimate.leakage_uw, leakage);
        for (block, metered) in &sample.blocks {
            if metered.row_pj > LEAST_SHARE * measured {
                put(&format!("block_{block}"), estimate.blocks[block], metered.row_pj);
            }
        }
    }
    all.into_iter().map(|(name, errors)| (name, Error::of(&errors))).collect()
}

/// Judges a model on the samples from [`HELD_OUT`] on.
///
/// # Errors
/// There is no room for temporary files.
pub fn judge(
    samples: &EnergySamples,
    model: &EnergyModel,
    ge_um2: f64,
) -> Result<EnergyTable, EnergyError> {
    let pairs = pairs(samples)?;
    let held_out: Vec<&Pair<'_>> = pairs.iter().filter(|p| p.sample.seed >= HELD_OUT).collect();
    Ok(errors(&held_out, model, ge_um2))
}

/// Fits to the samples below [`HELD_OUT`] and judges on the others. `ge_um2` is the area of a GE.
///
/// # Errors
/// There is no room for temporary files.
pub fn calibrate(
    samples: &EnergySamples,
    prior: &EnergyModel,
    ge_um2: f64,
) -> Result<(EnergyModel, EnergyTable), EnergyError> {
    let pairs = pairs(samples)?;
    let (fitted, held_out): (Vec<&Pair<'_>>, Vec<&Pair<'_>>) =
        pairs.iter().partition(|p| p.sample.seed < HELD_OUT);
    let sum = |of: &dyn Fn(&Metered) -> f64| -> f64 {
        fitted.iter().map(|p| total(&p.sample.blocks, of)).sum()
    };
    let leakage = match fitted.is_empty() {
        true => prior.leakage_nw_per_ge,
        false => sum(&|m| m.leakage_nw) / (sum(&|m| m.area_um2) / ge_um2),
    };
    let mut model = EnergyModel {
        source: "cell by cell on the synthesised netlists of random engines, area flow".into(),
        fitted: fitted.len() as u32,
        held_out: held_out.len() as u32,
        error_percent: None,
        leakage_error_percent: None,
        leakage_nw_per_ge: (leakage * 1e5).round() / 1e5,
        costs_fj: fit_costs(&fitted, prior),
    };
    let table = errors(&held_out, &model, ge_um2);
    let rounded = |e: &Error| [e.mean, e.worst].map(|v| (v * 100.0).round() / 100.0);
    model.error_percent = table.get("row").map(rounded);
    model.leakage_error_percent = table.get("leakage_of_known_area").map(rounded);
    Ok((model, table))
}
