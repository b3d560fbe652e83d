//! Whether the chunks of a program may take turns on an engine with registers in the loop through T.
//!
//! Taking turns, a micro-op reads T as the micro-op before it in the body left it, and what the body gives
//! to the tree or to the output comes chunk by chunk for each micro-op. A program that needs more than that
//! is run with its micro-ops a loop apart: the same results, and more cycles.
use crate::isa::{C, Out, P, Q, Reduce, Shift, T, VectorOp};

/// The micro-op reads T, or words that are made of it.
fn reads_t(op: &VectorOp) -> bool {
    matches!(op.p, P::Lane | P::Slope)
        || op.q == Q::Position
        || op.c == C::Intercept
        || op.shift == Shift::Exponent
        || op.store
}

/// Whether this body's chunks may take turns and give the results that they give one after the other.
pub fn may_take_turns(body: &[VectorOp]) -> bool {
    let is_written = |k: usize| k > 0 && body[k - 1].t != T::Keep;
    let is_fed = body.iter().enumerate().all(|(k, op)| !reads_t(op) || is_written(k));
    let at_most_once =
        |gives: &dyn Fn(&VectorOp) -> bool| body.iter().filter(|op| gives(op)).count() <= 1;
    is_fed
        && at_most_once(&|op| op.reduce != Reduce::None)
        && at_most_once(&|op| op.out != Out::None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_takes_turns_and_a_memory_does_not() {
        let write = VectorOp { t: T::Value, ..VectorOp::NOP };
        let read = VectorOp { p: P::Lane, ..VectorOp::NOP };
        let both = VectorOp { p: P::Lane, ..write };
        assert!(may_take_turns(&[write, both, read]));
        assert!(!may_take_turns(&[write, read, read]));
        // T of the chunk before.
        assert!(!may_take_turns(&[both]));
        let out = VectorOp { out: Out::Signed, ..VectorOp::NOP };
        assert!(may_take_turns(&[out]) && !may_take_turns(&[out, out]));
    }
}
