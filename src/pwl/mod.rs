//! Piecewise-linear tables: a slope and an intercept for each segment of a fraction, evaluated in
//! exact integers. [`fit`] makes a [`Table`]; [`Table::evaluate`] does what the hardware does.
//!
//! All inputs are a fraction `f = u / 2^input_bits` with `u` in `[0, 2^input_bits)`:
//!
//! | function | value | result, in units of `2^-output_bits` |
//! | --- | --- | --- |
//! | `Exp2` | `2^f` | `[1, 2)`; exactly 1 at `u = 0` |
//! | `Log2` | `log2(1 + f)` | `[0, 1)`; exactly 0 at `u = 0` |
//! | `Reciprocal` | `1 / (1 + f)` | `[1/2, 1]` |
//! | `ReciprocalRoot` | `1 / sqrt(m)`, `m = 1 + f` or `2 (1 + f)` | `[1/2, 1]` |
//!
//! The ranges hold for every input of every table. So does monotonicity, across joints too,
//! wherever [`Table::is_monotone`] says so; the fit gives up accuracy for it where it has to.
mod fit;

pub use fit::fit;

/// What a table approximates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Function {
    /// `2^f`, in `[1, 2)`.
    Exp2,
    /// `log2(1 + f)`, in `[0, 1)`.
    Log2,
    /// `1 / (1 + f)`, in `(1/2, 1]`.
    Reciprocal,
    /// `1 / sqrt(m)` for `m` in `[1, 4)`, in `(1/2, 1]`. Parity 0 reads the first half of the
    /// segments, `m = 1 + f`; parity 1 the second half, `m = 2 (1 + f)`.
    ReciprocalRoot,
}

impl Function {
    /// The real value at fraction `f` in `[0, 1]`, to within a few units in the last place of an
    /// `f64`. `parity` (0 or 1) matters to `ReciprocalRoot` alone. Uses `libm`, so it is the same on
    /// every platform.
    pub fn value(self, parity: u32, f: f64) -> f64 {
        match self {
            Self::Exp2 => libm::exp2(f),
            Self::Log2 => libm::log2(1.0 + f),
            Self::Reciprocal => 1.0 / (1.0 + f),
            Self::ReciprocalRoot if parity == 0 => 1.0 / libm::sqrt(1.0 + f),
            Self::ReciprocalRoot => 1.0 / libm::sqrt(2.0 + 2.0 * f),
        }
    }

    /// True where errors are relative to the value: `Reciprocal` and `ReciprocalRoot`.
    pub fn has_relative_error(self) -> bool {
        matches!(self, Self::Reciprocal | Self::ReciprocalRoot)
    }

    /// True where the value falls as the fraction grows: `Reciprocal` and `ReciprocalRoot`.
    pub fn is_decreasing(self) -> bool {
        matches!(self, Self::Reciprocal | Self::ReciprocalRoot)
    }

    /// Bits of a segment number that come from the parity and not from `u`.
    fn parity_bits(self) -> u32 {
        u32::from(self == Self::ReciprocalRoot)
    }

    /// Smallest and largest result a table may give, in units of `2^-output_bits`.
    fn result_range(self, output_bits: u32) -> (i64, i64) {
        let one = 1i64 << output_bits;
        match self {
            Self::Exp2 => (one, 2 * one - 1),
            Self::Log2 => (0, one - 1),
            Self::Reciprocal | Self::ReciprocalRoot => (one / 2, one),
        }
    }
}

/// One fitted table. `raw = slope[segment] * lo + (intercept[segment] << intercept_shift)`, in units
/// of `2^-(slope_bits + input_bits)`, and `result = raw >> result_shift()` rounded down: the
/// intercepts hold the rounding half.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// What the table approximates.
    pub function: Function,
    /// Number of segments, a power of two; both octaves together for `ReciprocalRoot`.
    pub segments: u32,
    /// Width of `u`, 1 to 30 bits.
    pub input_bits: u32,
    /// Fraction bits of the result.
    pub output_bits: u32,
    /// Fraction bits of a slope.
    pub slope_bits: u32,
    /// Slope of each segment in units of `2^-slope_bits` per unit of fraction; never positive where
    /// the function is decreasing and never negative elsewhere.
    pub slope: Vec<i64>,
    /// Value at the start of each segment plus the rounding half, in units of
    /// `2^-(slope_bits + input_bits - intercept_shift)`: `2^-(output_bits + 4)`, or
    /// `2^-(slope_bits + input_bits)` where `raw` has fewer than 4 bits below the result's LSB.
    pub intercept: Vec<i64>,
    /// Left shift that aligns an intercept with `raw`.
    pub intercept_shift: u32,
    /// Largest error of the rounded result against the real value over every `u` and parity:
    /// absolute for `Exp2` and `Log2`, relative for the others. Exact, unless both `input_bits` and
    /// `output_bits` exceed 18: then an upper bound that is less than one output LSB too large.
    pub max_error: f64,
}

impl Table {
    /// Top bits of `u` that select a segment. The parity bit of `ReciprocalRoot` is not among
    /// them, so `segment_bits() + lo_bits() == input_bits` for every function.
    pub fn segment_bits(&self) -> u32 {
        self.segments.trailing_zeros() - self.function.parity_bits()
    }

    /// Low bits of `u` that multiply the slope.
    pub fn lo_bits(&self) -> u32 {
        self.input_bits - self.segment_bits()
    }

    /// Bits dropped from `raw` to make the result.
    pub fn result_shift(&self) -> u32 {
        self.slope_bits + self.input_bits - self.output_bits
    }

    /// Row of the table that `u` reads; `segment_parity` (0 or 1) is the top bit of the row for
    /// `ReciprocalRoot` and ignored for the others.
    pub fn segment(&self, segment_parity: u32, u: i64) -> usize {
        let row = (u >> self.lo_bits()) as usize;
        match self.function {
            Function::ReciprocalRoot => row | ((segment_parity as usize) << self.segment_bits()),
            _ => row,
        }
    }

    /// The multiply-add of `segment` at `lo`, before the shift, in units of
    /// `2^-(slope_bits + input_bits)`.
    pub fn raw(&self, segment: usize, lo: i64) -> i64 {
        self.slope[segment] * lo + (self.intercept[segment] << self.intercept_shift)
    }

    /// The exact result for `u` in `[0, 2^input_bits)`, in units of `2^-output_bits`, rounded down
    /// from `raw`. `segment_parity` (0 or 1) is ignored by all but `ReciprocalRoot`.
    ///
    /// # Panics
    /// When `u` or the parity is out of range.
    pub fn evaluate(&self, segment_parity: u32, u: i64) -> i64 {
        assert!(
            u >= 0 && u >> self.input_bits == 0,
            "u = {u} is not a {}-bit word",
            self.input_bits
        );
        assert!(segment_parity <= 1, "a parity of {segment_parity}");
        let lo = u & ((1i64 << self.lo_bits()) - 1);
        self.raw(self.segment(segment_parity, u), lo) >> self.result_shift()
    }

    /// True when results never move against the function, from one `u` to the next and from
    /// parity 0 to parity 1.
    pub fn is_monotone(&self) -> bool {
        let last = (1i64 << self.lo_bits()) - 1;
        let result = |segment, lo| self.raw(segment, lo) >> self.result_shift();
        let sign = if self.function.is_decreasing() { -1 } else { 1 };
        self.slope.iter().all(|slope| sign * slope >= 0)
            && (1..self.slope.len()).all(|s| sign * (result(s, 0) - result(s - 1, last)) >= 0)
    }
}

#[cfg(test)]
mod tests;
