//! The graph itself: literals, gates, adders, registers, and the values that 64 cycles give at once.
use std::ops::Not;

/// A node of a [`Graph`], as it is or inverted. Inversions are no nodes: cells absorb most of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Lit(u32);

impl Lit {
    pub const FALSE: Lit = Lit(0);
    pub const TRUE: Lit = Lit(1);

    pub fn new(node: usize, is_inverted: bool) -> Self {
        Self((node as u32) << 1 | u32::from(is_inverted))
    }

    pub fn node(self) -> usize {
        (self.0 >> 1) as usize
    }

    pub fn is_inverted(self) -> bool {
        self.0 & 1 == 1
    }

    pub fn constant(value: bool) -> Self {
        if value { Self::TRUE } else { Self::FALSE }
    }

    /// The value where the literal is one of the two constants.
    pub fn as_constant(self) -> Option<bool> {
        (self.0 < 2).then_some(self.0 == 1)
    }

    /// Inverted when `by` is true.
    pub fn inverted(self, by: bool) -> Self {
        Self(self.0 ^ u32::from(by))
    }
}

impl Not for Lit {
    type Output = Lit;
    fn not(self) -> Lit {
        Lit(self.0 ^ 1)
    }
}

/// What a node computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Gate {
    /// The constant 0; node 0 and no other.
    Zero,
    /// A bit of [`Graph::sources`], by its number.
    Source(u32),
    And(Lit, Lit),
    Xor(Lit, Lit),
    /// `s ? a : b`, in the order s, a, b.
    Mux(Lit, Lit, Lit),
    /// The sum bit of an adder, by its number in [`Graph::adders`].
    Sum(u32),
    /// The carry of an adder.
    Carry(u32),
    /// The output of a register, by its number in [`Graph::registers`].
    Register(u32),
}

/// Where a full adder stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// In a carry-propagate chain: operand 2 is the carry of the bit below.
    Chain,
    /// In a carry-save tree.
    Save,
}

/// A full adder. An operand is constant only where synthesis would not see it: behind another adder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Adder {
    pub operands: [Lit; 3],
    pub role: Role,
}

/// A flip-flop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Register {
    /// What it takes at the clock edge.
    pub next: Lit,
    /// It holds while this is 0; `Lit::TRUE` for one that always takes.
    pub enable: Lit,
    /// The value after reset; `None` for a register without one.
    pub reset: Option<bool>,
    /// The bit of [`Graph::words`] that it holds.
    pub place: Place,
}

/// A bit of a word: index into [`Graph::words`], and bit of it, lane 0 lowest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Place {
    pub word: u32,
    pub bit: u32,
}

/// What a word of the netlist is to the graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WordKind {
    /// An input port of the blasted module.
    Input,
    /// A register.
    State,
    /// What a memory read.
    Read,
    /// An output of an instance that was not blasted with its parent.
    InstanceOut,
}

/// A word whose bits enter the graph, as sources or as registers.
#[derive(Clone, Debug, PartialEq)]
pub struct Word {
    pub kind: WordKind,
    /// The node's name: `t_q`. With the block's path it is the name that the stepper knows.
    pub name: String,
    /// Index into [`Graph::blocks`].
    pub block: u16,
    /// Node of the block's module.
    pub node: crate::rtl::NodeId,
    /// Bits of one lane.
    pub width: u32,
    pub lanes: u32,
}

/// Where bits leave the graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SinkKind {
    /// An output port of the blasted module.
    Output,
    /// An input of an instance that was not blasted with its parent.
    InstanceIn,
    /// A port of a memory.
    Memory,
}

/// A word that leaves the graph.
#[derive(Clone, Debug, PartialEq)]
pub struct Sink {
    pub kind: SinkKind,
    pub block: u16,
    /// `y`, `u_lane.x`, `bank_a.write_address`.
    pub name: String,
    /// Lane 0 lowest.
    pub bits: Vec<Lit>,
}

/// What a gate belongs to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Origin {
    #[default]
    Logic,
    /// A look-up table, as a tree of choices between constants.
    Table,
}

/// One copy of a module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// Instances from the blasted module down: `core.lane`; empty for the module itself.
    pub path: String,
    /// Which copy of that path, from 0, an outer instance's copies slowest. Lane k of a word of this
    /// copy is lane `copy * lanes + k` of the word of that path in the stepper.
    pub copy: u32,
    /// Name of its module.
    pub module: String,
}

/// Gates in topological order: operands stand before their users, registers' inputs excepted. Nothing in
/// it is dead: every gate and register is seen by some sink.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    pub gates: Vec<Gate>,
    /// Of each gate.
    pub origins: Vec<Origin>,
    /// Of each gate: index into [`Graph::blocks`].
    pub block_of: Vec<u16>,
    pub adders: Vec<Adder>,
    pub registers: Vec<Register>,
    /// The bit that each source is.
    pub sources: Vec<Place>,
    pub words: Vec<Word>,
    pub sinks: Vec<Sink>,
    pub blocks: Vec<Block>,
}

impl Graph {
    pub fn len(&self) -> usize {
        self.gates.len()
    }

    pub fn is_empty(&self) -> bool {
        self.gates.is_empty()
    }

    /// Literals that a node reads in the same cycle.
    pub fn operands(&self, node: usize) -> impl Iterator<Item = Lit> + use<> {
        let (list, n) = match self.gates[node] {
            Gate::Zero | Gate::Source(_) | Gate::Register(_) => ([Lit::FALSE; 3], 0),
            Gate::And(a, b) | Gate::Xor(a, b) => ([a, b, Lit::FALSE], 2),
            Gate::Mux(s, a, b) => ([s, a, b], 3),
            Gate::Sum(k) | Gate::Carry(k) => (self.adders[k as usize].operands, 3),
        };
        list.into_iter().take(n)
    }

    /// Number of readers of each node: gates (an adder counts once), registers and sinks.
    pub fn fanout(&self) -> Vec<u32> {
        let mut count = vec![0; self.gates.len()];
        for &gate in &self.gates {
            match gate {
                Gate::And(a, b) | Gate::Xor(a, b) => [a, b].map(|l| count[l.node()] += 1).len(),
                Gate::Mux(s, a, b) => [s, a, b].map(|l| count[l.node()] += 1).len(),
                _ => 0,
            };
        }
        for adder in &self.adders {
            adder.operands.iter().for_each(|l| count[l.node()] += 1);
        }
        for r in &self.registers {
            count[r.next.node()] += 1;
            count[r.enable.node()] += 1;
        }
        for bit in self.sinks.iter().flat_map(|s| &s.bits) {
            count[bit.node()] += 1;
        }
        count
    }

    /// The word's value of a literal.
    pub fn value(values: &[u64], lit: Lit) -> u64 {
        values[lit.node()] ^ 0u64.wrapping_sub(u64::from(lit.is_inverted()))
    }

    /// Computes every gate from the sources and registers, for 64 cycles (or lanes, or rows) at once:
    /// bit k of `values[node]` is the node's value in case k. The caller has set the nodes of sources
    /// and registers; see [`Graph::source_nodes`] and [`Graph::register_nodes`].
    ///
    /// # Panics
    /// When `values` has not one word a node.
    pub fn settle(&self, values: &mut [u64]) {
        assert_eq!(values.len(), self.gates.len(), "one word a node");
        for node in 0..self.gates.len() {
            let get = |lit: Lit| Self::value(values, lit);
            values[node] = match self.gates[node] {
                Gate::Zero => 0,
                Gate::Source(_) | Gate::Register(_) => continue,
                Gate::And(a, b) => get(a) & get(b),
                Gate::Xor(a, b) => get(a) ^ get(b),
                Gate::Mux(s, a, b) => {
                    let s = get(s);
                    (s & get(a)) | (!s & get(b))
                }
                Gate::Sum(k) => {
                    let [a, b, c] = self.adders[k as usize].operands.map(get);
                    a ^ b ^ c
                }
                Gate::Carry(k) => {
                    let [a, b, c] = self.adders[k as usize].operands.map(get);
                    (a & b) | (c & (a | b))
                }
            };
        }
    }

    /// Node of each source, in the order of [`Graph::sources`].
    pub fn source_nodes(&self) -> Vec<usize> {
        let mut nodes = vec![0; self.sources.len()];
        for (node, gate) in self.gates.iter().enumerate() {
            if let Gate::Source(k) = gate {
                nodes[*k as usize] = node;
            }
        }
        nodes
    }

    /// Node of each register, in the order of [`Graph::registers`].
    pub fn register_nodes(&self) -> Vec<usize> {
        let mut nodes = vec![0; self.registers.len()];
        for (node, gate) in self.gates.iter().enumerate() {
            if let Gate::Register(k) = gate {
                nodes[*k as usize] = node;
            }
        }
        nodes
    }

    /// What each register holds after the clock edge, from settled values.
    pub fn next_states(&self, values: &[u64]) -> Vec<u64> {
        let nodes = self.register_nodes();
        let next = |(r, &node): (&Register, &usize)| {
            let enable = Self::value(values, r.enable);
            (enable & Self::value(values, r.next)) | (!enable & values[node])
        };
        self.registers.iter().zip(&nodes).map(next).collect()
    }
}
