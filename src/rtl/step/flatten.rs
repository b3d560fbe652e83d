//! A module hierarchy as one flat list: instances inlined, domains found, evaluation order fixed.
use crate::num::Interval;
use crate::rtl::{Module, NodeId, Op};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

/// How many values a word has for R streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Domain {
    /// One: the same in every stream.
    Uniform,
    /// R: one a stream.
    Row,
    /// Lanes x R, lane-major.
    Lane,
}

/// An operation of the flat list; operands are flat indices.
#[derive(Clone, Debug)]
pub enum FlatOp {
    Input,
    Const(i64),
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
    Fit,
    /// Lowest bit, width, sign.
    Bits(u32, u32, bool),
    /// Bits of the low part.
    Concat(u32),
    Rom(Arc<Vec<i64>>),
    Register,
    MemRead,
    Lane(u32),
    Gather,
    Spread,
}

#[derive(Clone, Debug)]
pub struct FlatNode {
    pub op: FlatOp,
    pub operands: Vec<usize>,
    pub ty: Interval,
    pub lanes: u32,
    pub domain: Domain,
    pub name: String,
}

#[derive(Clone, Debug)]
pub struct FlatRegister {
    pub node: usize,
    pub next: usize,
    pub enable: Option<usize>,
    pub reset: Option<i64>,
}

#[derive(Clone, Debug)]
pub struct FlatMemory {
    pub name: String,
    pub write_enable: usize,
    pub write_address: usize,
    pub write_data: Vec<usize>,
    pub read_enable: usize,
    pub read_address: usize,
    /// The read register of each field that is used.
    pub reads: Vec<Option<usize>>,
}

/// The flat design. It owns plain data only and can be shared between threads.
#[derive(Clone, Debug)]
pub struct Flat {
    pub nodes: Vec<FlatNode>,
    pub registers: Vec<FlatRegister>,
    pub memories: Vec<FlatMemory>,
    pub inputs: HashMap<String, usize>,
    pub outputs: Vec<(String, usize)>,
    /// Combinational nodes in an order in which they can be evaluated.
    pub order: Vec<usize>,
    pub lanes: u32,
}

/// A reference that may stand before the node it refers to: (module path, node).
type Key = (usize, NodeId);

struct Builder {
    flat: Flat,
    of: HashMap<Key, usize>,
    scopes: usize,
    /// Operands still to be resolved: (flat node, keys).
    pending: Vec<(usize, Vec<Key>)>,
    pending_registers: Vec<(usize, Key, Option<Key>, Option<i64>)>,
    pending_memories: Vec<(usize, usize, Vec<Key>)>,
    /// A child's input stands for a parent's word.
    alias: HashMap<Key, Key>,
}

/// Flattens a design; `varying` names the top inputs that differ between streams.
pub fn flatten(top: &Rc<Module>, varying: &[&str]) -> Flat {
    let flat = Flat {
        nodes: vec![],
        registers: vec![],
        memories: vec![],
        inputs: HashMap::new(),
        outputs: vec![],
        order: vec![],
        lanes: 1,
    };
    let mut b = Builder {
        flat,
        of: HashMap::new(),
        scopes: 0,
        pending: vec![],
        pending_registers: vec![],
        pending_memories: vec![],
        alias: HashMap::new(),
    };
    let scope = b.module(top, "", 1, true);
    for (name, id) in &top.outputs {
        let at = b.resolve((scope, *id));
        b.flat.outputs.push((name.clone(), at));
    }
    b.finish(varying)
}

impl Builder {
    fn resolve(&self, mut key: Key) -> usize {
        while let Some(next) = self.alias.get(&key) {
            key = *next;
        }
        self.of[&key]
    }

    fn module(&mut self, m: &Rc<Module>, path: &str, copies: u32, is_top: bool) -> usize {
        let scope = self.scopes;
        self.scopes += 1;
        let first_memory = self.flat.memories.len();
        let mut children = vec![];
        for instance in &m.instances {
            let inner = format!("{path}{}.", instance.name);
            let copies = copies.max(instance.count);
            let child = self.module(&instance.module, &inner, copies, false);
            for (port, driver) in instance.module.inputs.iter().zip(&instance.inputs) {
                self.alias.insert((child, *port), (scope, *driver));
            }
            children.push(child);
        }
        for mem in &m.memories {
            let keys: Vec<Key> =
                [mem.write_enable, mem.write_address, mem.read_enable, mem.read_address]
                    .into_iter()
                    .chain(mem.write_data.iter().copied())
                    .map(|id| (scope, id))
                    .collect();
            self.pending_memories.push((self.flat.memories.len(), mem.fields.len(), keys));
            self.flat.memories.push(FlatMemory {
                name: format!("{path}{}", mem.name),
                write_enable: 0,
                write_address: 0,
                write_data: vec![],
                read_enable: 0,
                read_address: 0,
                reads: vec![None; mem.fields.len()],
            });
        }
        for (id, n) in m.nodes.iter().enumerate() {
            if let Op::InstanceOut { instance, port } = n.op {
                let inner = m.instances[instance].module.outputs[port].1;
                self.alias.insert((scope, id), (children[instance], inner));
                continue;
            }
            if matches!(n.op, Op::Input) && !is_top {
                continue;
            }
            let at = self.flat.nodes.len();
            let width = n.ty.width();
            let op = match &n.op {
                Op::Input => {
                    self.flat.inputs.insert(m.name_of(id).to_string(), at);
                    FlatOp::Input
                }
                Op::Const(v) => FlatOp::Const(*v),
                Op::Add(..) => FlatOp::Add,
                Op::Sub(..) => FlatOp::Sub,
                Op::Mul(..) => FlatOp::Mul,
                Op::MulAdd(..) => FlatOp::MulAdd,
                Op::ShiftLeft(_, k) => FlatOp::ShiftLeft(*k),
                Op::ShiftRight(_, k) => FlatOp::ShiftRight(*k),
                Op::ShiftRightBy(..) => FlatOp::ShiftRightBy,
                Op::ShiftLeftBy(..) => FlatOp::ShiftLeftBy,
                Op::Less(..) => FlatOp::Less,
                Op::Equal(..) => FlatOp::Equal,
                Op::And(..) => FlatOp::And,
                Op::Or(..) => FlatOp::Or,
                Op::Not(_) => FlatOp::Not,
                Op::Mux(..) => FlatOp::Mux,
                Op::Select(..) => FlatOp::Select,
                Op::Fit(_) => FlatOp::Fit,
                Op::Bits(_, k) => FlatOp::Bits(*k, width, n.ty.is_signed()),
                Op::Concat(_, lo) => FlatOp::Concat(m.nodes[*lo].ty.width()),
                Op::Rom(_, _, t) => FlatOp::Rom(Arc::new(t.to_vec())),
                Op::Reg { next, enable, reset } => {
                    let next = (scope, next.expect("a finished module drives its registers"));
                    self.pending_registers.push((at, next, enable.map(|e| (scope, e)), *reset));
                    FlatOp::Register
                }
                Op::MemRead { memory, field } => {
                    self.flat.memories[first_memory + memory].reads[*field] = Some(at);
                    FlatOp::MemRead
                }
                Op::Lane(_, k) => FlatOp::Lane(*k),
                Op::Gather(_) => FlatOp::Gather,
                Op::Spread(_) => FlatOp::Spread,
                Op::InstanceOut { .. } => unreachable!("handled above"),
            };
            self.pending.push((at, n.op.operands().into_iter().map(|o| (scope, o)).collect()));
            let lanes = n.count.max(copies);
            self.flat.lanes = self.flat.lanes.max(n.count.max(copies));
            // A bundle has a value for each lane even if every stream sees the same.
            let domain = if n.count > 1 { Domain::Lane } else { Domain::Uniform };
            let name = n.name.as_ref().map_or(String::new(), |n| format!("{path}{n}"));
            self.flat.nodes.push(FlatNode { op, operands: vec![], ty: n.ty, lanes, domain, name });
            self.of.insert((scope, id), at);
        }
        scope
    }

    fn finish(mut self, varying: &[&str]) -> Flat {
        for (at, keys) in std::mem::take(&mut self.pending) {
            self.flat.nodes[at].operands = keys.into_iter().map(|k| self.resolve(k)).collect();
        }
        for (node, next, enable, reset) in std::mem::take(&mut self.pending_registers) {
            let (next, enable) = (self.resolve(next), enable.map(|e| self.resolve(e)));
            self.flat.registers.push(FlatRegister { node, next, enable, reset });
        }
        for (at, _, keys) in std::mem::take(&mut self.pending_memories) {
            let ids: Vec<usize> = keys.into_iter().map(|k| self.resolve(k)).collect();
            let m = &mut self.flat.memories[at];
            [m.write_enable, m.write_address, m.read_enable, m.read_address] =
                [ids[0], ids[1], ids[2], ids[3]];
            m.write_data = ids[4..].to_vec();
        }
        let mut flat = self.flat;
        for name in varying {
            let at = *flat.inputs.get(*name).unwrap_or_else(|| panic!("no input {name}"));
            flat.nodes[at].domain = flat.nodes[at].domain.max(Domain::Row);
        }
        find_order(&mut flat);
        find_domains(&mut flat);
        flat
    }
}

fn find_order(flat: &mut Flat) {
    // 0 not seen, 1 under way, 2 done.
    let mut state = vec![0u8; flat.nodes.len()];
    for root in 0..flat.nodes.len() {
        let mut stack = vec![(root, 0usize)];
        while let Some((node, next)) = stack.pop() {
            if next == 0 {
                if state[node] == 2 {
                    continue;
                }
                assert!(state[node] == 0, "a loop without a register at {}", flat.nodes[node].name);
                state[node] = 1;
            }
            if let Some(&operand) = flat.nodes[node].operands.get(next) {
                stack.push((node, next + 1));
                if state[operand] == 1 {
                    panic!("a loop without a register at {}", flat.nodes[operand].name);
                }
                if state[operand] == 0 {
                    stack.push((operand, 0));
                }
            } else {
                state[node] = 2;
                let is_state = matches!(
                    flat.nodes[node].op,
                    FlatOp::Register | FlatOp::MemRead | FlatOp::Input
                );
                if !is_state {
                    flat.order.push(node);
                }
            }
        }
    }
}

fn find_domains(flat: &mut Flat) {
    loop {
        let mut changed = false;
        let mut raise = |nodes: &mut Vec<FlatNode>, at: usize, d: Domain| {
            if nodes[at].domain < d {
                nodes[at].domain = d;
                changed = true;
            }
        };
        for &at in &flat.order {
            let d = match flat.nodes[at].op {
                FlatOp::Lane(_) => Domain::Row,
                FlatOp::Gather | FlatOp::Spread => Domain::Lane,
                _ => {
                    let operands = &flat.nodes[at].operands;
                    let d = operands.iter().map(|&o| flat.nodes[o].domain).max();
                    d.unwrap_or(Domain::Uniform)
                }
            };
            raise(&mut flat.nodes, at, d);
        }
        for r in &flat.registers {
            let d = flat.nodes[r.next].domain;
            raise(&mut flat.nodes, r.node, d);
        }
        for m in &flat.memories {
            for (data, read) in m.write_data.iter().zip(&m.reads) {
                if let Some(read) = read {
                    let d = flat.nodes[*data].domain;
                    raise(&mut flat.nodes, *read, d);
                }
            }
        }
        if !changed {
            break;
        }
    }
    let uniform = |at: usize, what: &str, of: &str| {
        let n = &flat.nodes[at];
        assert!(n.domain == Domain::Uniform, "{what} of {of} depends on data, through {}", n.name);
    };
    for r in &flat.registers {
        if let Some(e) = r.enable {
            uniform(e, "the enable", &flat.nodes[r.node].name);
        }
    }
    for m in &flat.memories {
        uniform(m.write_enable, "the write enable", &m.name);
        uniform(m.write_address, "the write address", &m.name);
        uniform(m.read_enable, "the read enable", &m.name);
        uniform(m.read_address, "the read address", &m.name);
    }
}
