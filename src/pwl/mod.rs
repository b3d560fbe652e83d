//! Piecewise-linear tables in integers: one line a segment, fitted to the floored result.
//!
//! A table gives `raw = slope[segment] * lo + (intercept[segment] << intercept_shift)` in units of
//! 2^-(slope_bits + input_bits), and the result is `raw >> (slope_bits + input_bits - output_bits)`: the
//! rounding half is in the intercept. Transcendental functions come from `libm`, so tables are the same
//! on every machine.

/// Guard bits of an intercept below the result's LSB.
const GUARD_BITS: u32 = 4;
/// Samples of a segment in the fit; all positions when there are fewer.
const SAMPLES: i64 = 512;

/// What a table approximates, of the fraction f in [0, 1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Function {
    /// 2^f, in [1, 2); exact at f = 0.
    Exp2,
    /// log2(1 + f), in [0, 1); exact at f = 0.
    Log2,
    /// 1 / (1 + f), in (1/2, 1].
    Reciprocal,
    /// 1 / sqrt(m): the lower half of the segments is m = 1 + f, the upper half m = 2 (1 + f).
    ReciprocalRoot,
}

impl Function {
    fn value(self, is_upper: bool, f: f64) -> f64 {
        match self {
            Function::Exp2 => libm::exp2(f),
            Function::Log2 => libm::log2(1.0 + f),
            Function::Reciprocal => 1.0 / (1.0 + f),
            Function::ReciprocalRoot => {
                1.0 / libm::sqrt(if is_upper { 2.0 * (1.0 + f) } else { 1.0 + f })
            }
        }
    }

    fn is_exact_at_zero(self) -> bool {
        matches!(self, Function::Exp2 | Function::Log2)
    }
}

/// A fitted table; the module's documentation says how it is read.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    pub function: Function,
    pub segments: u32,
    /// Fraction bits of the argument.
    pub input_bits: u32,
    /// Fraction bits of the result.
    pub output_bits: u32,
    /// Fraction bits of a slope, per unit of f.
    pub slope_bits: u32,
    pub slope: Vec<i64>,
    pub intercept: Vec<i64>,
    pub intercept_shift: u32,
    /// Largest error of the result over the sampled arguments, absolute (every argument up to 2^16).
    pub max_error: f64,
}

impl Table {
    /// Bits of the segment's index.
    pub fn segment_bits(&self) -> u32 {
        self.segments.ilog2()
    }

    /// Bits of the position inside a segment.
    pub fn lo_bits(&self) -> u32 {
        let halves = u32::from(self.function == Function::ReciprocalRoot);
        self.input_bits - (self.segment_bits() - halves)
    }

    /// The result for the fraction `u / 2^input_bits`; `parity` 1 reads the upper half of a
    /// [`Function::ReciprocalRoot`].
    pub fn evaluate(&self, parity: u32, u: i64) -> i64 {
        let lo_bits = self.lo_bits();
        let half = (self.segments / 2) as usize;
        let base =
            if self.function == Function::ReciprocalRoot { parity as usize * half } else { 0 };
        let segment = base + (u >> lo_bits) as usize;
        let lo = u & ((1 << lo_bits) - 1);
        let raw = self.slope[segment] * lo + (self.intercept[segment] << self.intercept_shift);
        raw >> (self.slope_bits + self.input_bits - self.output_bits)
    }
}

/// Fits a table that minimises the largest absolute error of the floored result in every segment.
///
/// `segments` is a power of two; `input_bits` at least its logarithm; `slope_bits + input_bits` at
/// least `output_bits`.
pub fn fit(
    function: Function,
    segments: u32,
    input_bits: u32,
    output_bits: u32,
    slope_bits: u32,
) -> Table {
    assert!(segments.is_power_of_two() && slope_bits + input_bits >= output_bits);
    let drop = slope_bits + input_bits - output_bits;
    let mut table = Table {
        function,
        segments,
        input_bits,
        output_bits,
        slope_bits,
        slope: vec![],
        intercept: vec![],
        intercept_shift: drop.saturating_sub(GUARD_BITS),
        max_error: 0.0,
    };
    let lo_bits = table.lo_bits();
    let per_half = 1i64 << (input_bits - lo_bits);
    for segment in 0..i64::from(segments) {
        let is_upper = segment >= per_half;
        let first = (segment % per_half) << lo_bits;
        let line = Line { function, is_upper, first, lo_bits, input_bits };
        let (slope, intercept) = line.best(&table, segment == 0 && function.is_exact_at_zero());
        table.slope.push(slope);
        table.intercept.push(intercept);
    }
    let unit = libm::exp2(-f64::from(output_bits));
    let size = libm::exp2(f64::from(input_bits));
    let step = (1i64 << input_bits.saturating_sub(16)).max(1);
    for parity in 0..=u32::from(function == Function::ReciprocalRoot) {
        for u in (0..1i64 << input_bits).step_by(step as usize) {
            let exact = function.value(parity == 1, u as f64 / size);
            let error = (table.evaluate(parity, u) as f64 * unit - exact).abs();
            table.max_error = table.max_error.max(error);
        }
    }
    table
}

/// One segment under fit.
struct Line {
    function: Function,
    is_upper: bool,
    first: i64,
    lo_bits: u32,
    input_bits: u32,
}

impl Line {
    fn exact(&self, lo: f64) -> f64 {
        let f = (self.first as f64 + lo) / libm::exp2(f64::from(self.input_bits));
        self.function.value(self.is_upper, f)
    }

    /// The slope and the intercept with the smallest largest error over the samples.
    fn best(&self, table: &Table, is_exact: bool) -> (i64, i64) {
        let length = 1i64 << self.lo_bits;
        let step = (length / SAMPLES).max(1);
        let samples: Vec<(i64, f64)> = (0..length)
            .step_by(step as usize)
            .chain(std::iter::once(length - 1))
            .map(|lo| (lo, self.exact(lo as f64)))
            .collect();
        let raw = libm::exp2(f64::from(table.slope_bits + table.input_bits));
        let drop = table.slope_bits + table.input_bits - table.output_bits;
        let half = libm::exp2(f64::from(drop)) / 2.0;
        let fraction = length as f64 / libm::exp2(f64::from(self.input_bits));
        let chord = (self.exact(length as f64) - self.exact(0.0)) / fraction;
        let chord = (chord * libm::exp2(f64::from(table.slope_bits))).floor() as i64;
        let unit = libm::exp2(f64::from(table.intercept_shift));
        let error = |slope: i64, intercept: i64| {
            samples.iter().fold((0f64, 0f64), |worst, &(lo, exact)| {
                let value = slope * lo + (intercept << table.intercept_shift);
                let floored = (value >> drop) as f64 * libm::exp2(f64::from(drop));
                let smooth = (value as f64 - half - exact * raw).abs();
                (worst.0.max((floored - exact * raw).abs()), worst.1.max(smooth))
            })
        };
        let mut best: Option<((f64, f64), i64, i64)> = None;
        for slope in chord - 2..=chord + 3 {
            let (low, high) = samples.iter().fold((f64::MAX, f64::MIN), |(l, h), &(lo, exact)| {
                let rest = exact * raw - (slope * lo) as f64;
                (l.min(rest), h.max(rest))
            });
            let centre = ((low + high) / 2.0 + half) / unit;
            let one = (self.exact(0.0) * raw / unit).round() as i64;
            let at_zero = one..one + (half * 2.0 / unit).max(1.0) as i64;
            let near = centre.floor() as i64 - 1..centre.floor() as i64 + 3;
            let candidates: Vec<i64> = if is_exact { at_zero.collect() } else { near.collect() };
            for intercept in candidates {
                let e = error(slope, intercept);
                if best.as_ref().is_none_or(|b| e < b.0) {
                    best = Some((e, slope, intercept));
                }
            }
        }
        let (_, slope, intercept) = best.expect("a slope and an intercept were tried");
        (slope, intercept)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_as_published() {
        use Function::*;
        for (function, segments, input, output, slope, bound) in [
            (Exp2, 16, 11, 11, 8, -11.1),
            (Exp2, 128, 18, 18, 11, -16.9),
            (Log2, 32, 15, 16, 9, -12.8),
            (Reciprocal, 32, 15, 16, 9, -12.7),
            (ReciprocalRoot, 16, 15, 16, 8, -10.4),
            (ReciprocalRoot, 64, 15, 16, 10, -14.0),
        ] {
            let t = fit(function, segments, input, output, slope);
            let error = libm::log2(t.max_error);
            assert!(error <= bound, "{function:?} {segments}: 2^{error:.2}, bound 2^{bound}");
        }
    }

    #[test]
    fn fixed_points_and_ranges() {
        let exp2 = fit(Function::Exp2, 16, 11, 11, 8);
        assert_eq!(exp2.evaluate(0, 0), 1 << 11);
        assert!((0..1 << 11).all(|u| (1 << 11..2 << 11).contains(&exp2.evaluate(0, u))));
        let log2 = fit(Function::Log2, 32, 15, 16, 9);
        assert_eq!(log2.evaluate(0, 0), 0);
        assert!((0..1 << 15).all(|u| (0..=1 << 16).contains(&log2.evaluate(0, u))));
        for function in [Function::Reciprocal, Function::ReciprocalRoot] {
            let t = fit(function, 32, 15, 16, 9);
            for parity in 0..=u32::from(function == Function::ReciprocalRoot) {
                let range = (1 << 15) - 8..=(1 << 16) + 8;
                assert!((0..1 << 15).all(|u| range.contains(&t.evaluate(parity, u))));
            }
        }
    }
}
