//! The reduction trees: a sum over the lanes and, at the load port, a maximum over the kept lanes.
use super::cuts::Cuts;
use super::widths::{GUARD, Widths};
use crate::num::Interval;
use crate::rtl::{Module, Net, Pipe, Word};
use std::rc::Rc;

/// Combines words pairwise until one is left; an odd one waits for the next level. After every `every`
/// levels, if not 0, all words that are left go through a register.
pub fn reduce<'a>(
    pipe: &Pipe<'a>,
    every: u32,
    mut words: Vec<Word<'a>>,
    mut pair: impl FnMut(Word<'a>, Word<'a>, &str) -> Word<'a>,
) -> Word<'a> {
    let mut level = 'a';
    let (mut n_levels, mut stage) = (0, 0);
    while words.len() > 1 {
        let mut next = vec![];
        for (k, both) in words.chunks(2).enumerate() {
            next.push(match both {
                [a, b] => pair(*a, *b, &format!("{level}{k}")),
                rest => rest[0],
            });
        }
        words = next;
        n_levels += 1;
        if every > 0 && n_levels % every == 0 && words.len() > 1 {
            stage += 1;
            for (k, word) in words.iter_mut().enumerate() {
                let has_name = !word.name().is_empty();
                let named = if has_name { *word } else { word.named(&format!("odd_{level}{k}x")) };
                *word = pipe.delay(named, stage);
            }
        }
        level = (level as u8 + 1) as char;
    }
    words[0]
}

/// Sum of the lanes' leaves, exact.
pub fn sum(w: &Widths, leaf: Interval, cuts: &Cuts) -> Rc<Module> {
    let net = Net::new("sum_tree", "src/engine/tree.rs, fn sum", "sum over the lanes, exact.");
    let leaves = net.input_bundle("leaf", leaf, w.lanes, "one addend a lane");
    let words = (0..w.lanes).map(|k| leaves.lane(k)).collect();
    let pipe = net.pipe(None);
    let total =
        reduce(&pipe, cuts.tree_levels, words, |a, b, tag| (a + b).named(&format!("sum_{tag}s")));
    net.output("sum", total, "sum of the lanes");
    net.finish()
}

/// Maximum over the kept lanes; the lowest code when none is kept.
pub fn max(w: &Widths, cuts: &Cuts) -> Rc<Module> {
    let net = Net::new("max_tree", "src/engine/tree.rs, fn max", "maximum over the kept lanes.");
    let x = net.input_bundle("x", Interval::signed(w.input), w.lanes, "one element a lane");
    let keep = net.input_bundle("keep", Interval::unsigned(1), w.lanes, "elements that count");
    let lowest = net.constant(Interval::signed(w.input).lo);
    let kept = keep.mux(x, lowest).named("kept_x");
    let words = (0..w.lanes).map(|k| kept.lane(k)).collect();
    let pipe = net.pipe(None);
    let top = reduce(&pipe, cuts.tree_levels, words, |a, b, tag| {
        a.less(b).named(&format!("less_{tag}x")).mux(b, a).named(&format!("max_{tag}x"))
    });
    net.output("max", top, "largest kept element");
    net.finish()
}

/// Bits that are set in the magnitude of an element so far in the row: x, or -1 - x below zero.
pub fn magnitude(w: &Widths, cuts: &Cuts) -> Rc<Module> {
    let net = Net::new(
        "magnitude",
        "src/engine/tree.rs, fn magnitude",
        "bits set in the magnitude (x, or -1 - x below zero) of any element of the row so far.",
    );
    let bits = w.input - 1;
    let x = net.input_bundle("x", Interval::signed(w.input), w.lanes, "elements, 0 past the end");
    let pipe = net.pipe(None);
    let at = cuts.tree(w.lanes);
    let before = pipe.input("before", Interval::unsigned(bits), at, "bits of the chunks before");
    let below = (net.constant(-1) - x).named("below_x");
    let folded = x.bit(bits).mux(below.bits(0, bits), x.bits(0, bits)).named("magnitude_x");
    let words = (0..w.lanes).map(|k| folded.lane(k)).collect();
    let row =
        reduce(&pipe, cuts.tree_levels, words, |a, b, tag| (a | b).named(&format!("any_{tag}x")));
    let all = (before | row).named("after");
    net.output("after", all, "bits of the row so far");
    let more = i64::from(GUARD) + 1;
    let mut places = net.constant(more);
    for b in 0..bits {
        let here = net.constant(i64::from(b) + 1 + more);
        places = all.bit(b).mux(here, places).named(&format!("places_{b}x"));
    }
    net.output("places", places, "bits of the largest magnitude, one more and the guard bits");
    net.finish()
}
