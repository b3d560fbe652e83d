//! Every width of the engine, derived from the configuration. None is typed in.
use crate::config::HwConfig;

/// Fraction bits of the output stage below an output LSB: beta is held with them.
pub const OUTPUT_FRACTION: u32 = 5;
/// Bits of the lane's product below the mantissa's LSB: the addend c is that much finer.
pub const GUARD: u32 = 2;
/// Fraction bits of the scalar accumulator above those of an output code, where they fit.
const ACCUMULATOR_FRACTION_MORE: u32 = 6;
/// Room above the largest sum of squares for a dominating epsilon, in bits, where it fits.
const EPSILON_ROOM: u32 = 8;
/// The widest accumulator, so that every sum of two stays in 63 bits.
const ACCUMULATOR_MAX: u32 = 60;

/// Widths in bits and binary points of one configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Widths {
    /// Lanes L.
    pub lanes: u32,
    /// Chunks of the longest row.
    pub chunks: u32,
    /// Chunk counter.
    pub chunk: u32,
    /// Widest input element; gamma has the same width.
    pub input: u32,
    /// Widest output code.
    pub output: u32,
    /// The lane's broadcast operand and T, P bits signed; mantissas are P - 1 bits unsigned.
    pub p: u32,
    /// Fraction bits of the exponential's argument and of its mantissa.
    pub exp_fraction: u32,
    /// Exponent n of an exponential 2^-n.
    pub exponent: u32,
    /// The row's addend c, signed.
    pub addend: u32,
    /// Fraction bits of a sum of exponentials.
    pub sum_fraction: u32,
    /// A sum of squares over all lanes of a chunk: the low field of a pair.
    pub pair_low: u32,
    /// Sum of a pass: of squares or of exponentials.
    pub total: u32,
    /// Sum of the elements of a row, signed.
    pub element_total: u32,
    /// Fraction bits F of the accumulator A; even.
    pub accumulator_fraction: u32,
    /// Accumulator A, signed.
    pub accumulator: u32,
    /// Scalar registers g, signed: W, a multiple of the digit.
    pub scalar: u32,
    /// Digits that a product takes.
    pub digits: u32,
    /// Position of the leading one of A.
    pub leading: u32,
    /// Extra fraction bits of log2 over F.
    pub log_extra: u32,
    /// beta in the parameter store, signed.
    pub beta: u32,
    /// The row's shift amount.
    pub shift: u32,
    /// Whether exponentials can be stored in the row buffer.
    pub can_store: bool,
    /// Fraction bits of a stored mantissa.
    pub stored_fraction: u32,
}

/// Bits that hold the values 0 to n, at least 1.
pub fn bits_for(n: u64) -> u32 {
    (64 - n.leading_zeros()).max(1)
}

/// Smallest k with 2^k >= n.
pub fn log2_ceil(n: u64) -> u32 {
    if n <= 1 { 0 } else { 64 - (n - 1).leading_zeros() }
}

impl Widths {
    pub fn derive(config: &HwConfig) -> Self {
        let (lanes, n_max) = (config.lanes, u64::from(config.n_max));
        let input = config.input_bits();
        let output = config.output_bits();
        let p = config.multiplier_bits;
        let length = log2_ceil(n_max);
        let sum_fraction = output + length + 4;
        let exponent = if sum_fraction > 30 { 6 } else { 5 };
        let square = 2 * (input - 1);
        let pair_low = square + 1 + log2_ceil(u64::from(lanes));
        let total = (square + length + 1).max(sum_fraction + length + 1);
        let element_total = input + length;
        let squares = square + length;
        // An element times the row's mantissa, which becomes the addend, and its sign.
        let products = input + p + 1;
        let accumulator_fraction = (output + ACCUMULATOR_FRACTION_MORE)
            .min(ACCUMULATOR_MAX - (squares + 2).max(products))
            & !1;
        let accumulator = (squares + accumulator_fraction + 2 + EPSILON_ROOM)
            .max(total + 1)
            .max(products + accumulator_fraction)
            .min(ACCUMULATOR_MAX);
        let log_extra = if output > 8 { 4 } else { 0 };
        let least = [
            element_total + 1,
            p + 4,
            accumulator_fraction + log_extra + 7,
            accumulator_fraction + 4,
        ];
        let least = least.into_iter().max().expect("four bounds");
        let digits = least.div_ceil(config.digit_bits);
        let can_store = config.element_bits == 16 && config.reciprocal_segments > 0;
        let addend = input + p + GUARD + 1;
        Self {
            lanes,
            chunks: config.n_chunks_max(),
            chunk: bits_for(u64::from(config.n_chunks_max()) - 1),
            input,
            output,
            p,
            exp_fraction: config.exp_fraction_bits,
            exponent,
            addend,
            sum_fraction,
            pair_low,
            total,
            element_total,
            accumulator_fraction,
            accumulator,
            scalar: digits * config.digit_bits,
            digits,
            leading: bits_for(u64::from(accumulator) - 1),
            log_extra,
            beta: output + OUTPUT_FRACTION + 1,
            shift: if addend < 32 && !can_store { 5 } else { 6 },
            can_store,
            stored_fraction: 16 - exponent,
        }
    }

    /// Fraction bits of a scalar fraction (a mantissa in a g register): W - 2.
    pub fn fraction(&self) -> u32 {
        self.scalar - 2
    }

    /// Fraction bits of a logarithm in a g register.
    pub fn log_fraction(&self) -> u32 {
        self.accumulator_fraction + self.log_extra
    }
}
