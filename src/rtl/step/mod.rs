//! Steps a design, exactly, for R streams at once: R copies of it with the same control and other data.
//!
//! Control is stepped once for all streams; every other operation is one loop over its words. Two ways
//! to run give the same outputs, registers and cycles: *full* evaluates every node each cycle, *results*
//! only what the micro-op under way uses. What is used depends on the control words alone, so each
//! pattern of them is compiled once and looked up after that.
mod flatten;
mod kernels;

use crate::num::Interval;
use crate::rtl::Module;
use flatten::{Domain, Flat, FlatNode, FlatOp, flatten};
use kernels::{Kernel, Source, Target, Words, run};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

/// A flattened design, shared between threads.
#[derive(Clone, Debug)]
pub struct Design {
    flat: Arc<Flat>,
    uniform_order: Arc<Vec<usize>>,
    varying_order: Arc<Vec<usize>>,
    /// Uniform words that decide which varying words are used.
    steering: Arc<Vec<usize>>,
}

/// A port, found once by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Port(usize);

/// A named word, for traces.
#[derive(Clone, Debug)]
pub struct NamedWord {
    pub name: String,
    pub ty: Interval,
    pub lanes: u32,
    pub is_register: bool,
    node: usize,
}

/// Which words are evaluated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Every word of every cycle.
    Full,
    /// Only the words that reach an enabled register, a memory or a wanted output.
    Results,
}

impl Design {
    /// Flattens a design. `varying` names the inputs that differ between streams.
    pub fn new(top: &Rc<Module>, varying: &[&str]) -> Self {
        let flat = flatten(top, varying);
        let is_uniform = |n: &FlatNode| n.domain == Domain::Uniform;
        let (uniform_order, varying_order): (Vec<usize>, Vec<usize>) =
            flat.order.iter().partition(|&&at| is_uniform(&flat.nodes[at]));
        let mut steering = vec![];
        for &at in &varying_order {
            let n = &flat.nodes[at];
            let chooses = matches!(n.op, FlatOp::Mux | FlatOp::Select);
            if chooses && is_uniform(&flat.nodes[n.operands[0]]) {
                steering.push(n.operands[0]);
            }
        }
        for r in &flat.registers {
            if !is_uniform(&flat.nodes[r.node]) {
                steering.extend(r.enable);
            }
        }
        steering.extend(flat.memories.iter().flat_map(|m| [m.write_enable, m.read_enable]));
        steering.sort_unstable();
        steering.dedup();
        steering.retain(|&s| !matches!(flat.nodes[s].op, FlatOp::Const(_)));
        Self {
            flat: Arc::new(flat),
            uniform_order: Arc::new(uniform_order),
            varying_order: Arc::new(varying_order),
            steering: Arc::new(steering),
        }
    }

    /// An input by its name.
    pub fn input(&self, name: &str) -> Port {
        Port(*self.flat.inputs.get(name).unwrap_or_else(|| panic!("no input {name}")))
    }

    /// An output by its name.
    pub fn output(&self, name: &str) -> Port {
        let found = self.flat.outputs.iter().find(|(n, _)| n == name);
        Port(found.unwrap_or_else(|| panic!("no output {name}")).1)
    }

    /// Every named word, by its path of instances.
    pub fn words(&self) -> Vec<NamedWord> {
        let mut words: Vec<NamedWord> = (self.flat.nodes.iter().enumerate())
            .filter(|(_, n)| !n.name.is_empty())
            .map(|(node, n)| NamedWord {
                name: n.name.clone(),
                ty: n.ty,
                lanes: n.lanes,
                is_register: matches!(n.op, FlatOp::Register | FlatOp::MemRead),
                node,
            })
            .collect();
        words.sort_by(|a, b| a.name.cmp(&b.name));
        words
    }
}

/// Where an operand's words are.
#[derive(Clone, Copy, Debug)]
enum Place {
    Uniform(usize),
    /// A node's words, or one lane of them.
    Words(usize, Option<u32>),
}

#[derive(Clone, Debug)]
enum Work {
    Kernel(Kernel, [Place; 3], usize),
    Rom(Arc<Vec<i64>>, Place),
    /// Index, then the options.
    Select(Place, Vec<Place>),
    Gather(Vec<Place>),
}

#[derive(Clone, Debug)]
struct Instruction {
    out: usize,
    work: Work,
    /// Lanes to loop over when an operand has one word for all of them; 0 for a single loop.
    lane_loop: u32,
}

/// The varying work of one cycle.
#[derive(Debug, Default)]
struct Plan {
    instructions: Vec<Instruction>,
    /// Register, where its next words are.
    registers: Vec<(usize, Place)>,
    /// (memory, field, data).
    writes: Vec<(usize, usize, Place)>,
    reads: Vec<usize>,
    outputs: HashMap<usize, Place>,
}

/// The state of R streams.
pub struct Stepper {
    design: Design,
    streams: usize,
    mode: Mode,
    wanted: Vec<usize>,
    wants: bool,
    uniform: Vec<i64>,
    words: Vec<Words>,
    /// One store a memory field: words by address, then lane, then stream.
    memories: Vec<Vec<Memory>>,
    plans: HashMap<Vec<i64>, Arc<Plan>>,
    key: Vec<i64>,
    plan: Arc<Plan>,
    is_checked: bool,
}

#[derive(Clone, Debug)]
enum Memory {
    Uniform(Vec<i64>),
    Bytes(Vec<i8>),
    Halves(Vec<i16>),
    Words(Vec<i32>),
    Doubles(Vec<i64>),
}

impl Stepper {
    /// Streams after reset. `wanted` are the varying outputs that [`Stepper::want_outputs`] speaks of.
    pub fn new(design: &Design, streams: usize, mode: Mode, wanted: &[Port]) -> Self {
        let flat = &design.flat;
        let words = (flat.nodes.iter())
            .map(|n| {
                let size = match n.domain {
                    Domain::Uniform => 0,
                    Domain::Row => streams,
                    Domain::Lane => streams * n.lanes as usize,
                };
                let state = matches!(n.op, FlatOp::Register | FlatOp::MemRead | FlatOp::Input);
                let size = if aliases(&n.op) && !state { 0 } else { size };
                Words::new(is_narrow(n), size)
            })
            .collect();
        let memories = (flat.memories.iter())
            .map(|m| {
                (m.reads.iter().zip(&m.write_data))
                    .map(|(read, data)| {
                        let n = &flat.nodes[read.unwrap_or(*data)];
                        match (n.domain, n.ty.width() + u32::from(!n.ty.is_signed())) {
                            (Domain::Uniform, _) => Memory::Uniform(vec![]),
                            (_, 0..=8) => Memory::Bytes(vec![]),
                            (_, 9..=16) => Memory::Halves(vec![]),
                            (_, 17..=32) => Memory::Words(vec![]),
                            _ => Memory::Doubles(vec![]),
                        }
                    })
                    .collect()
            })
            .collect();
        let mut s = Self {
            streams,
            mode,
            wanted: wanted.iter().map(|p| p.0).collect(),
            wants: true,
            uniform: vec![0; flat.nodes.len()],
            words,
            memories,
            plans: HashMap::new(),
            key: vec![],
            plan: Arc::default(),
            is_checked: false,
            design: design.clone(),
        };
        for (at, n) in s.design.flat.clone().nodes.iter().enumerate() {
            if let FlatOp::Const(v) = n.op {
                s.uniform[at] = v;
            }
        }
        s.reset();
        s
    }

    /// Asserts, from now on, that every word stays in its interval.
    pub fn check_intervals(&mut self) {
        self.is_checked = true;
    }

    pub fn streams(&self) -> usize {
        self.streams
    }

    /// Registers with a reset value take it, at once.
    pub fn reset(&mut self) {
        let flat = self.design.flat.clone();
        for r in &flat.registers {
            if let Some(v) = r.reset {
                match flat.nodes[r.node].domain {
                    Domain::Uniform => self.uniform[r.node] = v,
                    _ => self.words[r.node].fill(v),
                }
            }
        }
    }

    /// Sets an input that is the same for every stream (and lane).
    pub fn set(&mut self, port: Port, value: i64) {
        match self.design.flat.nodes[port.0].domain {
            Domain::Uniform => self.uniform[port.0] = value,
            _ => self.words[port.0].fill(value),
        }
    }

    /// Sets an input from its words, lane-major: lane 0 of every stream, lane 1, ...
    ///
    /// An input that was not declared to differ between streams takes the first of them.
    pub fn set_words(&mut self, port: Port, values: &[i32]) {
        if self.design.flat.nodes[port.0].domain == Domain::Uniform {
            self.uniform[port.0] = i64::from(values[0]);
            return;
        }
        match &mut self.words[port.0] {
            Words::Narrow(v) => v.copy_from_slice(values),
            Words::Wide(v) => v.iter_mut().zip(values).for_each(|(v, &x)| *v = i64::from(x)),
        }
    }

    /// Whether the wanted outputs are read this cycle (results mode only).
    pub fn want_outputs(&mut self, wants: bool) {
        self.wants = wants;
    }

    /// Evaluates what lies between registers.
    pub fn settle(&mut self) {
        let design = self.design.clone();
        for &at in design.uniform_order.iter() {
            self.uniform[at] = uniform_value(&design.flat, &design.flat.nodes[at], &self.uniform);
            if self.is_checked {
                let n = &design.flat.nodes[at];
                assert!(
                    n.ty.contains(self.uniform[at]),
                    "{} is {}, not in {}",
                    n.name,
                    self.uniform[at],
                    n.ty
                );
            }
        }
        let mut key = std::mem::take(&mut self.key);
        key.clear();
        if self.mode == Mode::Results {
            key.extend(design.steering.iter().map(|&s| self.uniform[s]));
            key.push(i64::from(self.wants));
        } else {
            // The steering words still say which registers and memories move.
            key.extend(design.steering.iter().map(|&s| self.uniform[s]));
        }
        let plan = match self.plans.get(key.as_slice()) {
            Some(plan) => plan.clone(),
            None => {
                let plan = Arc::new(self.compile());
                self.plans.insert(key.clone(), plan.clone());
                plan
            }
        };
        self.key = key;
        for i in &plan.instructions {
            self.execute(i);
            if self.is_checked {
                let n = &design.flat.nodes[i.out];
                let w = &self.words[i.out];
                for k in 0..w.len() {
                    assert!(n.ty.contains(w.get(k)), "{} is {}, not in {}", n.name, w.get(k), n.ty);
                }
            }
        }
        self.plan = plan;
    }

    /// The clock's edge: registers and memories take their next words.
    pub fn clock(&mut self) {
        let design = self.design.clone();
        let flat = &design.flat;
        let plan = self.plan.clone();
        // Everything that is stored now comes from old words, so the read registers move last. A word
        // that is read and written in the same cycle is read before.
        let mut early = vec![];
        for &m in &plan.reads {
            let mem = &flat.memories[m];
            let address = self.uniform[mem.read_address];
            if self.uniform[mem.write_enable] != 0 && self.uniform[mem.write_address] == address {
                for (f, read) in mem.reads.iter().enumerate() {
                    if let Some(read) = *read {
                        let mut row =
                            Words::new(is_narrow(&flat.nodes[read]), self.words[read].len());
                        let uniform = self.read_memory(m, f, address as usize, &mut row);
                        early.push((read, row, uniform));
                    }
                }
            }
        }
        for &(m, f, place) in &plan.writes {
            let address = self.uniform[flat.memories[m].write_address] as usize;
            let mut store = std::mem::replace(&mut self.memories[m][f], Memory::Uniform(vec![]));
            let lanes = flat.nodes[flat.memories[m].write_data[f]].lanes;
            self.write_memory(&mut store, address, place, lanes);
            self.memories[m][f] = store;
        }
        let mut next = vec![];
        for r in &flat.registers {
            if flat.nodes[r.node].domain == Domain::Uniform
                && r.enable.is_none_or(|e| self.uniform[e] != 0)
            {
                next.push((r.node, self.uniform[r.next]));
            }
        }
        // Every register reads old words: those that another register holds are copied first.
        let mut copies = vec![];
        for &(node, place) in &plan.registers {
            if let Place::Words(from, _) = place {
                if matches!(flat.nodes[from].op, FlatOp::Register | FlatOp::MemRead) {
                    let mut out = self.words[node].clone();
                    self.copy(&mut out, place, flat.nodes[node].lanes);
                    copies.push((node, out));
                    continue;
                }
            }
            let mut out = std::mem::replace(&mut self.words[node], Words::Narrow(vec![]));
            self.copy(&mut out, place, flat.nodes[node].lanes);
            self.words[node] = out;
        }
        for (node, out) in copies {
            self.words[node] = out;
        }
        for &m in &plan.reads {
            let address = self.uniform[flat.memories[m].read_address] as usize;
            for (f, read) in flat.memories[m].reads.iter().enumerate() {
                let Some(read) = *read else { continue };
                let (row, uniform) = match early.iter().position(|(r, ..)| *r == read) {
                    Some(i) => {
                        let (_, row, uniform) = early.swap_remove(i);
                        (row, uniform)
                    }
                    None => {
                        let empty = Words::Narrow(vec![]);
                        let mut row = std::mem::replace(&mut self.words[read], empty);
                        let uniform = self.read_memory(m, f, address, &mut row);
                        (row, uniform)
                    }
                };
                self.words[read] = row;
                if flat.nodes[read].domain == Domain::Uniform {
                    next.push((read, uniform));
                }
            }
        }
        for (node, value) in next {
            self.uniform[node] = value;
        }
    }

    /// An output or input that is the same for every stream.
    pub fn get(&self, port: Port) -> i64 {
        self.uniform[port.0]
    }

    /// The words of an output, lane-major, as settled. In results mode only wanted outputs have them.
    pub fn get_words(&self, port: Port, out: &mut Vec<i32>) {
        out.clear();
        let n = &self.design.flat.nodes[port.0];
        let size = self.streams * if n.domain == Domain::Lane { n.lanes as usize } else { 1 };
        let place = self.plan.outputs.get(&port.0).copied();
        let place = place.unwrap_or_else(|| self.place(port.0));
        match self.source(place, 0, size) {
            Source::One(v) => out.resize(size, v as i32),
            Source::Narrow(v) if v.len() == size => out.extend_from_slice(v),
            Source::Narrow(v) => out.extend(v.iter().cycle().take(size)),
            Source::Wide(v) => out.extend(v.iter().cycle().take(size).map(|&v| v as i32)),
        }
    }

    /// A named word in one stream, a value for each lane. Full mode only.
    pub fn read(&self, word: &NamedWord, stream: usize) -> Vec<i64> {
        let n = &self.design.flat.nodes[word.node];
        if n.domain == Domain::Uniform {
            return vec![self.uniform[word.node]];
        }
        match self.place(word.node) {
            Place::Uniform(at) => vec![self.uniform[at]],
            Place::Words(at, Some(k)) => {
                vec![self.words[at].get(k as usize * self.streams + stream)]
            }
            Place::Words(at, None) => {
                let w = &self.words[at];
                (0..w.len() / self.streams).map(|k| w.get(k * self.streams + stream)).collect()
            }
        }
    }

    /// Follows words that are another word's.
    fn place(&self, mut at: usize) -> Place {
        let flat = &self.design.flat;
        let mut lane = None;
        loop {
            let n = &flat.nodes[at];
            if n.domain == Domain::Uniform {
                return Place::Uniform(at);
            }
            match n.op {
                FlatOp::Fit | FlatOp::Spread => at = n.operands[0],
                FlatOp::Lane(k) => {
                    lane = Some(k);
                    at = n.operands[0];
                }
                FlatOp::Mux if self.mode == Mode::Results => {
                    let c = n.operands[0];
                    if flat.nodes[c].domain != Domain::Uniform {
                        return Place::Words(at, lane);
                    }
                    at = n.operands[if self.uniform[c] != 0 { 1 } else { 2 }];
                }
                FlatOp::Select if self.mode == Mode::Results => {
                    let c = n.operands[0];
                    if flat.nodes[c].domain != Domain::Uniform {
                        return Place::Words(at, lane);
                    }
                    let k = (self.uniform[c] as usize).min(n.operands.len() - 2);
                    at = n.operands[1 + k];
                }
                _ => return Place::Words(at, lane),
            }
            if let (Some(_), Domain::Row) = (lane, flat.nodes[at].domain) {
                lane = None;
            }
        }
    }

    fn compile(&self) -> Plan {
        let flat = &self.design.flat;
        let mut plan = Plan::default();
        let mut roots = vec![];
        for r in &flat.registers {
            let moves = r.enable.is_none_or(|e| self.uniform[e] != 0);
            if flat.nodes[r.node].domain != Domain::Uniform && moves {
                let place = self.place(r.next);
                roots.push(place);
                plan.registers.push((r.node, place));
            }
        }
        for (i, m) in flat.memories.iter().enumerate() {
            if self.uniform[m.write_enable] != 0 {
                for (f, &data) in m.write_data.iter().enumerate() {
                    let place = self.place(data);
                    roots.push(place);
                    plan.writes.push((i, f, place));
                }
            }
            if self.uniform[m.read_enable] != 0 {
                plan.reads.push(i);
            }
        }
        if self.mode == Mode::Full || self.wants {
            for &at in &self.wanted {
                let place = self.place(at);
                roots.push(place);
                plan.outputs.insert(at, place);
            }
        }
        let mut is_needed = vec![self.mode == Mode::Full; flat.nodes.len()];
        let mut stack: Vec<usize> = roots.iter().filter_map(words_of).collect();
        while let Some(at) = stack.pop() {
            if self.mode == Mode::Full || std::mem::replace(&mut is_needed[at], true) {
                continue;
            }
            let operands = flat.nodes[at].operands.iter();
            stack.extend(operands.filter_map(|&o| words_of(&self.place(o))));
        }
        for &at in self.design.varying_order.iter() {
            if is_needed[at] && !aliases(&flat.nodes[at].op) {
                plan.instructions.push(self.instruction(at));
            }
        }
        plan
    }

    fn instruction(&self, at: usize) -> Instruction {
        let flat = &self.design.flat;
        let n = &flat.nodes[at];
        let places: Vec<Place> = n.operands.iter().map(|&o| self.place(o)).collect();
        let has_row = places.iter().any(|p| match p {
            Place::Uniform(_) => false,
            Place::Words(_, Some(_)) => true,
            Place::Words(w, None) => flat.nodes[*w].domain == Domain::Row,
        });
        let is_lane = n.domain == Domain::Lane;
        let lane_loop = if is_lane && has_row { n.lanes } else { 0 };
        let nothing = Place::Uniform(0);
        let three = |i: usize| places.get(i).copied().unwrap_or(nothing);
        let kernel = match &n.op {
            FlatOp::Add => Kernel::Add,
            FlatOp::Sub => Kernel::Sub,
            FlatOp::Mul => Kernel::Mul,
            FlatOp::MulAdd => Kernel::MulAdd,
            FlatOp::ShiftLeft(k) => Kernel::ShiftLeft(*k),
            FlatOp::ShiftRight(k) => Kernel::ShiftRight(*k),
            FlatOp::ShiftRightBy => Kernel::ShiftRightBy,
            FlatOp::ShiftLeftBy => Kernel::ShiftLeftBy,
            FlatOp::Less => Kernel::Less,
            FlatOp::Equal => Kernel::Equal,
            FlatOp::And => Kernel::And,
            FlatOp::Or => Kernel::Or,
            FlatOp::Not => Kernel::Not,
            FlatOp::Mux => Kernel::Mux,
            FlatOp::Bits(low, width, sign) => Kernel::Bits(*low, *width, *sign),
            FlatOp::Concat(k) => Kernel::Concat(*k),
            FlatOp::Rom(t) => {
                return Instruction { out: at, work: Work::Rom(t.clone(), places[0]), lane_loop };
            }
            FlatOp::Select => {
                let work = Work::Select(places[0], places[1..].to_vec());
                return Instruction { out: at, work, lane_loop };
            }
            FlatOp::Gather => {
                return Instruction { out: at, work: Work::Gather(places), lane_loop: 0 };
            }
            op => unreachable!("{op:?} is no work"),
        };
        let work = Work::Kernel(kernel, [three(0), three(1), three(2)], n.operands.len());
        Instruction { out: at, work, lane_loop }
    }

    /// Words of a place: all of them, or those of one lane when `size` is one lane's.
    fn source(&self, place: Place, lane: usize, size: usize) -> Source<'_> {
        match place {
            Place::Uniform(at) => Source::One(self.uniform[at]),
            Place::Words(at, of) => {
                let all = self.words[at].len();
                let from = match of {
                    Some(k) => k as usize * self.streams,
                    None if all > size => lane * self.streams,
                    None => 0,
                };
                let size = size.min(all);
                let size = if of.is_some() { self.streams } else { size };
                match &self.words[at] {
                    Words::Narrow(v) => Source::Narrow(&v[from..from + size]),
                    Words::Wide(v) => Source::Wide(&v[from..from + size]),
                }
            }
        }
    }

    fn execute(&mut self, i: &Instruction) {
        let mut out = std::mem::replace(&mut self.words[i.out], Words::Narrow(vec![]));
        let whole = out.len();
        let (loops, size) =
            if i.lane_loop > 0 { (i.lane_loop as usize, self.streams) } else { (1, whole) };
        for lane in 0..loops {
            let target = match &mut out {
                Words::Narrow(v) => Target::Narrow(&mut v[lane * size..(lane + 1) * size]),
                Words::Wide(v) => Target::Wide(&mut v[lane * size..(lane + 1) * size]),
            };
            match &i.work {
                Work::Kernel(kernel, p, n) => {
                    let s = p.map(|p| self.source(p, lane, size));
                    run(*kernel, target, &s[..*n]);
                }
                Work::Rom(table, p) => {
                    let index = self.source(*p, lane, size);
                    fill(target, |k| table[(value(index, k) as usize).min(table.len() - 1)]);
                }
                Work::Select(index, options) => {
                    let index = self.source(*index, lane, size);
                    if let Source::One(k) = index {
                        let place = options[(k as usize).min(options.len() - 1)];
                        run(Kernel::Copy, target, &[self.source(place, lane, size)]);
                    } else {
                        let all: Vec<Source> =
                            options.iter().map(|&p| self.source(p, lane, size)).collect();
                        fill(target, |k| {
                            value(all[(value(index, k) as usize).min(all.len() - 1)], k)
                        });
                    }
                }
                Work::Gather(places) => {
                    let all: Vec<Source> =
                        places.iter().map(|&p| self.source(p, 0, self.streams)).collect();
                    let r = self.streams;
                    fill(target, |k| value(all[k / r], k % r));
                }
            }
        }
        self.words[i.out] = out;
    }

    fn copy(&self, out: &mut Words, place: Place, lanes: u32) {
        let size = self.streams;
        let loops = out.len() / size;
        debug_assert!(loops == 1 || loops == lanes as usize);
        for lane in 0..loops {
            let target = match out {
                Words::Narrow(v) => Target::Narrow(&mut v[lane * size..(lane + 1) * size]),
                Words::Wide(v) => Target::Wide(&mut v[lane * size..(lane + 1) * size]),
            };
            run(Kernel::Copy, target, &[self.source(place, lane, size)]);
        }
    }

    /// Reads a word into `out`, or gives it back when it is the same for every stream.
    fn read_memory(&self, m: usize, f: usize, address: usize, out: &mut Words) -> i64 {
        let n = out.len();
        macro_rules! row {
            ($v:expr) => {
                match ($v.get(address * n..(address + 1) * n), out) {
                    (None, out) => out.fill(0),
                    (Some(row), Words::Narrow(out)) => {
                        out.iter_mut().zip(row).for_each(|(o, &v)| *o = v as i32);
                    }
                    (Some(row), Words::Wide(out)) => {
                        out.iter_mut().zip(row).for_each(|(o, &v)| *o = i64::from(v));
                    }
                }
            };
        }
        match &self.memories[m][f] {
            Memory::Uniform(v) => return v.get(address).copied().unwrap_or(0),
            Memory::Bytes(v) => row!(v),
            Memory::Halves(v) => row!(v),
            Memory::Words(v) => row!(v),
            Memory::Doubles(v) => row!(v),
        }
        0
    }

    fn write_memory(&self, store: &mut Memory, address: usize, place: Place, lanes: u32) {
        let r = self.streams;
        let is_uniform = matches!(store, Memory::Uniform(_));
        let loops = if is_uniform { 1 } else { lanes as usize };
        macro_rules! put {
            ($v:expr, $t:ty) => {{
                let n = loops * r;
                if $v.len() < (address + 1) * n {
                    $v.resize((address + 1) * n, 0);
                }
                for lane in 0..loops {
                    let row = &mut $v[address * n + lane * r..address * n + (lane + 1) * r];
                    match self.source(place, lane, r) {
                        Source::One(x) => row.fill(x as $t),
                        Source::Narrow(s) => row.iter_mut().zip(s).for_each(|(o, &x)| *o = x as $t),
                        Source::Wide(s) => row.iter_mut().zip(s).for_each(|(o, &x)| *o = x as $t),
                    }
                }
            }};
        }
        match store {
            Memory::Uniform(v) => {
                if v.len() <= address {
                    v.resize(address + 1, 0);
                }
                if let Source::One(x) = self.source(place, 0, 1) {
                    v[address] = x;
                }
            }
            Memory::Bytes(v) => put!(v, i8),
            Memory::Halves(v) => put!(v, i16),
            Memory::Words(v) => put!(v, i32),
            Memory::Doubles(v) => put!(v, i64),
        }
    }
}

/// Words that are another word's in memory.
fn aliases(op: &FlatOp) -> bool {
    use FlatOp::*;
    matches!(op, Fit | Lane(_) | Spread | Input | Const(_) | Register | MemRead)
}

fn words_of(p: &Place) -> Option<usize> {
    match p {
        Place::Uniform(_) => None,
        Place::Words(at, _) => Some(*at),
    }
}

/// A word is kept in 32 bits when its interval fits. A word that stands for its operand must have the
/// operand's storage, so only the interval of the node that holds the words counts.
fn is_narrow(n: &FlatNode) -> bool {
    i32::try_from(n.ty.lo).is_ok() && i32::try_from(n.ty.hi).is_ok()
}

fn value(s: Source, k: usize) -> i64 {
    match s {
        Source::One(v) => v,
        Source::Narrow(v) => i64::from(v[k]),
        Source::Wide(v) => v[k],
    }
}

fn fill(target: Target, f: impl Fn(usize) -> i64) {
    match target {
        Target::Narrow(v) => v.iter_mut().enumerate().for_each(|(k, o)| *o = f(k) as i32),
        Target::Wide(v) => v.iter_mut().enumerate().for_each(|(k, o)| *o = f(k)),
    }
}

fn uniform_value(flat: &Flat, n: &FlatNode, u: &[i64]) -> i64 {
    let v = |i: usize| u[n.operands[i]];
    match &n.op {
        FlatOp::Const(c) => *c,
        FlatOp::Add => v(0) + v(1),
        FlatOp::Sub => v(0) - v(1),
        FlatOp::Mul => v(0) * v(1),
        FlatOp::MulAdd => v(0) * v(1) + v(2),
        FlatOp::ShiftLeft(k) => v(0) << k,
        FlatOp::ShiftRight(k) => v(0) >> (*k).min(63),
        FlatOp::ShiftRightBy => v(0) >> v(1).min(63),
        FlatOp::ShiftLeftBy => v(0) << v(1).min(63),
        FlatOp::Less => i64::from(v(0) < v(1)),
        FlatOp::Equal => i64::from(v(0) == v(1)),
        FlatOp::And => v(0) & v(1),
        FlatOp::Or => v(0) | v(1),
        FlatOp::Not => 1 - v(0),
        FlatOp::Mux => v(if v(0) != 0 { 1 } else { 2 }),
        FlatOp::Select => v(1 + (v(0) as usize).min(n.operands.len() - 2)),
        FlatOp::Fit => v(0),
        FlatOp::Bits(low, width, sign) => {
            let x = v(0) >> (*low).min(63);
            let up = 64 - width;
            if *sign { x << up >> up } else { ((x as u64) << up >> up) as i64 }
        }
        FlatOp::Concat(k) => (v(0) << k) + v(1),
        FlatOp::Rom(t) => t[(v(0) as usize).min(t.len() - 1)],
        FlatOp::Input | FlatOp::Register | FlatOp::MemRead => {
            unreachable!("state is not evaluated")
        }
        FlatOp::Lane(_) | FlatOp::Gather | FlatOp::Spread => {
            unreachable!("{} of {} lanes is not uniform", n.name, flat.lanes)
        }
    }
}
