//! A tile: as many streams as share their buffers' stay in the cache. The control words, which are the same
//! for every stream, are evaluated once for all tiles.
use super::flatten::Func;
use super::kernels::{self, Isa};
use super::memory::Storage;
use super::program::{Program, Src, rest};
use super::specialise::{KernelOp, List};
use super::words::{self, Arg, Buf};

/// Words of the widest bundle in a tile, all lanes together.
const WORDS: usize = 4096;
/// Below this the calls of the kernels cost more than what they do.
const LEAST_STREAMS: usize = 32;

/// Streams in a full tile.
pub(super) fn streams(program: &Program) -> usize {
    let lanes = program.stores.iter().map(|s| s.lanes as usize).max().unwrap_or(1);
    (WORDS / lanes).max(LEAST_STREAMS)
}

pub(super) struct Tile {
    pub streams: usize,
    pub bufs: Vec<Buf>,
    /// One a memory field; empty for the fields that are the same for all streams.
    pub storage: Vec<Storage>,
}

impl Tile {
    pub fn new(program: &Program, streams: usize) -> Self {
        let bufs = program.stores.iter().map(|s| match s.wide {
            false => Buf::I32(vec![]),
            true => Buf::I64(vec![]),
        });
        let storage = program.fields.iter().map(|f| {
            let words = program.net.memories[f.memory].depth * f.lanes as usize * streams;
            Storage::new(f.ty, if f.by_stream { words } else { 0 }, rest(f.ty))
        });
        Self { streams, bufs: bufs.collect(), storage: storage.collect() }
    }

    /// A buffer, which gets its memory when it is first written.
    pub fn grown(&mut self, program: &Program, id: u32) -> &mut Buf {
        let len = program.stores[id as usize].lanes as usize * self.streams;
        let buf = &mut self.bufs[id as usize];
        if buf.len() != len {
            buf.resize(len);
        }
        buf
    }

    fn arg<'a>(&'a self, slots: &'a [i64], src: Src) -> Arg<'a> {
        match src {
            Src::Slot { at, lanes, wide } => {
                let slots = &slots[at as usize..][..lanes as usize];
                let stride = usize::from(lanes > 1);
                if wide { Arg::S64(slots, stride) } else { Arg::S32(slots, stride) }
            }
            Src::Buf { id, first, lanes } => {
                let (from, len) = (first as usize * self.streams, lanes as usize * self.streams);
                let stride = if lanes > 1 { self.streams } else { 0 };
                match &self.bufs[id as usize] {
                    Buf::I32(v) => Arg::I32(&v[from..][..len], stride),
                    Buf::I64(v) => Arg::I64(&v[from..][..len], stride),
                }
            }
        }
    }

    pub fn kernel(
        &mut self,
        program: &Program,
        isa: Isa,
        slots: &[i64],
        op: &KernelOp,
        args: &[Src],
    ) {
        let args = &args[op.args.0 as usize..op.args.1 as usize];
        self.compute(program, isa, slots, (op.func, op.lanes), args, op.out);
    }

    fn compute(
        &mut self,
        program: &Program,
        isa: Isa,
        slots: &[i64],
        (func, lanes): (Func, u32),
        args: &[Src],
        to: u32,
    ) {
        let mut out = std::mem::take(self.grown(program, to));
        let size = (lanes as usize, self.streams);
        let get = |i: usize| self.arg(slots, args[i]);
        let into = words::Out::of(&mut out, size.0 * size.1);
        kernels::run(isa, func, size, into, (&get, args.len()), &program.net.tables);
        self.bufs[to as usize] = out;
    }

    /// Registers and memories take their next values; `slots` are those before the clock.
    pub fn clock(&mut self, program: &Program, isa: Isa, slots: &[i64], list: &List) {
        for &(src, to) in &list.copies {
            let lanes = program.stores[to as usize].lanes;
            self.compute(program, isa, slots, (Func::Copy, lanes), &[src], to);
        }
        // Reads of the old words, then writes.
        for &(field, to) in &list.reads {
            let at = program.address(slots, field, true) * self.words_at(program, field);
            self.grown(program, to);
            self.storage[field].load(at, &mut self.bufs[to as usize]);
        }
        for &(field, src) in &list.writes {
            let len = self.words_at(program, field);
            let at = program.address(slots, field, false) * len;
            match src {
                Src::Buf { id, first, lanes } => {
                    let (first, words) =
                        (first as usize * self.streams, lanes as usize * self.streams);
                    self.storage[field].store(at, len, &self.bufs[id as usize], first, words);
                }
                Src::Slot { at: slot, lanes, .. } => {
                    self.storage[field].fill_lanes(
                        at,
                        len,
                        &slots[slot as usize..][..lanes as usize],
                    );
                }
            }
        }
        for &(a, b) in &list.swaps {
            self.grown(program, a);
            self.bufs.swap(a as usize, b as usize);
        }
    }

    /// Words that a field holds at one address.
    fn words_at(&self, program: &Program, field: usize) -> usize {
        program.fields[field].lanes as usize * self.streams
    }
}
