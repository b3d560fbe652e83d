//! Listings of bound programs, and the cycles that rows take, from reasoning and not from stepping.
//!
//! A row of C chunks is loaded in C cycles. Then, for each scalar block of B cycles and the pass after
//! it of p cycles: one cycle until the block is begun, one until its first micro-op, B, one until the pass
//! is seen to be wanted, of which the last is the pass's start, then p. A pass of v micro-ops a chunk
//! takes `p = v C`, and with cuts what [`Cuts::pass`](crate::engine::Cuts::pass) says. Between a pass and
//! the next block the sums come through R registers, before the first block the row's maximum through M,
//! and the last output beat leaves O + 1 cycles after the last micro-op; R, M and O are 0 without cuts.
//! So a row of n passes alone takes `C + 1 + sum (B + 2 + p) + M + (n - 1) R + O` cycles, first and last
//! beat included.
//!
//! Two rows are in flight. With two passes of p0 and p1 cycles the lanes run A0 B0 A1 B1 A0 ... and
//! never pause, 2 (p0 + p1) cycles for two rows, where scalar work hides behind the other row's
//! pass: `B1 + 2 + R <= p0`, `B0 + 3 + M <= p0` and `B0 + 3 + M <= p1`.
use super::Loaded;
use crate::engine::{Cuts, Engine};
use crate::isa::{ScalarKind, ScalarOp, VectorOp, disassembler};

/// Cycles of rows back to back, unstalled.
#[derive(Clone, Debug, PartialEq)]
pub struct Cycles {
    /// From the first accepted beat to the last output beat of a row alone, inclusive.
    pub first_row: u64,
    /// Mean distance of two rows' last output beats in the steady state. Two rows share the engine, so
    /// distances alternate.
    pub per_row: f64,
    /// From the first accepted beat to the last output beat of the last row, inclusive.
    pub total: u64,
    /// The same for every row.
    pub row_ends: Vec<u64>,
}

/// What time depends on.
#[derive(Clone, Debug, PartialEq)]
struct Shape {
    chunks: u64,
    cuts: Cuts,
    /// Chunks take no turns.
    is_spaced: bool,
    /// Registers between a beat and its row's maximum.
    to_maximum: u64,
    /// Registers between a micro-op's issue and the root of the tree, and up to the output.
    to_root: u64,
    to_output: u64,
    stages: Vec<Stage>,
}

/// A scalar block and the pass after it.
#[derive(Clone, Debug, PartialEq)]
struct Stage {
    /// Cycles of the scalar block.
    block: u64,
    /// Cycles from the block's first to that of its `take`.
    take: Option<u64>,
    /// Micro-ops a chunk.
    slots: u64,
    /// The last micro-op feeds the sums.
    reduces: bool,
    /// Micro-op of the body that lets go of the chunk.
    release: Option<u64>,
}

fn scalar_cycles(values: &[i64], engine: &Engine) -> u64 {
    let kind = ScalarKind::from_code(values[0]).expect("a kind that was encoded");
    u64::from(engine.cuts.scalar_op(kind, engine.widths.digits))
}

impl Shape {
    fn of(loaded: &Loaded, engine: &Engine) -> Self {
        let (sf, vf) = (ScalarOp::fields(1), VectorOp::fields());
        let (s_end, v_end) = (sf.index("end"), vf.index("end"));
        let (reduce, release) = (vf.index("reduce"), vf.index("release"));
        let blocks = loaded.scalar.split_inclusive(|v| v[s_end] == 1);
        let bodies = loaded.vector.split_inclusive(|v| v[v_end] == 1);
        let stages = blocks.zip(bodies).map(|(block, body)| {
            let cycles = |ops: &[Vec<i64>]| ops.iter().map(|v| scalar_cycles(v, engine)).sum();
            let take = block.iter().position(|v| v[0] == ScalarKind::Take.code());
            Stage {
                block: cycles(block),
                take: take.map(|k| cycles(&block[..k])),
                slots: body.len() as u64,
                reduces: body.last().is_some_and(|v| v[reduce] != 0),
                release: body.iter().position(|v| v[release] == 1).map(|k| k as u64),
            }
        });
        Self {
            chunks: u64::from(loaded.last_index) + 1,
            cuts: engine.cuts,
            is_spaced: loaded.is_spaced,
            to_maximum: u64::from(engine.cuts.maximum(engine.widths.lanes)),
            to_root: u64::from(engine.cuts.root(engine.widths.lanes)),
            to_output: u64::from(engine.cuts.outputs()),
            stages: stages.collect(),
        }
    }

    /// Cycles of a stage's pass over so many chunks.
    fn pass(&self, stage: &Stage, chunks: u64) -> u64 {
        self.cuts.pass(stage.slots, chunks, self.is_spaced)
    }

    /// Cycles of all passes.
    fn passes(&self) -> u64 {
        self.stages.iter().map(|s| self.pass(s, self.chunks)).sum()
    }

    fn row_alone(&self) -> u64 {
        let blocks: u64 = self.stages.iter().map(|s| s.block + 2).sum();
        let between = (self.stages.len() as u64).saturating_sub(1) * self.to_root;
        self.chunks + 1 + blocks + self.passes() + self.to_maximum + between + self.to_output
    }

    /// Fewest chunks from which the lanes never pause; only of programs of two passes.
    fn hides_from(&self) -> Option<u64> {
        let [a, b] = self.stages.as_slice() else { return None };
        let of_load = a.block + 3 + self.to_maximum;
        let least = [(b.block + 2 + self.to_root, a), (of_load, a), (of_load, b)];
        let hides = |c: &u64| least.iter().all(|(work, over)| *work <= self.pass(over, *c));
        // A pass takes at least a cycle a chunk.
        let enough = least.iter().map(|(work, _)| *work).max().unwrap_or(1);
        (1..=enough).find(hides)
    }

    /// Chunks of the next row that are loaded behind a pass that begins at `first` and lets go of its
    /// chunks, when the loader is free from `from` on. A chunk trails the group before.
    fn trailing(&self, stage: &Stage, first: u64, from: u64) -> u64 {
        let Some(release) = stage.release else { return 0 };
        let turns = u64::from(self.cuts.group());
        let a_group = if self.is_spaced { 1 } else { turns };
        let n_groups = self.chunks.div_ceil(a_group);
        let last = first + self.pass(stage, self.chunks);
        // In its window, a cycle a turn, a group lets the loader go up to its first chunk.
        let window = |g: u64| first + (g * stage.slots + release) * turns;
        let open = |g: u64| (window(g) + turns).min(last).saturating_sub(window(g).max(from));
        let missed = from.saturating_sub(window(0)).div_ceil(stage.slots * turns);
        let whole = missed.max(1);
        let part = if missed > 1 && missed <= n_groups { open(missed - 1) } else { 0 };
        if self.is_spaced {
            return (whole..n_groups).fold(part.min(missed.saturating_sub(1)), |loaded, g| {
                loaded + open(g).min(g - loaded)
            });
        }
        match n_groups.saturating_sub(whole) {
            0 => part,
            n => part + (n - 1) * turns + open(n_groups - 1),
        }
    }
}

/// A row in one of the two banks: its next stage and from when on it waits.
#[derive(Clone, Copy, Debug, Default)]
struct Bank {
    stage: usize,
    wants_scalar: Option<u64>,
    wants_pass: Option<u64>,
}

/// A pass on the lanes or a block on the scalar unit, first and last cycle included.
#[derive(Clone, Copy, Debug)]
struct Work {
    bank: usize,
    first: u64,
    last: u64,
}

/// Last output beat of each row, counted from 1 at the first accepted beat.
///
/// Steps from event to event: passes and blocks begin and end, sums are taken. Loading needs no
/// events: a chunk is written once its last read is over, so its end follows from the pass.
fn events(shape: &Shape, n_rows: usize) -> Vec<u64> {
    let c = shape.chunks;
    let mut banks = [Bank::default(); 2];
    banks[0].wants_scalar = Some(c + shape.to_maximum);
    banks[1].wants_scalar = (n_rows > 1).then_some(2 * c + shape.to_maximum);
    // Rows begun to be loaded, and the first cycle in which the next can be.
    let (mut n_loaded, mut loader_from) = (n_rows.min(2), 2 * c);
    let (mut pass, mut block): (Option<Work>, Option<Work>) = (None, None);
    let (mut older, mut ends) = (0, vec![]);
    // The sums wait for their `take` before this cycle.
    let mut sums_free: Option<u64> = Some(0);
    let mut now = 0;
    let is_due = |at: Option<u64>, now: u64| at.is_some_and(|at| at <= now);
    while ends.len() < n_rows {
        let ended = pass.filter(|p| p.last == now);
        let scalar_is_idle = block.is_none_or(|b| b.last < now);
        let scalar_bank =
            [older, 1 - older].into_iter().find(|&b| is_due(banks[b].wants_scalar, now));
        let scalar_starts = scalar_bank.filter(|_| scalar_is_idle);
        let row_ended = ended.filter(|p| banks[p.bank].stage + 1 == shape.stages.len());
        let eldest = if row_ended.is_some() { 1 - older } else { older };
        let sums_end = ended.is_some_and(|p| shape.stages[banks[p.bank].stage].reduces);
        let sums_go = !sums_end || (scalar_is_idle && scalar_starts.is_none());
        let sums_ok = is_due(sums_free, now) && sums_go;
        let other = 1 - eldest;
        let pass_bank = if is_due(banks[eldest].wants_pass, now) {
            Some(eldest)
        } else {
            Some(other).filter(|&b| is_due(banks[b].wants_pass, now) && banks[b].stage == 0)
        };
        let has_room = pass.is_none_or(|p| p.last <= now);
        let pass_starts = pass_bank.filter(|_| has_room && sums_ok);

        if let Some(b) = block.filter(|b| b.last == now) {
            banks[b.bank].wants_pass = Some(now + 1);
        }
        if let Some(p) = ended {
            let stage = &shape.stages[banks[p.bank].stage];
            if stage.reduces {
                sums_free = None;
            }
            if row_ended.is_some() {
                ends.push(now + 2 + shape.to_output);
                banks[p.bank] = Bank::default();
                if n_loaded < n_rows {
                    let early = shape.trailing(stage, p.first, loader_from);
                    loader_from = loader_from.max(now + 1) + c - early;
                    banks[p.bank].wants_scalar = Some(loader_from + shape.to_maximum);
                    n_loaded += 1;
                }
            } else {
                banks[p.bank].stage += 1;
                banks[p.bank].wants_scalar = Some(now + 1 + shape.to_root);
            }
            pass = None;
        }
        if let Some(bank) = scalar_starts {
            let stage = &shape.stages[banks[bank].stage];
            banks[bank].wants_scalar = None;
            block = Some(Work { bank, last: now + stage.block, first: now + 1 });
            if let Some(take) = stage.take {
                sums_free = Some(now + 1 + take + 1);
            }
        }
        if let Some(bank) = pass_starts {
            banks[bank].wants_pass = None;
            let cycles = shape.pass(&shape.stages[banks[bank].stage], c);
            pass = Some(Work { bank, first: now + 1, last: now + cycles });
        }
        older = eldest;

        let mut next = vec![sums_free, pass.map(|p| p.last), block.map(|b| b.last)];
        next.push(block.map(|b| b.last + 1));
        next.extend(banks.iter().flat_map(|b| [b.wants_scalar, b.wants_pass]));
        match next.into_iter().flatten().filter(|&t| t > now).min() {
            Some(t) => now = t,
            // Something is due that could not begin in this cycle: a program that never takes its sums
            // would wait for ever.
            None if ended.is_some() || scalar_starts.is_some() => now += 1,
            None => break,
        }
    }
    ends
}

/// Rows of the run that shows the steady state of rows too short to hide the scalar work.
const STEADY_ROWS: usize = 24;

/// Cycles of `n_rows` rows back to back.
pub fn cycles(loaded: &Loaded, engine: &Engine, n_rows: usize) -> Cycles {
    let shape = Shape::of(loaded, engine);
    let row_ends = events(&shape, n_rows);
    let per_row = if shape.hides_from().is_some_and(|least| shape.chunks >= least) {
        shape.passes() as f64
    } else {
        match events(&shape, STEADY_ROWS).as_slice() {
            [.., a, _, _, _, _, _, b, _, _] => (b - a) as f64 / 6.0,
            _ => f64::NAN,
        }
    };
    let total = row_ends.last().copied().unwrap_or(0);
    Cycles { first_row: shape.row_alone(), per_row, total, row_ends }
}

/// The program as the engine holds it: address, word, text and cycles of each micro-op, a total for
/// each block, and the cycles of a row.
pub fn listing(loaded: &Loaded, engine: &Engine) -> String {
    let shape = Shape::of(loaded, engine);
    let c = shape.chunks;
    let n = loaded.binding.row_len;
    let mut text = format!("{} on {}, N = {n}, {c} chunks\n", loaded.name, engine.config.name);
    let row =
        |set: &crate::isa::FieldSet, at: usize, values: &[i64], op: String, cycles: String| {
            let digits = set.width().div_ceil(4) as usize;
            let word = set.encode(values).map_or("?".to_string(), |w| format!("{w:0digits$x}"));
            format!("  {at:3}  {word}  {op:<52}  {cycles:>4}\n")
        };
    let (s_end, v_end) = (ScalarOp::fields(1).index("end"), VectorOp::fields().index("end"));
    let blocks = loaded.scalar.split_inclusive(|v| v[s_end] == 1);
    let bodies = loaded.vector.split_inclusive(|v| v[v_end] == 1);
    let (mut s_at, mut v_at) = (0, 0);
    for (i, ((block, body), stage)) in blocks.zip(bodies).zip(&shape.stages).enumerate() {
        text += &format!("\nscalar block {i}: {} cycles\n", stage.block);
        for v in block {
            let cycles = scalar_cycles(v, engine).to_string();
            text += &row(&engine.scalar_fields, s_at, v, disassembler::scalar(v), cycles);
            s_at += 1;
        }
        let (pass, group) = (shape.pass(stage, c), shape.cuts.group());
        let turns = match (group, shape.is_spaced) {
            (1, _) => String::new(),
            (_, false) => format!(", {group} in turn"),
            (_, true) => format!(", {group} cycles apart"),
        };
        text +=
            &format!("\nvector body {i}: {} x {c} chunks{turns} = {pass} cycles\n", stage.slots);
        for v in body {
            text +=
                &row(&engine.vector_fields, v_at, v, disassembler::vector(v), "1/C".to_string());
            v_at += 1;
        }
    }
    // Where chunks take turns a pass is not a multiple of C.
    let is_even = shape.cuts.group() == 1;
    let part = |s: &Stage| match is_even {
        true => format!("({} + 2 + {} C)", s.block, s.slots),
        false => format!("({} + 2 + {})", s.block, shape.pass(s, c)),
    };
    let mut parts: Vec<String> = shape.stages.iter().map(part).collect();
    let between = (shape.stages.len() as u64).saturating_sub(1) * shape.to_root;
    let more = [shape.to_maximum, between, shape.to_output];
    parts.extend(more.iter().filter(|&&n| n > 0).map(u64::to_string));
    let alone = shape.row_alone();
    text += &format!("\nrow alone: C + 1 + {} = {alone} cycles\n", parts.join(" + "));
    if let Some(least) = shape.hides_from() {
        let slots: u64 = shape.stages.iter().map(|s| s.slots).sum();
        let (passes, state) = (shape.passes(), if c >= least { "here" } else { "not here" });
        let as_chunks = if is_even { format!("{slots} C = ") } else { String::new() };
        text += &format!("steady state: {as_chunks}{passes} cycles a row");
        text += &format!(", from C = {least} on ({state})\n");
    }
    text
}
