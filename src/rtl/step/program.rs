//! The flattened program: where every word lives and what is done in a cycle. Shared by all steppers.
use super::flatten::{Func, Id, Kind, Netlist};
use super::specialise::List;
use crate::num::Interval;
use crate::rtl::module::Module;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

/// Where a word is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Src {
    /// A control word: `lanes` scalars (1 for all lanes); `wide` ones need 64 bits.
    Slot { at: u32, lanes: u32, wide: bool },
    /// `lanes` lanes of a buffer, from lane `first` on.
    Buf { id: u32, first: u32, lanes: u32 },
}

impl Src {
    pub fn lanes(self) -> u32 {
        match self {
            Self::Slot { lanes, .. } | Self::Buf { lanes, .. } => lanes,
        }
    }

    /// Lane `l` alone.
    pub fn lane(self, l: u32) -> Self {
        match self {
            Self::Slot { lanes: 1, .. } | Self::Buf { lanes: 1, .. } => self,
            Self::Slot { at, wide, .. } => Self::Slot { at: at + l, lanes: 1, wide },
            Self::Buf { id, first, .. } => Self::Buf { id, first: first + l, lanes: 1 },
        }
    }

    /// The parts as one, when they lie one after the other or are all the same.
    pub fn join(parts: &[Self]) -> Option<Self> {
        let first = parts[0];
        if parts.iter().all(|&p| p == first) {
            return Some(first);
        }
        let n = parts.len() as u32;
        let whole = match first {
            Self::Slot { at, wide, .. } => Self::Slot { at, lanes: n, wide },
            Self::Buf { id, first, .. } => Self::Buf { id, first, lanes: n },
        };
        (0..n).zip(parts).all(|(l, &p)| whole.lane(l) == p).then_some(whole)
    }
}

/// An evaluation of control words.
#[derive(Clone, Debug)]
pub(super) struct ScalarOp {
    pub func: Func,
    pub node: Id,
    pub out: u32,
    pub lanes: u32,
    /// Range of operands in the pool beside it: slot, and 1 if it advances from lane to lane.
    pub args: (u32, u32),
}

/// A register of control words.
pub(super) struct ControlReg {
    pub at: u32,
    pub lanes: u32,
    pub next: Src,
    pub enable: Option<u32>,
}

/// A register of data words.
pub(super) struct DataReg {
    pub buf: u32,
    /// Where its next value is copied when it cannot be taken over.
    pub stage: u32,
    pub next: Id,
    pub enable: Option<u32>,
}

/// A field of a memory.
pub(super) struct Field {
    pub memory: usize,
    pub ty: Interval,
    pub lanes: u32,
    pub data: Id,
    pub by_stream: bool,
    /// The read register; none when nobody reads.
    pub read: Option<Src>,
    pub stage: u32,
}

/// A control word that decides which operations run.
pub(super) struct Steering {
    pub at: u32,
    /// Larger values act like this one.
    pub most: i64,
    pub bits: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Store {
    pub wide: bool,
    pub lanes: u32,
}

/// A named word of the hierarchy.
#[derive(Clone, Debug)]
pub struct WordInfo {
    /// `instance.word`; words of the top have no prefix.
    pub name: String,
    pub ty: Interval,
    /// Lanes, those of the enclosing instances included, outermost slowest.
    pub count: u32,
    pub is_register: bool,
    pub(super) node: Id,
}

/// A flattened module hierarchy: build it once, share it among steppers.
pub struct Program {
    pub(super) net: Netlist,
    /// Where each word is before specialisation.
    pub(super) src: Vec<Src>,
    pub(super) stores: Vec<Store>,
    pub(super) slots: Vec<i64>,
    /// Slots for data words that become control words under some steering.
    pub(super) late: Vec<u32>,
    pub(super) ops: Vec<ScalarOp>,
    pub(super) pool: Vec<(u32, u32)>,
    pub(super) control_regs: Vec<ControlReg>,
    pub(super) data_regs: Vec<DataReg>,
    pub(super) fields: Vec<Field>,
    pub(super) steering: Vec<Steering>,
    pub(super) words: Vec<WordInfo>,
    pub(super) lists: Mutex<HashMap<Box<[u64]>, Arc<List>>>,
}

/// 64 bits are needed.
pub(super) fn is_wide(ty: Interval) -> bool {
    ty.lo < i64::from(i32::MIN) || ty.hi > i64::from(i32::MAX)
}

/// What a word holds that nobody has set: 0 where it can be.
pub(super) fn rest(ty: Interval) -> i64 {
    if ty.contains(0) { 0 } else { ty.lo }
}

impl Program {
    /// Flattens the hierarchy under `top`. The inputs in `varying` carry other data in each stream; all
    /// others are the same for all streams.
    ///
    /// # Panics
    /// For a combinational loop, and for a memory whose address or enable depends on varying inputs.
    pub fn new(top: &Module, varying: &[&str]) -> Arc<Self> {
        let net = Netlist::new(top, varying);
        let mut p = Self {
            src: vec![Src::Slot { at: 0, lanes: 1, wide: false }; net.nodes.len()],
            late: vec![0; net.nodes.len()],
            net,
            stores: vec![],
            slots: vec![],
            ops: vec![],
            pool: vec![],
            control_regs: vec![],
            data_regs: vec![],
            fields: vec![],
            steering: vec![],
            words: vec![],
            lists: Mutex::default(),
        };
        p.place_state();
        for id in p.net.order.clone() {
            p.place(id);
        }
        p.registers();
        p.steering_words();
        p.words = (0..p.net.nodes.len())
            .filter(|&id| !p.net.nodes[id].name.is_empty())
            .map(|node| {
                let n = &p.net.nodes[node];
                let is_register = matches!(n.kind, Kind::Reg { .. } | Kind::MemRead { .. });
                WordInfo { name: n.name.clone(), ty: n.ty, count: n.lanes, is_register, node }
            })
            .collect();
        Arc::new(p)
    }

    /// The address in force at a memory's field.
    pub(super) fn address(&self, slots: &[i64], field: usize, reading: bool) -> usize {
        let m = &self.net.memories[self.fields[field].memory];
        let id = if reading { m.read_address } else { m.write_address };
        let address = slots[self.scalar_at(id) as usize];
        assert!(
            (0..m.depth as i64).contains(&address),
            "{}: address {address} is {}, past the {} words",
            m.name,
            if reading { "read" } else { "written" },
            m.depth
        );
        address as usize
    }

    fn slot(&mut self, ty: Interval, lanes: u32) -> Src {
        let at = self.slots.len() as u32;
        self.slots.extend((0..lanes).map(|_| rest(ty)));
        Src::Slot { at, lanes, wide: is_wide(ty) }
    }

    fn buffer(&mut self, ty: Interval, lanes: u32) -> Src {
        self.stores.push(Store { wide: is_wide(ty), lanes });
        Src::Buf { id: self.stores.len() as u32 - 1, first: 0, lanes }
    }

    fn home(&mut self, id: Id) -> Src {
        let (ty, lanes, by_stream) = {
            let n = &self.net.nodes[id];
            (n.ty, n.stored(), n.by_stream)
        };
        if by_stream { self.buffer(ty, lanes) } else { self.slot(ty, lanes) }
    }

    /// Places registers, inputs and memory read registers.
    fn place_state(&mut self) {
        let mut read = HashMap::new();
        for id in 0..self.net.nodes.len() {
            match self.net.nodes[id].kind {
                Kind::Input | Kind::Reg { .. } => self.src[id] = self.home(id),
                Kind::MemRead { memory, field } => {
                    let src = match read.get(&(memory, field)) {
                        Some(&src) => src,
                        None => self.home(id),
                    };
                    read.insert((memory, field), src);
                    self.src[id] = src;
                }
                _ => {}
            }
        }
        for memory in 0..self.net.memories.len() {
            for (i, f) in self.net.memories[memory].fields.clone().into_iter().enumerate() {
                let shape = &self.net.nodes[f.data];
                let (lanes, by_stream) = (if shape.by_lane { f.lanes } else { 1 }, shape.by_stream);
                let stage = match self.buffer(f.ty, lanes) {
                    Src::Buf { id, .. } => id,
                    Src::Slot { .. } => unreachable!("a buffer"),
                };
                let read = read.get(&(memory, i)).copied();
                let (ty, data) = (f.ty, f.data);
                self.fields.push(Field { memory, ty, lanes, data, by_stream, read, stage });
            }
        }
    }

    /// Places what is computed; control words get their operation.
    fn place(&mut self, id: Id) {
        let n = &self.net.nodes[id];
        let (ty, stored, by_stream) = (n.ty, n.stored(), n.by_stream);
        let (func, args): (Func, Vec<Src>) = match &n.kind {
            Kind::Input | Kind::Reg { .. } | Kind::MemRead { .. } => return,
            Kind::Const(v) => {
                let v = *v;
                self.src[id] = self.slot(ty, 1);
                *self.slots.last_mut().expect("just added") = v;
                return;
            }
            Kind::Alias(a) => {
                self.src[id] = self.src[*a];
                return;
            }
            Kind::Lanes(parts) => {
                let parts: Vec<Src> = parts.iter().map(|&(s, l)| self.src[s].lane(l)).collect();
                if let (Some(whole), false) = (Src::join(&parts), by_stream) {
                    self.src[id] = whole;
                    return;
                }
                (Func::Lanes, parts)
            }
            Kind::Fn(func, args) => (*func, args.iter().map(|&a| self.src[a]).collect()),
        };
        if by_stream {
            self.src[id] = self.buffer(ty, stored);
            let Src::Slot { at, .. } = self.slot(ty, stored) else { unreachable!("a slot") };
            self.late[id] = at;
            return;
        }
        self.src[id] = self.slot(ty, stored);
        let Src::Slot { at, .. } = self.src[id] else { unreachable!("a slot") };
        scalar_ops(func, id, at, stored, &args, &mut self.pool, |op| self.ops.push(op));
    }

    /// Slot of a control word.
    pub(super) fn scalar_at(&self, id: Id) -> u32 {
        match self.src[id] {
            Src::Slot { at, .. } => at,
            Src::Buf { .. } => unreachable!("{} is no control word", self.net.label(id)),
        }
    }

    fn registers(&mut self) {
        for id in 0..self.net.nodes.len() {
            let Kind::Reg { next, enable, .. } = self.net.nodes[id].kind else { continue };
            let enable = enable.map(|e| self.scalar_at(e));
            match self.src[id] {
                Src::Slot { at, lanes, .. } => {
                    let next = self.src[next];
                    self.control_regs.push(ControlReg { at, lanes, next, enable });
                }
                Src::Buf { id: buf, lanes, .. } => {
                    let stage = match self.buffer(self.net.nodes[id].ty, lanes) {
                        Src::Buf { id, .. } => id,
                        Src::Slot { .. } => unreachable!("a buffer"),
                    };
                    self.data_regs.push(DataReg { buf, stage, next, enable });
                }
            }
        }
    }

    /// Collects the control words that decide which data operations run.
    fn steering_words(&mut self) {
        let mut found: Vec<(u32, i64)> = vec![];
        let mut add = |at: u32, most: i64| match found.iter_mut().find(|f| f.0 == at) {
            Some(f) => f.1 = f.1.max(most),
            None => found.push((at, most)),
        };
        for n in self.net.nodes.iter().filter(|n| n.by_stream) {
            let Kind::Fn(func @ (Func::Mux | Func::Select), args) = &n.kind else { continue };
            let most = if *func == Func::Mux { 1 } else { args.len() as i64 - 2 };
            if let Src::Slot { at, lanes, .. } = self.src[args[0]] {
                (0..lanes).for_each(|l| add(at + l, most));
            }
        }
        for at in self.data_regs.iter().filter_map(|r| r.enable) {
            add(at, 1);
        }
        for f in self.fields.iter().filter(|f| f.by_stream) {
            let m = &self.net.memories[f.memory];
            add(self.scalar_at(m.write_enable), 1);
            add(self.scalar_at(m.read_enable), 1);
        }
        let bits = |most: i64| 64 - most.leading_zeros();
        self.steering =
            found.into_iter().map(|(at, most)| Steering { at, most, bits: bits(most) }).collect();
    }
}

/// The scalar operations of one node: one, or one a lane for a bundle made of words.
pub(super) fn scalar_ops(
    func: Func,
    node: Id,
    out: u32,
    lanes: u32,
    args: &[Src],
    pool: &mut Vec<(u32, u32)>,
    mut add: impl FnMut(ScalarOp),
) {
    let slot = |s: &Src| match *s {
        Src::Slot { at, lanes, .. } => (at, u32::from(lanes > 1)),
        Src::Buf { .. } => unreachable!("a data word in a control word"),
    };
    if func == Func::Lanes {
        for (l, arg) in args.iter().enumerate() {
            let start = pool.len() as u32;
            pool.push(slot(arg));
            let (out, args) = (out + l as u32, (start, start + 1));
            add(ScalarOp { func: Func::Copy, node, out, lanes: 1, args });
        }
        return;
    }
    let start = pool.len() as u32;
    pool.extend(args.iter().map(slot));
    add(ScalarOp { func, node, out, lanes, args: (start, pool.len() as u32) });
}
