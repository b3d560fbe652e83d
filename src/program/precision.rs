//! What an engine can hold to 1 LSB: bounds on the errors and reaches of a bound program's words.
use super::bind::{BindError, Binding, constants};
use crate::engine::Engine;
use crate::engine::widths::{GUARD, OUTPUT_FRACTION};
use crate::isa::{Block, C, Family, Program};
use std::collections::BTreeMap;

/// Largest error of one part of the path, h or a bounded epsilon, that leaves 1 LSB to the rest.
const PART_MAX: f64 = 0.3;

/// Refuses a request that the engine cannot hold to 1 LSB and says what it would need. Programs of the
/// user's own are checked as far as they have the constants of the shipped ones.
pub(super) fn check(
    program: &Program,
    engine: &Engine,
    b: &Binding,
    names: &BTreeMap<String, f64>,
) -> Result<(), BindError> {
    let check = Check { program, engine, b, names };
    let found = match program.family {
        Family::Softmax => check.full_scale().or_else(|| check.row_scales()),
        Family::Norm => {
            check.block_number().or_else(|| check.epsilon()).or_else(|| check.row_shift())
        }
    };
    match found.or_else(|| check.wide_output()) {
        Some(message) => Err(BindError::Needs { program: program.name.clone(), message }),
        None => Ok(()),
    }
}

/// The largest k_max, to that of the binding, with which row scales can be held; the scale of the output does
/// not matter for norms.
///
/// # Errors
/// A constant that has no value.
pub fn largest_row_scale(
    program: &Program,
    engine: &Engine,
    binding: &Binding,
) -> Result<u32, BindError> {
    for k_max in (1..=binding.k_max).rev() {
        let b = &Binding { k_max, ..binding.clone() };
        let names = &constants(program, engine, b)?;
        let check = Check { program, engine, b, names };
        if check.row_scales().or_else(|| check.epsilon()).is_none() {
            return Ok(k_max);
        }
    }
    Ok(0)
}

struct Check<'a> {
    program: &'a Program,
    engine: &'a Engine,
    b: &'a Binding,
    names: &'a BTreeMap<String, f64>,
}

impl Check<'_> {
    fn name(&self, name: &str) -> Option<f64> {
        self.names.get(name).copied()
    }

    fn p(&self) -> f64 {
        f64::from(self.engine.widths.p)
    }

    /// Half an LSB of h times the largest gamma, in output LSB.
    fn block_number(&self) -> Option<String> {
        let b = self.b;
        let most = b.input_format.bits.max(self.engine.widths.input) - 1;
        let fraction = self.name("HF").filter(|_| self.program.has_gamma)?;
        let error = libm::exp2(f64::from(most) - fraction - 1.0);
        (error > PART_MAX).then(|| {
            let more = libm::log2(error / PART_MAX).ceil();
            format!(
                "holds h with {fraction} fraction bits at N = {}, which is {error:.2} LSB of {}; \
                 lane.multiplier_bits of {} would do, or a larger output scale",
                b.row_len,
                b.output_format,
                self.p() + more
            )
        })
    }

    /// A bounded epsilon stands for a larger one, relative to which the variance weighs less: the error of
    /// a row of the largest codes, in output LSB.
    fn epsilon(&self) -> Option<String> {
        let b = self.b;
        let (room, held) = (self.name("room")?, self.name("e_codes")?);
        let raw = held * libm::exp2(self.name("VF")?);
        let squares = f64::from(b.row_len) * libm::exp2(2.0 * f64::from(b.input_format.bits - 1));
        let largest = libm::exp2(f64::from(b.output_format.bits) - 1.0);
        let error = largest * squares / (2.0 * room);
        (raw > room && error > PART_MAX).then(|| {
            let k = match b.k_max {
                0 => String::new(),
                k => format!(" with row scales down to 2^-{k}"),
            };
            format!(
                "holds N eps to {room:.2e} squared codes{k}; eps = {:e} is {held:.2e} at N = {} and an input \
                 scale of {:e}, an error of up to {error:.1} LSB; give a smaller eps{}",
                b.eps,
                b.row_len,
                b.input_scale,
                if b.k_max > 0 { " or one scale for the tensor" } else { " or a larger input scale" }
            )
        })
    }

    /// The shift of the row that has the smallest variance, against the lane's one shifter.
    fn row_shift(&self) -> Option<String> {
        let b = self.b;
        let (ec, vf) = (self.name("ec")?, self.name("VF")?);
        let start = self.p() - 2.0 - ec - vf / 2.0;
        // A variance of integers that are not all the same is 1/2 / N or more.
        let least = libm::exp2(vf - 1.0).max(self.name("e2").unwrap_or(0.0));
        let shift = start + (libm::log2(least).floor() / 2.0).floor();
        let point = f64::from(OUTPUT_FRACTION) - f64::from(GUARD);
        // Without an addend every element but 0 is out of range there, and stays so at the shifter's end.
        let is_centred = self.program.blocks.iter().any(|block| match block {
            Block::Vector(lines) => lines.iter().any(|l| l.op.c == C::Row),
            Block::Scalar(_) => false,
        });
        let is_block = self.names.contains_key("HF");
        let is_past_end = is_centred && !is_block && shift < point;
        (is_past_end || start.abs() > 63.0).then(|| {
            let what = if start > 63.0 { "large" } else { "small" };
            format!(
                "cannot reach an output scale of {:e} at N = {}: it is too {what} for the row's shift; \
                 give one nearer to the largest result over {}, or raise lane.multiplier_bits of {}",
                b.output_scale,
                b.row_len,
                b.output_format.max(),
                self.p()
            )
        })
    }

    /// Full scale of a softmax inside its format.
    fn full_scale(&self) -> Option<String> {
        let b = self.b;
        let full = 1.0 / b.output_scale;
        let most = libm::exp2(f64::from(b.output_format.bits));
        let most = if b.output_format.is_signed { most / 2.0 } else { most };
        (!(1.0..=most).contains(&full)).then(|| {
            format!(
                "writes 1.0 as {full:.4e} codes with an output scale of {:e}; {} takes 1 to {most}, so \
                 give an output scale from {:e} to 1 (1/{} by default)",
                b.output_scale,
                b.output_format,
                1.0 / most,
                b.output_format.max()
            )
        })
    }

    /// A row of scale 2^-k multiplies by M 2^-k, rounded: the error of an element that is D codes below the
    /// maximum is up to D/2 units of 2^-sh octaves, in output LSB of a share of 2^-t. It grows with D until
    /// t = log2 e.
    fn row_scales(&self) -> Option<String> {
        let b = self.b;
        let (octaves, sh) = (self.name("octaves")?, self.name("sh")?);
        if b.k_max == 0 {
            return None;
        }
        let unit = libm::exp2(-sh);
        let of_row = octaves * libm::exp2(-f64::from(b.k_max));
        let reach = libm::exp2(f64::from(b.input_format.bits));
        let most = (std::f64::consts::LOG2_E / of_row).min(reach);
        let error = 0.5 * most * unit * std::f64::consts::LN_2 / b.output_scale;
        let error = error * libm::exp2(-most * of_row);
        // A larger M is bounded: the tensor's rows bear that, as one code is 2^-16 of full scale, smaller rows not.
        let is_bounded = octaves > libm::exp2(self.p() - 1.0) * unit;
        (is_bounded || error > PART_MAX).then(|| {
            format!(
                "holds 2^-{} of an input scale of {:e}, {octaves:.2e} octaves a code, to {error:.1} LSB; divide the \
                 scores, or leave row scales out",
                b.k_max, b.input_scale
            )
        })
    }

    /// Results of 16 bits take wide words.
    fn wide_output(&self) -> Option<String> {
        let (b, w) = (self.b, &self.engine.widths);
        if b.output_format.bits < 16 {
            return None;
        }
        match self.program.family {
            Family::Softmax => {
                let uses_store = self.program.name.ends_with("stored");
                let is_narrow = uses_store || w.exp_fraction < 17 || w.p < 22;
                is_narrow.then(|| {
                    format!(
                        "cannot hold {} to 1 LSB here; it takes the log-sum-exp form with \
                         lane.exp_fraction_bits of 18 and lane.multiplier_bits of 24, or an 8-bit output",
                        b.output_format
                    )
                })
            }
            Family::Norm => (w.p < 20).then(|| {
                format!(
                    "cannot hold {} to 1 LSB with lane.multiplier_bits of {}; it takes 20 or more",
                    b.output_format, w.p
                )
            }),
        }
    }
}
