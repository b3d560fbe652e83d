//! The piecewise-linear tables of one engine, fitted for its widths.
use super::widths::Widths;
use crate::config::HwConfig;
use crate::pwl::{self, Function, Table};

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

impl Tables {
    pub fn fit(config: &HwConfig, w: &Widths) -> Self {
        let scalar = |function, segments: u32, output| {
            pwl::fit(function, segments, w.p - 1, output, slope_bits(segments))
        };
        Self {
            exp2: pwl::fit(
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
