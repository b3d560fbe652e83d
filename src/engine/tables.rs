//! The piecewise-linear tables of one engine, fitted for its widths.
use super::widths::Widths;
use crate::config::HwConfig;
use crate::pwl::{self, Function, Table};
use std::collections::HashMap;
use std::sync::{LazyLock, Mutex};

/// Tables of the lanes and of the scalar unit.
#[derive(Clone, Debug)]
pub struct Tables {
    /// 2^f on [0, 1), in every lane.
    pub exp2: Table,
    /// log2 of a mantissa in [1, 2), fraction as [`Widths::log_fraction`].
    pub log2: Table,
    /// 1/sqrt of a mantissa in [1, 4).
    pub rsqrt: Table,
    /// 1/m of a mantissa in [1, 2); only where exponentials can be stored.
    pub reciprocal: Option<Table>,
}

/// Fraction bits of a slope: enough that its rounding stays below the segment's own error.
fn slope_bits(segments: u32) -> u32 {
    (segments.ilog2() + 4).max(8)
}

/// What a fit depends on: function, segments, bits of input, output and slope.
type Sizes = (Function, u32, u32, u32, u32);

/// Tables that this process has fitted: a fit takes milliseconds, and engines share most of them.
static FITTED: LazyLock<Mutex<HashMap<Sizes, Table>>> = LazyLock::new(Mutex::default);

/// [`pwl::fit`], once for the same sizes.
fn fitted(function: Function, segments: u32, input: u32, output: u32, slope: u32) -> Table {
    let sizes = (function, segments, input, output, slope);
    let known = || FITTED.lock().unwrap_or_else(|e| e.into_inner());
    if let Some(table) = known().get(&sizes) {
        return table.clone();
    }
    let table = pwl::fit(function, segments, input, output, slope);
    known().insert(sizes, table.clone());
    table
}

impl Tables {
    pub fn fit(config: &HwConfig, w: &Widths) -> Self {
        let scalar = |function, segments: u32, output| {
            fitted(function, segments, w.p - 1, output, slope_bits(segments))
        };
        Self {
            exp2: fitted(
                Function::Exp2,
                config.exp_segments,
                w.exp_fraction,
                w.exp_fraction,
                slope_bits(config.exp_segments),
            ),
            log2: scalar(Function::Log2, config.log2_segments, w.log_fraction()),
            rsqrt: scalar(Function::ReciprocalRoot, config.rsqrt_segments, w.p),
            reciprocal: w
                .can_store
                .then(|| scalar(Function::Reciprocal, config.reciprocal_segments, w.p)),
        }
    }
}
