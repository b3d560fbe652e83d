//! Kernels: one loop for each function, storage type and operand shape, compiled for the baseline and for
//! AVX2 and chosen at run time.
use super::flatten::Func;
use super::words::{Arg, Num, Operand, Out, Scalars, Words, operand, result};

#[derive(Clone, Copy)]
struct Size {
    lanes: usize,
    rows: usize,
}

/// A function of one, two or three words; `old` is what the result held.
trait Kernel: Copy {
    fn one<A: Num, O: Num>(&self, _old: O, _a: A) -> O {
        unreachable!("not of one word")
    }
    fn two<A: Num, B: Num, O: Num>(&self, _old: O, _a: A, _b: B) -> O {
        unreachable!("not of two words")
    }
    fn three<A: Num, B: Num, C: Num, O: Num>(&self, _a: A, _b: B, _c: C) -> O {
        unreachable!("not of three words")
    }
}

#[inline(always)]
fn loop_one<K: Kernel>(k: K, size: Size, out: Out<'_>, a: Arg<'_>) {
    result!(out, o => operand!(a, a => for l in 0..size.lanes {
        let (o, a) = (&mut o[l * size.rows..][..size.rows], a.lane(l, size.rows));
        for (i, o) in o.iter_mut().enumerate() {
            *o = k.one(*o, a(i));
        }
    }))
}

#[inline(always)]
fn loop_two<K: Kernel>(k: K, size: Size, out: Out<'_>, a: Arg<'_>, b: Arg<'_>) {
    result!(out, o => operand!(a, a => operand!(b, b => for l in 0..size.lanes {
        let o = &mut o[l * size.rows..][..size.rows];
        let (a, b) = (a.lane(l, size.rows), b.lane(l, size.rows));
        for (i, o) in o.iter_mut().enumerate() {
            *o = k.two(*o, a(i), b(i));
        }
    })))
}

#[inline(always)]
fn loop_three<K: Kernel>(k: K, size: Size, out: Out<'_>, a: Arg<'_>, b: Arg<'_>, c: Arg<'_>) {
    result!(out, o => operand!(a, a => operand!(b, b => operand!(c, c => for l in 0..size.lanes {
        let o = &mut o[l * size.rows..][..size.rows];
        let (a, b, c) = (a.lane(l, size.rows), b.lane(l, size.rows), c.lane(l, size.rows));
        for (i, o) in o.iter_mut().enumerate() {
            *o = k.three(a(i), b(i), c(i));
        }
    }))))
}

/// The instruction set that the loops are compiled for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Isa {
    Portable,
    #[cfg(target_arch = "x86_64")]
    Avx2,
}

impl Isa {
    pub fn detect() -> Self {
        #[cfg(target_arch = "x86_64")]
        if std::is_x86_feature_detected!("avx2") {
            return Self::Avx2;
        }
        Self::Portable
    }
}

macro_rules! dispatch {
    ($name:ident, $avx2:ident, $body:ident, $($x:ident),+) => {
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx2")]
        unsafe fn $avx2<K: Kernel>(k: K, size: Size, out: Out<'_>, $($x: Arg<'_>),+) {
            $body(k, size, out, $($x),+)
        }
        fn $name<K: Kernel>(isa: Isa, k: K, mut size: Size, out: Out<'_>, $($x: Arg<'_>),+) {
            if $($x.is_flat(size.rows))&&+ {
                size = Size { lanes: 1, rows: size.lanes * size.rows };
            }
            match isa {
                Isa::Portable => $body(k, size, out, $($x),+),
                // SAFETY: `detect` found the feature.
                #[cfg(target_arch = "x86_64")]
                Isa::Avx2 => unsafe { $avx2(k, size, out, $($x),+) },
            }
        }
    };
}
dispatch!(run_one, one_avx2, loop_one, a);
dispatch!(run_two, two_avx2, loop_two, a, b);
dispatch!(run_three, three_avx2, loop_three, a, b, c);

macro_rules! kernel {
    ($name:ident, $old:ident: $o:ident, $($x:ident: $t:ident),+ => $method:ident $body:expr) => {
        #[derive(Clone, Copy)]
        struct $name;
        impl Kernel for $name {
            #[inline(always)]
            fn $method<$($t: Num,)+ $o: Num>(&self, $old: $o, $($x: $t),+) -> $o {
                $body
            }
        }
    };
}
/// A word in another storage type.
#[inline(always)]
fn cast<A: Num, O: Num>(a: A) -> O {
    O::of(a.wide())
}
kernel!(AddOf, _old: O, a: A, b: B => two cast::<A, O>(a).add(cast(b)));
kernel!(SubOf, _old: O, a: A, b: B => two cast::<A, O>(a).sub(cast(b)));
kernel!(MulOf, _old: O, a: A, b: B => two cast::<A, O>(a).mul(cast(b)));
kernel!(LessOf, _old: O, a: A, b: B => two O::of(i64::from(a.wide() < b.wide())));
kernel!(EqualOf, _old: O, a: A, b: B => two O::of(i64::from(a.wide() == b.wide())));
kernel!(AndOf, _old: O, a: A, b: B => two cast::<A, O>(a).and(cast(b)));
kernel!(OrOf, _old: O, a: A, b: B => two cast::<A, O>(a).or(cast(b)));
kernel!(SarOf, _old: O, a: A, b: B => two cast(a.sar(b.wide())));
kernel!(ShlOf, _old: O, a: A, b: B => two cast::<A, O>(a).shl(b.wide()));
kernel!(NotOf, _old: O, a: A => one O::of(1).sub(cast(a)));
kernel!(CopyOf, _old: O, a: A => one cast(a));

#[derive(Clone, Copy)]
struct ConcatOf(i64);
impl Kernel for ConcatOf {
    #[inline(always)]
    fn two<A: Num, B: Num, O: Num>(&self, _: O, a: A, b: B) -> O {
        cast::<A, O>(a).shl(self.0).add(cast(b))
    }
}
#[derive(Clone, Copy)]
struct InsertOf(i64, i64);
impl Kernel for InsertOf {
    #[inline(always)]
    fn two<A: Num, B: Num, O: Num>(&self, _: O, a: A, b: B) -> O {
        cast::<A, O>(a).shl(self.0).add(cast::<B, O>(b).and(O::of(self.1)))
    }
}
#[derive(Clone, Copy)]
struct ShlBy(i64);
impl Kernel for ShlBy {
    #[inline(always)]
    fn one<A: Num, O: Num>(&self, _: O, a: A) -> O {
        cast::<A, O>(a).shl(self.0)
    }
}
#[derive(Clone, Copy)]
struct SarBy(i64);
impl Kernel for SarBy {
    #[inline(always)]
    fn one<A: Num, O: Num>(&self, _: O, a: A) -> O {
        cast(a.sar(self.0))
    }
}
#[derive(Clone, Copy)]
struct UnsignedBits(i64, i64);
impl Kernel for UnsignedBits {
    #[inline(always)]
    fn one<A: Num, O: Num>(&self, _: O, a: A) -> O {
        cast::<A, O>(a.sar(self.0)).and(O::of(self.1))
    }
}
#[derive(Clone, Copy)]
struct SignedBits(i64, u32);
impl Kernel for SignedBits {
    #[inline(always)]
    fn one<A: Num, O: Num>(&self, _: O, a: A) -> O {
        let spare = i64::from(O::BITS - self.1);
        cast::<A, O>(a.sar(self.0)).shl(spare).sar(spare)
    }
}
/// A table look-up; the last entry serves every index past the end.
#[derive(Clone, Copy)]
struct RomOf<'a>(&'a [i64]);
impl Kernel for RomOf<'_> {
    #[inline(always)]
    fn one<A: Num, O: Num>(&self, _: O, a: A) -> O {
        O::of(self.0[(a.wide() as usize).min(self.0.len() - 1)])
    }
}
#[derive(Clone, Copy)]
struct MulAddOf;
impl Kernel for MulAddOf {
    #[inline(always)]
    fn three<A: Num, B: Num, C: Num, O: Num>(&self, a: A, b: B, c: C) -> O {
        cast::<A, O>(a).mul(cast(b)).add(cast(c))
    }
}
#[derive(Clone, Copy)]
struct MuxOf;
impl Kernel for MuxOf {
    #[inline(always)]
    fn three<A: Num, B: Num, C: Num, O: Num>(&self, a: A, b: B, c: C) -> O {
        let (b, c) = (cast(b), cast(c));
        if a.wide() != 0 { b } else { c }
    }
}
/// Takes `b` where `a` is the index, and keeps what is there elsewhere.
#[derive(Clone, Copy)]
struct TakeAt(i64);
impl Kernel for TakeAt {
    #[inline(always)]
    fn two<A: Num, B: Num, O: Num>(&self, old: O, a: A, b: B) -> O {
        let b = cast(b);
        if a.wide() == self.0 { b } else { old }
    }
}

/// Evaluates `func` for `lanes` lanes of `rows` words.
pub(super) fn run<'a>(
    isa: Isa,
    func: Func,
    (lanes, rows): (usize, usize),
    mut out: Out<'_>,
    (x, n): (&dyn Fn(usize) -> Arg<'a>, usize),
    tables: &[std::sync::Arc<Vec<i64>>],
) {
    let size = Size { lanes, rows };
    let one = Size { lanes: 1, rows };
    match func {
        Func::Add => run_two(isa, AddOf, size, out, x(0), x(1)),
        Func::Sub => run_two(isa, SubOf, size, out, x(0), x(1)),
        Func::Mul => run_two(isa, MulOf, size, out, x(0), x(1)),
        Func::MulAdd => run_three(isa, MulAddOf, size, out, x(0), x(1), x(2)),
        Func::ShiftLeft(k) => run_one(isa, ShlBy(k.into()), size, out, x(0)),
        Func::ShiftRight(k) => run_one(isa, SarBy(k.into()), size, out, x(0)),
        Func::ShiftRightBy => run_two(isa, SarOf, size, out, x(0), x(1)),
        Func::ShiftLeftBy => run_two(isa, ShlOf, size, out, x(0), x(1)),
        Func::Less => run_two(isa, LessOf, size, out, x(0), x(1)),
        Func::Equal => run_two(isa, EqualOf, size, out, x(0), x(1)),
        Func::And => run_two(isa, AndOf, size, out, x(0), x(1)),
        Func::Or => run_two(isa, OrOf, size, out, x(0), x(1)),
        Func::Not => run_one(isa, NotOf, size, out, x(0)),
        Func::Copy => run_one(isa, CopyOf, size, out, x(0)),
        Func::Bits { low, width, signed: true } => {
            run_one(isa, SignedBits(low.into(), width), size, out, x(0));
        }
        Func::Bits { low, width, signed: false } => {
            run_one(isa, UnsignedBits(low.into(), (1 << width) - 1), size, out, x(0));
        }
        Func::Concat(k) => run_two(isa, ConcatOf(k.into()), size, out, x(0), x(1)),
        Func::Insert(k) => {
            run_two(isa, InsertOf(k.into(), (1 << k) - 1), size, out, x(0), x(1));
        }
        Func::Rom(t) => run_one(isa, RomOf(&tables[t]), size, out, x(0)),
        Func::Mux if !x(0).is_scalar() => run_three(isa, MuxOf, size, out, x(0), x(1), x(2)),
        Func::Select if !x(0).is_scalar() => {
            run_one(isa, CopyOf, size, out.again(), x(n - 1));
            for k in 0..n - 2 {
                run_two(isa, TakeAt(k as i64), size, out.again(), x(0), x(k + 1));
            }
        }
        // One choice a lane: copies.
        Func::Mux | Func::Select => {
            let (Arg::S32(d, s) | Arg::S64(d, s)) = x(0) else { unreachable!("a scalar") };
            for l in 0..lanes {
                let index = d[l * s] as usize;
                let chosen = match func {
                    Func::Mux => 2 - index.min(1),
                    _ => 1 + index.min(n - 2),
                };
                run_one(isa, CopyOf, one, out.lane(l, rows), x(chosen).lane(l, rows));
            }
        }
        Func::Lanes => {
            for l in 0..n {
                run_one(isa, CopyOf, one, out.lane(l, rows), x(l).lane(0, rows));
            }
        }
    }
}

/// The same for one value.
pub(super) fn scalar(
    func: Func,
    x: impl Fn(usize) -> i64,
    n: usize,
    tables: &[std::sync::Arc<Vec<i64>>],
) -> i64 {
    let bit = |b: bool| i64::from(b);
    match func {
        Func::Add => x(0).wrapping_add(x(1)),
        Func::Sub => x(0).wrapping_sub(x(1)),
        Func::Mul => x(0).wrapping_mul(x(1)),
        Func::MulAdd => x(0).wrapping_mul(x(1)).wrapping_add(x(2)),
        Func::ShiftLeft(k) => x(0) << k,
        Func::ShiftRight(k) => x(0) >> k,
        Func::ShiftRightBy => x(0).sar(x(1)),
        Func::ShiftLeftBy => Num::shl(x(0), x(1)),
        Func::Less => bit(x(0) < x(1)),
        Func::Equal => bit(x(0) == x(1)),
        Func::And => x(0) & x(1),
        Func::Or => x(0) | x(1),
        Func::Not => 1 - x(0),
        Func::Mux => {
            if x(0) != 0 {
                x(1)
            } else {
                x(2)
            }
        }
        Func::Select => x(1 + (x(0) as usize).min(n - 2)),
        Func::Copy => x(0),
        Func::Bits { low, width, signed: true } => {
            let spare = 64 - width;
            x(0) >> low << spare >> spare
        }
        Func::Bits { low, width, signed: false } => (x(0) >> low) & ((1 << width) - 1),
        Func::Concat(k) => (x(0) << k) + x(1),
        Func::Insert(k) => (x(0) << k) + (x(1) & ((1 << k) - 1)),
        Func::Rom(t) => tables[t][(x(0) as usize).min(tables[t].len() - 1)],
        Func::Lanes => x(0),
    }
}
