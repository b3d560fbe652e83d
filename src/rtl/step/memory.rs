//! Storage of memory fields: `[address][lane][stream]` in the narrowest type.
use super::words::{Buf, Num};
use crate::num::Interval;

#[derive(Clone, Debug)]
pub(super) enum Storage {
    I8(Vec<i8>),
    I16(Vec<i16>),
    I32(Vec<i32>),
    I64(Vec<i64>),
}

/// Runs `$body` for the type of the storage.
macro_rules! storage {
    ($of:expr, $v:ident => $body:expr) => {
        match $of {
            Storage::I8($v) => $body,
            Storage::I16($v) => $body,
            Storage::I32($v) => $body,
            Storage::I64($v) => $body,
        }
    };
}

fn copy<A: Num, O: Num>(to: &mut [O], from: &[A]) {
    for (o, &a) in to.iter_mut().zip(from) {
        *o = O::of(a.wide());
    }
}

/// `from` holds one lane, or as many as `to`.
fn spread<A: Num, O: Num>(to: &mut [O], from: &[A]) {
    to.chunks_mut(from.len()).for_each(|to| copy(to, from));
}

impl Storage {
    pub fn new(ty: Interval, len: usize, value: i64) -> Self {
        let within = |lo: i64, hi: i64| lo <= ty.lo && ty.hi <= hi;
        if within(i8::MIN.into(), i8::MAX.into()) {
            Self::I8(vec![value as i8; len])
        } else if within(i16::MIN.into(), i16::MAX.into()) {
            Self::I16(vec![value as i16; len])
        } else if within(i32::MIN.into(), i32::MAX.into()) {
            Self::I32(vec![value as i32; len])
        } else {
            Self::I64(vec![value; len])
        }
    }

    pub fn get(&self, at: usize) -> i64 {
        storage!(self, v => v[at].wide())
    }

    /// Reads words from `at` on.
    pub fn load(&self, at: usize, to: &mut Buf) {
        storage!(self, v => match to {
            Buf::I32(t) => copy(t, &v[at..]),
            Buf::I64(t) => copy(t, &v[at..]),
        });
    }

    /// Writes `len` words from `at` on; fewer words repeat for every lane.
    pub fn store(&mut self, at: usize, len: usize, from: &Buf, first: usize, words: usize) {
        storage!(self, v => match from {
            Buf::I32(f) => spread(&mut v[at..][..len], &f[first..][..words]),
            Buf::I64(f) => spread(&mut v[at..][..len], &f[first..][..words]),
        });
    }

    /// Writes `len` words from `at` on: one value a lane, or one for all.
    pub fn fill_lanes(&mut self, at: usize, len: usize, values: &[i64]) {
        let each = len / values.len();
        storage!(self, v => v[at..][..len]
            .chunks_mut(each)
            .zip(values)
            .for_each(|(to, &value)| to.fill(Num::of(value))));
    }
}
