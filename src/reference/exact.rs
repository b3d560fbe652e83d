//! What the datapath must compute, bit by bit: the operators as mathematics on exact integers.
//!
//! Nothing is known here of netlists, instructions or cycles. A caller states the constants, the
//! binary points and the tables; a row of codes goes in and a row of codes comes out. Integers are
//! unbounded, so a word of the engine that is too narrow shows as a difference.
use crate::num::IntFormat;
use num_bigint::BigInt;
use num_integer::Integer;
use num_traits::{One, Signed, ToPrimitive, Zero};

type Int = BigInt;

/// 2^n.
fn pow2(n: u32) -> Int {
    Int::one() << n
}

/// v / 2^n rounded half up; n > 0.
fn round_shift(v: &Int, n: u32) -> Int {
    (v + pow2(n - 1)) >> n
}

/// Binary points and word sizes that a result depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Points {
    /// P: T has P bits, signed; a row's mantissa has P - 1 bits.
    pub multiplier: u32,
    /// Bits of the row's addend below the mantissa's LSB.
    pub guard: u32,
    /// Fraction bits of the exponential's argument and mantissa.
    pub exp_fraction: u32,
    /// Most octaves of an exponential below 1: 31 or 63.
    pub octaves: u32,
    /// Fraction bits of a sum of exponentials.
    pub sum_fraction: u32,
    /// Fraction bits of a stored mantissa.
    pub stored_fraction: u32,
    /// F: fraction bits of the accumulator.
    pub accumulator_fraction: u32,
    /// Fraction bits of a fraction in the scalar unit.
    pub scalar_fraction: u32,
    /// Fraction bits of a logarithm beyond F.
    pub log_extra: u32,
    /// Width of the widest output code.
    pub output: u32,
    /// Fraction bits of the output stage.
    pub output_fraction: u32,
    /// Most places of the one shifter.
    pub shift_max: i64,
}

/// Lines over equal segments: raw = slope * lo + intercept, floored to the result's fraction bits.
#[derive(Clone, Copy, Debug)]
pub struct LineTable<'a> {
    pub slope: &'a [i64],
    pub intercept: &'a [i64],
    /// Places that an intercept stands above the raw LSB.
    pub intercept_shift: u32,
    /// log2 of the segments over one octave of the argument.
    pub segment_bits: u32,
    /// Fraction bits of the argument.
    pub input_bits: u32,
    /// Fraction bits of the result.
    pub output_bits: u32,
    /// Fraction bits of a slope.
    pub slope_bits: u32,
}

impl LineTable<'_> {
    /// The result at the fraction `u` of the octave `octave`.
    pub fn at(&self, octave: usize, u: &Int) -> Int {
        let (segment, lo) = u.div_mod_floor(&pow2(self.input_bits - self.segment_bits));
        let segment = segment.to_usize().map_or(usize::MAX, |s| s + (octave << self.segment_bits));
        let raw =
            lo * self.slope[segment] + (Int::from(self.intercept[segment]) << self.intercept_shift);
        raw >> (self.slope_bits + self.input_bits - self.output_bits)
    }
}

/// A row of codes.
#[derive(Clone, Copy, Debug)]
pub struct Row<'a> {
    pub x: &'a [i32],
    /// False drops an element: its output is 0 and it takes part in nothing.
    pub keep: Option<&'a [bool]>,
    /// The row's scale is the tensor's times 2^-k.
    pub k: u32,
}

impl Row<'_> {
    fn kept(&self) -> impl Iterator<Item = i32> + '_ {
        self.x.iter().enumerate().filter(|&(i, _)| self.is_kept(i)).map(|(_, &x)| x)
    }

    fn is_kept(&self, i: usize) -> bool {
        self.keep.is_none_or(|k| k[i])
    }

    fn map(&self, mut f: impl FnMut(usize, i32) -> i32) -> Vec<i32> {
        let one = |(i, &x)| if self.is_kept(i) { f(i, x) } else { 0 };
        self.x.iter().enumerate().map(one).collect()
    }
}

/// Output codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Codes {
    pub format: IntFormat,
    /// Unsigned codes of a signed result: 2^(bits - 1) stands for 0.
    pub has_zero_point: bool,
}

impl Codes {
    /// The code of `value / 2^fraction`, rounded half up; `offset` holds the half, and beta if any.
    pub fn of(self, value: &Int, offset: &Int, fraction: u32) -> i32 {
        let zero = if self.has_zero_point { 1i64 << (self.format.bits - 1) } else { 0 };
        let rounded = ((value + offset) >> fraction) + zero;
        let code = rounded.clamp(Int::from(self.format.min()), Int::from(self.format.max()));
        code.to_i32().unwrap_or_default()
    }
}

/// A positive number as mantissa and place: mantissa / 2^(P - 1) in [1, 2), cut off below.
struct Normal {
    /// P bits, the leading one included.
    mantissa: Int,
    /// Place of the leading one.
    place: u32,
}

impl Normal {
    fn of(v: &Int, p: u32) -> Self {
        let place = v.bits() as u32 - 1;
        Self { mantissa: (v << (p - 1)) >> place, place }
    }

    fn fraction(&self, p: u32) -> Int {
        &self.mantissa - pow2(p - 1)
    }
}

/// Mantissa of a row, P - 1 bits in [1/2, 1) of 2^(P-1), and 1 where `a` had to be doubled for it.
fn row_mantissa(a: &Int, at: &Points) -> (Int, i64) {
    let is_below_one = a < &pow2(at.scalar_fraction);
    let drop = at.scalar_fraction - (at.multiplier - 2) - u32::from(is_below_one);
    (a >> drop, i64::from(is_below_one))
}

fn places(n: i64, at: &Points) -> u32 {
    n.clamp(0, at.shift_max) as u32
}

/// Softmax: base-2 exponentials of the distance to the maximum, over their sum.
#[derive(Clone, Copy, Debug)]
pub struct Softmax<'a> {
    pub at: Points,
    pub codes: Codes,
    /// Smallest input code: the maximum of a row without elements.
    pub lowest: i32,
    pub exp2: LineTable<'a>,
    /// Octaves a code: m / 2^sh; in a row of scale 2^-k, m / 2^k rounded half up.
    pub m: i64,
    pub sh: u32,
    /// Half an LSB of t in codes times m, F fraction bits; as much of it as a word holds.
    pub half: i64,
    pub form: Form<'a>,
}

/// How the sum divides.
#[derive(Clone, Copy, Debug)]
pub enum Form<'a> {
    /// Its logarithm is subtracted from the exponent; `offset` has F + log_extra fraction bits.
    LogSumExp { log2: LineTable<'a>, offset: i64 },
    /// Stored exponentials times its reciprocal times c; `shift` is P - 2 - ec - sum_fraction.
    Stored { reciprocal: LineTable<'a>, c: i64, shift: i64 },
}

impl Softmax<'_> {
    /// Octaves a code of a row, sh fraction bits.
    fn octaves(&self, row: &Row) -> Int {
        match row.k {
            0 => Int::from(self.m),
            k => round_shift(&Int::from(self.m), k),
        }
    }

    /// -t of a code: (m x + addend) / 2^sh, octaves with the exponential's fraction bits.
    fn exponent(&self, x: i32, addend: &Int, m: &Int) -> Int {
        let at = &self.at;
        let drop = i64::from(self.sh) - i64::from(at.exp_fraction) + i64::from(at.guard);
        let v = (((m * x) << at.guard) + addend) >> places(drop, at);
        v.clamp(-(Int::from(at.octaves) << at.exp_fraction), Int::zero())
    }

    /// 2^-t as (octaves n below, mantissa in [1, 2) with the exponential's fraction bits).
    fn exponential(&self, t: &Int) -> (u32, Int) {
        let (whole, fraction) = t.div_mod_floor(&pow2(self.at.exp_fraction));
        (whole.abs().to_u32().unwrap_or(u32::MAX), self.exp2.at(0, &fraction))
    }

    /// The addend: half an LSB of t less the maximum's exponent less `log`, guard bits below.
    fn addend(&self, max: i32, log: &Int, m: &Int) -> Int {
        let (f, at) = (self.at.accumulator_fraction, &self.at);
        let down = log << (self.sh - at.log_extra);
        (self.half - ((m * max) << f) - down) >> (f - at.guard)
    }

    pub fn row(&self, row: &Row) -> Vec<i32> {
        let at = &self.at;
        let max = row.kept().max().unwrap_or(self.lowest);
        let m = self.octaves(row);
        let addend = self.addend(max, &Int::zero(), &m);
        let is_stored = matches!(self.form, Form::Stored { .. });
        let cut = at.exp_fraction.saturating_sub(at.stored_fraction);
        let first = |x: i32| {
            let (n, m) = self.exponential(&self.exponent(x, &addend, &m));
            (n, if is_stored { m >> cut << cut } else { m })
        };
        let term = |(n, m): (u32, Int)| (m << (at.sum_fraction - at.exp_fraction)) >> n;
        let sum: Int = row.kept().map(|x| term(first(x))).sum();
        if sum.is_zero() {
            return row.map(|_, _| 0);
        }
        let p = at.multiplier;
        let sum = Normal::of(&sum, p);
        let half = pow2(at.output_fraction - 1);
        match self.form {
            Form::LogSumExp { log2, offset } => {
                let whole = Int::from(sum.place) << (at.accumulator_fraction + at.log_extra);
                let log = whole + log2.at(0, &sum.fraction(p));
                let addend = self.addend(max, &(log + offset), &m);
                let top = at.output + at.output_fraction - at.exp_fraction;
                row.map(|_, x| {
                    let (n, m) = self.exponential(&self.exponent(x, &addend, &m));
                    self.codes.of(&((m << top) >> n), &half, at.output_fraction)
                })
            }
            Form::Stored { reciprocal, c, shift } => {
                let fraction = at.scalar_fraction;
                let r = reciprocal.at(0, &sum.fraction(p)) << (fraction - p);
                let (s, doubled) = row_mantissa(&round_shift(&(r * c), fraction), at);
                let below =
                    i64::from(at.stored_fraction + at.guard) - i64::from(at.output_fraction);
                let drop = places(shift + i64::from(sum.place) + doubled + below, at);
                row.map(|_, x| {
                    let (n, m) = first(x);
                    let m = (m << at.stored_fraction) >> at.exp_fraction;
                    let drop = places(i64::from(drop + n), at);
                    self.codes.of(&(((&s * m) << at.guard) >> drop), &half, at.output_fraction)
                })
            }
        }
    }
}

/// LayerNorm and RMSNorm: (x - mean) c / sqrt(N var + N eps), then gamma and beta.
#[derive(Clone, Copy, Debug)]
pub struct Norm<'a> {
    pub at: Points,
    pub codes: Codes,
    /// Over two octaves.
    pub rsqrt: LineTable<'a>,
    pub has_newton_step: bool,
    /// Fraction bits of the variance: F, or 0 beside a large epsilon.
    pub variance_fraction: u32,
    pub eps: Epsilon,
    /// Scale of the result, c * 2^ec with c in [1, 2), the scalar unit's fraction bits.
    pub c: i64,
    pub ec: i64,
    /// The mean is subtracted.
    pub mean: Option<Mean>,
    pub affine: Option<Affine<'a>>,
}

/// N eps in codes squared with the variance's fraction bits: m * 2^e. With row scales that of a row is
/// (m * 2^(i + k), the scalar unit's fraction bits taken off by rounding) * 2^(e + k).
#[derive(Clone, Copy, Debug)]
pub struct Epsilon {
    pub m: i64,
    pub e: u32,
    /// None without row scales.
    pub i: Option<u32>,
}

/// Constants of the division by N.
#[derive(Clone, Copy, Debug)]
pub struct Mean {
    pub n: i64,
    /// Fraction bits of the mean before it is rounded to K: floor(log2 N).
    pub places: u32,
    /// 2^places / N, the scalar unit's fraction bits.
    pub inverse: i64,
    /// Places that the remainder is moved up before its division.
    pub up: u32,
    /// 2^(F - up) / N, the scalar unit's fraction bits.
    pub inverse_fine: i64,
}

/// Scale and offset of every element.
#[derive(Clone, Copy, Debug)]
pub struct Affine<'a> {
    /// Fraction bits of h at a static shift.
    pub h_fraction: i64,
    /// The row's magnitude bounds the shift of h (see [`Affine::places_of_h`]).
    pub has_block_exponent: bool,
    pub gamma: &'a [i32],
    /// Output LSB with the output stage's fraction bits, one half included.
    pub beta: Option<&'a [i32]>,
}

impl Affine<'_> {
    /// Places b that h = (x s + C) >> b stands above the product, of the row's shift `row_shift`.
    ///
    /// With a block exponent no more than the row's largest code needs: s has P - 1 bits, so that
    /// x s + C has at most P + m bits and its sign, m the bits of the largest magnitude.
    pub fn places_of_h(&self, row: &Row, row_shift: i64) -> i64 {
        let still = row_shift - self.h_fraction;
        if !self.has_block_exponent {
            return still;
        }
        let any = row.kept().fold(0, |any, x| any | if x < 0 { !x } else { x });
        still.min(i64::from(32 - any.leading_zeros()) + 1)
    }
}

impl Norm<'_> {
    /// Mean K + rho / 2^F (K an integer, |rho| about half of 2^F) and N var with its fraction bits.
    fn moments(&self, row: &Row) -> (Int, Int, Int) {
        let f = self.at.accumulator_fraction;
        let (at, vf) = (&self.at, self.variance_fraction);
        let squares: Int = row.kept().map(|x| Int::from(x) * x).sum();
        let Some(mean) = &self.mean else { return (Int::zero(), Int::zero(), squares << vf) };
        let sum: Int = row.kept().map(Int::from).sum();
        let fine = (&sum * mean.inverse) >> at.scalar_fraction;
        let half = if mean.places > 0 { pow2(mean.places - 1) } else { Int::zero() };
        let k = (fine + half) >> mean.places;
        let rem = &sum - &k * mean.n;
        // sum (x - K)^2 = sum x^2 - 2 K sum x + N K^2.
        let about_k = squares - 2 * &k * &sum + &k * &k * mean.n;
        let rho = round_shift(&((&rem << mean.up) * mean.inverse_fine), at.scalar_fraction);
        // Beside an epsilon that makes F fraction bits too many, rem rho / 2^F is nothing.
        let variance = if vf == f { (about_k << f) - rem * &rho } else { about_k << vf };
        (k, rho, variance)
    }

    /// 1 / sqrt of v's mantissa over two octaves, the scalar unit's fraction bits.
    fn reciprocal_root(&self, v: &Normal) -> Int {
        let (p, w) = (self.at.multiplier, self.at.scalar_fraction);
        let is_odd = v.place.is_odd();
        let r = self.rsqrt.at(usize::from(is_odd), &v.fraction(p)) << (w - p);
        if !self.has_newton_step {
            return r;
        }
        // r (3/2 - m/2 r^2), m in [1, 4).
        let half = (&v.mantissa << (w - (p - 1))) >> u32::from(!is_odd);
        let square = (&r * &r) >> w;
        let factor = (Int::from(3) << (w - 1)) - ((half * square) >> w);
        round_shift(&(r * factor), w)
    }

    fn epsilon(&self, k: u32) -> Int {
        let eps = &self.eps;
        let m = Int::from(eps.m);
        match eps.i {
            None => m << eps.e,
            Some(i) => round_shift(&(m << (i + k)), self.at.scalar_fraction) << (eps.e + k),
        }
    }

    pub fn row(&self, row: &Row) -> Vec<i32> {
        let (at, f) = (&self.at, self.at.accumulator_fraction);
        let (k, rho, variance) = self.moments(row);
        let v = variance + self.epsilon(row.k);
        // A row without variance and epsilon has its mean everywhere: s = 0.
        let (s, row_shift) = if v.is_zero() {
            (Int::zero(), at.shift_max)
        } else {
            let v = Normal::of(&v, at.multiplier);
            let a = round_shift(&(self.reciprocal_root(&v) * self.c), at.scalar_fraction);
            let (s, doubled) = row_mantissa(&a, at);
            let whole = i64::from(at.multiplier) - 2 - self.ec;
            let whole = whole - i64::from(self.variance_fraction / 2);
            (s, whole + i64::from(v.place / 2) + doubled)
        };
        let addend: Int = (-((k << f) + rho) * &s) >> (f - at.guard);
        let product = |x: i32, drop: i64| {
            (((&s * x) << at.guard) + &addend) >> places(drop + i64::from(at.guard), at)
        };
        let half = pow2(at.output_fraction - 1);
        let below = i64::from(at.output_fraction);
        let Some(affine) = &self.affine else {
            return row.map(|_, x| {
                let y = product(x, row_shift - below);
                self.codes.of(&y, &half, at.output_fraction)
            });
        };
        let b = affine.places_of_h(row, row_shift);
        let most = pow2(at.multiplier - 1);
        row.map(|i, x| {
            let h = product(x, b).clamp(-most.clone(), &most - 1);
            let drop = places(row_shift - b - below + i64::from(at.guard), at);
            let y = ((h * affine.gamma[i]) << at.guard) >> drop;
            let offset = affine.beta.map_or(half.clone(), |beta| Int::from(beta[i]));
            self.codes.of(&y, &offset, at.output_fraction)
        })
    }
}
