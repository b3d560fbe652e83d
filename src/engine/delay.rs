//! A coarse delay for each operation of the netlist: the logic depth of fast structures in ps.
//!
//! It ranks the places for registers until a technology's own model is at hand; [`super::place`]
//! takes any. The constants are ours, set so that the paths of `edge` agree with a speed-driven ABC of
//! sky130hd at tt, 25 C, 1.80 V, no wires (Yosys 0.23, `dch; map -B 0.9; topo; buffer; upsize; dnsize`).
use crate::rtl::timing::Delay;
use crate::rtl::{Node, Op};

/// The coarse model.
pub struct LogicDepth;

/// A gate, a choice of two, the least of an adder and what each doubling of its width adds.
const GATE: u32 = 65;
const CHOICE: u32 = 140;
const ADDER: u32 = 100;
const ADDER_DOUBLING: u32 = 100;
/// A level of carry-save addition.
const SAVE: u32 = 230;
/// A level of a table.
const TABLE: u32 = 100;
/// Buffers of a word that steers more than eight bits, for each doubling.
const FANOUT: u32 = 25;

/// Smallest k with 2^k >= n.
fn log2(n: u32) -> u32 {
    super::widths::log2_ceil(u64::from(n))
}

fn add(width: u32) -> u32 {
    ADDER + ADDER_DOUBLING * log2(width)
}

/// Carry-save levels from `n` addends to two: each takes three to two.
fn save_levels(mut n: u32) -> u32 {
    let mut levels = 0;
    while n > 2 {
        n -= n / 3;
        levels += 1;
    }
    levels
}

impl Delay for LogicDepth {
    fn operation(&self, node: &Node, operands: &[&Node]) -> u32 {
        let width = node.ty.width();
        let of = |k: usize| operands[k].ty.width();
        let is_constant = |k: usize| matches!(operands[k].op, Op::Const(_));
        let is_sum = |k: usize| matches!(operands[k].op, Op::Add(..) | Op::Sub(..));
        let steer = FANOUT * log2(width * node.count).saturating_sub(3);
        match &node.op {
            // A bit into the carry of the sum before, and an inversion.
            Op::Add(..) if is_sum(0) && of(0) > 8 && of(1) == 1 => GATE,
            Op::Sub(..) if operands[0].op == Op::Const(-1) => 0,
            Op::Add(..) | Op::Sub(..) => add(width),
            Op::Mul(..) => SAVE * save_levels(of(0).min(of(1))) + GATE + add(width),
            Op::MulAdd(..) => SAVE * save_levels(of(0).min(of(1)) + 1) + GATE + add(width),
            Op::Less(..) if is_constant(0) || is_constant(1) => GATE * (1 + log2(of(0).max(of(1)))),
            Op::Less(..) => add(of(0).max(of(1))),
            Op::Equal(..) => GATE * (1 + log2(of(0).max(of(1)))),
            Op::And(..) | Op::Or(..) => GATE,
            Op::Mux(..) => CHOICE + steer,
            Op::Select(_, options) => CHOICE * log2(options.len() as u32) + steer,
            // A decoder.
            Op::ShiftLeftBy(..) if is_constant(0) => GATE * log2(width) + steer,
            Op::ShiftRightBy(..) | Op::ShiftLeftBy(..) => CHOICE * of(1) + steer,
            Op::Rom(_, _, table) => TABLE * log2(table.len() as u32) + steer,
            _ => 0,
        }
    }

    /// Clock to output of a flip-flop.
    fn launch(&self) -> u32 {
        300
    }

    fn capture(&self) -> u32 {
        100
    }
}
