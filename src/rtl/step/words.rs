//! Words in storage, and how kernels see them.
use std::marker::PhantomData;

/// A storage type.
pub trait Num: Copy + 'static {
    /// Sign extends.
    fn wide(self) -> i64;
    /// Drops high bits.
    fn of(v: i64) -> Self;
    fn add(self, o: Self) -> Self;
    fn sub(self, o: Self) -> Self;
    fn mul(self, o: Self) -> Self;
    fn shl(self, k: i64) -> Self;
    /// Arithmetic; large amounts give the sign.
    fn sar(self, k: i64) -> Self;
    fn and(self, o: Self) -> Self;
    fn or(self, o: Self) -> Self;
    const BITS: u32;
}

macro_rules! num {
    ($t:ident) => {
        impl Num for $t {
            #[inline(always)]
            fn wide(self) -> i64 {
                self as i64
            }
            #[inline(always)]
            fn of(v: i64) -> Self {
                v as $t
            }
            #[inline(always)]
            fn add(self, o: Self) -> Self {
                self.wrapping_add(o)
            }
            #[inline(always)]
            fn sub(self, o: Self) -> Self {
                self.wrapping_sub(o)
            }
            #[inline(always)]
            fn mul(self, o: Self) -> Self {
                self.wrapping_mul(o)
            }
            #[inline(always)]
            fn shl(self, k: i64) -> Self {
                self.wrapping_shl(k as u32)
            }
            #[inline(always)]
            fn sar(self, k: i64) -> Self {
                self >> k.min($t::BITS as i64 - 1)
            }
            #[inline(always)]
            fn and(self, o: Self) -> Self {
                self & o
            }
            #[inline(always)]
            fn or(self, o: Self) -> Self {
                self | o
            }
            const BITS: u32 = $t::BITS;
        }
    };
}
num!(u8);
num!(i8);
num!(i16);
num!(i32);
num!(i64);

/// The words of one node for all lanes and streams: `[lane][stream]`.
#[derive(Clone, Debug)]
pub(super) enum Buf {
    I32(Vec<i32>),
    I64(Vec<i64>),
}

impl Default for Buf {
    fn default() -> Self {
        Self::I32(vec![])
    }
}

impl Buf {
    pub fn len(&self) -> usize {
        match self {
            Self::I32(v) => v.len(),
            Self::I64(v) => v.len(),
        }
    }

    pub fn resize(&mut self, len: usize) {
        match self {
            Self::I32(v) => v.resize(len, 0),
            Self::I64(v) => v.resize(len, 0),
        }
    }

    pub fn get(&self, i: usize) -> i64 {
        match self {
            Self::I32(v) => v[i].into(),
            Self::I64(v) => v[i],
        }
    }

    pub fn fill(&mut self, value: i64) {
        match self {
            Self::I32(v) => v.fill(value as i32),
            Self::I64(v) => v.fill(value),
        }
    }

    /// Least and largest of `len` values from `from` on.
    pub fn range(&self, from: usize, len: usize) -> (i64, i64) {
        fn of<T: Num + Ord>(v: &[T]) -> (i64, i64) {
            let (l, h) = v.iter().fold((v[0], v[0]), |(l, h), &x| (l.min(x), h.max(x)));
            (l.wide(), h.wide())
        }
        match self {
            Self::I32(v) => of(&v[from..][..len]),
            Self::I64(v) => of(&v[from..][..len]),
        }
    }
}

/// An operand: words of a buffer, or scalars for all streams. A stride of 0 repeats the same for all lanes.
#[derive(Clone, Copy)]
pub(super) enum Arg<'a> {
    I32(&'a [i32], usize),
    I64(&'a [i64], usize),
    /// Scalars that fit in 32 bits.
    S32(&'a [i64], usize),
    S64(&'a [i64], usize),
}

impl<'a> Arg<'a> {
    pub fn is_scalar(&self) -> bool {
        matches!(self, Self::S32(..) | Self::S64(..))
    }

    /// Lane `l` alone.
    pub fn lane(self, l: usize, rows: usize) -> Self {
        match self {
            Self::I32(d, s) => Self::I32(&d[l * s..][..rows], 0),
            Self::I64(d, s) => Self::I64(&d[l * s..][..rows], 0),
            Self::S32(d, s) => Self::S32(&d[l * s..][..1], 0),
            Self::S64(d, s) => Self::S64(&d[l * s..][..1], 0),
        }
    }

    /// All lanes can be read as one.
    pub fn is_flat(&self, rows: usize) -> bool {
        match self {
            Self::I32(_, s) | Self::I64(_, s) => *s == rows,
            Self::S32(_, s) | Self::S64(_, s) => *s == 0,
        }
    }
}

/// An operand as a kernel sees it.
pub(super) trait Operand {
    type T: Num;
    fn lane(&self, l: usize, rows: usize) -> impl Fn(usize) -> Self::T;
}
pub(super) struct Words<'a, T>(pub &'a [T], pub usize);
pub(super) struct Scalars<'a, T>(pub &'a [i64], pub usize, pub PhantomData<T>);

impl<T: Num> Operand for Words<'_, T> {
    type T = T;
    #[inline(always)]
    fn lane(&self, l: usize, rows: usize) -> impl Fn(usize) -> T {
        let slice = &self.0[l * self.1..][..rows];
        move |i| slice[i]
    }
}
impl<T: Num> Operand for Scalars<'_, T> {
    type T = T;
    #[inline(always)]
    fn lane(&self, l: usize, _: usize) -> impl Fn(usize) -> T {
        let value = T::of(self.0[l * self.1]);
        move |_| value
    }
}

/// Runs `$body` for the types of an operand.
macro_rules! operand {
    ($arg:expr, $x:ident => $body:expr) => {
        match $arg {
            Arg::I32(d, s) => {
                let $x = Words::<i32>(d, s);
                $body
            }
            Arg::I64(d, s) => {
                let $x = Words::<i64>(d, s);
                $body
            }
            Arg::S32(d, s) => {
                let $x = Scalars::<i32>(d, s, std::marker::PhantomData);
                $body
            }
            Arg::S64(d, s) => {
                let $x = Scalars::<i64>(d, s, std::marker::PhantomData);
                $body
            }
        }
    };
}
macro_rules! result {
    ($out:expr, $o:ident => $body:expr) => {
        match $out {
            Out::I32($o) => $body,
            Out::I64($o) => $body,
        }
    };
}

/// Where a kernel writes.
pub(super) enum Out<'a> {
    I32(&'a mut [i32]),
    I64(&'a mut [i64]),
}

impl<'a> Out<'a> {
    /// The first `len` words.
    pub fn of(buf: &'a mut Buf, len: usize) -> Self {
        match buf {
            Buf::I32(v) => Self::I32(&mut v[..len]),
            Buf::I64(v) => Self::I64(&mut v[..len]),
        }
    }

    /// The same place once more.
    pub fn again(&mut self) -> Out<'_> {
        match self {
            Out::I32(o) => Out::I32(o),
            Out::I64(o) => Out::I64(o),
        }
    }

    pub fn lane(&mut self, l: usize, rows: usize) -> Out<'_> {
        match self {
            Out::I32(o) => Out::I32(&mut o[l * rows..][..rows]),
            Out::I64(o) => Out::I64(&mut o[l * rows..][..rows]),
        }
    }
}
pub(super) use {operand, result};
