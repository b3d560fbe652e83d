//! How a pass walks through its chunks: one after the other, or in groups that take turns.
//!
//! With registers in the loop through T, a micro-op cannot be followed at once by the next of its chunk.
//! A group of as many chunks as the loop has cycles carries each micro-op out in turn, so the lanes stay
//! busy; only the last group of a pass may have idle turns.
use crate::num::Interval;
use crate::rtl::{Net, Word};

/// The counters of a pass and what would come next.
pub struct Walk<'a> {
    pub pc: Word<'a>,
    /// The program counter plus one, and the first of the body.
    pub up: Word<'a>,
    pub body: Word<'a>,
    pub chunk: Word<'a>,
    pub chunk_up: Word<'a>,
}

impl<'a> Walk<'a> {
    /// Next (program counter, chunk) when every chunk carries out the whole body.
    pub fn alone(
        &self,
        net: &'a Net,
        step: Word<'a>,
        body_end: Word<'a>,
        is_last: Word<'a>,
    ) -> (Word<'a>, Word<'a>) {
        let pc = body_end.mux(self.body, self.up).named("run_pc_on");
        // The chunk after the last is the first: addresses stay inside the row.
        let after = is_last.mux(net.constant(0), self.chunk_up).named("run_chunk_after");
        let chunk = body_end.mux(after, self.chunk).named("run_chunk_on");
        (step.mux(pc, self.pc).named("run_pc_hold"), chunk)
    }
}

/// A group of chunks that take turns.
pub struct Turns<'a> {
    net: &'a Net,
    group: u32,
    /// Turn of the group, 0 to group - 1.
    turn: Word<'a>,
    /// First chunk of the group.
    first: Word<'a>,
    /// The turn has no chunk.
    is_idle: Word<'a>,
    /// Chunks take no turns: each micro-op has a group's turns to itself.
    spaced: Word<'a>,
}

impl<'a> Turns<'a> {
    pub fn new(net: &'a Net, group: u32, chunk: Interval, spaced: Word<'a>) -> Self {
        let turns = Interval::new(0, i64::from(group) - 1);
        Self {
            net,
            group,
            turn: net.state("turn", turns, 1, Some(0)),
            first: net.state("group_chunk", chunk, 1, Some(0)),
            is_idle: net.state("turn_is_idle", Interval::unsigned(1), 1, Some(0)),
            spaced,
        }
    }

    /// Chunks before this one have been through the whole body.
    pub fn first(&self) -> Word<'a> {
        self.first
    }

    /// Whether a chunk's micro-op is carried out, where the pass moves.
    pub fn step(&self, moves: Word<'a>) -> Word<'a> {
        (moves & !self.is_idle).named("step")
    }

    /// Next (program counter, chunk); drives the group's registers.
    pub fn walk(
        &self,
        at: &Walk<'a>,
        moves: Word<'a>,
        end: Word<'a>,
        is_last: Word<'a>,
        starts: Word<'a>,
    ) -> (Word<'a>, Word<'a>) {
        let (net, zero) = (self.net, self.net.constant(0));
        let last_turn = self.turn.equals(i64::from(self.group) - 1).named("turn_is_last");
        let turned = (moves & last_turn).named("group_turns");
        let pc = end.mux(at.body, at.up).named("run_pc_on");
        let pc = turned.mux(pc, at.pc).named("run_pc_hold");
        // An idle turn stays at the last chunk: addresses stay inside the row.
        let after = is_last.mux(at.chunk, at.chunk_up).named("run_chunk_after");
        let in_group = self.spaced.mux(at.chunk, after).named("run_chunk_in_group");
        let of_next = end.mux(after, self.first).named("run_chunk_of_next");
        let chunk = last_turn.mux(of_next, in_group).named("run_chunk_moved");
        let chunk = moves.mux(chunk, at.chunk).named("run_chunk_on");

        let up = (self.turn + net.constant(1)).named("turn_up");
        let turn = last_turn.mux(zero, up).named("turn_after").fit(self.turn.ty());
        let turn = moves.mux(turn, self.turn).named("turn_on");
        net.drive(self.turn, starts.mux(zero, turn).named("turn_d"), None);
        let is_idle = !last_turn & (self.is_idle | is_last | self.spaced);
        let is_idle = moves.mux(is_idle, self.is_idle).named("turn_is_idle_on");
        net.drive(self.is_idle, (is_idle & !starts).named("turn_is_idle_d"), None);
        let first = (turned & end).mux(of_next, self.first).named("group_chunk_on");
        net.drive(self.first, starts.mux(zero, first).named("group_chunk_d"), None);
        (pc, chunk)
    }
}
