//! Where pipeline registers stand, and what follows from it for the stages and for time.
//!
//! A micro-op is issued at stage 0. The path through a lane is stage by stage: operands, multiply-add,
//! shifter; then the output stage or the leaf and the reduction tree. T closes a loop around the first
//! three, so the sequencer lets [`Cuts::group`] chunks take turns.
use crate::config::{HwConfig, Stage};
use crate::isa::ScalarKind;

/// The registers of one engine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cuts {
    /// Before the maximum and the magnitude of what is loaded.
    pub load: bool,
    /// Before the multiplier.
    pub operands: bool,
    /// Between the multiply-add and the shifter.
    pub product: bool,
    /// Between the shifter and the reduction tree.
    pub leaf: bool,
    /// Between the shifter and the output stage.
    pub output: bool,
    /// Levels of a reduction tree between two registers; 0 for none.
    pub tree_levels: u32,
    /// At the operands of the scalar unit's adder and multiplier.
    pub scalar: bool,
}

impl Cuts {
    /// Those that a configuration asks for by name.
    pub fn listed(config: &HwConfig) -> Self {
        Self::of(&config.stages, config.tree_levels)
    }

    /// Those at some places and between so many levels of a tree.
    pub fn of(stages: &[Stage], tree_levels: u32) -> Self {
        let has = |stage| stages.contains(&stage);
        Self {
            load: has(Stage::Load),
            operands: has(Stage::Operands),
            product: has(Stage::Product),
            leaf: has(Stage::Leaf),
            output: has(Stage::Output),
            tree_levels,
            scalar: has(Stage::Scalar),
        }
    }

    /// Places that have a register, in order.
    pub fn stages(&self) -> Vec<Stage> {
        let places = [
            (self.load, Stage::Load),
            (self.operands, Stage::Operands),
            (self.product, Stage::Product),
            (self.leaf, Stage::Leaf),
            (self.output, Stage::Output),
            (self.scalar, Stage::Scalar),
        ];
        places.into_iter().filter(|place| place.0).map(|place| place.1).collect()
    }

    /// Whether every register of `other` is among these.
    pub fn has_all_of(&self, other: &Self) -> bool {
        let own = self.stages();
        let levels = other.tree_levels;
        let has_levels = levels == 0 || (self.tree_levels > 0 && levels % self.tree_levels == 0);
        other.stages().iter().all(|stage| own.contains(stage)) && has_levels
    }

    /// Stages from a beat's arrival to the elements of the loader's tree.
    pub fn loads(&self) -> u32 {
        u32::from(self.load)
    }

    /// Stages from a beat's arrival to the maximum of its row.
    pub fn maximum(&self, lanes: u32) -> u32 {
        self.loads() + self.tree(lanes)
    }

    /// Stage of the multiplier.
    pub fn multiply(&self) -> u32 {
        u32::from(self.operands)
    }

    /// Stage of the shifter, of what T takes and of what is stored.
    pub fn shift(&self) -> u32 {
        self.multiply() + u32::from(self.product)
    }

    /// Stage of the leaves of the reduction tree.
    pub fn leaves(&self) -> u32 {
        self.shift() + u32::from(self.leaf)
    }

    /// Stage of the output.
    pub fn outputs(&self) -> u32 {
        self.shift() + u32::from(self.output)
    }

    /// Registers inside a reduction tree over so many lanes; none after its last level.
    pub fn tree(&self, lanes: u32) -> u32 {
        let levels = super::widths::log2_ceil(u64::from(lanes));
        match self.tree_levels {
            0 => 0,
            k => levels.saturating_sub(1) / k,
        }
    }

    /// Stages from the issue of a micro-op to the root of the tree.
    pub fn root(&self, lanes: u32) -> u32 {
        self.leaves() + self.tree(lanes)
    }

    /// Chunks that take turns in a body, so that T of one is written when its next micro-op is issued.
    pub fn group(&self) -> u32 {
        self.shift() + 1
    }

    /// Cycles of a pass: `slots` micro-ops for each of `chunks` chunks. A group carries a micro-op out for
    /// each of its chunks in turn; the last group keeps the distance where it has fewer.
    pub fn pass(&self, slots: u64, chunks: u64, is_spaced: bool) -> u64 {
        let group = u64::from(self.group());
        if is_spaced {
            return (slots * chunks - 1) * group + 1;
        }
        let full = chunks.div_ceil(group) - 1;
        slots * group * full + (slots - 1) * group + (chunks - group * full)
    }

    /// Cycles of a scalar micro-op; a product takes `digits` digits.
    pub fn scalar_op(&self, kind: ScalarKind, digits: u32) -> u32 {
        match kind {
            ScalarKind::Mul => digits + 1,
            ScalarKind::Alu => 1 + u32::from(self.scalar),
            _ => 1,
        }
    }

    /// The registers in words: `operands, product, every 2 tree levels`, or `none`.
    pub fn names(&self) -> String {
        let mut names: Vec<String> = self.stages().iter().map(|s| s.text().to_string()).collect();
        match self.tree_levels {
            0 => {}
            1 => names.push("every tree level".to_string()),
            k => names.push(format!("every {k} tree levels")),
        }
        if names.is_empty() { "none".to_string() } else { names.join(", ") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passes_by_hand() {
        let none = Cuts::default();
        assert_eq!((none.group(), none.pass(2, 7, false)), (1, 14));
        let two = Cuts { operands: true, product: true, ..none };
        // Chunks 0 1 2, then 3 4 5, then 6 and a wait of two cycles before its second micro-op.
        assert_eq!((two.group(), two.pass(2, 7, false)), (3, 6 + 6 + 4));
        assert_eq!(two.pass(1, 7, false), 7);
        assert_eq!(two.pass(2, 2, true), 10);
    }

    #[test]
    fn trees_have_no_register_at_their_root() {
        let every = |tree_levels| Cuts { tree_levels, ..Cuts::default() };
        assert_eq!([0, 1, 2, 3].map(|k| every(k).tree(8)), [0, 2, 1, 0]);
        assert_eq!([1, 2, 3].map(|k| every(k).tree(64)), [5, 2, 1]);
        assert_eq!((every(1).tree(1), every(1).tree(2)), (0, 0));
    }
}
