//! The energy of a synthesised netlist on given rows: toggles of every cell, each times what the library says.
use std::collections::BTreeMap;

use super::netlist::{Net, Netlist, NetlistError};
use super::synthesis::SynthesisError;
use crate::engine::Engine;
use crate::estimate::activity::{Bits, Phase, Work, streams, walk};
use crate::estimate::area::SHELL;
use crate::rtl::step::{Out, Stepper};
use crate::simulate::Simulator;
use crate::simulate::record::Layout;

/// Slew of input ports and of the clock, ns. Chosen by us: what a small cell gives at a load of two or three
/// gates.
pub const SLEW_NS: f64 = 0.05;

/// Why nothing was metered.
#[derive(Debug, thiserror::Error)]
pub enum MeterError {
    #[error(transparent)]
    Synthesis(#[from] SynthesisError),
    #[error(transparent)]
    Netlist(#[from] NetlistError),
    #[error(
        "{port}, stream {stream}, cycle {cycle}: the synthesised netlist gives another value than the simulator"
    )]
    Differs { port: String, stream: u32, cycle: u64 },
}

/// What the cells of one block take, all copies together.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Metered {
    /// pJ a row, without leakage.
    pub row_pj: f64,
    /// nW.
    pub leakage_nw: f64,
    /// um^2.
    pub area_um2: f64,
}

/// What was counted and metered.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reading {
    pub blocks: BTreeMap<String, Metered>,
    /// Cycles of a row.
    pub cycles_per_row: f64,
    /// Switching energy of a row, pJ: loads that are charged and discharged, clock pins apart.
    pub switching_pj: f64,
    /// Switching energy of the clock pins of a row, pJ.
    pub clock_pins_pj: f64,
}

impl Reading {
    /// pJ a row, all blocks, without leakage.
    pub fn row_pj(&self) -> f64 {
        self.blocks.values().map(|m| m.row_pj).sum()
    }
}

/// Energies of a netlist's toggles, pJ.
struct Meter<'n, 'c> {
    netlist: &'n mut Netlist<'c>,
    /// Load of each net, pF.
    load: Vec<f64>,
    slew: Vec<f64>,
    /// Of each gate: toggles of its outputs, and toggles of each input while that output toggles.
    outputs: Vec<Vec<u64>>,
    causes: Vec<Vec<[u64; 6]>>,
    /// Of each gate: toggles of inputs that no output follows.
    silent: Vec<[u64; 6]>,
    /// Of each flip-flop: rising and falling edges by `2 * (next state) + state`.
    rise: Vec<[u64; 4]>,
    fall: Vec<[u64; 4]>,
    state: Vec<u64>,
    data: Vec<[u64; 6]>,
    entries: Vec<u64>,
    values: Vec<u64>,
    next: Vec<u64>,
    held: Vec<u64>,
    live: u64,
}

impl<'n, 'c> Meter<'n, 'c> {
    fn new(netlist: &'n mut Netlist<'c>, streams: usize) -> Self {
        let (gates, flops) = (netlist.gates.len(), netlist.flops.len());
        let mut load = vec![0.0; netlist.values.len()];
        for gate in netlist.gates.iter().chain(&netlist.flops) {
            for (pin, &net) in gate.cell.inputs.iter().zip(&gate.inputs) {
                load[net] += pin.capacitance;
            }
        }
        let mut slew = vec![SLEW_NS; netlist.values.len()];
        for gate in netlist.flops.iter().chain(&netlist.gates) {
            let own = mean_slew(&gate.inputs, &slew);
            for (pin, net) in gate.cell.outputs.iter().zip(&gate.outputs) {
                let Some(net) = *net else { continue };
                let from = if gate.cell.flop.is_some() { SLEW_NS } else { own };
                if !pin.transition.is_empty() {
                    slew[net] = pin.transition.at(from, load[net]);
                }
            }
        }
        let outputs = netlist.gates.iter().map(|g| vec![0; g.outputs.len()]).collect();
        let causes = netlist.gates.iter().map(|g| vec![[0; 6]; g.outputs.len()]).collect();
        let entries = vec![0; netlist.entries.len()];
        Self {
            netlist,
            load,
            slew,
            outputs,
            causes,
            silent: vec![[0; 6]; gates],
            rise: vec![[0; 4]; flops],
            fall: vec![[0; 4]; flops],
            state: vec![0; flops],
            data: vec![[0; 6]; flops],
            entries,
            values: vec![],
            next: vec![],
            held: vec![],
            live: u64::MAX >> (64 - streams),
        }
    }

    /// Keeps a settled cycle.
    fn keep(&mut self) {
        self.values.clone_from(&self.netlist.values);
        self.next = self.netlist.next_states();
        self.held.clone_from(&self.netlist.state);
    }

    /// Counts what is between the cycle that was kept and this one, settled.
    fn count(&mut self) {
        let n = &*self.netlist;
        let changed = |net: Net| (self.values[net] ^ n.values[net]) & self.live;
        let ones = |bits: u64| u64::from(bits.count_ones());
        for (k, gate) in n.gates.iter().enumerate() {
            let mut any = 0;
            for (o, net) in gate.outputs.iter().enumerate() {
                let toggled = net.map_or(0, changed);
                any |= toggled;
                if toggled == 0 {
                    continue;
                }
                self.outputs[k][o] += ones(toggled);
                for (cause, &input) in self.causes[k][o].iter_mut().zip(&gate.inputs) {
                    *cause += ones(toggled & changed(input));
                }
            }
            for (silent, &input) in self.silent[k].iter_mut().zip(&gate.inputs) {
                *silent += ones(changed(input) & !any);
            }
        }
        let now = n.next_states();
        let combine = |next: u64, held: u64| -> [u64; 4] {
            std::array::from_fn(|k| {
                let next = if k & 2 == 2 { next } else { !next };
                let held = if k & 1 == 1 { held } else { !held };
                ones(next & held & self.live)
            })
        };
        for (k, flop) in n.flops.iter().enumerate() {
            // The rising edge ends the cycle before; the falling one is in the middle of this one.
            let rise = combine(self.next[k], self.held[k]);
            let fall = combine(now[k], n.state[k]);
            for c in 0..4 {
                self.rise[k][c] += rise[c];
                self.fall[k][c] += fall[c];
            }
            self.state[k] += ones((self.held[k] ^ n.state[k]) & self.live);
            for (data, &input) in self.data[k].iter_mut().zip(&flop.inputs) {
                *data += ones(changed(input));
            }
        }
        for (count, &(net, _)) in self.entries.iter_mut().zip(&n.entries) {
            *count += ones(changed(net));
        }
    }

    /// The reading of so many rows and cycles of all streams together.
    fn finish(self, voltage: f64, rows: f64, cycles: f64) -> Reading {
        let n = &*self.netlist;
        let (mut switched, mut clocked) = (0.0, 0.0);
        let mut all = vec![Metered::default(); n.blocks.len()];
        let switching = |net: Net| 0.5 * self.load[net] * voltage * voltage;
        for (k, gate) in n.gates.iter().enumerate() {
            let mut pj = 0.0;
            for (o, (pin, net)) in gate.cell.outputs.iter().zip(&gate.outputs).enumerate() {
                let (Some(net), toggles) = (*net, self.outputs[k][o] as f64) else { continue };
                if toggles == 0.0 {
                    continue;
                }
                // Inputs that toggle together share a toggle of the output.
                let causes = &self.causes[k][o];
                let (mut internal, mut weight) = (0.0, 0.0);
                for ((arc, &input), &cause) in pin.toggle.iter().zip(&gate.inputs).zip(causes) {
                    internal += cause as f64 * arc.at(self.slew[input], self.load[net]);
                    weight += cause as f64;
                }
                pj += toggles * (internal / weight.max(1.0) + switching(net));
                switched += toggles * switching(net);
            }
            for ((pin, &input), &silent) in
                gate.cell.inputs.iter().zip(&gate.inputs).zip(&self.silent[k])
            {
                pj += silent as f64 * pin.toggle.at(self.slew[input], 0.0);
            }
            all[gate.block].row_pj += pj;
        }
        for (k, gate) in n.flops.iter().enumerate() {
            let flop = gate.cell.flop.as_ref().expect("a flip-flop");
            let mut pj = 0.0;
            for c in 0..4 {
                pj += self.rise[k][c] as f64 * flop.rise[c].at(SLEW_NS, 0.0);
                pj += self.fall[k][c] as f64 * flop.fall[c].at(SLEW_NS, 0.0);
            }
            let cycles: u64 = self.rise[k].iter().sum();
            let pin = gate.cell.inputs[flop.clock].capacitance;
            let clock = cycles as f64 * pin * voltage * voltage;
            (pj, clocked) = (pj + clock, clocked + clock);
            for (pin, net) in gate.cell.outputs.iter().zip(&gate.outputs) {
                // An output that nothing reads toggles too.
                let load = net.map_or(0.0, |net| self.load[net]);
                let internal = pin.toggle[flop.clock].at(SLEW_NS, load);
                let charge = 0.5 * load * voltage * voltage;
                pj += self.state[k] as f64 * (internal + charge);
                switched += self.state[k] as f64 * charge;
            }
            for (i, (pin, &input)) in gate.cell.inputs.iter().zip(&gate.inputs).enumerate() {
                if i != flop.clock {
                    pj += self.data[k][i] as f64 * pin.toggle.at(self.slew[input], 0.0);
                }
            }
            all[gate.block].row_pj += pj;
        }
        for (&count, &(net, block)) in self.entries.iter().zip(&n.entries) {
            all[block].row_pj += count as f64 * switching(net);
            switched += count as f64 * switching(net);
        }
        for gate in n.gates.iter().chain(&n.flops) {
            all[gate.block].leakage_nw += gate.cell.leakage;
            all[gate.block].area_um2 += gate.cell.area;
        }
        let name = |(k, block): (usize, &String)| if k == 0 { SHELL.into() } else { block.clone() };
        all.iter_mut().for_each(|m| m.row_pj /= rows);
        Reading {
            blocks: n.blocks.iter().enumerate().map(name).zip(all).collect(),
            cycles_per_row: cycles / rows,
            switching_pj: switched / rows,
            clock_pins_pj: clocked / rows,
        }
    }
}

fn mean_slew(inputs: &[Net], slew: &[f64]) -> f64 {
    inputs.iter().map(|&net| slew[net]).sum::<f64>() / inputs.len().max(1) as f64
}

/// The bits of ports beside those of the stepper.
struct Ports {
    inputs: Vec<(String, Bits)>,
    outputs: Vec<(String, Out, u32, bool)>,
}

impl Ports {
    fn new(engine: &Engine, simulator: &Simulator) -> Self {
        let layout = Layout::of(engine);
        let bits = |w: &crate::simulate::record::Wire| {
            (format!("{}_i", w.name), Bits::new(simulator, &w.name, w.width, w.lanes, 0))
        };
        let out = |w: &crate::simulate::record::Wire| {
            (format!("{}_o", w.name), simulator.program().output(&w.name), w.width, w.is_beat)
        };
        Self {
            inputs: layout.inputs.iter().map(bits).collect(),
            outputs: layout.outputs.iter().map(out).collect(),
        }
    }

    /// The first output that differs: its name and stream.
    fn difference(&self, netlist: &Netlist<'_>, stepper: &Stepper) -> Option<(String, u32)> {
        let valid = netlist.port("m_axis_tvalid_o").first().map_or(0, |&net| netlist.values[net]);
        for stream in 0..stepper.streams() {
            for (name, out, width, is_beat) in &self.outputs {
                if *is_beat && valid >> stream & 1 == 0 {
                    continue;
                }
                let lanes = stepper.get_stream(*out, stream);
                let nets = netlist.port(name);
                let is_same = nets.iter().enumerate().all(|(k, &net)| {
                    let (lane, bit) = (k / *width as usize, k % *width as usize);
                    netlist.values[net] >> stream & 1 == (lanes[lane] >> bit & 1) as u64
                });
                if nets.is_empty() || !is_same {
                    return Some((name.clone(), stream as u32));
                }
            }
        }
        None
    }
}

/// Steps a netlist beside the simulator, from reset on, and meters the rows that an [`activity`] counts. Every
/// output of every cycle is compared with the simulator's.
///
/// [`activity`]: crate::estimate::activity::activity
///
/// # Errors
/// An output differs.
pub fn meter(
    engine: &Engine,
    work: &Work,
    netlist: &mut Netlist<'_>,
    voltage: f64,
) -> Result<Reading, MeterError> {
    let simulator = Simulator::new(engine);
    let ports = Ports::new(engine, &simulator);
    netlist.set("rst_ni", &[0]);
    netlist.settle();
    netlist.clock();
    netlist.set("rst_ni", &[u64::MAX]);
    let streams = streams(work);
    let mut meter = Meter::new(netlist, streams);
    let (mut cycle, mut cycles, mut differs) = (0u64, 0u64, None);
    walk(&simulator, work, &mut |phase, stepper| {
        for (name, bits) in &ports.inputs {
            meter.netlist.set(name, &bits.read(stepper));
        }
        meter.netlist.settle();
        if differs.is_none() {
            let found = ports.difference(meter.netlist, stepper);
            differs = found.map(|(port, stream)| MeterError::Differs { port, stream, cycle });
        }
        if phase == Phase::Counted {
            meter.count();
            cycles += 1;
        }
        if matches!(phase, Phase::Before | Phase::Counted) {
            meter.keep();
        }
        meter.netlist.clock();
        cycle += 1;
    });
    if let Some(error) = differs {
        return Err(error);
    }
    let rows = (streams * crate::estimate::activity::COUNTED_ROWS) as f64;
    Ok(meter.finish(voltage, rows, (streams as u64 * cycles) as f64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tech::liberty::parse;
    use crate::tech::power::Cells;

    /// Loads in pF and energies in pJ that are easy to add up.
    const LIBRARY: &str = r#"library (l) { capacitive_load_unit (1, pf); nom_voltage : 2.0;
  cell (XOR) { area : 3; cell_leakage_power : 7;
    pin (A) { direction : input; capacitance : 0.5; } pin (B) { direction : input; capacitance : 0.25; }
    pin (Y) { direction : output; function : "A^B";
      internal_power () { related_pin : "A"; rise_power (s) { values ("10"); } fall_power (s) { values ("30"); } }
      internal_power () { related_pin : "B"; rise_power (s) { values ("100"); } } } }
  cell (DFF) { area : 5; cell_leakage_power : 11; ff (IQ, IQN) { clocked_on : "CK"; next_state : "D"; }
    pin (D) { direction : input; capacitance : 0.75;
      internal_power () { rise_power (s) { values ("2"); } fall_power (s) { values ("4"); } } }
    pin (CK) { direction : input; capacitance : 0.125;
      internal_power () { when : "D&Q"; rise_power (s) { values ("1000"); } fall_power (s) { values ("0"); } }
      internal_power () { when : "!D&!Q"; rise_power (s) { values ("2000"); } fall_power (s) { values ("0"); } }
      internal_power () { when : "D&!Q"; rise_power (s) { values ("0"); } fall_power (s) { values ("5000"); } }
      internal_power () { when : "!D&Q"; rise_power (s) { values ("0"); } fall_power (s) { values ("7000"); } } }
    pin (Q) { direction : output; function : "IQ";
      internal_power () { related_pin : "CK"; rise_power (s) { values ("300"); } fall_power (s) { values ("300"); } } } }
}"#;

    /// q <= x ^ q, a bit that flips while x is 1.
    const TEXT: &str = r#"{ "modules": { "m_top": {
      "ports": { "clk": { "direction": "input", "bits": [2] }, "x": { "direction": "input", "bits": [3] } },
      "cells": { "g": { "type": "XOR", "connections": { "A": [3], "B": [4], "Y": [5] } },
                 "f": { "type": "DFF", "connections": { "CK": [2], "D": [5], "Q": [4] } } } } } }"#;

    #[test]
    fn energies_add_up_by_hand() {
        let cells = Cells::of(&parse(LIBRARY).expect("a library"));
        let mut netlist = Netlist::read(TEXT, ("m_top", "m_"), &cells).expect("a netlist");
        let mut meter = Meter::new(&mut netlist, 1);
        // Cycle by cycle: x 1 1 0, so q 0 1 0 and y 1 0 0.
        for (cycle, x) in [1, 1, 0].into_iter().enumerate() {
            meter.netlist.set("x", &[x]);
            meter.netlist.settle();
            if cycle > 0 {
                meter.count();
            }
            meter.keep();
            meter.netlist.clock();
        }
        let reading = meter.finish(cells.voltage, 1.0, 2.0);
        let all = reading.blocks[SHELL];
        // Charge: half of C V^2 is 2 C. y falls once (0.75 pF); x falls once (0.5 pF); q toggles twice (0.25 pF).
        let switching = 2.0 * 0.75 + 2.0 * 0.5 + 2.0 * 2.0 * 0.25;
        assert!((reading.switching_pj - switching).abs() < 1e-9, "{reading:?}");
        assert!((reading.clock_pins_pj - 2.0 * 4.0 * 0.125).abs() < 1e-9);
        // y toggles with q alone in the second cycle; with both, and not at all, in the third.
        let gate = 100.0;
        // Rising edges: (d, q) = (1, 0), then (0, 1). Falling: (0, 1), then (0, 0).
        let clock = 0.0 + 0.0 + 7000.0 + 0.0;
        // d toggles once, q twice.
        let flop = clock + 3.0 + 2.0 * 300.0;
        let expected = switching + 1.0 + gate + flop;
        assert!((all.row_pj - expected).abs() < 1e-9, "{} {expected}", all.row_pj);
        assert_eq!((all.leakage_nw, all.area_um2), (18.0, 8.0));
        assert_eq!(reading.cycles_per_row, 2.0);
    }
}
