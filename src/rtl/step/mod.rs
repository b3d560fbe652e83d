//! The stepper: simulates a module hierarchy exactly, for many streams at once.
//!
//! A *stream* is a copy of the whole design that is fed other data. Control never depends on data, so words
//! that no varying input reaches are held once for all streams (*control words*); the others are buffers
//! `[lane][stream]` in 32 or 64 bits, and each operation is one loop over a buffer. Streams are dealt to
//! *tiles*, whose buffers stay in the cache from one operation to the next.
//!
//! A cycle is: set inputs, [`Stepper::settle`], look at outputs, [`Stepper::clock`]. Control words are
//! evaluated first. They choose among the data operations: a multiplexer steered by a control word is a
//! new name for one of its operands, a register that is not enabled costs nothing. The list of operations
//! for a setting of the steering words is compiled once and kept. [`Mode::Full`] evaluates every word;
//! [`Mode::Results`] those that reach a register, a memory or a wanted output in this cycle. Registers,
//! memories and outputs are the same in both.
mod access;
mod flatten;
mod kernels;
mod memory;
mod program;
mod shape;
mod specialise;
mod tile;
mod transpose;
mod words;

pub use access::{In, Out, WordId};
pub use program::{Program, WordInfo};
pub use words::Num;

use flatten::Kind;
use kernels::Isa;
use memory::Storage;
use program::{ScalarOp, Src, rest};
use specialise::{List, Step, Wanted, compile};
use std::collections::HashMap;
use std::sync::Arc;
use tile::Tile;

/// How much is evaluated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Every word, in every cycle.
    Full,
    /// What state and wanted outputs need.
    Results,
}

/// Lists kept by a program; a design with more settings than this has them compiled again.
const KEPT_LISTS: usize = 1 << 14;

/// The state of `streams` copies of a design.
pub struct Stepper {
    program: Arc<Program>,
    streams: usize,
    /// Streams in each tile but the last, which may have fewer.
    per_tile: usize,
    tiles: Vec<Tile>,
    mode: Mode,
    checked: bool,
    want_outputs: bool,
    isa: Isa,
    slots: Vec<i64>,
    /// Memory fields that are the same for all streams; the others are empty here.
    storage: Vec<Storage>,
    lists: HashMap<Box<[u64]>, Arc<List>>,
    key: Vec<u64>,
    last_key: Vec<u64>,
    list: Arc<List>,
    /// Next values of control words.
    next: Vec<(u32, i64)>,
}

impl Stepper {
    /// A design after reset, in full mode and unchecked.
    pub fn new(program: &Arc<Program>, streams: usize) -> Self {
        assert!(streams > 0, "a stream or more");
        let p = program;
        // Tiles of one size, as nearly as can be.
        let n_tiles = streams.div_ceil(tile::streams(p));
        let per_tile = streams.div_ceil(n_tiles);
        let tiles = (0..streams)
            .step_by(per_tile)
            .map(|first| Tile::new(p, per_tile.min(streams - first)))
            .collect();
        let storage = p.fields.iter().map(|f| {
            let words = p.net.memories[f.memory].depth * f.lanes as usize;
            Storage::new(f.ty, if f.by_stream { 0 } else { words }, rest(f.ty))
        });
        let mut stepper = Self {
            streams,
            per_tile,
            tiles,
            mode: Mode::Full,
            checked: false,
            want_outputs: true,
            isa: Isa::detect(),
            slots: p.slots.clone(),
            storage: storage.collect(),
            lists: HashMap::new(),
            key: vec![],
            last_key: vec![],
            list: Arc::default(),
            next: vec![],
            program: program.clone(),
        };
        let inputs = stepper.program.net.inputs.clone();
        inputs.into_iter().for_each(|id| stepper.fill(id, None));
        stepper.reset();
        stepper
    }

    pub fn program(&self) -> &Arc<Program> {
        &self.program
    }

    pub fn streams(&self) -> usize {
        self.streams
    }

    pub fn set_mode(&mut self, mode: Mode) {
        self.mode = mode;
    }

    /// In checked mode every evaluated word must lie in its interval; one that does not panics by name.
    pub fn set_checked(&mut self, checked: bool) {
        self.checked = checked;
    }

    /// Runs the loops of the baseline instruction set, whatever the machine has.
    pub fn set_portable(&mut self) {
        self.isa = Isa::Portable;
    }

    /// Whether results mode evaluates data outputs; they hold nothing useful where it did not.
    pub fn want_outputs(&mut self, wanted: bool) {
        self.want_outputs = wanted;
    }

    /// Registers with a reset value take it, others 0 or the least value they can have. Memories keep
    /// their words.
    pub fn reset(&mut self) {
        let p = self.program.clone();
        for (id, n) in p.net.nodes.iter().enumerate() {
            match n.kind {
                Kind::Reg { reset, .. } => self.fill(id, reset),
                Kind::MemRead { .. } => self.fill(id, None),
                _ => {}
            }
        }
    }

    fn fill(&mut self, id: usize, value: Option<i64>) {
        let p = self.program.clone();
        let value = value.unwrap_or(rest(p.net.nodes[id].ty));
        match p.src[id] {
            Src::Slot { at, lanes, .. } => {
                self.slots[at as usize..][..lanes as usize].fill(value);
            }
            Src::Buf { id, .. } => {
                self.tiles.iter_mut().for_each(|t| t.grown(&p, id).fill(value));
            }
        }
    }

    /// Evaluates what the inputs and the state decide in this cycle.
    pub fn settle(&mut self) {
        self.settle_control();
        self.settle_data();
    }

    /// The first half of [`Self::settle`]: the control words, so that control outputs can be read before
    /// deciding whether data outputs are wanted.
    pub fn settle_control(&mut self) {
        let p = self.program.clone();
        for op in &p.ops {
            self.scalar(op, &p.pool);
        }
    }

    /// The second half of [`Self::settle`].
    pub fn settle_data(&mut self) {
        self.choose_list();
        let (p, list) = (self.program.clone(), self.list.clone());
        for op in &list.scalars {
            self.scalar(op, &list.pool);
        }
        for tile in 0..self.tiles.len() {
            for step in &list.steps {
                match step {
                    Step::Kernel(op) => {
                        self.tiles[tile].kernel(&p, self.isa, &self.slots, op, &list.args);
                        if self.checked {
                            let src = Src::Buf { id: op.out, first: 0, lanes: op.lanes };
                            self.check(tile, op.node, src);
                        }
                    }
                    Step::Check(node, src) if self.checked => self.check(tile, *node, *src),
                    Step::Check(..) => {}
                }
            }
        }
    }

    fn scalar(&mut self, op: &ScalarOp, pool: &[(u32, u32)]) {
        let args = &pool[op.args.0 as usize..op.args.1 as usize];
        for l in 0..op.lanes {
            let slots = &self.slots;
            let get = |i: usize| slots[(args[i].0 + l * args[i].1) as usize];
            let value = kernels::scalar(op.func, get, args.len(), &self.program.net.tables);
            self.slots[(op.out + l) as usize] = value;
            if self.checked {
                self.check_value(op.node, value, l, 0);
            }
        }
    }

    fn check(&self, tile: usize, node: usize, src: Src) {
        let ty = self.program.net.nodes[node].ty;
        match src {
            Src::Slot { at, lanes, .. } => {
                (0..lanes)
                    .for_each(|l| self.check_value(node, self.slots[(at + l) as usize], l, 0));
            }
            Src::Buf { id, first, lanes } => {
                let Tile { streams, ref bufs, .. } = self.tiles[tile];
                let (from, n) = (first as usize * streams, lanes as usize * streams);
                let (lo, hi) = bufs[id as usize].range(from, n);
                if ty.contains(lo) && ty.contains(hi) {
                    return;
                }
                for i in 0..n {
                    let value = bufs[id as usize].get(from + i);
                    let stream = tile * self.per_tile + i % streams;
                    self.check_value(node, value, (i / streams) as u32, stream);
                }
            }
        }
    }

    fn check_value(&self, node: usize, value: i64, lane: u32, stream: usize) {
        let ty = self.program.net.nodes[node].ty;
        assert!(
            ty.contains(value),
            "{} is {value} in lane {lane} of stream {stream}, outside {ty}",
            self.program.net.label(node)
        );
    }

    /// Finds or compiles the list for the steering words.
    fn choose_list(&mut self) {
        let p = self.program.clone();
        let wanted = Wanted {
            all: self.mode == Mode::Full,
            outputs: self.mode == Mode::Full || self.want_outputs,
        };
        self.key.clear();
        let mut word = u64::from(wanted.all) | u64::from(wanted.outputs) << 1;
        let mut used = 2;
        for s in &p.steering {
            if used + s.bits > 64 {
                self.key.push(word);
                (word, used) = (0, 0);
            }
            word |= (self.slots[s.at as usize].min(s.most) as u64) << used;
            used += s.bits;
        }
        self.key.push(word);
        if self.key == self.last_key {
            return;
        }
        self.last_key.clone_from(&self.key);
        if let Some(list) = self.lists.get(self.key.as_slice()) {
            self.list = list.clone();
            return;
        }
        let shared = p.lists.lock().expect("no panic while it is held").get(&*self.key).cloned();
        self.list = shared.unwrap_or_else(|| Arc::new(compile(&p, &self.slots, wanted)));
        let key: Box<[u64]> = self.key.as_slice().into();
        let mut shared = p.lists.lock().expect("no panic while it is held");
        if shared.len() < KEPT_LISTS {
            shared.insert(key.clone(), self.list.clone());
        }
        if self.lists.len() < KEPT_LISTS {
            self.lists.insert(key, self.list.clone());
        }
    }

    /// Registers and memories take their next values. Computed words are worth nothing until the next
    /// [`Self::settle`].
    pub fn clock(&mut self) {
        let (p, list) = (self.program.clone(), self.list.clone());
        for tile in &mut self.tiles {
            tile.clock(&p, self.isa, &self.slots, &list);
        }
        self.next.clear();
        for r in
            p.control_regs.iter().filter(|r| r.enable.is_none_or(|e| self.slots[e as usize] != 0))
        {
            for l in 0..r.lanes {
                let Src::Slot { at, .. } = r.next.lane(l) else { unreachable!("a control word") };
                self.next.push((r.at + l, self.slots[at as usize]));
            }
        }
        let control = |f: &&program::Field| !f.by_stream;
        for (i, f) in p.fields.iter().enumerate().filter(|(_, f)| control(f)) {
            let Some(Src::Slot { at: to, .. }) = f.read else { continue };
            if self.is_on(p.net.memories[f.memory].read_enable) {
                let at = p.address(&self.slots, i, true) * f.lanes as usize;
                let words = (0..f.lanes).map(|l| (to + l, self.storage[i].get(at + l as usize)));
                self.next.extend(words);
            }
        }
        for (i, f) in p.fields.iter().enumerate().filter(|(_, f)| control(f)) {
            if self.is_on(p.net.memories[f.memory].write_enable) {
                let Src::Slot { at: slot, lanes, .. } = p.src[f.data] else {
                    unreachable!("a control word")
                };
                let words = f.lanes as usize;
                let at = p.address(&self.slots, i, false) * words;
                let from = &self.slots[slot as usize..][..lanes as usize];
                self.storage[i].fill_lanes(at, words, from);
            }
        }
        for &(at, value) in &self.next {
            self.slots[at as usize] = value;
        }
    }

    fn is_on(&self, id: usize) -> bool {
        self.slots[self.program.scalar_at(id) as usize] != 0
    }
}
