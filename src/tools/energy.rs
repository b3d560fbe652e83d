//! The energy of gates from the cells of a library.
use std::collections::BTreeMap;

use crate::estimate::activity::Event;
use crate::tech::EnergyModel;
use crate::tech::power::{Cell, Cells};

/// Slew of inputs and of the clock, ns. Chosen by us: what a small cell gives at a load of two or three inputs.
pub const SLEW_NS: f64 = 0.05;

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
