//! Pipelines: words that move stage by stage, and the rules that keep stages apart.
//!
//! Stage 0 is the present: ports, and what is read in this cycle. A word of stage s is what it was s
//! steps of its [`Pipe`] ago. Only words of one rank can be combined, written together or enter one
//! instance, so a missing or a surplus register stops the description. All registers of a pipe share its
//! enable, so a stall cannot part them either.
use super::build::{Net, Word};
use super::module::{NodeId, Op};
use crate::num::Interval;
use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt;

/// Place of a word: a pipe of its module and a stage of it. Stage 0 is the same in all pipes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Rank {
    /// Index into [`Module::pipes`](super::Module::pipes); 0 at stage 0.
    pub pipe: usize,
    pub stage: u32,
}

impl Rank {
    pub const NOW: Rank = Rank { pipe: 0, stage: 0 };

    pub(super) fn new(pipe: usize, stage: u32) -> Self {
        if stage == 0 { Self::NOW } else { Self { pipe, stage } }
    }
}

impl fmt::Display for Rank {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.pipe {
            0 => write!(f, "{}", self.stage),
            pipe => write!(f, "{} of pipe {pipe}", self.stage),
        }
    }
}

/// The rank at which words meet; `None` when all of them have none.
///
/// # Panics
/// With both names when two ranks differ: a wrong description.
pub(super) fn meet(module: &super::Module, what: &str, words: &[NodeId]) -> Option<Rank> {
    let mut met: Option<(Rank, NodeId)> = None;
    for &id in words {
        let Some(rank) = module.nodes[id].rank else { continue };
        if let Some((seen, first)) = met {
            assert!(
                seen == rank,
                "{}: {what} meet at different pipeline ranks: {} at {seen}, {} at {rank}",
                module.name,
                module.name_of(first),
                module.name_of(id)
            );
        }
        met = Some((rank, id));
    }
    met.map(|(rank, _)| rank)
}

/// Registers that move together: at every cycle in which the enable is 1, or always.
pub struct Pipe<'a> {
    net: &'a Net,
    id: usize,
    enable: Option<Word<'a>>,
    /// Between the name of a word and that of its first register, where another pipe delays it too.
    tag: &'static str,
    /// The register of a word at a stage, by the word, the stage and whether it has a reset.
    made: RefCell<HashMap<(NodeId, u32, bool), Word<'a>>>,
}

impl<'a> Pipe<'a> {
    pub(super) fn new(net: &'a Net, id: usize, enable: Option<Word<'a>>) -> Self {
        Self { net, id, enable, tag: "", made: RefCell::default() }
    }

    /// Names the first register of a word `name_tag_q`.
    pub fn tagged(self, tag: &'static str) -> Self {
        Self { tag, ..self }
    }

    pub(super) fn id(&self) -> usize {
        self.id
    }

    /// An input port whose words are of this stage.
    pub fn input(&self, name: &str, ty: Interval, stage: u32, doc: &str) -> Word<'a> {
        let word = self.net.input(name, ty, doc);
        word.set_rank(Some(Rank::new(self.id, stage)));
        word
    }

    /// Field of the word that a memory read, at the stage after that of its read address.
    pub fn read(&self, memory: usize, field: usize, stage: u32) -> Word<'a> {
        let word = self.net.read(memory, field);
        word.set_rank(Some(Rank::new(self.id, stage)));
        word
    }

    /// The word at a later stage of the pipe: `name_q`, `name_q2` and so on. A word that is asked for twice
    /// has one register.
    ///
    /// # Panics
    /// When the word has no rank, no name, or is of another pipe or of a later stage.
    pub fn delay(&self, word: Word<'a>, stage: u32) -> Word<'a> {
        self.to(word, stage, None)
    }

    /// As [`Self::delay`], through registers that are 0 after reset: for words that say that others are
    /// valid.
    pub fn delay_valid(&self, word: Word<'a>, stage: u32) -> Word<'a> {
        self.to(word, stage, Some(0))
    }

    fn to(&self, word: Word<'a>, stage: u32, reset: Option<i64>) -> Word<'a> {
        let name = self.net.source_name(word);
        let rank = word.rank().unwrap_or_else(|| panic!("{name} has no rank and is delayed"));
        let is_mine = rank.stage == 0 || rank.pipe == self.id;
        assert!(is_mine && rank.stage <= stage, "{name} at {rank} is asked for at stage {stage}");
        if rank.stage == stage {
            return word;
        }
        let before = self.to(word, stage - 1, reset);
        let key = (before.id(), stage, reset.is_some());
        if let Some(&made) = self.made.borrow().get(&key) {
            return made;
        }
        let made = self.net.register(before, self.enable, reset);
        made.set_rank(Some(Rank::new(self.id, stage)));
        let name = match self.made.borrow().values().any(|w| w.id() == before.id()) {
            false if !self.tag.is_empty() => format!("{name}_{}", self.tag),
            _ => self.net.source_name(before),
        };
        let made = made.named(&later(&name));
        self.made.borrow_mut().insert(key, made);
        made
    }

    /// The same word in this pipe, at the stage that it has in its own. For words that leave a pipe that
    /// can stall: one of them must say, in the cycle of the crossing, whether the others count.
    pub fn enter(&self, word: Word<'a>) -> Word<'a> {
        match word.rank() {
            Some(rank) if rank.stage > 0 => {
                let same = word.alias();
                same.set_rank(Some(Rank::new(self.id, rank.stage)));
                same
            }
            _ => word,
        }
    }
}

impl<'a> Pipe<'a> {
    /// The same words without rank, for state that words of several pipes write: they leave the pipe
    /// together.
    ///
    /// # Panics
    /// When their ranks differ.
    pub fn leave<const N: usize>(&self, words: [Word<'a>; N]) -> [Word<'a>; N] {
        let ids: Vec<NodeId> = words.iter().map(|w| w.id()).collect();
        self.net.meet("words that leave", &ids);
        words.map(|word| match word.rank() {
            Some(rank) if rank.stage > 0 => word.unranked(),
            _ => word,
        })
    }
}

/// Name of the register after a word: `x_q` after `x`, `x_q2` after `x_q`.
fn later(name: &str) -> String {
    assert!(!name.is_empty(), "a word without a name is delayed");
    let (base, count) = match name.rsplit_once("_q") {
        Some((base, "")) => (base, 2),
        Some((base, n)) if n.parse::<u32>().is_ok() => (base, n.parse::<u32>().unwrap_or(1) + 1),
        _ => return format!("{name}_q"),
    };
    format!("{base}_q{count}")
}

impl<'a> Word<'a> {
    /// Pins a word of no rank to stage 0: from now on it meets a later stage only through
    /// [`Pipe::delay`].
    pub fn pinned(self) -> Self {
        if self.rank().is_none() {
            self.set_rank(Some(Rank::NOW));
        }
        self
    }

    /// The same word with no rank, to be combined with any: only for words that hold still while anything
    /// moves in the pipes, and for the enable of a pipe itself.
    pub fn unranked(self) -> Self {
        match self.rank() {
            None => self,
            Some(_) => {
                let same = self.alias();
                same.set_rank(None);
                same
            }
        }
    }

    /// Another node for the same value, that is not printed.
    fn alias(self) -> Self {
        self.fit(self.ty())
    }
}

/// Ranks of an instance's outputs: each input's distance to the child's stage is the same, and the
/// child's pipe moves as the parent's does.
pub(super) fn through(
    parent: &super::Module,
    child: &super::Module,
    name: &str,
    pipe: usize,
    inputs: &[NodeId],
) -> Vec<Option<Rank>> {
    let mut base: Option<(u32, NodeId)> = None;
    for (&port, &driver) in child.inputs.iter().zip(inputs) {
        let (Some(inside), Some(outside)) = (child.nodes[port].rank, parent.nodes[driver].rank)
        else {
            continue;
        };
        let port = child.name_of(port);
        let is_later = outside.stage >= inside.stage;
        let is_mine = outside.stage == 0 || outside.pipe == pipe;
        assert!(
            is_later && is_mine,
            "{}: {name}.{port} is of rank {inside} and is driven by {} at {outside}",
            parent.name,
            parent.name_of(driver)
        );
        let distance = outside.stage - inside.stage;
        if let Some((seen, first)) = base {
            assert!(
                seen == distance,
                "{}: {name}: {} comes {seen} stages late and {} {distance}",
                parent.name,
                parent.name_of(first),
                parent.name_of(driver)
            );
        }
        base = Some((distance, driver));
    }
    let base = base.map_or(0, |(distance, _)| distance);
    let outside = parent.pipes[pipe];
    let moves_alike = |inside: usize| match (child.pipes[inside], outside) {
        (None, None) => true,
        (Some(a), Some(b)) => {
            let port = child.inputs.iter().position(|&p| same(child, p, a));
            port.is_some_and(|k| same(parent, inputs[k], b) || same(parent, b, inputs[k]))
        }
        _ => false,
    };
    let outputs = child.outputs.iter().map(|(port, id)| {
        let rank = child.nodes[*id].rank?;
        let is_fine = rank.stage == 0 || moves_alike(rank.pipe);
        assert!(is_fine, "{}: {name}.{port} moves not as the pipe it is put in", parent.name);
        Some(Rank::new(pipe, base + rank.stage))
    });
    outputs.collect()
}

/// Whether `b` is `a` or an alias of it.
fn same(module: &super::Module, a: NodeId, b: NodeId) -> bool {
    a == b || matches!(module.nodes[b].op, Op::Fit(of) if of == a)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registers_are_counted_in_their_names() {
        for (name, next) in
            [("x", "x_q"), ("x_q", "x_q2"), ("x_q9", "x_q10"), ("a_quick", "a_quick_q")]
        {
            assert_eq!(later(name), next);
        }
    }

    fn net() -> (Net, Interval) {
        (Net::new("m", "tests", "A module."), Interval::unsigned(4))
    }

    #[test]
    #[should_panic(
        expected = "operands meet at different pipeline ranks: x at 0, x_q at 1 of pipe 1"
    )]
    fn stages_cannot_be_skewed() {
        let (net, ty) = net();
        let x = net.input("x", ty, "");
        let pipe = net.pipe(None);
        let _ = x + pipe.delay(x, 1);
    }

    #[test]
    #[should_panic(expected = "operands meet at different pipeline ranks: x_q at 1 of pipe 1")]
    fn pipes_that_stall_and_pipes_that_do_not_are_apart() {
        let (net, ty) = net();
        let x = net.input("x", ty, "").named("x");
        let on = net.input("on", Interval::unsigned(1), "").unranked();
        let (held, free) = (net.pipe(Some(on)), net.pipe(None));
        let _ = held.delay(x, 1) + free.delay((x + x).named("y"), 1);
    }

    #[test]
    #[should_panic(expected = "value and enable meet at different pipeline ranks")]
    fn a_register_is_written_at_one_rank() {
        let (net, ty) = net();
        let (x, on) = (net.input("x", ty, ""), net.input("on", Interval::unsigned(1), ""));
        let pipe = net.pipe(None);
        let q = net.state("s", ty, 1, None);
        net.drive(q, pipe.delay(x, 2), Some(pipe.delay(on, 1)));
    }

    #[test]
    #[should_panic(expected = "x_q comes 1 stages late and y 0")]
    fn an_instance_takes_words_of_one_rank() {
        let (child, ty) = net();
        let sum = child.input("a", ty, "") + child.input("b", ty, "");
        child.output("sum", sum.named("sum"), "");
        let child = child.finish();
        let net = Net::new("parent", "tests", "Skewed.");
        let (x, y) = (net.input("x", ty, ""), net.input("y", ty, ""));
        let pipe = net.pipe(None);
        net.instance_in(&pipe, "sum", &child, 1, &[("a", pipe.delay(x, 1)), ("b", y)]);
    }

    #[test]
    fn an_instance_adds_its_latency() {
        let (child, ty) = net();
        let inside = child.pipe(None);
        let sum = (child.input("a", ty, "") + child.input("b", ty, "")).named("sum");
        child.output("sum", inside.delay(sum, 2), "");
        let child = child.finish();
        let net = Net::new("parent", "tests", "Two and one.");
        let (x, y) = (net.input("x", ty, ""), net.input("y", ty, ""));
        let pipe = net.pipe(None);
        let inputs = [("a", pipe.delay(x, 1)), ("b", pipe.delay(y, 1))];
        let out = net.instance_in(&pipe, "sum", &child, 1, &inputs)[0];
        assert_eq!(out.rank().map(|r| r.stage), Some(3));
        // The register of a word that is asked for twice is one.
        assert_eq!(pipe.delay(x, 1).name(), "x_q");
    }
}
