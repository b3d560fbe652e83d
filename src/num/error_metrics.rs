//! Error of integer outputs against exact values, in output LSB, accumulated as a stream.
use super::IntFormat;

/// Slack of "correctly rounded", so that a tie may go either way.
const TIE_SLACK: f64 = 1.0 / (1u64 << 20) as f64;

/// Sums are kept in units of 2^-28 LSB, and 2^-56 LSB^2 for powers.
const FRACTION_BITS: i32 = 28;

/// Figures over a stream of (code, exact value) pairs of one output format.
///
/// An exact value is first clamped to the format's range: what no code can express is not the
/// operator's error. Each error is then |code - exact| in LSB. The sums are integers (errors to the
/// nearest 2^-28 LSB, exact up to 2^38 elements of the largest error), so that every split of a
/// stream merges to the same bytes. Only the index of the worst element needs an order: give rows
/// to accumulators in fixed blocks of consecutive rows and [`merge`](Self::merge) in row order.
///
/// ```
/// use mive::num::IntFormat;
/// use mive::num::error_metrics::ErrorMetrics;
/// let mut metrics = ErrorMetrics::new(IntFormat::S8, 0);
/// for (code, exact) in [(10, 10.25), (-3, -3.0), (127, 900.0), (5, 6.0)] {
///     metrics.add(code, exact);
/// }
/// assert_eq!(metrics.max_error_lsb(), Some((1.0, 3)));
/// assert_eq!(metrics.mean_error_lsb(), Some(1.25 / 4.0));
/// assert_eq!(metrics.correctly_rounded_share(), Some(0.75));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct ErrorMetrics {
    format: IntFormat,
    zero_point: i64,
    n_judged: u64,
    n_undefined: u64,
    n_correct: u64,
    worst: Option<(f64, u64)>,
    error_sum: u128,
    noise: u128,
    ideal_noise: u128,
    signal: u128,
}

impl ErrorMetrics {
    /// Empty figures of outputs whose real 0 is the code `zero_point`.
    pub fn new(format: IntFormat, zero_point: i64) -> Self {
        Self {
            format,
            zero_point,
            n_judged: 0,
            n_undefined: 0,
            n_correct: 0,
            worst: None,
            error_sum: 0,
            noise: 0,
            ideal_noise: 0,
            signal: 0,
        }
    }

    /// Judges one output code against the exact value in output LSB, zero point included. A NaN is
    /// counted as undefined and judged no further.
    pub fn add(&mut self, out_code: i64, exact: f64) {
        let index = self.n_elements();
        if exact.is_nan() {
            self.n_undefined += 1;
            return;
        }
        let (lo, hi) = (self.format.min() as f64, self.format.max() as f64);
        let exact = exact.clamp(lo, hi);
        let error = (out_code as f64 - exact).abs();
        let floor = exact.floor();
        let ideal = if exact - floor >= 0.5 { floor + 1.0 } else { floor };
        self.n_judged += 1;
        self.n_correct += u64::from(error <= 0.5 + TIE_SLACK);
        if self.worst.is_none_or(|(largest, _)| error > largest) {
            self.worst = Some((error, index));
        }
        self.error_sum = self.error_sum.saturating_add(to_fixed(error).into());
        self.noise = self.noise.saturating_add(power(error));
        self.ideal_noise = self.ideal_noise.saturating_add(power(ideal - exact));
        self.signal = self.signal.saturating_add(power(exact - self.zero_point as f64));
    }

    /// Appends the figures of the elements that follow in row order.
    ///
    /// # Panics
    /// When the formats or zero points differ: a wrong program, never a user's input.
    pub fn merge(&mut self, later: &Self) {
        assert!(
            (self.format, self.zero_point) == (later.format, later.zero_point),
            "figures of {} and {} outputs have no common unit",
            self.format,
            later.format
        );
        let offset = self.n_elements();
        if let Some((error, index)) = later.worst {
            if self.worst.is_none_or(|(largest, _)| error > largest) {
                self.worst = Some((error, offset + index));
            }
        }
        self.n_judged += later.n_judged;
        self.n_undefined += later.n_undefined;
        self.n_correct += later.n_correct;
        self.error_sum = self.error_sum.saturating_add(later.error_sum);
        self.noise = self.noise.saturating_add(later.noise);
        self.ideal_noise = self.ideal_noise.saturating_add(later.ideal_noise);
        self.signal = self.signal.saturating_add(later.signal);
    }

    /// Elements added, the undefined ones included.
    pub fn n_elements(&self) -> u64 {
        self.n_judged + self.n_undefined
    }

    /// Elements whose exact value is NaN.
    pub fn n_undefined(&self) -> u64 {
        self.n_undefined
    }

    /// Largest |code - exact| in LSB and the index of the first element that has it, counted from 0
    /// in the order of adding; None without elements.
    pub fn max_error_lsb(&self) -> Option<(f64, u64)> {
        self.worst
    }

    /// Mean |code - exact| in LSB; None without elements.
    pub fn mean_error_lsb(&self) -> Option<f64> {
        let unit = 0.5f64.powi(FRACTION_BITS);
        (self.n_judged > 0).then(|| self.error_sum as f64 * unit / self.n_judged as f64)
    }

    /// Share of elements, 0 to 1, with |code - exact| <= 0.5 + 2^-20 LSB; None without elements.
    pub fn correctly_rounded_share(&self) -> Option<f64> {
        (self.n_judged > 0).then(|| self.n_correct as f64 / self.n_judged as f64)
    }

    /// 10 log10(signal / noise): power of the exact values about the zero point over power of the
    /// errors. None where it is not a finite number, see [`sqnr_reason`](Self::sqnr_reason).
    pub fn sqnr_db(&self) -> Option<f64> {
        decibels(self.signal, self.noise)
    }

    /// SQNR of the ideal operator: the exact values rounded half up and saturated to the format.
    pub fn ideal_sqnr_db(&self) -> Option<f64> {
        decibels(self.signal, self.ideal_noise)
    }

    /// Why [`sqnr_db`](Self::sqnr_db) is None.
    pub fn sqnr_reason(&self) -> Option<&'static str> {
        reason(self.n_judged, self.signal, self.noise)
    }

    /// Why [`ideal_sqnr_db`](Self::ideal_sqnr_db) is None.
    pub fn ideal_sqnr_reason(&self) -> Option<&'static str> {
        reason(self.n_judged, self.signal, self.ideal_noise)
    }
}

/// Nearest multiple of 2^-28, saturating; `value` is not negative.
fn to_fixed(value: f64) -> u64 {
    (value * (1u64 << FRACTION_BITS) as f64 + 0.5) as u64
}

fn power(value: f64) -> u128 {
    let fixed = u128::from(to_fixed(value.abs()));
    fixed * fixed
}

fn decibels(signal: u128, noise: u128) -> Option<f64> {
    (signal > 0 && noise > 0).then(|| 10.0 * libm::log10(signal as f64 / noise as f64))
}

fn reason(n_judged: u64, signal: u128, noise: u128) -> Option<&'static str> {
    match (n_judged, signal, noise) {
        (0, ..) => Some("no element was judged"),
        (_, _, 0) => Some("no noise: every output is exact"),
        (_, 0, _) => Some("no signal: every exact value is 0"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(n: u64) -> Vec<(i64, f64)> {
        let mut state = 1u64;
        (0..n)
            .map(|_| {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                let exact = ((state >> 11) as f64 / (1u64 << 53) as f64 - 0.5) * 300.0;
                ((exact + 0.5).floor() as i64 + i64::from(state >> 11 & 15 == 0), exact)
            })
            .collect()
    }

    fn judged(pairs: &[(i64, f64)]) -> ErrorMetrics {
        let mut metrics = ErrorMetrics::new(IntFormat::S8, 3);
        pairs.iter().for_each(|&(code, exact)| metrics.add(code, exact));
        metrics
    }

    #[test]
    fn every_split_merges_to_the_same_bytes() {
        let pairs = pairs(5000);
        let whole = judged(&pairs);
        for block in [1, 7, 64, 4999, 5000] {
            let mut merged = ErrorMetrics::new(IntFormat::S8, 3);
            pairs.chunks(block).for_each(|c| merged.merge(&judged(c)));
            assert_eq!(format!("{whole:?}"), format!("{merged:?}"), "blocks of {block}");
            assert_eq!(whole.sqnr_db().map(f64::to_bits), merged.sqnr_db().map(f64::to_bits));
        }
    }

    #[test]
    fn figures_match_a_plain_computation() {
        let pairs: Vec<(i64, f64)> =
            pairs(3000).into_iter().filter(|p| p.1.abs() < 126.0).collect();
        let metrics = judged(&pairs);
        let errors = pairs.iter().map(|&(c, e)| c as f64 - e);
        let noise: f64 = errors.clone().map(|e| e * e).sum();
        let signal: f64 = pairs.iter().map(|p| (p.1 - 3.0).powi(2)).sum();
        let ideal: f64 = pairs.iter().map(|p| ((p.1 + 0.5).floor() - p.1).powi(2)).sum();
        let mean = errors.map(f64::abs).sum::<f64>() / pairs.len() as f64;
        assert!((metrics.sqnr_db().expect("noise") - 10.0 * (signal / noise).log10()).abs() < 1e-6);
        assert!(
            (metrics.ideal_sqnr_db().expect("noise") - 10.0 * (signal / ideal).log10()).abs()
                < 1e-6
        );
        assert!((metrics.mean_error_lsb().expect("elements") - mean).abs() < 1e-8);
        let share = metrics.correctly_rounded_share().expect("elements");
        assert!(share > 0.9 && share < 0.96, "{share}");
    }

    #[test]
    fn uniform_error_loses_a_twelfth() {
        let n = 1 << 16;
        let mut metrics = ErrorMetrics::new(IntFormat::S16, 0);
        for i in 0..n {
            let exact = (f64::from(i) + 0.25) / 7.3;
            metrics.add((exact + 0.5).floor() as i64, exact);
        }
        assert_eq!(metrics.sqnr_db(), metrics.ideal_sqnr_db());
        let signal = (f64::from(n) / 7.3).powi(2) / 3.0;
        assert!((metrics.sqnr_db().expect("noise") - 10.0 * (signal * 12.0).log10()).abs() < 0.02);
    }

    #[test]
    fn ties_go_either_way_and_saturation_is_no_error() {
        let mut metrics = ErrorMetrics::new(IntFormat::U8, 0);
        for (code, exact) in [(2, 2.5), (3, 2.5), (255, 255.5), (255, 1e30), (0, -4.0)] {
            metrics.add(code, exact);
        }
        assert_eq!(metrics.correctly_rounded_share(), Some(1.0));
        assert_eq!(metrics.max_error_lsb(), Some((0.5, 0)));
        metrics.add(200, f64::INFINITY);
        assert_eq!(metrics.max_error_lsb(), Some((55.0, 5)));
    }

    #[test]
    fn figures_without_a_number_say_why() {
        let mut metrics = ErrorMetrics::new(IntFormat::S8, 0);
        assert_eq!((metrics.max_error_lsb(), metrics.mean_error_lsb()), (None, None));
        assert_eq!(metrics.sqnr_reason(), Some("no element was judged"));
        metrics.add(0, f64::NAN);
        assert_eq!((metrics.n_undefined(), metrics.correctly_rounded_share()), (1, None));
        metrics.add(7, 7.0);
        assert_eq!((metrics.sqnr_db(), metrics.max_error_lsb()), (None, Some((0.0, 1))));
        assert_eq!(metrics.sqnr_reason(), Some("no noise: every output is exact"));
        let mut silent = ErrorMetrics::new(IntFormat::S8, 7);
        silent.add(8, 7.0);
        assert_eq!((silent.sqnr_db(), silent.ideal_sqnr_db()), (None, None));
        assert_eq!(silent.sqnr_reason(), Some("no signal: every exact value is 0"));
        assert_eq!(silent.ideal_sqnr_reason(), Some("no noise: every output is exact"));
    }

    #[test]
    fn absurd_codes_do_not_overflow() {
        let mut metrics = ErrorMetrics::new(IntFormat::S16, i64::MIN);
        for code in [i64::MIN, i64::MAX] {
            metrics.add(code, f64::NEG_INFINITY);
        }
        let again = metrics.clone();
        metrics.merge(&again);
        assert_eq!(metrics.n_elements(), 4);
    }
}
