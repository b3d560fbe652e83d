//! Runs rows through an engine, exact to the bit and to the cycle.
//!
//! A block of rows is split over R streams; each stream is a whole engine that takes its rows back to
//! back. Rows do not influence each other, so the outputs are the same for any R.
pub mod record;
pub mod stall;

use crate::engine::Engine;
use crate::engine::shell::{Space, index_bits};
use crate::program::Loaded;
use crate::rtl::step::{In, Mode, Num, Out, Program, Stepper};
pub use stall::Stall;
use std::sync::Arc;

/// A design ready to be stepped, with its ports.
#[derive(Clone)]
pub struct Simulator {
    program: Arc<Program>,
    ports: Ports,
    lanes: usize,
    index_bits: u32,
    chunks: u32,
}

#[derive(Clone, Copy, Debug)]
struct Ports {
    tdata: In,
    keep: In,
    k: In,
    tvalid: In,
    tlast: In,
    tready: In,
    load_valid: In,
    load_address: In,
    load_word: In,
    load_immediate: In,
    load_gamma: In,
    load_beta: In,
    load_tail: In,
    clear: In,
    in_ready: Out,
    out_valid: Out,
    out_data: Out,
    masked: Out,
    saturations: Out,
    load_ready: Out,
}

/// Rows to run: codes row-major, with an optional mask and row scales. Codes of 16 bits or fewer run faster
/// as a narrower `T`: rows are many, and each beat fetches a part of every stream's.
#[derive(Clone, Copy, Debug)]
pub struct Rows<'a, T = i32> {
    pub row_len: usize,
    /// `n_rows * row_len` input codes.
    pub x: &'a [T],
    /// 1 keeps an element, 0 masks it; as long as `x`.
    pub keep: Option<&'a [u8]>,
    /// k of each row: its scale is the tensor's times 2^-k.
    pub k: Option<&'a [u8]>,
}

impl<T> Rows<'_, T> {
    pub fn n_rows(&self) -> usize {
        self.x.len() / self.row_len
    }
}

/// Gamma and beta as held: beta carries the rounding half of the output stage.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Parameters {
    pub gamma: Vec<i32>,
    /// Codes of beta with the output stage's fraction bits, rounding half included.
    pub beta: Vec<i32>,
}

/// What a block of rows gave besides its codes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BlockReport {
    pub saturated: u64,
    pub masked_rows: u64,
    /// Cycles from the first accepted beat to the last output beat of each row of a stream, inclusive.
    pub row_ends: Vec<u64>,
}

impl Simulator {
    pub fn new(engine: &Engine) -> Self {
        let varying = ["s_axis_tdata", "s_axis_tuser_keep", "s_axis_tuser_k"];
        let d = Program::new(&engine.top, &varying);
        let ports = Ports {
            tdata: d.input("s_axis_tdata"),
            keep: d.input("s_axis_tuser_keep"),
            k: d.input("s_axis_tuser_k"),
            tvalid: d.input("s_axis_tvalid"),
            tlast: d.input("s_axis_tlast"),
            tready: d.input("m_axis_tready"),
            load_valid: d.input("load_valid"),
            load_address: d.input("load_address"),
            load_word: d.input("load_word"),
            load_immediate: d.input("load_immediate"),
            load_gamma: d.input("load_gamma"),
            load_beta: d.input("load_beta"),
            load_tail: d.input("load_tail"),
            clear: d.input("clear"),
            in_ready: d.output("s_axis_tready"),
            out_valid: d.output("m_axis_tvalid"),
            out_data: d.output("m_axis_tdata"),
            masked: d.output("m_axis_tuser_masked"),
            saturations: d.output("saturations"),
            load_ready: d.output("load_ready"),
        };
        Self {
            program: d,
            ports,
            lanes: engine.widths.lanes as usize,
            index_bits: index_bits(&engine.config, &engine.widths),
            chunks: engine.widths.chunks,
        }
    }

    /// The flattened design.
    pub fn program(&self) -> &Arc<Program> {
        &self.program
    }

    /// Lanes of the engine.
    pub fn lanes(&self) -> usize {
        self.lanes
    }

    /// Streams with a program and parameters loaded.
    pub fn session(
        &self,
        loaded: &Loaded,
        parameters: &Parameters,
        streams: usize,
        mode: Mode,
    ) -> Session<'_> {
        self.session_watched(loaded, parameters, streams, mode, &mut |_| ())
    }

    /// As [`Self::session`], and shows each cycle of the loading before its clock.
    pub fn session_watched(
        &self,
        loaded: &Loaded,
        parameters: &Parameters,
        streams: usize,
        mode: Mode,
        watch: &mut dyn FnMut(&Stepper),
    ) -> Session<'_> {
        let mut stepper = Stepper::new(&self.program, streams);
        stepper.set_mode(mode);
        let mut session = Session {
            simulator: self,
            stepper,
            format_is_signed: loaded.binding.output_format.is_signed,
            format_bits: loaded.binding.output_format.bits,
        };
        session.load(loaded, parameters, watch);
        session
    }
}

/// R streams under way.
pub struct Session<'a> {
    simulator: &'a Simulator,
    stepper: Stepper,
    format_is_signed: bool,
    format_bits: u32,
}

impl Session<'_> {
    pub fn stepper(&mut self) -> &mut Stepper {
        &mut self.stepper
    }

    /// Cycles that loading takes: one a word.
    fn load(&mut self, loaded: &Loaded, parameters: &Parameters, watch: &mut dyn FnMut(&Stepper)) {
        let p = self.simulator.ports;
        self.stepper.set_varying::<u8>(p.keep, &[], |_| 0..0, 1);
        for port in [p.tvalid, p.tlast, p.tready, p.clear] {
            self.stepper.set_uniform(port, 0);
        }
        for write in writes(self.simulator, loaded, parameters) {
            let address = ((write.space as i64) << self.simulator.index_bits) + write.index;
            self.stepper.set_uniform(p.load_valid, 1);
            self.stepper.set_uniform(p.load_address, address);
            self.stepper.set_uniform(p.load_word, write.word);
            self.stepper.set_uniform(p.load_immediate, write.immediate);
            for (port, lanes) in [
                (p.load_gamma, &write.gamma),
                (p.load_beta, &write.beta),
                (p.load_tail, &write.tail),
            ] {
                if !lanes.is_empty() {
                    let lanes: Vec<i64> = lanes.iter().map(|&v| i64::from(v)).collect();
                    self.stepper.set_uniform_lanes(port, &lanes);
                }
            }
            loop {
                self.stepper.settle();
                let is_taken = self.stepper.get_uniform(p.load_ready) == 1;
                watch(&self.stepper);
                self.stepper.clock();
                if is_taken {
                    break;
                }
            }
        }
        self.stepper.set_uniform(p.load_valid, 0);
    }

    /// Runs rows: stream s takes rows `s * per_stream` on. `out` takes the codes, as long as `rows.x`.
    pub fn run<T: Num, O: Num>(
        &mut self,
        rows: &Rows<T>,
        stall: &mut Stall,
        out: &mut [O],
    ) -> BlockReport {
        self.run_watched(rows, stall, out, &mut |_, _| true)
    }

    /// As [`Self::run`], and shows each cycle before its clock: its number and the settled words. The run
    /// ends early, in the middle of whatever is under way, when `watch` says false.
    pub fn run_watched<T: Num, O: Num>(
        &mut self,
        rows: &Rows<T>,
        stall: &mut Stall,
        out: &mut [O],
        watch: &mut dyn FnMut(u64, &Stepper) -> bool,
    ) -> BlockReport {
        let p = self.simulator.ports;
        let lanes = self.simulator.lanes;
        let streams = self.stepper.streams();
        let n = rows.row_len;
        let n_rows = rows.n_rows();
        let per_stream = n_rows.div_ceil(streams);
        let chunks = n.div_ceil(lanes);
        let beats = per_stream * chunks;
        let (mut sent, mut received) = (0usize, 0usize);
        let mut report = BlockReport::default();
        let mut before = vec![0i64; streams];
        let mut ended: Option<usize> = None;
        let (mut cycle, mut first) = (0u64, None);
        let mut is_offered = false;
        let mut is_set = usize::MAX;
        while received < beats || ended.is_some() {
            let (go, ready) = stall.cycle();
            is_offered = sent < beats && (is_offered || go);
            if is_offered && is_set != sent {
                self.offer(rows, per_stream, sent / chunks, sent % chunks, chunks);
                is_set = sent;
            }
            self.stepper.set_uniform(p.tvalid, i64::from(is_offered));
            self.stepper.set_uniform(p.tready, i64::from(ready));
            self.stepper.settle_control();
            let gives = self.stepper.get_uniform(p.out_valid) == 1;
            self.stepper.want_outputs(gives || ended.is_some());
            self.stepper.settle_data();
            if let Some(row) = ended.take() {
                self.count_saturations(row, per_stream, n_rows, &mut before, &mut report);
            }
            if is_offered && self.stepper.get_uniform(p.in_ready) == 1 {
                first.get_or_insert(cycle);
                sent += 1;
                is_offered = false;
            }
            if ready && gives {
                let (row, chunk) = (received / chunks, received % chunks);
                self.take(rows, per_stream, row, chunk, out);
                received += 1;
                if chunk + 1 == chunks {
                    report.row_ends.push(cycle - first.unwrap_or(0) + 1);
                    self.stepper.get_varying(p.masked, |s, masked| {
                        let is_real = s * per_stream + row < n_rows;
                        report.masked_rows += u64::from(is_real && masked[0] != 0);
                    });
                    ended = Some(row);
                }
            }
            if !watch(cycle, &self.stepper) {
                break;
            }
            self.stepper.clock();
            cycle += 1;
        }
        report
    }

    /// The beats' count of saturated codes is visible one cycle after the row's last beat.
    fn count_saturations(
        &mut self,
        row: usize,
        per_stream: usize,
        n_rows: usize,
        before: &mut [i64],
        report: &mut BlockReport,
    ) {
        self.stepper.get_varying(self.simulator.ports.saturations, |s, count| {
            if s * per_stream + row < n_rows {
                report.saturated += (count[0] - before[s]) as u64;
            }
            before[s] = count[0];
        });
    }

    fn offer<T: Num>(
        &mut self,
        rows: &Rows<T>,
        per_stream: usize,
        row: usize,
        chunk: usize,
        chunks: usize,
    ) {
        let p = self.simulator.ports;
        let at = Chunk { lanes: self.simulator.lanes, per_stream, row, chunk };
        let part = |s| at.elements(rows, s);
        self.stepper.set_varying(p.tdata, rows.x, part, 0);
        if let Some(keep) = rows.keep {
            self.stepper.set_varying(p.keep, keep, part, 1);
        }
        if let (Some(k), 0) = (rows.k, chunk) {
            let part = |s: usize| {
                let row = s * per_stream + row;
                row.min(k.len())..(row + 1).min(k.len())
            };
            self.stepper.set_varying(p.k, k, part, 0);
        }
        self.stepper.set_uniform(p.tlast, i64::from(chunk + 1 == chunks));
    }

    fn take<T, O: Num>(
        &mut self,
        rows: &Rows<T>,
        per_stream: usize,
        row: usize,
        chunk: usize,
        out: &mut [O],
    ) {
        let at = Chunk { lanes: self.simulator.lanes, per_stream, row, chunk };
        let up = 32 - self.format_bits;
        let is_signed = self.format_is_signed;
        let code = |raw: i32| if is_signed { raw << up >> up } else { raw };
        let part = |s| at.elements(rows, s);
        self.stepper.get_rows(self.simulator.ports.out_data, out, part, code);
    }
}

/// A chunk of the streams' rows.
#[derive(Clone, Copy)]
struct Chunk {
    lanes: usize,
    per_stream: usize,
    row: usize,
    chunk: usize,
}

impl Chunk {
    /// Its elements in stream `s`; none past the last row.
    #[inline]
    fn elements<T>(self, rows: &Rows<T>, s: usize) -> std::ops::Range<usize> {
        let row = s * self.per_stream + self.row;
        if row >= rows.n_rows() {
            return 0..0;
        }
        let from = row * rows.row_len + self.chunk * self.lanes;
        from..(from + self.lanes).min((row + 1) * rows.row_len)
    }
}

/// One word for the load port.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Write {
    pub space: u8,
    pub index: i64,
    pub word: i64,
    pub immediate: i64,
    pub gamma: Vec<i32>,
    pub beta: Vec<i32>,
    pub tail: Vec<i32>,
}

/// Every write that sets an engine up, in order; the descriptor is the last.
pub fn writes(simulator: &Simulator, loaded: &Loaded, parameters: &Parameters) -> Vec<Write> {
    let lanes = simulator.lanes;
    let mut all = vec![];
    for (space, words) in
        [(Space::Vector, &loaded.vector_words), (Space::Scalar, &loaded.scalar_words)]
    {
        for (index, &(word, immediate)) in words.iter().enumerate() {
            all.push(Write {
                space: space as u8,
                index: index as i64,
                word,
                immediate,
                ..Write::default()
            });
        }
    }
    let n = loaded.binding.row_len as usize;
    if loaded.has_gamma || loaded.has_beta {
        assert!(simulator.chunks as usize > loaded.last_index as usize);
        for chunk in 0..=loaded.last_index as usize {
            let part = |codes: &[i32]| -> Vec<i32> {
                (0..lanes)
                    .map(|lane| {
                        let at = chunk * lanes + lane;
                        if at < n { codes.get(at).copied().unwrap_or(0) } else { 0 }
                    })
                    .collect()
            };
            all.push(Write {
                space: Space::Parameters as u8,
                index: chunk as i64,
                gamma: part(&parameters.gamma),
                beta: part(&parameters.beta),
                ..Write::default()
            });
        }
    }
    all.push(Write {
        space: Space::Descriptor as u8,
        word: loaded.descriptor,
        tail: (0..lanes as u32).map(|k| i32::from(k < loaded.tail)).collect(),
        ..Write::default()
    });
    all
}
