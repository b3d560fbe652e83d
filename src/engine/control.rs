//! The sequencer: loads rows into the two banks, runs passes on the lanes and blocks on the scalar
//! unit. Nothing here depends on data, so timing does not.
use super::cuts::Cuts;
use super::turns::{Turns, Walk};
use super::widths::Widths;
use crate::num::Interval;
use crate::rtl::{Module, Net, Word};
use std::rc::Rc;

/// Program counters: (vector, scalar) in bits.
pub fn counter_bits(vector_words: u32, scalar_words: u32) -> (u32, u32) {
    let bits = |n: u32| super::widths::bits_for(u64::from(n) - 1);
    (bits(vector_words), bits(scalar_words))
}

/// A register for each of the two rows in flight, read by row.
struct PerRow<'a> {
    q: [Word<'a>; 2],
}

impl<'a> PerRow<'a> {
    fn new(net: &'a Net, name: &str, ty: Interval, reset: i64) -> Self {
        Self { q: ["a", "b"].map(|r| net.state(&format!("{name}_{r}"), ty, 1, Some(reset))) }
    }

    fn of(&self, row: Word<'a>, name: &str) -> Word<'a> {
        row.mux(self.q[1], self.q[0]).named(name)
    }

    /// Drives both: in order of priority, (row, when, value).
    fn drive(&self, net: &'a Net, name: &str, writes: &[(Word<'a>, Word<'a>, Word<'a>)]) {
        for (k, tag) in ["a", "b"].iter().enumerate() {
            let mut value = self.q[k];
            for (i, &(row, when, new)) in writes.iter().rev().enumerate() {
                let here = if k == 1 { row } else { !row };
                value = (when & here).mux(new, value).named(&format!("{name}_{tag}_next{}x", i));
            }
            net.drive(self.q[k], value, None);
        }
    }
}

/// Describes the sequencer for program stores of the given sizes.
pub fn describe(w: &Widths, cuts: &Cuts, vector_words: u32, scalar_words: u32) -> Rc<Module> {
    let net = Net::new(
        "sequencer",
        "src/engine/control.rs, fn describe",
        "loads rows, runs passes on the lanes and blocks on the scalar unit.\n\
         Two rows are in flight; at the end of a pass the older row goes on if it can.",
    );
    words(&net, w, cuts, vector_words, scalar_words);
    net.finish()
}

fn words(net: &Net, w: &Widths, cuts: &Cuts, vector_words: u32, scalar_words: u32) {
    let bit = Interval::unsigned(1);
    let (v_bits, s_bits) = counter_bits(vector_words, scalar_words);
    let (v_pc, s_pc) = (Interval::unsigned(v_bits), Interval::unsigned(s_bits));
    let chunk = Interval::unsigned(w.chunk);
    let digits = Interval::new(0, i64::from(w.digits));
    let zero = net.constant(0);
    let one = net.constant(1);

    let is_set_up = net.input("set_up", bit, "a descriptor is loaded and none is being written");
    let last_index = net.input("last_index", chunk, "index of a row's last chunk");
    let in_valid = net.input("in_valid", bit, "a beat is offered");
    let in_last = net.input("in_last", bit, "the offered beat is marked as a row's last");
    let hold = net.input("hold", bit, "the output register is full and not taken");
    let v_end = net.input("v_end", bit, "last micro-op of the body");
    let v_last = net.input("v_last", bit, "last body of the row");
    let v_release = net.input("v_release", bit, "the body is the last to read the row");
    let v_reduces = net.input("v_reduces", bit, "the micro-op feeds the tree");
    let s_mul = net.input("s_mul", bit, "the scalar micro-op is a product");
    let s_take = net.input("s_take", bit, "the scalar micro-op takes the sums");
    let s_end = net.input("s_end", bit, "last micro-op of the scalar block");
    let s_adds =
        cuts.scalar.then(|| net.input("s_adds", bit, "the scalar micro-op uses the adder"));
    let spaced = (cuts.group() > 1)
        .then(|| net.input("spaced", bit, "chunks take no turns: a body waits for each micro-op"));

    let is_free = PerRow::new(net, "is_free", bit, 1);
    let wants_scalar = PerRow::new(net, "wants_scalar", bit, 0);
    let wants_pass = PerRow::new(net, "wants_pass", bit, 0);
    let pass_start = PerRow::new(net, "pass_start", v_pc, 0);
    let block_start = PerRow::new(net, "block_start", s_pc, 0);
    let older = net.state("older", bit, 1, Some(0));
    let is_running = net.state("is_running", bit, 1, Some(0));
    let run_row = net.state("run_row", bit, 1, Some(0));
    let run_chunk = net.state("run_chunk", chunk, 1, Some(0));
    let run_pc = net.state("run_pc", v_pc, 1, Some(0));
    let body_pc = net.state("body_pc", v_pc, 1, Some(0));
    let turns = spaced.map(|spaced| Turns::new(net, cuts.group(), chunk, spaced));
    let sums_are_full = net.state("sums_are_full", bit, 1, Some(0));
    let is_busy = net.state("scalar_is_busy", bit, 1, Some(0));
    let s_row = net.state("scalar_row", bit, 1, Some(0));
    let s_counter = net.state("scalar_pc", s_pc, 1, Some(0));
    let digit = net.state("digit", digits, 1, Some(0));
    let load_row = net.state("load_row", bit, 1, Some(0));
    let load_chunk = net.state("load_chunk", chunk, 1, Some(0));
    let is_skipping = net.state("is_skipping", bit, 1, Some(0));

    net.section("The loader: a bank is written when its row is done with it, chunk by chunk.");
    let row_is_free = is_free.of(load_row, "load_row_is_free");
    let behind = turns.as_ref().map_or(run_chunk, Turns::first);
    let trails = is_running & v_release & run_row.equal(load_row) & load_chunk.less(behind);
    let in_ready = (is_set_up & (row_is_free | trails | is_skipping)).named("in_ready");
    let taken = in_valid & in_ready;
    let load = (taken & !is_skipping).named("load");
    let is_last = load_chunk.equal(last_index).named("load_is_last");
    let is_loaded = (load & is_last & in_last).named("row_is_loaded");
    let is_wrong = (load & !is_last.equal(in_last)).named("length_is_wrong");
    let counted = (load_chunk + one).named("load_chunk_up").bits(0, w.chunk);
    let restarts = is_last | in_last;
    net.drive(load_chunk, restarts.mux(zero, counted).named("load_chunk_d"), Some(load));
    net.drive(
        is_skipping,
        (!in_last & (is_last | is_skipping)).named("is_skipping_d"),
        Some(taken),
    );
    net.drive(load_row, (!load_row).named("load_row_d"), Some(is_loaded));

    net.section("The lanes: the micro-op under way and what it ends.");
    let moves = is_running & !hold;
    let step = match &turns {
        None => moves.named("step"),
        Some(turns) => turns.step(moves.named("moves")),
    };
    let is_last_chunk = run_chunk.equal(last_index).named("run_is_last_chunk");
    let body_end = (step & v_end).named("body_end");
    let pass_end = (body_end & is_last_chunk).named("pass_end");
    let row_end = (pass_end & v_last).named("row_end");
    let goes_on = (pass_end & !v_last).named("row_goes_on");
    let known = row_is_known(net, cuts, w.lanes, [is_loaded, load_row]);
    let summed = sums_are_in(net, cuts, w.lanes, hold, [goes_on, run_row]);

    net.section("The scalar unit: the block under way.");
    let last_digit = digit.equals(i64::from(w.digits));
    // With a register at its operands the adder takes a second cycle.
    let adds_first = s_adds.map(|s_adds| (s_adds & digit.equals(0)).named("adder_reads"));
    let more = adds_first.map_or(s_mul & !last_digit, |reads| (s_mul & !last_digit) | reads);
    let s_done = (is_busy & !more).named("scalar_op_done");
    let block_end = (s_done & s_end).named("block_end");
    let steps = (is_busy & more).named("digit_steps");
    let digit_up = (digit + one).named("digit_up").fit(Interval::new(1, i64::from(w.digits) + 1));
    let digit_next = steps.mux(digit_up, zero).named("digit_d").fit(digits);
    net.drive(digit, digit_next, None);
    let older_wants = wants_scalar.of(older, "older_wants_scalar");
    let younger_wants = wants_scalar.of(!older, "younger_wants_scalar");
    let s_starts = (!is_busy & (older_wants | younger_wants)).named("block_starts");
    let s_start_row = older_wants.mux(older, !older).named("block_row");
    let s_up = (s_counter + one).named("scalar_pc_up").bits(0, s_bits);
    let s_from = block_start.of(s_start_row, "block_from");
    let s_on = (s_done & !s_end).mux(s_up, s_counter).named("scalar_pc_on");
    let s_next = s_starts.mux(s_from, s_on);
    let s_next = s_next.named("scalar_pc_d");
    net.drive(s_counter, s_next, None);
    net.drive(s_row, s_start_row, Some(s_starts));
    net.drive(is_busy, (s_starts | is_busy & !block_end).named("scalar_is_busy_d"), None);

    net.section("The next pass: the older row's if it is ready, else the younger row's first.");
    let eldest = (!older.equal(row_end)).named("eldest");
    let eldest_wants = wants_pass.of(eldest, "eldest_wants_pass");
    let other_wants = wants_pass.of(!eldest, "other_wants_pass");
    let other_is_first = pass_start.of(!eldest, "other_pass_start").equals(0);
    let sums_end = (pass_end & v_reduces).named("sums_end");
    let sums_go = !is_busy & !s_starts;
    let sums_ok = (!sums_are_full & (!sums_end | sums_go)).named("sums_ok");
    let room = (!is_running & !hold) | pass_end;
    let starts = room & sums_ok & (eldest_wants | (other_wants & other_is_first));
    let starts = starts.named("pass_starts");
    let start_row = eldest_wants.mux(eldest, !eldest).named("pass_row");
    let start_pc = pass_start.of(start_row, "pass_from");
    let v_up = (run_pc + one).named("run_pc_up").bits(0, v_bits);
    let chunk_up = (run_chunk + one).named("run_chunk_up").bits(0, w.chunk);
    let walk = Walk { pc: run_pc, up: v_up, body: body_pc, chunk: run_chunk, chunk_up };
    let (pc_on, chunk_on) = match &turns {
        None => walk.alone(net, step, body_end, is_last_chunk),
        Some(turns) => turns.walk(&walk, moves, v_end, is_last_chunk, starts),
    };
    let pc_next = starts.mux(start_pc, pc_on).named("run_pc_d");
    let chunk_next = starts.mux(zero, chunk_on).named("run_chunk_d");
    let row_next = starts.mux(start_row, run_row).named("run_row_d");
    net.drive(run_pc, pc_next, None);
    net.drive(body_pc, start_pc, Some(starts));
    net.drive(run_chunk, chunk_next, None);
    net.drive(run_row, row_next, None);
    net.drive(is_running, (starts | is_running & !pass_end).named("is_running_d"), None);
    net.drive(older, eldest, None);
    let taken_sums = s_done & s_take;
    net.drive(
        sums_are_full,
        (sums_end | sums_are_full & !taken_sums).named("sums_are_full_d"),
        None,
    );

    net.section("The two rows in flight.");
    is_free.drive(net, "is_free", &[(load_row, is_loaded, zero), (run_row, row_end, one)]);
    wants_scalar.drive(
        net,
        "wants_scalar",
        &[(s_start_row, s_starts, zero), (known[1], known[0], one), (summed[1], summed[0], one)],
    );
    wants_pass.drive(net, "wants_pass", &[(start_row, starts, zero), (s_row, block_end, one)]);
    let after_pass = row_end.mux(zero, v_up).named("pass_start_after");
    pass_start.drive(net, "pass_start", &[(run_row, pass_end, after_pass)]);
    block_start.drive(net, "block_start", &[(run_row, row_end, zero), (s_row, block_end, s_up)]);

    net.section("What the data path is told.");
    let at_start = load_chunk.equals(0).named("load_is_first");
    let give = |name: &str, word: Word<'_>, doc: &str| net.output(name, word.pinned(), doc);
    give("in_ready", in_ready, "the offered beat is taken");
    give("load", load, "a chunk is written");
    give("load_row", load_row, "row (bank) that is loaded");
    give("load_chunk", load_chunk, "index of the chunk that is loaded");
    give("load_first", at_start, "first chunk of the row");
    give("load_last", is_last, "last chunk of the row");
    give("row_is_loaded", is_loaded, "the row is complete with this beat");
    give("length_is_wrong", is_wrong, "the row's length is not the descriptor's");
    give("step", step, "a micro-op is carried out");
    give("run_row", run_row, "row on the lanes");
    give("run_chunk", run_chunk, "chunk on the lanes");
    give("run_is_first", run_chunk.equals(0).named("run_is_first_chunk"), "first chunk");
    give("run_is_last", is_last_chunk, "last chunk of the row");
    give("fetch", (!hold).named("fetch"), "the next micro-op and chunk are read");
    give("fetch_pc", pc_next, "address of the next vector micro-op");
    give("fetch_chunk", chunk_next, "chunk of the next micro-op");
    give("fetch_row", row_next, "row of the next micro-op");
    give("scalar_on", is_busy, "a scalar micro-op is under way");
    give("scalar_row", s_row, "row on the scalar unit");
    give("scalar_pc", s_next, "address of the next scalar micro-op");
    give("digit_first", digit.equals(0).named("digit_is_first"), "operands are read");
    let no_load = at_start & !is_skipping;
    let both_free = is_free.q[0] & is_free.q[1];
    give("idle", (both_free & no_load & !is_running).named("idle"), "no row is inside");
}

/// The end of a row's load and the row, (when, row), in the cycle in which its maximum is known.
fn row_is_known<'a>(
    net: &'a Net,
    cuts: &Cuts,
    lanes: u32,
    [is_loaded, row]: [Word<'a>; 2],
) -> [Word<'a>; 2] {
    let (pipe, stage) = (net.pipe(None), cuts.maximum(lanes));
    pipe.leave([pipe.delay_valid(is_loaded, stage), pipe.delay(row.pinned(), stage)])
}

/// The end of a pass and its row, (when, row), in the cycle in which the pass's sums are as far as they would
/// be without cuts: through the stages of the lanes, which `hold` stops, then through those of the tree.
fn sums_are_in<'a>(
    net: &'a Net,
    cuts: &Cuts,
    lanes: u32,
    hold: Word<'a>,
    [goes_on, row]: [Word<'a>; 2],
) -> [Word<'a>; 2] {
    if cuts.root(lanes) == 0 {
        return [goes_on, row];
    }
    let advance = (!hold).named("advance").unranked();
    let (held, free) = (net.pipe(Some(advance)), net.pipe(None));
    let mut ended = held.delay_valid(goes_on, cuts.leaves());
    let row = held.delay(row.pinned(), cuts.leaves());
    if cuts.leaves() > 0 {
        ended = (ended & advance).named("row_leaves");
    }
    let ended = free.delay_valid(free.enter(ended), cuts.root(lanes));
    let row = free.delay(free.enter(row), cuts.root(lanes));
    free.leave([ended, row])
}
