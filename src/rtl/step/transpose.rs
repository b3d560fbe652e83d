//! Between the rows that a user has, a stream's lanes side by side, and buffers `[lane][stream]`: blocks of
//! 8 by 8, which a compiler turns into shuffles.
use super::kernels::Isa;
use super::words::{Buf, Num};
use std::ops::Range;

const SIDE: usize = 8;

/// Which part of a slice a stream's lanes are, from lane 0 on; lanes past its end have no place.
pub(super) trait Part: Fn(usize) -> Range<usize> {}
impl<F: Fn(usize) -> Range<usize>> Part for F {}

/// Asks for the cache line after the one at `at`: rows lie far apart, and a stream comes back to its own a
/// cycle or two later.
#[inline(always)]
fn prefetch<T>(rows: &[T], at: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let line = rows.as_ptr().wrapping_add(at).cast::<i8>().wrapping_add(64);
        // SAFETY: a prefetch of any address is harmless.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(line) };
    }
}

/// Writes `streams` streams to a buffer; lanes without a place take `rest`.
#[inline(always)]
fn gather_to<T: Num, O: Num>(
    to: &mut [O],
    streams: usize,
    from: &[T],
    part: &impl Part,
    rest: i64,
) {
    let lanes = to.len() / streams;
    for s in (0..streams).step_by(SIDE) {
        let n = (streams - s).min(SIDE);
        let rows: [&[T]; SIDE] =
            std::array::from_fn(|i| if i < n { &from[part(s + i)] } else { &[] });
        rows.iter().for_each(|row| prefetch(row, row.len()));
        for l in (0..lanes).step_by(SIDE) {
            let mut block = [[O::of(rest); SIDE]; SIDE];
            if rows.iter().all(|row| row.len() >= l + SIDE) {
                for i in 0..SIDE {
                    let row: &[T; SIDE] = rows[i][l..l + SIDE].try_into().expect("a side");
                    for j in 0..SIDE {
                        block[j][i] = O::of(row[j].wide());
                    }
                }
            } else {
                for (i, row) in rows.iter().enumerate() {
                    for (j, &v) in row.iter().skip(l).take(SIDE).enumerate() {
                        block[j][i] = O::of(v.wide());
                    }
                }
            }
            for (j, line) in block.iter().enumerate().take(lanes - l) {
                let to = &mut to[(l + j) * streams + s..][..n];
                match <&mut [O; SIDE]>::try_from(&mut *to) {
                    Ok(to) => *to = *line,
                    Err(_) => to.copy_from_slice(&line[..n]),
                }
            }
        }
    }
}

/// Reads `streams` streams from a buffer; lanes without a place are dropped.
#[inline(always)]
fn scatter_from<T: Num, O: Num>(
    from: &[T],
    streams: usize,
    to: &mut [O],
    part: &impl Part,
    map: &impl Fn(i32) -> i32,
) {
    let lanes = from.len() / streams;
    for s in (0..streams).step_by(SIDE) {
        let n = (streams - s).min(SIDE);
        for l in (0..lanes).step_by(SIDE) {
            let mut block = [[O::of(0); SIDE]; SIDE];
            for j in 0..(lanes - l).min(SIDE) {
                let line = &from[(l + j) * streams + s..][..n];
                match <&[T; SIDE]>::try_from(line) {
                    Ok(line) => (0..SIDE)
                        .for_each(|i| block[i][j] = O::of(map(line[i].wide() as i32).into())),
                    Err(_) => line
                        .iter()
                        .zip(&mut block)
                        .for_each(|(v, b)| b[j] = O::of(map(v.wide() as i32).into())),
                }
            }
            for (i, row) in block.iter().enumerate().take(n) {
                let part = part(s + i);
                prefetch(to, part.end);
                let to = &mut to[(part.start + l).min(part.end)..part.end];
                match to.first_chunk_mut::<SIDE>() {
                    Some(to) => *to = *row,
                    None => {
                        let n = to.len();
                        to.copy_from_slice(&row[..n]);
                    }
                }
            }
        }
    }
}

macro_rules! dispatch {
    ($name:ident, $avx2:ident, $body:ident, ($($t:tt)*), ($($x:ident: $ty:ty),+)) => {
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx2")]
        unsafe fn $avx2<$($t)*>($($x: $ty),+) {
            $body($($x),+)
        }
        fn $name<$($t)*>(isa: Isa, $($x: $ty),+) {
            match isa {
                Isa::Portable => $body($($x),+),
                // SAFETY: `Isa::detect` found the feature.
                #[cfg(target_arch = "x86_64")]
                Isa::Avx2 => unsafe { $avx2($($x),+) },
            }
        }
    };
}
dispatch!(
    run_gather, gather_avx2, gather_to, (T: Num, O: Num, P: Part),
    (to: &mut [O], streams: usize, from: &[T], part: &P, rest: i64)
);
dispatch!(
    run_scatter, scatter_avx2, scatter_from, (T: Num, O: Num, P: Part, M: Fn(i32) -> i32),
    (from: &[T], streams: usize, to: &mut [O], part: &P, map: &M)
);

/// Writes `streams` streams of `from` to a buffer; lanes without a place take `rest`.
pub(super) fn gather<T: Num>(
    isa: Isa,
    to: &mut Buf,
    streams: usize,
    from: &[T],
    part: &impl Part,
    rest: i64,
) {
    match to {
        Buf::I32(to) => run_gather(isa, to, streams, from, part, rest),
        Buf::I64(to) => run_gather(isa, to, streams, from, part, rest),
    }
}

/// Reads lanes of `streams` streams, as `map` has them, to their places in `to`; a lane without one is
/// dropped.
pub(super) fn scatter<O: Num>(
    isa: Isa,
    (from, lanes): (&Buf, Range<usize>),
    streams: usize,
    to: &mut [O],
    part: &impl Part,
    map: &impl Fn(i32) -> i32,
) {
    let words = lanes.start * streams..lanes.end * streams;
    match from {
        Buf::I32(from) => run_scatter(isa, &from[words], streams, to, part, map),
        Buf::I64(from) => run_scatter(isa, &from[words], streams, to, part, map),
    }
}
