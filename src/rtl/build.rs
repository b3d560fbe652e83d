//! Describing a module: [`Net`] collects nodes, [`Word`] is a handle with operators.
//!
//! Arithmetic widens its interval exactly, so nothing overflows unless a `fit` or `saturate` says so.
//! Words of different pipeline ranks cannot be combined. A wrong description panics with both names: it
//! is a fault of ours, never of a user.
use super::module::{Instance, Memory, MemoryField, MemoryKind, Module, Node, NodeId, Op};
use super::pipe::{Pipe, Rank, meet, through};
use crate::num::Interval;
use std::cell::RefCell;
use std::ops::{Add, BitAnd, BitOr, Mul, Not, Sub};
use std::rc::Rc;

/// A module under description.
pub struct Net {
    module: RefCell<Module>,
}

/// A word of a [`Net`]: one node.
#[derive(Clone, Copy)]
pub struct Word<'a> {
    net: &'a Net,
    id: NodeId,
}

impl Net {
    pub fn new(name: &str, source: &str, doc: &str) -> Self {
        let module = Module {
            name: name.to_string(),
            doc: doc.to_string(),
            source: source.to_string(),
            sections: vec![String::new()],
            pipes: vec![None],
            ..Module::default()
        };
        Self { module: RefCell::new(module) }
    }

    /// Starts a group of nodes, printed under this comment.
    pub fn section(&self, comment: &str) {
        self.module.borrow_mut().sections.push(comment.to_string());
    }

    /// A pipeline whose registers take their words while `enable` is 1, or in every cycle.
    pub fn pipe<'a>(&'a self, enable: Option<Word<'a>>) -> Pipe<'a> {
        let has_rank = enable.is_some_and(|e| e.rank().is_some());
        assert!(!has_rank, "the enable of a pipe has a rank; it counts at every stage");
        let mut m = self.module.borrow_mut();
        m.pipes.push(enable.map(|e| e.id));
        Pipe::new(self, m.pipes.len() - 1, enable)
    }

    /// Name of a word, or of the word that it is another node for.
    pub(super) fn source_name(&self, word: Word<'_>) -> String {
        let m = self.module.borrow();
        let mut id = word.id;
        while let (None, Op::Fit(of)) = (&m.nodes[id].name, &m.nodes[id].op) {
            id = *of;
        }
        m.name_of(id).to_string()
    }

    /// As [`meet`].
    pub(super) fn meet(&self, what: &str, words: &[NodeId]) {
        meet(&self.module.borrow(), what, words);
    }

    /// A register after a word, unnamed and of no rank yet.
    pub(super) fn register<'a>(
        &'a self,
        word: Word<'a>,
        enable: Option<Word<'a>>,
        reset: Option<i64>,
    ) -> Word<'a> {
        let op = Op::Reg { next: Some(word.id), enable: enable.map(|e| e.id), reset };
        self.push(op, word.ty(), word.count())
    }

    fn push(&self, op: Op, ty: Interval, count: u32) -> Word<'_> {
        let mut m = self.module.borrow_mut();
        let rank = meet(&m, "operands", &op.operands());
        let section = m.sections.len() - 1;
        m.nodes.push(Node { op, ty, count, name: None, rank, section });
        Word { net: self, id: m.nodes.len() - 1 }
    }

    fn wide(&self, op: Op, ty: Interval) -> Word<'_> {
        let count = {
            let m = self.module.borrow();
            let counts: Vec<u32> = op.operands().iter().map(|&i| m.nodes[i].count).collect();
            let count = counts.iter().copied().max().unwrap_or(1);
            assert!(
                counts.iter().all(|&c| c == 1 || c == count),
                "{}: bundles of different counts meet",
                m.name
            );
            count
        };
        self.push(op, ty, count)
    }

    /// An input port `name_i`.
    pub fn input(&self, name: &str, ty: Interval, doc: &str) -> Word<'_> {
        self.input_bundle(name, ty, 1, doc)
    }

    /// An input port that carries one word a lane, lane 0 lowest.
    pub fn input_bundle(&self, name: &str, ty: Interval, count: u32, doc: &str) -> Word<'_> {
        let w = self.push(Op::Input, ty, count).named(name);
        let mut m = self.module.borrow_mut();
        m.nodes[w.id].rank = Some(Rank::NOW);
        m.inputs.push(w.id);
        m.port_docs.push((name.to_string(), doc.to_string()));
        w
    }

    /// An output port `name_o`.
    pub fn output(&self, name: &str, w: Word<'_>, doc: &str) {
        let mut m = self.module.borrow_mut();
        m.outputs.push((name.to_string(), w.id));
        m.port_docs.push((name.to_string(), doc.to_string()));
    }

    pub fn constant(&self, value: i64) -> Word<'_> {
        self.push(Op::Const(value), Interval::new(value, value), 1)
    }

    /// A state register, `name_q`, to be driven later; it has no rank.
    pub fn state(&self, name: &str, ty: Interval, count: u32, reset: Option<i64>) -> Word<'_> {
        if let Some(v) = reset {
            assert!(ty.contains(v), "{name}: reset value {v} is outside {ty}");
        }
        let w = self.push(Op::Reg { next: None, enable: None, reset }, ty, count);
        w.named(&format!("{name}_q"))
    }

    /// Sets what a state register takes, at every cycle in which `enable` is 1 (always, without one).
    pub fn drive(&self, reg: Word<'_>, value: Word<'_>, on: Option<Word<'_>>) {
        let mut m = self.module.borrow_mut();
        let name = m.name_of(reg.id).to_string();
        let (have, want) = (m.nodes[value.id].ty, m.nodes[reg.id].ty);
        assert!(
            want.contains(have.lo) && want.contains(have.hi),
            "{}: {name} holds {want} and is driven by {} of {have}",
            m.name,
            m.name_of(value.id)
        );
        let both: Vec<NodeId> = [value.id].into_iter().chain(on.map(|w| w.id)).collect();
        meet(&m, &format!("{name}: value and enable"), &both);
        let counts = (m.nodes[value.id].count, m.nodes[reg.id].count);
        assert!(counts.0 == counts.1, "{name}: {} lanes driven by {}", counts.1, counts.0);
        match &mut m.nodes[reg.id].op {
            Op::Reg { next, enable, .. } if next.is_none() => {
                (*next, *enable) = (Some(value.id), on.map(|w| w.id));
            }
            _ => panic!("{name} is driven twice, or is no register"),
        }
    }

    /// A memory of one write and one registered read port, to be wired by [`Net::drive_memory`]; returns
    /// the index for [`Net::read`]. A field is (name, interval, lanes).
    pub fn memory(
        &self,
        name: &str,
        doc: &str,
        depth: u32,
        fields: &[(&str, Interval, u32)],
    ) -> usize {
        let fields = fields
            .iter()
            .map(|&(name, ty, count)| MemoryField { name: name.to_string(), ty, count })
            .collect();
        let mut m = self.module.borrow_mut();
        m.memories.push(Memory {
            name: name.to_string(),
            doc: doc.to_string(),
            kind: MemoryKind::default(),
            depth,
            fields,
            write_enable: NodeId::MAX,
            write_address: NodeId::MAX,
            write_data: vec![],
            read_enable: NodeId::MAX,
            read_address: NodeId::MAX,
        });
        m.memories.len() - 1
    }

    /// Says what a memory is printed as; registers, if nothing does.
    pub fn print_memory_as(&self, memory: usize, kind: MemoryKind) {
        self.module.borrow_mut().memories[memory].kind = kind;
    }

    /// Wires a memory: (enable, address, one word a field) for its write port, (enable, address) for
    /// its read port.
    pub fn drive_memory(
        &self,
        memory: usize,
        write: (Word<'_>, Word<'_>, &[Word<'_>]),
        read: (Word<'_>, Word<'_>),
    ) {
        let mut m = self.module.borrow_mut();
        let mem = m.memories[memory].clone();
        assert_eq!(mem.fields.len(), write.2.len(), "{}: one word for each field", mem.name);
        for (f, w) in mem.fields.iter().zip(write.2) {
            let (ty, count) = (m.nodes[w.id].ty, m.nodes[w.id].count);
            assert!(
                f.ty.contains(ty.lo) && f.ty.contains(ty.hi) && f.count == count,
                "{}.{}: holds {} x {}, is written {ty} x {count}",
                mem.name,
                f.name,
                f.ty,
                f.count
            );
        }
        let mut written: Vec<NodeId> = write.2.iter().map(|w| w.id).collect();
        written.extend([write.0.id, write.1.id]);
        meet(&m, &format!("{}: words of the write", mem.name), &written);
        m.memories[memory] = Memory {
            write_enable: write.0.id,
            write_address: write.1.id,
            write_data: write.2.iter().map(|w| w.id).collect(),
            read_enable: read.0.id,
            read_address: read.1.id,
            ..mem
        };
    }

    /// The word that the memory read last cycle, one field of it.
    pub fn read(&self, memory: usize, field: usize) -> Word<'_> {
        let (ty, count, name) = {
            let m = self.module.borrow();
            let mem = &m.memories[memory];
            let f = &mem.fields[field];
            (f.ty, f.count, format!("{}_{}", mem.name, f.name))
        };
        self.push(Op::MemRead { memory, field }, ty, count).named(&name)
    }

    /// Instantiates a module; the outputs come back in the order of its ports, as bundles when `count`
    /// is not 1. Words of a stage above 0 are those of [`Net::instance_in`].
    pub fn instance(
        &self,
        name: &str,
        child: &Rc<Module>,
        count: u32,
        inputs: &[(&str, Word<'_>)],
    ) -> Vec<Word<'_>> {
        self.instance_at(0, name, child, count, inputs)
    }

    /// Instantiates a module whose stages are stages of a pipe of this one.
    pub fn instance_in(
        &self,
        pipe: &Pipe<'_>,
        name: &str,
        child: &Rc<Module>,
        count: u32,
        inputs: &[(&str, Word<'_>)],
    ) -> Vec<Word<'_>> {
        self.instance_at(pipe.id(), name, child, count, inputs)
    }

    fn instance_at(
        &self,
        pipe: usize,
        name: &str,
        child: &Rc<Module>,
        count: u32,
        inputs: &[(&str, Word<'_>)],
    ) -> Vec<Word<'_>> {
        assert_eq!(inputs.len(), child.inputs.len(), "{name}: {} inputs", child.inputs.len());
        let mut ordered = vec![];
        for &id in &child.inputs {
            let port = child.name_of(id);
            let (_, w) = inputs
                .iter()
                .find(|(n, _)| *n == port)
                .unwrap_or_else(|| panic!("{name}: input {port} is not connected"));
            let (have, want) = (w.ty(), child.nodes[id].ty);
            assert!(
                want.contains(have.lo) && want.contains(have.hi),
                "{name}.{port}: takes {want}, is driven by {} of {have}",
                w.name()
            );
            ordered.push(w.id);
        }
        let ranks = through(&self.module.borrow(), child, name, pipe, &ordered);
        let instance = {
            let mut m = self.module.borrow_mut();
            m.instances.push(Instance {
                name: name.to_string(),
                module: child.clone(),
                count,
                inputs: ordered,
            });
            m.instances.len() - 1
        };
        let outs: Vec<(usize, String, Interval, u32)> = child
            .outputs
            .iter()
            .enumerate()
            .map(|(port, (n, id))| {
                let lanes = child.nodes[*id].count * count;
                (port, format!("{name}_{n}"), child.nodes[*id].ty, lanes)
            })
            .collect();
        outs.into_iter()
            .map(|(port, n, ty, lanes)| {
                let out = self.push(Op::InstanceOut { instance, port }, ty, lanes).named(&n);
                out.set_rank(ranks[port]);
                out
            })
            .collect()
    }

    /// A bundle from single words, lane 0 first.
    pub fn gather(&self, words: &[Word<'_>]) -> Word<'_> {
        let ty = words.iter().map(|w| w.ty()).reduce(Interval::union).expect("a lane or more");
        self.push(Op::Gather(words.iter().map(|w| w.id).collect()), ty, words.len() as u32)
    }

    /// `options[index]`; an index past the end gives the last.
    pub fn select<'a>(&'a self, index: Word<'a>, options: &[Word<'a>]) -> Word<'a> {
        assert!(!options.is_empty() && index.ty().lo >= 0, "select: an unsigned index and options");
        let ty = options.iter().map(|w| w.ty()).reduce(Interval::union).expect("an option");
        self.wide(Op::Select(index.id, options.iter().map(|w| w.id).collect()), ty)
    }

    /// Closes the description and checks it.
    pub fn finish(self) -> Rc<Module> {
        let module = self.module.into_inner();
        for n in &module.nodes {
            if let Op::Reg { next: None, .. } = n.op {
                panic!(
                    "{}: register {} is never driven",
                    module.name,
                    n.name.as_deref().unwrap_or("?")
                );
            }
            let arithmetic = matches!(
                n.op,
                Op::Add(..)
                    | Op::Sub(..)
                    | Op::Mul(..)
                    | Op::MulAdd(..)
                    | Op::ShiftRightBy(..)
                    | Op::ShiftLeftBy(..)
                    | Op::Select(..)
                    | Op::Gather(_)
                    | Op::Mux(..)
            );
            assert!(
                !arithmetic || n.name.is_some(),
                "{}: an arithmetic result has no name: {:?} in `{}`",
                module.name,
                n.op,
                module.sections[n.section]
            );
        }
        for memory in &module.memories {
            let is_wired = memory.write_enable != NodeId::MAX;
            assert!(is_wired, "{}: memory {} is never wired", module.name, memory.name);
        }
        let mut names: Vec<&str> = module.nodes.iter().filter_map(|n| n.name.as_deref()).collect();
        names.sort_unstable();
        for pair in names.windows(2) {
            assert!(pair[0] != pair[1], "{}: two words are called {}", module.name, pair[0]);
        }
        Rc::new(module)
    }
}

impl<'a> Word<'a> {
    pub(super) fn id(self) -> NodeId {
        self.id
    }

    /// Its place in a pipeline; none for constants and state.
    pub fn rank(self) -> Option<Rank> {
        self.net.module.borrow().nodes[self.id].rank
    }

    pub(super) fn set_rank(self, rank: Option<Rank>) {
        self.net.module.borrow_mut().nodes[self.id].rank = rank;
    }

    pub fn ty(self) -> Interval {
        self.net.module.borrow().nodes[self.id].ty
    }

    pub fn width(self) -> u32 {
        self.ty().width()
    }

    pub fn count(self) -> u32 {
        self.net.module.borrow().nodes[self.id].count
    }

    pub fn name(self) -> String {
        self.net.module.borrow().name_of(self.id).to_string()
    }

    /// Gives the word its name in traces and in the printed text.
    pub fn named(self, name: &str) -> Self {
        self.net.module.borrow_mut().nodes[self.id].name = Some(name.to_string());
        self
    }

    /// A pipeline register `name_q`: the word one cycle and one rank later.
    pub fn stage(self) -> Self {
        let rank = self.rank().unwrap_or(Rank::NOW);
        let w = self.net.register(self, None, None);
        w.set_rank(Some(Rank { stage: rank.stage + 1, ..rank }));
        w.named(&format!("{}_q", self.name()))
    }

    /// `self * b + c`, exact.
    pub fn mul_add(self, b: Self, c: Self) -> Self {
        let ty = self.ty().mul(b.ty()).add(c.ty());
        self.net.wide(Op::MulAdd(self.id, b.id, c.id), ty)
    }

    pub fn shift_left(self, k: u32) -> Self {
        if k == 0 {
            return self;
        }
        self.net.wide(Op::ShiftLeft(self.id, k), self.ty().shift_left(k))
    }

    /// Floor of the value divided by 2^k.
    pub fn shift_right(self, k: u32) -> Self {
        if k == 0 {
            return self;
        }
        self.net.wide(Op::ShiftRight(self.id, k), self.ty().shift_right(k))
    }

    /// Floor of the value divided by 2^amount.
    pub fn shift_right_by(self, amount: Self) -> Self {
        let (t, a) = (self.ty(), amount.ty());
        assert!(a.lo >= 0, "a shift amount is unsigned");
        let (least, most) = (a.lo.min(63) as u32, a.hi.min(63) as u32);
        let ty = t.shift_right(least).union(t.shift_right(most));
        self.net.wide(Op::ShiftRightBy(self.id, amount.id), ty)
    }

    /// The value times 2^amount, exact.
    pub fn shift_left_by(self, amount: Self) -> Self {
        let (t, a) = (self.ty(), amount.ty());
        assert!(a.lo >= 0, "a shift amount is unsigned");
        let ty = t.shift_left(a.lo as u32).union(t.shift_left(a.hi as u32));
        self.net.wide(Op::ShiftLeftBy(self.id, amount.id), ty)
    }

    pub fn less(self, o: Self) -> Self {
        self.net.wide(Op::Less(self.id, o.id), Interval::unsigned(1))
    }

    pub fn equal(self, o: Self) -> Self {
        self.net.wide(Op::Equal(self.id, o.id), Interval::unsigned(1))
    }

    pub fn equals(self, value: i64) -> Self {
        self.equal(self.net.constant(value))
    }

    /// `self ? a : b`.
    pub fn mux(self, a: Self, b: Self) -> Self {
        assert!(self.ty() == Interval::unsigned(1), "{} chooses and is not one bit", self.name());
        self.net.wide(Op::Mux(self.id, a.id, b.id), a.ty().union(b.ty()))
    }

    /// Checked narrowing: every value lies in `ty`, for a reason that intervals cannot see.
    pub fn fit(self, ty: Interval) -> Self {
        self.net.wide(Op::Fit(self.id), ty)
    }

    /// `width` bits from bit `low` up, as an unsigned word. The word may be shorter: its sign extends.
    pub fn bits(self, low: u32, width: u32) -> Self {
        self.net.wide(Op::Bits(self.id, low), Interval::unsigned(width))
    }

    /// `width` bits from bit `low` up, as a two's complement word.
    pub fn signed_bits(self, low: u32, width: u32) -> Self {
        self.net.wide(Op::Bits(self.id, low), Interval::signed(width))
    }

    pub fn bit(self, k: u32) -> Self {
        self.bits(k, 1)
    }

    /// `self * 2^width(low) + low`.
    pub fn concat(self, low: Self) -> Self {
        let (t, l) = (self.ty(), low.ty());
        assert!(l.lo >= 0, "the low part of a concatenation is unsigned");
        let k = l.width();
        let ty = Interval::new(t.shift_left(k).lo, t.shift_left(k).hi + (1 << k) - 1);
        self.net.wide(Op::Concat(self.id, low.id), ty)
    }

    /// `table[self]`, printed as a function of that name.
    pub fn rom(self, name: &str, table: &[i64]) -> Self {
        assert!(self.ty().lo >= 0 && !table.is_empty(), "{name}: an unsigned index and entries");
        let ty = table.iter().map(|&v| Interval::new(v, v)).reduce(Interval::union);
        let table = Rc::new(table.to_vec());
        self.net.wide(Op::Rom(self.id, name.to_string(), table), ty.expect("entries"))
    }

    /// Lane `k` of a bundle.
    pub fn lane(self, k: u32) -> Self {
        assert!(k < self.count(), "{}: lane {k} of {}", self.name(), self.count());
        self.net.push(Op::Lane(self.id, k), self.ty(), 1)
    }

    /// The same word for each of `count` lanes.
    pub fn spread(self, count: u32) -> Self {
        self.net.push(Op::Spread(self.id), self.ty(), count)
    }
}

macro_rules! operator {
    ($trait:ident, $method:ident, $variant:ident, $interval:ident) => {
        impl<'a> $trait for Word<'a> {
            type Output = Word<'a>;
            fn $method(self, o: Self) -> Self {
                let ty = self.ty().$interval(o.ty());
                self.net.wide(Op::$variant(self.id, o.id), ty)
            }
        }
    };
}
operator!(Add, add, Add, add);
operator!(Sub, sub, Sub, sub);
operator!(Mul, mul, Mul, mul);

impl Word<'_> {
    fn bitwise(self, o: Self) -> Interval {
        let (a, b) = (self.ty(), o.ty());
        let fits = !a.is_signed() && !b.is_signed() && a.width() == b.width();
        assert!(fits, "`and` and `or` take unsigned words of one width, not {a} and {b}");
        Interval::unsigned(a.width())
    }
}
impl<'a> BitAnd for Word<'a> {
    type Output = Word<'a>;
    fn bitand(self, o: Self) -> Self {
        let ty = self.bitwise(o);
        self.net.wide(Op::And(self.id, o.id), ty)
    }
}
impl<'a> BitOr for Word<'a> {
    type Output = Word<'a>;
    fn bitor(self, o: Self) -> Self {
        let ty = self.bitwise(o);
        self.net.wide(Op::Or(self.id, o.id), ty)
    }
}
impl<'a> Not for Word<'a> {
    type Output = Word<'a>;
    fn not(self) -> Self {
        assert!(self.width() == 1, "`not` is for single bits");
        let operand = match self.net.module.borrow().nodes[self.id].op {
            Op::Not(a) => Some(a),
            _ => None,
        };
        if let Some(id) = operand {
            return Word { net: self.net, id };
        }
        self.net.wide(Op::Not(self.id), Interval::unsigned(1))
    }
}
