//! Scales and quantisation: real value = code * scale, zero point 0.
use crate::num::IntFormat;

/// Largest k of a row scale s * 2^-k.
pub const MAX_ROW_SHIFT: u32 = 15;

/// Real value of one LSB: finite and greater than 0.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Scale(f64);

/// A number that is no scale.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error("found {found} for {what}, expected {expected}; give a positive number such as 0.05")]
pub struct ScaleError {
    found: f64,
    what: &'static str,
    expected: &'static str,
}

impl Scale {
    /// # Errors
    /// 0, negative, NaN or infinite.
    pub fn new(value: f64) -> Result<Self, ScaleError> {
        if value.is_finite() && value > 0.0 {
            return Ok(Self(value));
        }
        Err(ScaleError { found: value, what: "a scale", expected: "a finite number above 0" })
    }

    pub fn get(self) -> f64 {
        self.0
    }

    /// The scale of a row with shift `k` (0 to 15): s * 2^-k.
    ///
    /// # Errors
    /// A result that is 0 in f64.
    pub fn for_row(self, k: u32) -> Result<Self, ScaleError> {
        Self::new(self.0 * 0.5f64.powi(k.min(1100) as i32))
    }
}

/// The symmetric scale absmax / format.max(), and whether the tensor is all zero, whose scale is 1
/// for want of a better one: tell the user.
///
/// ```
/// use mive::num::IntFormat;
/// use mive::tensor::absmax_scale;
/// let (scale, is_all_zero) = absmax_scale(12.7, IntFormat::S8).unwrap();
/// assert!((scale.get() - 0.1).abs() < 1e-15 && !is_all_zero);
/// assert_eq!(absmax_scale(0.0, IntFormat::S8).map(|(s, zero)| (s.get(), zero)), Ok((1.0, true)));
/// assert!(absmax_scale(f64::NAN, IntFormat::S8).is_err());
/// ```
///
/// # Errors
/// An absmax that is negative, NaN or infinite.
pub fn absmax_scale(absmax: f64, format: IntFormat) -> Result<(Scale, bool), ScaleError> {
    if !absmax.is_finite() || absmax < 0.0 {
        return Err(ScaleError {
            found: absmax,
            what: "a largest magnitude",
            expected: "a finite number from 0",
        });
    }
    if absmax == 0.0 {
        return Ok((Scale(1.0), true));
    }
    // The smallest subnormal stands in where the quotient underflows.
    Ok((Scale((absmax / format.max() as f64).max(f64::from_bits(1))), false))
}

/// Largest finite magnitude of `values`, 0 when there is none.
pub fn absmax(values: &[f64]) -> f64 {
    values.iter().map(|v| v.abs()).filter(|v| v.is_finite()).fold(0.0, f64::max)
}

/// Replaces `out` by the codes of `values` and returns how many saturated.
///
/// One rounding of x / scale, half up: floor(x / scale + 1/2) without a rounding of the sum. Codes
/// outside the format become its nearest end and are counted. NaN becomes 0, infinities saturate:
/// refuse them first ([`scan_non_finite`](super::TensorFile::scan_non_finite)).
///
/// | x, scale 1, s8 | -129 | -128.5 | -1.5 | -0.5 | 0.4999 | 0.5 | 1.5 | 127.4 | 127.5 | 1e9 |
/// | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
/// | code | -128 | -128 | -1 | 0 | 0 | 1 | 2 | 127 | 127 | 127 |
/// | counted | yes | no | no | no | no | no | no | no | yes | yes |
///
/// ```
/// use mive::num::IntFormat;
/// use mive::tensor::{Scale, quantise};
/// let x = [-129.0, -128.5, -1.5, -0.5, 0.4999, 0.5, 1.5, 127.4, 127.5, 1e9];
/// let mut codes = Vec::new();
/// let one = Scale::new(1.0).unwrap();
/// let n_saturated = quantise(&x, one, IntFormat::S8, &mut codes);
/// assert_eq!(codes, [-128, -128, -1, 0, 0, 1, 2, 127, 127, 127]);
/// assert_eq!(n_saturated, 3);
/// assert_eq!(quantise(&[-0.6, 255.4, 255.5], one, IntFormat::U8, &mut codes), 2);
/// assert_eq!(codes, [0, 255, 255]);
/// ```
pub fn quantise(values: &[f64], scale: Scale, format: IntFormat, out: &mut Vec<i32>) -> u64 {
    let (lo, hi) = (format.min() as f64, format.max() as f64);
    let mut n_saturated = 0;
    out.clear();
    out.extend(values.iter().map(|&x| {
        let rounded = round_half_up(x / scale.0);
        n_saturated += u64::from(rounded < lo || rounded > hi);
        rounded.clamp(lo, hi) as i32
    }));
    n_saturated
}

/// The integer nearest to `x`, ties towards +infinity; the sum x + 1/2 would itself round just
/// below 1/2.
fn round_half_up(x: f64) -> f64 {
    let floor = x.floor();
    if x - floor >= 0.5 { floor + 1.0 } else { floor }
}

/// The largest k in 0..=15 with row_absmax <= tensor_absmax * 2^-k, so that the row's scale can be
/// s * 2^-k and its codes do not saturate where the tensor's do not. 0 for a row of zeros.
///
/// ```
/// use mive::tensor::row_shift;
/// let table = [(8.0, 0), (4.1, 0), (4.0, 1), (1.0, 3), (2.4e-4, 15), (1e-9, 15), (0.0, 0)];
/// for (row_absmax, k) in table {
///     assert_eq!(row_shift(row_absmax, 8.0), k, "{row_absmax}");
/// }
/// ```
pub fn row_shift(row_absmax: f64, tensor_absmax: f64) -> u32 {
    if row_absmax == 0.0 {
        return 0;
    }
    let fits = |k: &u32| row_absmax <= tensor_absmax * 0.5f64.powi(*k as i32);
    (0..=MAX_ROW_SHIFT).rev().find(fits).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scales_are_positive_and_finite() {
        for bad in [0.0, -0.0, -1.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            let text = Scale::new(bad).expect_err("no scale").to_string();
            assert!(text.contains("expected a finite number above 0"), "{text}");
        }
        assert_eq!(Scale::new(0.5).and_then(|s| s.for_row(2)).map(Scale::get), Ok(0.125));
        assert!(Scale::new(5e-324).and_then(|s| s.for_row(1)).is_err());
        for absmax in [5e-324, 1e-45, 7e5, f64::MAX] {
            let (scale, is_all_zero) = absmax_scale(absmax, IntFormat::S16).expect("a scale");
            assert!(scale.get() > 0.0 && !is_all_zero);
        }
    }

    #[test]
    fn rounding_is_exact_beside_ties() {
        for format in [IntFormat::S8, IntFormat::U8, IntFormat::S16, IntFormat::U16] {
            for code in format.min()..format.max() {
                let tie = code as f64 + 0.5;
                let values = [tie - 1e-11, tie, tie + 1e-11];
                let mut codes = Vec::new();
                let n = quantise(&values, Scale(1.0), format, &mut codes);
                assert_eq!((n, codes), (0, vec![code as i32, code as i32 + 1, code as i32 + 1]));
            }
        }
        assert_eq!(round_half_up(f64::from_bits(0.5f64.to_bits() - 1)), 0.0);
        assert_eq!(round_half_up(-1e-20), 0.0);
    }

    #[test]
    fn codes_round_trip_and_undefined_values_do_not_panic() {
        let scale = Scale(0.05);
        let codes: Vec<i32> = (-128..128).collect();
        let values: Vec<f64> = codes.iter().map(|&c| f64::from(c) * 0.05).collect();
        let mut again = Vec::new();
        assert_eq!(quantise(&values, scale, IntFormat::S8, &mut again), 0);
        assert_eq!(codes, again);
        let odd = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY];
        assert_eq!(quantise(&odd, scale, IntFormat::S8, &mut again), 2);
        assert_eq!(again, [0, 127, -128]);
        assert_eq!(absmax(&[f64::NAN, -3.0, 2.0, f64::NEG_INFINITY]), 3.0);
    }

    #[test]
    fn a_row_scale_saturates_nothing_that_the_tensor_scale_does_not() {
        for i in 1..2000 {
            let row_absmax = 22453.0 / f64::from(i).powf(1.7);
            let k = row_shift(row_absmax, 22453.0);
            let (scale, _) = absmax_scale(22453.0, IntFormat::S8).expect("a scale");
            let row_scale = scale.for_row(k).expect("a row scale");
            let mut codes = Vec::new();
            assert_eq!(
                quantise(&[row_absmax, -row_absmax], row_scale, IntFormat::S8, &mut codes),
                0
            );
            assert!(codes[0] >= 63 || k == MAX_ROW_SHIFT, "{row_absmax} {k} {codes:?}");
        }
        assert_eq!(row_shift(f64::NAN, 1.0), 0);
        assert_eq!(row_shift(2.0, 1.0), 0);
    }
}
