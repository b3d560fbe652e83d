//! Softmax, LayerNorm and RMSNorm of one row in f64, accurate to a few units in the last place.
//!
//! Sums are compensated, so a result does not depend on the size of N; exponentials come from
//! `libm`, so it does not depend on the machine. NaN and +Inf are not refused here: they give NaN
//! where IEEE arithmetic does.

/// Replaces `out` by the softmax of a row. Elements that `keep` drops and -Inf give 0 and take no
/// part; a row without any element left gives zeros.
///
/// # Panics
/// When `keep` is not as long as `x`: a caller's mistake, never a user's input.
pub fn softmax(x: &[f64], keep: Option<&[bool]>, out: &mut Vec<f64>) {
    check_len("keep", keep.map(<[bool]>::len), x.len());
    let is_kept = |i: usize| x[i] != f64::NEG_INFINITY && keep.is_none_or(|k| k[i]);
    let max = (0..x.len()).filter(|&i| is_kept(i)).map(|i| x[i]).fold(f64::NEG_INFINITY, f64::max);
    out.clear();
    out.extend((0..x.len()).map(|i| if is_kept(i) { exp_difference(x[i], max) } else { 0.0 }));
    let sum = sum(out.iter().copied());
    if sum == 0.0 {
        return; // no element is kept: the maximum of a kept row is exp(0) = 1
    }
    out.iter_mut().for_each(|e| *e /= sum);
    // A NaN sum reaches the kept elements only.
    (0..x.len()).filter(|&i| !is_kept(i)).for_each(|i| out[i] = 0.0);
}

/// Replaces `out` by (x - mean) / sqrt(var + eps) * gamma + beta; var is the mean of squares about
/// the mean. gamma is 1 and beta 0 where absent. A row of equal elements gives beta exactly,
/// whatever eps.
///
/// # Panics
/// When gamma or beta is not as long as `x`: a caller's mistake, never a user's input.
pub fn layernorm(
    x: &[f64],
    gamma: Option<&[f64]>,
    beta: Option<&[f64]>,
    eps: f64,
    out: &mut Vec<f64>,
) {
    check_len("gamma", gamma.map(<[f64]>::len), x.len());
    check_len("beta", beta.map(<[f64]>::len), x.len());
    out.clear();
    let beta = |i: usize| beta.map_or(0.0, |b| b[i]);
    let Some(&first) = x.first() else { return };
    if first.is_finite() && x.iter().all(|&v| v == first) {
        out.extend((0..x.len()).map(beta));
        return;
    }
    let n = x.len() as f64;
    let (factor, eps) = scaling(x, eps);
    let mean = sum(x.iter().map(|v| v * factor)) / n;
    // The mean is rounded: what it lacks is found from the differences, which are nearly exact.
    let lack = sum(x.iter().map(|v| v * factor - mean)) / n;
    let centred = |v: f64| (v * factor - mean) - lack;
    let variance = sum(x.iter().map(|&v| centred(v) * centred(v))) / n;
    let deviation = (variance + eps).sqrt();
    out.extend(
        x.iter().enumerate().map(|(i, &v)| gain(centred(v) / deviation, gamma, i) + beta(i)),
    );
}

/// Replaces `out` by x / sqrt(mean(x^2) + eps) * gamma; gamma is 1 where absent. A row of zeros
/// gives 0, whatever eps.
///
/// # Panics
/// When gamma is not as long as `x`: a caller's mistake, never a user's input.
pub fn rmsnorm(x: &[f64], gamma: Option<&[f64]>, eps: f64, out: &mut Vec<f64>) {
    check_len("gamma", gamma.map(<[f64]>::len), x.len());
    out.clear();
    if x.iter().all(|&v| v == 0.0) {
        out.resize(x.len(), 0.0);
        return;
    }
    let (factor, eps) = scaling(x, eps);
    let mean_square = sum(x.iter().map(|v| (v * factor) * (v * factor))) / x.len() as f64;
    let root = (mean_square + eps).sqrt();
    out.extend(x.iter().enumerate().map(|(i, v)| gain(v * factor / root, gamma, i)));
}

fn check_len(what: &str, found: Option<usize>, expected: usize) {
    assert!(
        found.is_none_or(|n| n == expected),
        "{what} has {found:?} elements, the row {expected}"
    );
}

fn gain(z: f64, gamma: Option<&[f64]>, i: usize) -> f64 {
    gamma.map_or(z, |g| z * g[i])
}

/// exp(x - max) without the rounding of the difference, which would cost up to 700 units.
fn exp_difference(x: f64, max: f64) -> f64 {
    let d = x - max;
    let e = libm::exp(d);
    if e == 0.0 || !d.is_finite() {
        return e;
    }
    let b = d - x;
    let lack = (x - (d - b)) - (max + b);
    e + e * lack
}

/// A power of two that brings a row whose squares would overflow or vanish into range, and eps in
/// its unit. 1 for every row that can occur in a model.
fn scaling(x: &[f64], eps: f64) -> (f64, f64) {
    let largest = x.iter().fold(0.0f64, |m, v| m.max(v.abs()));
    let power = |exponent: i32| libm::ldexp(1.0, exponent);
    let factor = match largest {
        l if l >= power(960) && l.is_finite() => power(-1000),
        l if l >= power(440) && l.is_finite() => power(-600),
        l if l < power(-900) => power(800),
        l if l < power(-400) => power(400),
        _ => 1.0,
    };
    let scaled_eps = eps * factor * factor;
    // Beside an eps this large the squares are nothing: leave the row alone.
    if scaled_eps.is_finite() { (factor, scaled_eps) } else { (1.0, eps) }
}

/// Neumaier's compensated sum; infinities and NaN as in a plain sum.
fn sum(terms: impl Iterator<Item = f64>) -> f64 {
    let (mut total, mut lost) = (0.0f64, 0.0f64);
    for term in terms {
        let next = total + term;
        lost +=
            if total.abs() >= term.abs() { (total - next) + term } else { (term - next) + total };
        total = next;
    }
    if total.is_finite() { total + lost } else { total }
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::*;
    use crate::tensor::TensorFile;

    fn run(f: impl Fn(&mut Vec<f64>)) -> Vec<f64> {
        let mut out = vec![f64::NAN; 3];
        f(&mut out);
        out
    }

    fn assert_close(found: &[f64], expected: &[f64], tolerance: f64) {
        assert_eq!(found.len(), expected.len());
        for (f, e) in found.iter().zip(expected) {
            assert!((f - e).abs() <= tolerance * e.abs().max(1e-300), "{found:?} {expected:?}");
        }
    }

    #[test]
    fn softmax_by_hand() {
        let inf = f64::INFINITY;
        let ln = f64::ln;
        assert_close(
            &run(|o| softmax(&[ln(1.0), ln(2.0), ln(5.0)], None, o)),
            &[0.125, 0.25, 0.625],
            4e-16,
        );
        assert_eq!(run(|o| softmax(&[-inf, 3.0, 3.0], None, o)), [0.0, 0.5, 0.5]);
        assert_eq!(
            run(|o| softmax(&[9e9, 3.0, 3.0], Some(&[false, true, true]), o)),
            [0.0, 0.5, 0.5]
        );
        assert_eq!(run(|o| softmax(&[f64::NAN, 3.0], Some(&[false, true]), o)), [0.0, 1.0]);
        assert_eq!(run(|o| softmax(&[-inf, -inf], None, o)), [0.0, 0.0]);
        assert_eq!(run(|o| softmax(&[1.0, 2.0], Some(&[false; 2]), o)), [0.0, 0.0]);
        assert_eq!(run(|o| softmax(&[-7e300], None, o)), [1.0]);
        assert_eq!(run(|o| softmax(&[-f64::MAX, f64::MAX], None, o)), [0.0, 1.0]);
        assert!(run(|o| softmax(&[], None, o)).is_empty());
        let poisoned = run(|o| softmax(&[f64::NAN, 1.0, -inf], None, o));
        assert!(poisoned[0].is_nan() && poisoned[1].is_nan() && poisoned[2] == 0.0);
    }

    #[test]
    fn a_softmax_difference_is_not_rounded() {
        // 600.1 - 0.3 in f64 is off by 4e-14, which exp would keep; computed with 400 digits.
        let out = run(|o| softmax(&[0.3, 600.1], None, o));
        assert!((out[0] / 3.237_201_660_057_598_5e-261 - 1.0).abs() < 1e-15, "{:e}", out[0]);
    }

    #[test]
    fn layernorm_by_hand() {
        assert_close(&run(|o| layernorm(&[1.0, 3.0], None, None, 0.0, o)), &[-1.0, 1.0], 0.0);
        let gamma = [2.0, 0.0, -1.0, 60.0];
        let beta = [0.5, 0.25, 0.0, -1.0];
        let x = [-3.0, -1.0, 1.0, 3.0];
        let z = |v: f64| v / 9.0f64.sqrt(); // variance 5, eps 4
        let expected = [2.0 * z(-3.0) + 0.5, 0.25, -z(1.0), 60.0 * z(3.0) - 1.0];
        assert_close(&run(|o| layernorm(&x, Some(&gamma), Some(&beta), 4.0, o)), &expected, 1e-15);
        for (flat, eps) in [(0.1, 0.0), (-7e5, 0.0), (0.0, 0.0), (1e308, 1e-5), (0.3, 1e-12)] {
            for n in [1, 3, 384, 577] {
                let beta: Vec<f64> = (0..n).map(|i| f64::from(i) * 0.37 - 3.0).collect();
                let x = vec![flat; n as usize];
                assert_eq!(run(|o| layernorm(&x, None, Some(&beta), eps, o)), beta);
            }
        }
        assert!(run(|o| layernorm(&[], None, None, 0.0, o)).is_empty());
        assert!(
            run(|o| layernorm(&[f64::INFINITY; 2], None, None, 1.0, o)).iter().all(|v| v.is_nan())
        );
    }

    #[test]
    fn layernorm_of_a_distant_or_extreme_row() {
        for offset in [0.0, 1e9, -((1u64 << 50) as f64)] {
            let x: Vec<f64> = [-2.0, 0.0, 2.0].map(|v| v + offset).to_vec();
            let z = 1.5f64.sqrt();
            assert_close(&run(|o| layernorm(&x, None, None, 0.0, o)), &[-z, 0.0, z], 1e-15);
        }
        for size in [1e-310, 1e-200, 1e-130, 1.0, 1e140, 1e160, 1e290, 1.7e308] {
            let out = run(|o| layernorm(&[-size, size], None, None, 0.0, o));
            assert_close(&out, &[-1.0, 1.0], 1e-15);
            let out = run(|o| rmsnorm(&[-size, size], None, 0.0, o));
            assert_close(&out, &[-1.0, 1.0], 1e-15);
        }
        let small = run(|o| rmsnorm(&[1e-200, 0.0], None, 4.0, o));
        assert_close(&small, &[5e-201, 0.0], 1e-15);
    }

    #[test]
    fn rmsnorm_by_hand() {
        let gamma = [1.0, -2.0];
        assert_close(&run(|o| rmsnorm(&[3.0, 4.0], Some(&gamma), 12.5, o)), &[0.6, -1.6], 1e-15);
        assert_eq!(run(|o| rmsnorm(&[0.0, -0.0], Some(&gamma), 0.0, o)), [0.0, 0.0]);
        assert_eq!(run(|o| rmsnorm(&[-7e5], None, 0.0, o)), [-1.0]);
        assert!(run(|o| rmsnorm(&[], None, 0.0, o)).is_empty());
        let one_hot: Vec<f64> = (0..5376).map(|i| if i == 77 { 7e5 } else { 0.0 }).collect();
        let out = run(|o| rmsnorm(&one_hot, None, 0.0, o));
        assert!((out[77] / 5376f64.sqrt() - 1.0).abs() < 1e-15 && out[0] == 0.0);
    }

    #[test]
    fn sums_keep_what_a_plain_sum_loses() {
        assert_eq!(sum([1e100, 1.0, -1e100, 1.0].into_iter()), 2.0);
        assert_eq!(sum(std::iter::repeat_n(0.1, 1_000_000)), 100_000.0);
        assert_eq!(sum([f64::INFINITY, 1.0].into_iter()), f64::INFINITY);
    }

    /// Rows of a tensor, or of nothing where the case has no such tensor.
    fn rows(folder: &Path, name: &serde_json::Value) -> Option<(Vec<f64>, usize)> {
        let file = TensorFile::open(folder.join(name.as_str()?)).expect("a stress tensor");
        let mut values = Vec::new();
        file.read_rows(0, file.n_rows(), &mut values).expect("all rows");
        Some((values, file.row_len()))
    }

    #[test]
    fn stress_set_agrees_with_its_references() {
        let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared/data/stress");
        let Ok(meta) = std::fs::read_to_string(folder.join("meta.json")) else {
            eprintln!("SKIPPED: the stress set is absent ({})", folder.display());
            return;
        };
        let meta: serde_json::Value = serde_json::from_str(&meta).expect("JSON");
        let (mut n_compared, mut n_undefined) = (0u64, 0u64);
        for case in meta["cases"].as_array().expect("cases") {
            let (mut x, n) = rows(&folder, &case["x"]).expect("x");
            if let Some(scale) = case["int8_scale"].as_f64() {
                x.iter_mut().for_each(|v| *v *= scale);
            }
            let gamma = rows(&folder, &case["gamma"]).map(|g| g.0);
            let beta = rows(&folder, &case["beta"]).map(|b| b.0);
            let keep = rows(&folder, &case["keep_mask"])
                .map(|k| k.0.iter().map(|&v| v != 0.0).collect::<Vec<bool>>());
            let eps = case["eps"].as_f64().unwrap_or(f64::NAN);
            for op in ["softmax", "layernorm", "rmsnorm"] {
                let Some((expected, _)) = rows(&folder, &case[format!("ref_{op}")]) else {
                    continue;
                };
                for (r, row) in x.chunks(n).enumerate() {
                    let expected = &expected[r * n..(r + 1) * n];
                    let found = run(|o| match op {
                        "softmax" => softmax(row, keep.as_ref().map(|k| &k[r * n..(r + 1) * n]), o),
                        "layernorm" => layernorm(row, gamma.as_deref(), beta.as_deref(), eps, o),
                        _ => rmsnorm(row, gamma.as_deref(), eps, o),
                    });
                    for (i, (f, e)) in found.iter().zip(expected).enumerate() {
                        if !e.is_finite() {
                            n_undefined += 1;
                            continue;
                        }
                        n_compared += 1;
                        // beta may cancel gamma * z, whose size then sets the tolerance. The
                        // references are good to 5e-12 where the mean is 1e7 deviations away.
                        let size = e.abs().max(beta.as_ref().map_or(0.0, |b| b[i].abs()));
                        let name = &case["name"];
                        assert!(
                            (f - e).abs() <= 1e-9 * size,
                            "{name} {op} [{r}, {i}]: {f:e}, {e:e}"
                        );
                    }
                }
            }
        }
        assert!(n_compared > 400_000, "{n_compared} compared, {n_undefined} undefined");
    }
}
