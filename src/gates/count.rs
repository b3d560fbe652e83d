//! Gates of a graph by kind: all that the estimate of area needs of it.
use std::ops::{Add, Index, IndexMut, Mul};

use super::graph::{Gate, Graph, Origin, Role};

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    And,
    Xor,
    Mux,
    /// Inverted literals that an adder or a flip-flop takes and no gate could absorb.
    Inverter,
    /// Full adders in a carry-propagate chain.
    AdderChain,
    /// Full adders in a carry-save tree.
    AdderSave,
    /// Full adders of either role whose sum or whose carry nothing reads.
    AdderHalf,
    /// Flip-flops that take a value at every clock edge.
    Flop,
    /// Flip-flops that hold while an enable is 0.
    FlopEnable,
    /// Flip-flops with a reset, of either sort.
    FlopReset,
    /// And gates of look-up tables.
    TableAnd,
    /// Choices and exclusive ors of look-up tables.
    TableMux,
}

impl Kind {
    pub const ALL: [Kind; 12] = [
        Kind::And,
        Kind::Xor,
        Kind::Mux,
        Kind::Inverter,
        Kind::AdderChain,
        Kind::AdderSave,
        Kind::AdderHalf,
        Kind::Flop,
        Kind::FlopEnable,
        Kind::FlopReset,
        Kind::TableAnd,
        Kind::TableMux,
    ];

    /// The name in the files of the technologies.
    pub fn name(self) -> &'static str {
        match self {
            Kind::And => "and",
            Kind::Xor => "xor",
            Kind::Mux => "mux",
            Kind::Inverter => "inverter",
            Kind::AdderChain => "adder_chain",
            Kind::AdderSave => "adder_save",
            Kind::AdderHalf => "adder_half",
            Kind::Flop => "flop",
            Kind::FlopEnable => "flop_enable",
            Kind::FlopReset => "flop_reset",
            Kind::TableAnd => "table_and",
            Kind::TableMux => "table_mux",
        }
    }
}

/// How many gates of each kind. The kinds do not overlap, but for `FlopReset`, which counts among the
/// other two sorts of flip-flops again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Counts([u64; Kind::ALL.len()]);

impl Index<Kind> for Counts {
    type Output = u64;
    fn index(&self, kind: Kind) -> &u64 {
        &self.0[kind as usize]
    }
}

impl IndexMut<Kind> for Counts {
    fn index_mut(&mut self, kind: Kind) -> &mut u64 {
        &mut self.0[kind as usize]
    }
}

impl Add for Counts {
    type Output = Counts;
    fn add(self, other: Counts) -> Counts {
        Counts(std::array::from_fn(|k| self.0[k] + other.0[k]))
    }
}

impl Mul<u64> for Counts {
    type Output = Counts;
    fn mul(self, times: u64) -> Counts {
        Counts(self.0.map(|n| n * times))
    }
}

impl Counts {
    /// Flip-flops of every sort.
    pub fn flops(&self) -> u64 {
        self[Kind::Flop] + self[Kind::FlopEnable]
    }

    pub fn of(graph: &Graph) -> Self {
        let mut counts = Counts::default();
        let (mut sums, mut carries) =
            (vec![false; graph.adders.len()], vec![false; graph.adders.len()]);
        for (gate, origin) in graph.gates.iter().zip(&graph.origins) {
            let kind = match (gate, origin) {
                (Gate::And(..), Origin::Logic) => Kind::And,
                (Gate::Xor(..), Origin::Logic) => Kind::Xor,
                (Gate::Mux(..), Origin::Logic) => Kind::Mux,
                (Gate::And(..), Origin::Table) => Kind::TableAnd,
                (Gate::Xor(..) | Gate::Mux(..), Origin::Table) => Kind::TableMux,
                (Gate::Sum(k), _) => {
                    sums[*k as usize] = true;
                    continue;
                }
                (Gate::Carry(k), _) => {
                    carries[*k as usize] = true;
                    continue;
                }
                _ => continue,
            };
            counts[kind] += 1;
        }
        let mut inverted = vec![false; graph.gates.len()];
        for (k, adder) in graph.adders.iter().enumerate() {
            let kind = match adder.role {
                _ if !(sums[k] && carries[k]) => Kind::AdderHalf,
                Role::Chain => Kind::AdderChain,
                Role::Save => Kind::AdderSave,
            };
            counts[kind] += 1;
            for lit in adder.operands.iter().filter(|l| l.is_inverted()) {
                inverted[lit.node()] |= !matches!(graph.gates[lit.node()], Gate::And(..));
            }
        }
        counts[Kind::Inverter] = inverted.iter().filter(|&&is| is).count() as u64;
        for r in &graph.registers {
            let always = r.enable.as_constant() == Some(true);
            counts[if always { Kind::Flop } else { Kind::FlopEnable }] += 1;
            counts[Kind::FlopReset] += u64::from(r.reset.is_some());
        }
        counts
    }
}
