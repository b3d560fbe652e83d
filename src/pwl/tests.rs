use super::*;
use Function::{Exp2, Log2, Reciprocal, ReciprocalRoot};

const FUNCTIONS: [Function; 4] = [Exp2, Log2, Reciprocal, ReciprocalRoot];

/// Largest error over every input, from `evaluate` and an `f64` value written here on its own.
fn brute_force_error(table: &Table) -> f64 {
    let parities = if table.function == ReciprocalRoot { 2 } else { 1 };
    let mut worst = 0.0f64;
    for parity in 0..parities {
        for u in 0..1i64 << table.input_bits {
            let f = u as f64 / (1i64 << table.input_bits) as f64;
            let exact = match table.function {
                Exp2 => f.exp2(),
                Log2 => (1.0 + f).log2(),
                Reciprocal => (1.0 + f).recip(),
                ReciprocalRoot => ((1.0 + f) * f64::from(1 + parity)).sqrt().recip(),
            };
            let got = table.evaluate(parity, u) as f64 / (1i64 << table.output_bits) as f64;
            let scale = if table.function.has_relative_error() { exact } else { 1.0 };
            worst = worst.max(((got - exact) / scale).abs());
        }
    }
    worst
}

#[test]
fn errors_are_exhaustive_and_near_the_published_ones() {
    // Function, segments, input, output and slope bits; -log2 of the largest error allowed.
    for (function, segments, input, output, slope, bound) in [
        (Exp2, 16, 11, 11, 8, 11.10),
        (Exp2, 16, 11, 14, 8, 11.85),
        (Exp2, 4, 11, 15, 8, 8.15),
        (Log2, 16, 15, 15, 8, 11.04),
        (Log2, 32, 15, 15, 8, 12.66),
        (Log2, 32, 16, 16, 10, 12.95),
        (Log2, 64, 15, 15, 8, 14.42),
        (Reciprocal, 16, 15, 15, 8, 11.00),
        (Reciprocal, 32, 15, 15, 8, 12.79),
        (Reciprocal, 64, 15, 15, 8, 13.96),
        (ReciprocalRoot, 8, 15, 15, 8, 8.66),
        (ReciprocalRoot, 16, 15, 15, 8, 10.37),
        (ReciprocalRoot, 64, 15, 15, 8, 13.37),
    ] {
        let table = fit(function, segments, input, output, slope);
        let exact = brute_force_error(&table);
        assert!((table.max_error - exact).abs() < 1e-12, "{table:?} is off by {exact}");
        assert!(exact <= f64::exp2(-bound), "{function:?} {segments}: 2^{:.3}", exact.log2());
    }
}

#[test]
fn measures_exactly_when_the_input_is_wide() {
    for function in FUNCTIONS {
        let table = fit(function, 4, 20, 11, 8);
        assert!((table.max_error - brute_force_error(&table)).abs() < 1e-12, "{table:?}");
        // Wider than an exact walk: an upper bound, and a close one.
        let table = fit(function, 4, 19, 19, 12);
        let exact = brute_force_error(&table);
        let lsb = 1.0 / f64::from(1 << 18);
        assert!(exact <= table.max_error && table.max_error < exact + lsb, "{table:?}: {exact}");
    }
}

#[test]
fn results_are_legal_and_monotone() {
    for function in FUNCTIONS {
        for segments in [2u32, 4, 16, 64] {
            for (input, output, slope) in
                [(8, 8, 4), (8, 14, 8), (11, 11, 8), (12, 8, 12), (10, 16, 10)]
            {
                let table = fit(function, segments, input, output, slope);
                let (min, max) = function.result_range(output);
                let parities = if function == ReciprocalRoot { 2 } else { 1 };
                let results: Vec<i64> = (0..parities)
                    .flat_map(|parity| (0..1i64 << input).map(move |u| (parity, u)))
                    .map(|(parity, u)| table.evaluate(parity, u))
                    .collect();
                assert!(results.iter().all(|r| (min..=max).contains(r)), "{table:?}");
                if !function.is_decreasing() {
                    assert_eq!(results[0], min, "the exact point of {table:?}");
                }
                let is_ordered =
                    |w: &[i64]| if function.is_decreasing() { w[0] >= w[1] } else { w[0] <= w[1] };
                assert_eq!(results.windows(2).all(is_ordered), table.is_monotone(), "{table:?}");
                assert!(table.is_monotone(), "{table:?}");
            }
        }
    }
}

#[test]
fn widths_and_shifts_add_up() {
    let exp2 = fit(Exp2, 16, 11, 11, 8);
    assert_eq!((exp2.segment_bits(), exp2.lo_bits(), exp2.intercept_shift), (4, 7, 4));
    assert_eq!(exp2.evaluate(1, 77), exp2.evaluate(0, 77), "the parity is ignored");
    let root = fit(ReciprocalRoot, 16, 15, 15, 8);
    assert_eq!((root.segment_bits(), root.lo_bits(), root.intercept_shift), (3, 12, 4));
    assert_eq!((root.segment(0, 32767), root.segment(1, 0)), (7, 8));
    // Two bits below the LSB: the intercepts have no more.
    let narrow = fit(Exp2, 16, 8, 14, 8);
    assert_eq!((narrow.result_shift(), narrow.intercept_shift), (2, 0));
}

#[test]
fn wide_inputs_fit() {
    for function in FUNCTIONS {
        for (segments, output, slope) in [(4, 15, 8), (4, 23, 16), (256, 17, 12)] {
            let table = fit(function, segments, 23, output, slope);
            assert!(table.max_error < (-6.9f64).exp2(), "{function:?}: {}", table.max_error);
            assert!(table.is_monotone());
        }
    }
}
