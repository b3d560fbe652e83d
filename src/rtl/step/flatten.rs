//! Flattening: the hierarchy becomes one list of nodes, each with its shape.
//!
//! An instance of `count` copies is inlined once: its words get `count` times as many lanes.
use crate::num::Interval;
use crate::rtl::module::{Module, Op};
use std::sync::Arc;

/// Index of a flat node.
pub(super) type Id = usize;

/// A function of words of the same cycle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Func {
    Add,
    Sub,
    Mul,
    MulAdd,
    ShiftLeft(u32),
    ShiftRight(u32),
    ShiftRightBy,
    ShiftLeftBy,
    Less,
    Equal,
    And,
    Or,
    Not,
    Mux,
    Select,
    /// The value itself, perhaps in narrower storage: `Fit`.
    Copy,
    Bits {
        low: u32,
        width: u32,
        signed: bool,
    },
    /// `hi << k | lo`.
    Concat(u32),
    /// `hi << k` with the low k bits of the other.
    Insert(u32),
    /// A look-up in the table of that index.
    Rom(usize),
    /// One operand a lane.
    Lanes,
}

/// What a flat node is.
#[derive(Clone, Debug)]
pub(super) enum Kind {
    Input,
    Const(i64),
    /// The same word; a source of one lane serves all lanes.
    Alias(Id),
    /// Lane `j` is lane `.1` of word `.0`.
    Lanes(Vec<(Id, u32)>),
    Fn(Func, Vec<Id>),
    Reg {
        next: Id,
        enable: Option<Id>,
        reset: Option<i64>,
    },
    MemRead {
        memory: usize,
        field: usize,
    },
}

#[derive(Clone, Debug)]
pub(super) struct Flat {
    pub kind: Kind,
    pub ty: Interval,
    /// Lanes of the description; those that are stored are fewer when all are equal.
    pub lanes: u32,
    /// Hierarchical name; empty for a word without a name.
    pub name: String,
    /// The lanes may hold different values.
    pub by_lane: bool,
    /// The streams may hold different values.
    pub by_stream: bool,
}

impl Flat {
    /// Lanes that are stored.
    pub fn stored(&self) -> u32 {
        if self.by_lane { self.lanes } else { 1 }
    }
}

#[derive(Clone, Debug)]
pub(super) struct FlatField {
    pub name: String,
    pub ty: Interval,
    pub lanes: u32,
    pub data: Id,
}

#[derive(Clone, Debug)]
pub(super) struct FlatMemory {
    pub name: String,
    pub depth: usize,
    pub fields: Vec<FlatField>,
    pub write_enable: Id,
    pub write_address: Id,
    pub read_enable: Id,
    pub read_address: Id,
}

/// The flat netlist.
#[derive(Default)]
pub(super) struct Netlist {
    pub nodes: Vec<Flat>,
    pub memories: Vec<FlatMemory>,
    pub tables: Vec<Arc<Vec<i64>>>,
    pub inputs: Vec<Id>,
    pub outputs: Vec<(String, Id)>,
    /// Every node after the operands it reads in the same cycle.
    pub order: Vec<Id>,
}

impl Netlist {
    /// # Panics
    /// When the description has a combinational loop, when a varying input does not exist, or when a
    /// memory is steered by data.
    pub fn new(top: &Module, varying: &[&str]) -> Self {
        let mut list = Self::default();
        list.outputs = {
            let ids = list.inline(top, "", 1, None);
            top.outputs.iter().zip(ids).map(|((name, _), id)| (name.clone(), id)).collect()
        };
        list.inputs = top.inputs.clone();
        for name in varying {
            let id = top.inputs.iter().find(|&&id| top.name_of(id) == *name);
            let id = id.unwrap_or_else(|| panic!("{}: there is no input {name}", top.name));
            list.nodes[*id].by_stream = true;
        }
        list.shapes();
        list.steer();
        list.sort();
        list
    }

    pub fn push(&mut self, kind: Kind, ty: Interval, lanes: u32) -> Id {
        let name = String::new();
        self.nodes.push(Flat { kind, ty, lanes, name, by_lane: false, by_stream: false });
        self.nodes.len() - 1
    }

    /// `source` as a word of `lanes` lanes: lane `j` is its lane `pick(j)`.
    fn remap(&mut self, source: Id, lanes: u32, pick: impl Fn(u32) -> u32) -> Id {
        let have = self.nodes[source].lanes;
        if have == 1 || (have == lanes && (0..lanes).all(|j| pick(j) == j)) {
            return source;
        }
        let parts = (0..lanes).map(|j| (source, pick(j))).collect();
        self.push(Kind::Lanes(parts), self.nodes[source].ty, lanes)
    }

    /// Adds `m` as seen from `outer` copies of it; `drivers` are its inputs, none for the top.
    fn inline(&mut self, m: &Module, path: &str, outer: u32, drivers: Option<&[Id]>) -> Vec<Id> {
        let base = self.nodes.len();
        for n in &m.nodes {
            let id = self.push(Kind::Const(0), n.ty, outer * n.count);
            self.nodes[id].name = n.name.as_ref().map(|s| format!("{path}{s}")).unwrap_or_default();
        }
        let memory_base = self.memories.len();
        for mem in &m.memories {
            let fields = mem.fields.iter().zip(&mem.write_data).map(|(f, &d)| FlatField {
                name: f.name.clone(),
                ty: f.ty,
                lanes: outer * f.count,
                data: base + d,
            });
            self.memories.push(FlatMemory {
                name: format!("{path}{}", mem.name),
                depth: mem.depth as usize,
                fields: fields.collect(),
                write_enable: base + mem.write_enable,
                write_address: base + mem.write_address,
                read_enable: base + mem.read_enable,
                read_address: base + mem.read_address,
            });
        }
        let mut results = vec![];
        for inst in &m.instances {
            let copies = inst.count;
            let mut connected = vec![];
            for (&node, &port) in inst.inputs.iter().zip(&inst.module.inputs) {
                let (have, want) = (m.nodes[node].count, inst.module.nodes[port].count);
                let lanes = outer * copies * want;
                let pick = |j: u32| {
                    let (o, c, i) = (j / (copies * want), j / want % copies, j % want);
                    if have == copies * want {
                        o * have + c * want + i
                    } else if have == want {
                        o * have + i
                    } else {
                        assert!(
                            have == 1,
                            "{path}{}.{}: {want} lanes in each of {copies} copies are driven by {have}",
                            inst.name,
                            inst.module.name_of(port)
                        );
                        o
                    }
                };
                connected.push(self.remap(base + node, lanes, pick));
            }
            let path = format!("{path}{}.", inst.name);
            results.push(self.inline(&inst.module, &path, outer * copies, Some(&connected)));
        }
        for (i, n) in m.nodes.iter().enumerate() {
            let kind = match &n.op {
                Op::Input => match drivers {
                    None => Kind::Input,
                    Some(d) => Kind::Alias(d[m.inputs.iter().position(|&p| p == i).expect("port")]),
                },
                Op::Const(v) => Kind::Const(*v),
                Op::Reg { next, enable, reset } => {
                    let next = base + next.expect("every register is driven");
                    let lanes = outer * n.count;
                    let enable = enable.map(|e| self.widen(base + e, lanes));
                    Kind::Reg { next, enable, reset: *reset }
                }
                Op::MemRead { memory, field } => {
                    Kind::MemRead { memory: memory_base + memory, field: *field }
                }
                Op::InstanceOut { instance, port } => Kind::Alias(results[*instance][*port]),
                Op::Lane(a, k) => {
                    let (count, a) = (m.nodes[*a].count, base + a);
                    Kind::Alias(self.slice(a, outer, |o| o * count + k))
                }
                Op::Gather(v) => {
                    let parts = (0..outer).flat_map(|o| v.iter().map(move |w| (base + w, o)));
                    Kind::Lanes(parts.collect())
                }
                Op::Spread(a) => Kind::Alias(self.widen(base + a, outer * n.count)),
                op => {
                    let lanes = outer * n.count;
                    let mut operands = op.operands();
                    let low = operands.last().map_or(1, |&l| m.nodes[l].ty.width());
                    // Low bits that are cut out only to stand below others are taken on the way.
                    if let Op::Concat(hi, lo) = op {
                        let lo = &m.nodes[*lo];
                        if let (Op::Bits(from, 0), false) = (&lo.op, lo.ty.is_signed()) {
                            operands = vec![*hi, *from];
                        }
                    }
                    let is_insert = operands != op.operands();
                    let args = operands.iter().map(|&a| self.widen(base + a, lanes)).collect();
                    let func = match op {
                        _ if is_insert => Func::Insert(low),
                        // All bits of a word that is no wider are the word.
                        Op::Bits(a, 0) if n.ty.union(m.nodes[*a].ty) == n.ty => Func::Copy,
                        _ => self.func(op, n.ty, low),
                    };
                    Kind::Fn(func, args)
                }
            };
            self.nodes[base + i].kind = kind;
        }
        m.outputs.iter().map(|(_, id)| base + id).collect()
    }

    /// Some lanes of a word, even one of a bundle that the shapes will find to be equal in all lanes.
    fn slice(&mut self, source: Id, lanes: u32, pick: impl Fn(u32) -> u32) -> Id {
        let parts = (0..lanes).map(|j| (source, pick(j))).collect();
        self.push(Kind::Lanes(parts), self.nodes[source].ty, lanes)
    }

    /// An operand as a word of `lanes` lanes, each lane repeated.
    fn widen(&mut self, source: Id, lanes: u32) -> Id {
        let each = lanes / self.nodes[source].lanes;
        self.remap(source, lanes, |j| j / each)
    }

    fn func(&mut self, op: &Op, ty: Interval, low_width: u32) -> Func {
        match op {
            Op::Add(..) => Func::Add,
            Op::Sub(..) => Func::Sub,
            Op::Mul(..) => Func::Mul,
            Op::MulAdd(..) => Func::MulAdd,
            Op::ShiftLeft(_, k) => Func::ShiftLeft(*k),
            Op::ShiftRight(_, k) => Func::ShiftRight((*k).min(63)),
            Op::ShiftRightBy(..) => Func::ShiftRightBy,
            Op::ShiftLeftBy(..) => Func::ShiftLeftBy,
            Op::Less(..) => Func::Less,
            Op::Equal(..) => Func::Equal,
            Op::And(..) => Func::And,
            Op::Or(..) => Func::Or,
            Op::Not(_) => Func::Not,
            Op::Mux(..) => Func::Mux,
            Op::Select(..) => Func::Select,
            Op::Fit(_) => Func::Copy,
            Op::Bits(_, low) => {
                Func::Bits { low: (*low).min(63), width: ty.width(), signed: ty.is_signed() }
            }
            Op::Concat(..) => Func::Concat(low_width),
            Op::Rom(_, _, table) => {
                self.tables.push(Arc::new(table.to_vec()));
                Func::Rom(self.tables.len() - 1)
            }
            Op::Input
            | Op::Const(_)
            | Op::Reg { .. }
            | Op::MemRead { .. }
            | Op::InstanceOut { .. }
            | Op::Lane(..)
            | Op::Gather(_)
            | Op::Spread(_) => unreachable!("no function: {op:?}"),
        }
    }
}
