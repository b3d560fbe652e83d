//! Records what one engine takes and gives in every cycle, for comparison with other simulators.
//!
//! A cycle is one line of bits: reset and inputs, then outputs, then one bit an output that says whether
//! it is compared. An output beat that is not offered may hold anything and is not compared.
use super::{Parameters, Rows, Simulator, Stall, Write, writes};
use crate::engine::Engine;
use crate::program::Loaded;
use crate::rtl::step::{In, Out, Stepper};
use std::fmt::Write as _;

/// A port with its place in a cycle's line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wire {
    /// Without `_i` or `_o`.
    pub name: String,
    /// Bits of a lane.
    pub width: u32,
    pub lanes: u32,
    /// Lowest bit in the line.
    pub low: u32,
    /// Meaningful only while an output beat is offered.
    pub is_beat: bool,
}

impl Wire {
    pub fn bits(&self) -> u32 {
        self.width * self.lanes
    }
}

/// Where every port stands in a line. Bit 0 is `rst_ni`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    pub inputs: Vec<Wire>,
    pub outputs: Vec<Wire>,
    /// Lowest of the bits that say which outputs are compared, one an output.
    pub mask_low: u32,
    pub bits: u32,
}

impl Layout {
    pub fn of(engine: &Engine) -> Self {
        let top = &engine.top;
        let mut low = 1;
        let mut wire = |name: &str, id: usize, is_output: bool| {
            let (width, lanes) = (top.nodes[id].ty.width(), top.nodes[id].count);
            let is_beat = is_output && name.starts_with("m_axis_t") && name != "m_axis_tvalid";
            let wire = Wire { name: name.to_string(), width, lanes, low, is_beat };
            low += width * lanes;
            wire
        };
        let inputs = top.inputs.iter().map(|&id| wire(top.name_of(id), id, false)).collect();
        let outputs: Vec<Wire> = top.outputs.iter().map(|(n, id)| wire(n, *id, true)).collect();
        Self { inputs, bits: low + outputs.len() as u32, outputs, mask_low: low }
    }

    /// Hexadecimal digits of a line.
    pub fn digits(&self) -> usize {
        self.bits.div_ceil(4) as usize
    }
}

/// What a cycle belongs to, to name a mismatch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// Index of the case that was under way.
    pub case: usize,
    /// Row of the output beat that is next, counted in the case.
    pub row: usize,
    /// First element of that beat.
    pub element: usize,
}

/// Every cycle of one engine.
#[derive(Clone, Debug)]
pub struct Record {
    pub layout: Layout,
    lines: Vec<Vec<u64>>,
    pub places: Vec<Place>,
}

impl Record {
    pub fn cycles(&self) -> usize {
        self.lines.len()
    }

    /// One line a cycle, hexadecimal, for `$readmemh`.
    pub fn to_hex(&self) -> String {
        let digits = self.layout.digits();
        let mut text = String::with_capacity(self.lines.len() * (digits + 1));
        for line in &self.lines {
            push_hex(&mut text, line, digits);
            text.push('\n');
        }
        text
    }

    /// Changes one bit of a line, to see that a comparison notices.
    pub fn flip(&mut self, cycle: usize, bit: u32) {
        self.lines[cycle][bit as usize / 64] ^= 1 << (bit % 64);
    }

    /// A field of a line, at most 64 bits.
    pub fn field(&self, cycle: usize, low: u32, width: u32) -> u64 {
        let bit = |k: u32| self.lines[cycle][k as usize / 64] >> (k % 64) & 1;
        (0..width.min(64)).fold(0, |v, k| v | bit(low + k) << k)
    }
}

/// Appends the low `digits` hexadecimal digits of a number in 64-bit words, lowest word first.
pub fn push_hex(text: &mut String, words: &[u64], digits: usize) {
    for k in (0..digits).rev() {
        let nibble = words[k / 16] >> (k % 16 * 4) & 15;
        let _ = write!(text, "{nibble:x}");
    }
}

/// Places the low `width` bits of a value in a line.
pub fn put(line: &mut [u64], low: u32, width: u32, value: i64) {
    for k in 0..width {
        let at = (low + k) as usize;
        line[at / 64] |= (value as u64 >> k.min(63) & 1) << (at % 64);
    }
}

/// One engine under record.
pub struct Recorder<'a> {
    simulator: &'a Simulator,
    stepper: Stepper,
    ports: Vec<In>,
    output_ports: Vec<Out>,
    /// Words of each input, one a lane.
    values: Vec<Vec<i64>>,
    record: Record,
    place: Place,
    junk: u64,
}

/// How many cycles a row may take to come out before the engine is said to hang.
const PATIENCE: u64 = 4_000_000;

impl<'a> Recorder<'a> {
    /// An engine in reset for two cycles. `seed` decides what idle data lines carry.
    pub fn new(engine: &Engine, simulator: &'a Simulator, seed: u64) -> Self {
        let layout = Layout::of(engine);
        let design = simulator.program();
        let ports: Vec<In> = layout.inputs.iter().map(|w| design.input(&w.name)).collect();
        let output_ports: Vec<Out> =
            layout.outputs.iter().map(|w| design.output(&w.name)).collect();
        let stepper = Stepper::new(design, 1);
        let values = layout.inputs.iter().map(|w| vec![0; w.lanes as usize]).collect();
        let mut r = Self {
            simulator,
            stepper,
            ports,
            output_ports,
            values,
            record: Record { layout, lines: vec![], places: vec![] },
            place: Place::default(),
            junk: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1,
        };
        r.reset(2);
        r
    }

    /// Asserts, from now on, that every word stays in its interval.
    pub fn check_intervals(&mut self) {
        self.stepper.set_checked(true);
    }

    pub fn finish(self) -> Record {
        self.record
    }

    pub fn cycles(&self) -> usize {
        self.record.lines.len()
    }

    /// Names the case that the following cycles belong to.
    pub fn start_case(&mut self, case: usize) {
        self.place = Place { case, row: 0, element: 0 };
    }

    fn set(&mut self, name: &str, lanes: &[i64]) {
        let at = self.record.layout.inputs.iter().position(|w| w.name == name);
        let at = at.expect("an input of the engine");
        let have = &mut self.values[at];
        have.fill(0);
        have[..lanes.len()].copy_from_slice(lanes);
        self.stepper.set_uniform_lanes(self.ports[at], have);
    }

    fn random(&mut self) -> u64 {
        self.junk ^= self.junk >> 12;
        self.junk ^= self.junk << 25;
        self.junk ^= self.junk >> 27;
        self.junk.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    /// Data lines of the input stream while nothing is offered: anything.
    fn idle_data(&mut self) {
        let width = self.record.layout.inputs[0].width;
        let lanes = self.simulator.lanes;
        let data: Vec<i64> = (0..lanes).map(|_| self.random() as i64 >> (64 - width)).collect();
        self.set("s_axis_tdata", &data);
        let keep: Vec<i64> = (0..lanes).map(|_| (self.random() >> 63) as i64).collect();
        self.set("s_axis_tuser_keep", &keep);
        let last = (self.random() >> 63) as i64;
        self.set("s_axis_tlast", &[last]);
        let k = (self.random() >> 60) as i64;
        self.set("s_axis_tuser_k", &[k]);
    }

    /// Settles the cycle and records it; what an output gives can be read until [`Self::clock`].
    fn settle(&mut self, rst_ni: bool) {
        self.stepper.settle();
        let layout = &self.record.layout;
        let mut line = vec![0u64; layout.bits.div_ceil(64) as usize];
        put(&mut line, 0, 1, i64::from(rst_ni));
        for (wire, lanes) in layout.inputs.iter().zip(&self.values) {
            for (k, &v) in lanes.iter().enumerate() {
                put(&mut line, wire.low + k as u32 * wire.width, wire.width, v);
            }
        }
        let is_offered = self.stepper.get_uniform(self.simulator.ports.out_valid) == 1;
        for (k, (wire, &port)) in layout.outputs.iter().zip(&self.output_ports).enumerate() {
            for (lane, v) in self.stepper.get_stream(port, 0).into_iter().enumerate() {
                let low = wire.low + lane as u32 * wire.width;
                put(&mut line, low, wire.width, v);
            }
            let is_compared = is_offered || !wire.is_beat;
            put(&mut line, layout.mask_low + k as u32, 1, i64::from(is_compared));
        }
        self.record.lines.push(line);
        self.record.places.push(self.place.clone());
    }

    /// Holds the engine in reset. Memories keep what they hold.
    pub fn reset(&mut self, cycles: usize) {
        for name in ["s_axis_tvalid", "m_axis_tready", "load_valid", "clear"] {
            self.set(name, &[0]);
        }
        self.stepper.reset();
        for _ in 0..cycles {
            self.settle(false);
            self.stepper.clock();
            self.stepper.reset();
        }
        self.place.element = 0;
    }

    /// One cycle without any transfer.
    pub fn idle(&mut self, clear: bool) {
        self.set("s_axis_tvalid", &[0]);
        self.set("m_axis_tready", &[0]);
        self.set("clear", &[i64::from(clear)]);
        self.idle_data();
        self.settle(true);
        self.stepper.clock();
        self.set("clear", &[0]);
    }

    /// Loads everything through the load port, or the descriptor alone.
    pub fn load(&mut self, loaded: &Loaded, parameters: &Parameters, descriptor_only: bool) {
        let mut all = writes(self.simulator, loaded, parameters);
        if descriptor_only {
            all.drain(..all.len() - 1);
        }
        for name in ["s_axis_tvalid", "m_axis_tready"] {
            self.set(name, &[0]);
        }
        for write in all {
            self.write(&write);
        }
        self.set("load_valid", &[0]);
    }

    fn write(&mut self, write: &Write) {
        let wide = |lanes: &[i32]| lanes.iter().map(|&v| i64::from(v)).collect::<Vec<_>>();
        self.set("load_valid", &[1]);
        self.set("load_address", &[address(self.simulator, write)]);
        self.set("load_word", &[write.word]);
        self.set("load_immediate", &[write.immediate]);
        self.set("load_gamma", &wide(&write.gamma));
        self.set("load_beta", &wide(&write.beta));
        self.set("load_tail", &wide(&write.tail));
        loop {
            self.idle_data();
            self.settle(true);
            let is_taken = self.stepper.get_uniform(self.simulator.ports.load_ready) == 1;
            self.stepper.clock();
            if is_taken {
                break;
            }
        }
    }

    /// Offers rows and takes what comes out; `out` gets a raw code an element. With `stop_after`, ends
    /// as soon as so many beats were taken in, in the middle of whatever is under way.
    pub fn run(
        &mut self,
        rows: &Rows,
        stall: &mut Stall,
        stop_after: Option<usize>,
        out: &mut [i32],
    ) {
        let p = self.simulator.ports;
        let (lanes, n) = (self.simulator.lanes, rows.row_len);
        let chunks = n.div_ceil(lanes);
        let beats = rows.n_rows() * chunks;
        let (mut sent, mut received, mut waited) = (0, 0, 0u64);
        let mut is_offered = false;
        while received < beats && stop_after.is_none_or(|stop| sent < stop) {
            let (go, ready) = stall.cycle();
            if !is_offered && sent < beats && go {
                is_offered = true;
                self.offer(rows, sent / chunks, sent % chunks, chunks);
            } else if !is_offered {
                self.idle_data();
            }
            self.set("s_axis_tvalid", &[i64::from(is_offered)]);
            self.set("m_axis_tready", &[i64::from(ready)]);
            self.place.row = received / chunks;
            self.place.element = received % chunks * lanes;
            self.settle(true);
            if is_offered && self.stepper.get_uniform(p.in_ready) == 1 {
                sent += 1;
                is_offered = false;
            }
            waited += 1;
            if ready && self.stepper.get_uniform(p.out_valid) == 1 {
                waited = 0;
                let words = self.stepper.get_stream(p.out_data, 0);
                let from = received / chunks * n + received % chunks * lanes;
                let to = (from + lanes).min((received / chunks + 1) * n);
                for (y, v) in out[from..to].iter_mut().zip(words) {
                    *y = v as i32;
                }
                received += 1;
            }
            self.stepper.clock();
            assert!(waited < PATIENCE, "the engine gives nothing for {PATIENCE} cycles");
        }
    }

    /// Offers `beats` beats of zeros of which the last is marked, as a row of a wrong length, then waits
    /// a few cycles with the output taken.
    pub fn wrong_row(&mut self, beats: usize) {
        let mut sent = 0;
        let mut after = 0;
        while after < 6 {
            let is_offered = sent < beats;
            self.idle_data();
            self.set("s_axis_tvalid", &[i64::from(is_offered)]);
            self.set("s_axis_tlast", &[i64::from(sent + 1 == beats)]);
            self.set("m_axis_tready", &[1]);
            self.settle(true);
            let taken = is_offered && self.stepper.get_uniform(self.simulator.ports.in_ready) == 1;
            sent += usize::from(taken);
            after += usize::from(!is_offered);
            self.stepper.clock();
        }
    }

    fn offer(&mut self, rows: &Rows, row: usize, chunk: usize, chunks: usize) {
        let (lanes, n) = (self.simulator.lanes, rows.row_len);
        let from = row * n + chunk * lanes;
        let to = (from + lanes).min((row + 1) * n);
        let data: Vec<i64> = rows.x[from..to].iter().map(|&x| i64::from(x)).collect();
        self.set("s_axis_tdata", &data);
        let mut keep = vec![1; lanes];
        if let Some(of) = rows.keep {
            for (k, &x) in keep.iter_mut().zip(&of[from..to]) {
                *k = i64::from(x != 0);
            }
        }
        self.set("s_axis_tuser_keep", &keep);
        let k = rows.k.map_or(0, |k| i64::from(k[row]));
        self.set("s_axis_tuser_k", &[k]);
        self.set("s_axis_tlast", &[i64::from(chunk + 1 == chunks)]);
    }
}

/// Address of a write at the load port: the space above the index.
pub fn address(simulator: &Simulator, write: &Write) -> i64 {
    ((write.space as i64) << simulator.index_bits) + write.index
}
