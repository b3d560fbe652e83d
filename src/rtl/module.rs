//! The finished netlist of one module: nodes, ports, instances and memories. Plain data.
use super::pipe::Rank;
use crate::num::Interval;
use std::rc::Rc;

/// Index of a node in [`Module::nodes`].
pub type NodeId = usize;

/// One operation. Operands are nodes of the same module. "Same count" holds for every operand unless
/// one has count 1, which is then used by every lane.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// A port of the module; the node's name is the port's name without its `_i`.
    Input,
    Const(i64),
    Add(NodeId, NodeId),
    Sub(NodeId, NodeId),
    Mul(NodeId, NodeId),
    /// `a * b + c` in one carry-save sum; the result is exact.
    MulAdd(NodeId, NodeId, NodeId),
    /// Multiply by 2^k.
    ShiftLeft(NodeId, u32),
    /// Floor of the value divided by 2^k.
    ShiftRight(NodeId, u32),
    /// Floor of `a / 2^b`; the amount `b` is unsigned.
    ShiftRightBy(NodeId, NodeId),
    /// `a * 2^b`; exact, so the interval grows with the largest amount.
    ShiftLeftBy(NodeId, NodeId),
    /// 1 when `a < b`.
    Less(NodeId, NodeId),
    /// 1 when `a == b`.
    Equal(NodeId, NodeId),
    /// Bit by bit; both operands are unsigned and equally wide.
    And(NodeId, NodeId),
    Or(NodeId, NodeId),
    Not(NodeId),
    /// `c ? a : b`; `c` is one bit.
    Mux(NodeId, NodeId, NodeId),
    /// `options[index]`; an index past the end gives the last option.
    Select(NodeId, Vec<NodeId>),
    /// Checked narrowing: the describer knows that every value lies in the node's interval.
    Fit(NodeId),
    /// Bits `k + width - 1` down to `k` of the two's complement word. The node's interval says whether
    /// they are read as unsigned or as signed; its width is the number of bits.
    Bits(NodeId, u32),
    /// `hi * 2^width(lo) + lo`; `lo` is unsigned.
    Concat(NodeId, NodeId),
    /// `table[index]`; an index past the end gives the last entry. The name is the function's name.
    Rom(NodeId, String, Rc<Vec<i64>>),
    /// A register. `reset` is the value after reset; a datapath register has none and holds anything.
    Reg {
        next: Option<NodeId>,
        enable: Option<NodeId>,
        reset: Option<i64>,
    },
    /// Field `field` of the word that memory `memory` read: registered, one cycle after the address.
    MemRead {
        memory: usize,
        field: usize,
    },
    /// Output port `port` of instance `instance`.
    InstanceOut {
        instance: usize,
        port: usize,
    },
    /// Lane `k` of a bundle, as a single word.
    Lane(NodeId, u32),
    /// A bundle from single words, lane 0 first.
    Gather(Vec<NodeId>),
    /// The same word for every lane of a bundle of the node's count.
    Spread(NodeId),
}

impl Op {
    /// Operands that this operation reads in the same cycle (a register's `next` is not one).
    pub fn operands(&self) -> Vec<NodeId> {
        use Op::*;
        match self {
            Input | Const(_) | Reg { .. } | MemRead { .. } | InstanceOut { .. } => vec![],
            ShiftLeft(a, _)
            | ShiftRight(a, _)
            | Not(a)
            | Fit(a)
            | Bits(a, _)
            | Rom(a, ..)
            | Lane(a, _)
            | Spread(a) => vec![*a],
            Add(a, b)
            | Sub(a, b)
            | Mul(a, b)
            | ShiftRightBy(a, b)
            | ShiftLeftBy(a, b)
            | Less(a, b)
            | Equal(a, b)
            | And(a, b)
            | Or(a, b)
            | Concat(a, b) => vec![*a, *b],
            MulAdd(a, b, c) | Mux(a, b, c) => vec![*a, *b, *c],
            Select(a, v) => std::iter::once(*a).chain(v.iter().copied()).collect(),
            Gather(v) => v.clone(),
        }
    }
}

/// One node: an operation with its type.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Node {
    pub op: Op,
    /// Every value that the word can take.
    pub ty: Interval,
    /// Lanes: 1 for a single word, L for a bundle (printed as one flat bus, lane 0 lowest).
    pub count: u32,
    /// The author's name; slices, shifts, casts, constants and one-bit logic may have none.
    pub name: Option<String>,
    /// Place in a pipeline; `None` for constants and state.
    pub rank: Option<Rank>,
    /// Index into [`Module::sections`]: the one-line comment under which the node is printed.
    pub section: usize,
}

/// An instance of another module. `count` copies, one a lane, when it is not 1: then a child's port of
/// count 1 is connected to a bundle (a lane's own word) or to a single word (the same for all lanes).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Instance {
    /// Instance name without its `u_`.
    pub name: String,
    pub module: Rc<Module>,
    pub count: u32,
    /// The node that drives each input of the child, in the order of [`Module::inputs`].
    pub inputs: Vec<NodeId>,
}

/// One field of a memory word.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MemoryField {
    pub name: String,
    pub ty: Interval,
    pub count: u32,
}

/// What a memory is printed as. All behave alike.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum MemoryKind {
    /// Registers, or what synthesis makes of a plain array.
    #[default]
    Registers,
    Latches,
    /// A module that a memory macro takes the place of.
    Macro,
}

impl MemoryKind {
    pub const ALL: [MemoryKind; 3] =
        [MemoryKind::Registers, MemoryKind::Latches, MemoryKind::Macro];

    /// Name of the module that it is printed as, without the user's prefix.
    pub fn module(self) -> &'static str {
        match self {
            MemoryKind::Registers => "ram_1r1w",
            MemoryKind::Latches => "ram_1r1w_latch",
            MemoryKind::Macro => "ram_1r1w_macro",
        }
    }
}

/// A memory with one write port and one registered read port. Reading an address in the cycle in which it
/// is written gives the old word.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Memory {
    pub name: String,
    pub doc: String,
    pub kind: MemoryKind,
    pub depth: u32,
    pub fields: Vec<MemoryField>,
    pub write_enable: NodeId,
    pub write_address: NodeId,
    /// One node a field.
    pub write_data: Vec<NodeId>,
    /// The read register holds while this is 0.
    pub read_enable: NodeId,
    pub read_address: NodeId,
}

/// The netlist of one module. Combinational operands come before their users, except through instances,
/// registers and memories.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Module {
    /// Without the user's prefix: `lane`, printed as `mive_lane`.
    pub name: String,
    /// First line of the file: what it computes. More lines may follow.
    pub doc: String,
    /// Rust source file and function.
    pub source: String,
    pub nodes: Vec<Node>,
    pub inputs: Vec<NodeId>,
    /// Port name (without `_o`), node and meaning.
    pub outputs: Vec<(String, NodeId)>,
    /// Meaning of a port, by its name.
    pub port_docs: Vec<(String, String)>,
    pub instances: Vec<Instance>,
    pub memories: Vec<Memory>,
    /// Enable of each pipe's registers. The first is that of ports and of stages without a pipe.
    pub pipes: Vec<Option<NodeId>>,
    pub sections: Vec<String>,
}

impl Module {
    /// Name of a port or named word; inputs keep the author's name.
    pub fn name_of(&self, id: NodeId) -> &str {
        self.nodes[id].name.as_deref().unwrap_or("")
    }

    /// Bits held in registers, instances included, memories not.
    pub fn register_bits(&self) -> u64 {
        let own: u64 = self
            .nodes
            .iter()
            .filter(|n| matches!(n.op, Op::Reg { .. }))
            .map(|n| u64::from(n.ty.width() * n.count))
            .sum();
        own + self
            .instances
            .iter()
            .map(|i| u64::from(i.count) * i.module.register_bits())
            .sum::<u64>()
    }
}
