//! What an engine can hold to 1 LSB: bounds on the errors and reaches of a bound program's words.
use super::bind::{BindError, Binding, constants};
use crate::engine::Engine;
use crate::engine::widths::{GUARD, OUTPUT_FRACTION};
use crate::isa::{Block, C, Family, Program};
use std::collections::BTreeMap;

/// Largest error before the last rounding, in output LSB: with its half a result stays within 1.
const ERROR_MAX: f64 = 0.5;
/// What of it a norm leaves to an epsilon with row scales.
const EPSILON_MAX: f64 = 0.3;

/// Refuses a request that the engine cannot hold to 1 LSB and says what it would need. Programs of the
/// user's own are checked as far as they have the constants of the shipped ones.
pub(super) fn check(
    program: &Program,
    engine: &Engine,
    b: &Binding,
    names: &BTreeMap<String, f64>,
) -> Result<(), BindError> {
    let check = Check { program, engine, b, names };
    let reach = match program.family {
        Family::Softmax => check.full_scale(),
        Family::Norm => check.row_shift(),
    };
    match reach.or_else(|| check.error()) {
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
        let is_held = match program.family {
            Family::Softmax => check.error().is_none(),
            Family::Norm => check.epsilon().is_none_or(|p| p.error <= EPSILON_MAX),
        };
        if is_held {
            return Ok(k_max);
        }
    }
    Ok(0)
}

/// One source of error.
struct Part {
    /// In output LSB, at worst.
    error: f64,
    /// Where it comes from, and what would mend it.
    reason: String,
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

    /// Errors that are too large together. Each is a worst case and no row has two of them: their root of
    /// squares counts.
    fn error(&self) -> Option<String> {
        let parts = match (self.program.family, &self.program.reference) {
            // What another function does with the tables is not known here.
            (_, None) => vec![],
            (Family::Softmax, _) => vec![self.exponentials(), self.multiplier()],
            (Family::Norm, _) => {
                vec![self.root(), self.mean(), self.block_number(), self.epsilon()]
            }
        };
        let parts: Vec<Part> = parts.into_iter().flatten().collect();
        let sum = libm::sqrt(parts.iter().map(|p| p.error * p.error).sum());
        let worst = parts.into_iter().max_by(|a, b| a.error.total_cmp(&b.error))?;
        (sum > ERROR_MAX).then(|| {
            format!(
                "errs by up to {sum:.2} LSB of {} before its rounding at N = {}, where {ERROR_MAX} may be: \
                 {:.2} are from {}",
                self.b.output_format, self.b.row_len, worst.error, worst.reason
            )
        })
    }

    /// The tables of a softmax and the last place of its exponent. A share p below 1 is half a mantissa or less,
    /// and the error of the others' mantissas counts p (1 - p): together 3/4 at most, at p = 1/2.
    fn exponentials(&self) -> Option<Part> {
        let (w, t) = (&self.engine.widths, &self.engine.tables);
        let argument = w.exp_fraction + w.exponent;
        if argument > w.p {
            let reason = format!(
                "{} bits of octaves above lane.exp_fraction_bits of {}; lane.multiplier_bits of {argument} would do",
                w.exponent, w.exp_fraction
            );
            return Some(Part { error: f64::INFINITY, reason });
        }
        let ln_2 = std::f64::consts::LN_2;
        let place = libm::exp2(-f64::from(w.exp_fraction) - 1.0) * ln_2;
        let last = match &t.reciprocal {
            Some(reciprocal) if self.program.name.ends_with("stored") => {
                let cut = w.exp_fraction > w.stored_fraction;
                let stored = libm::exp2(-f64::from(w.stored_fraction)) * f64::from(u8::from(cut));
                reciprocal.max_error + stored + libm::exp2(2.0 - self.p())
            }
            _ => t.log2.max_error * ln_2,
        };
        let [table, place, last] =
            [0.75 * t.exp2.max_error, place, last].map(|e| e / self.b.output_scale);
        let reason = if place.max(last) > table && place > last {
            format!("lane.exp_fraction_bits of {}; raise them", w.exp_fraction)
        } else if table > last {
            format!("lane.exp_segments of {}; raise them", t.exp2.segments)
        } else if self.program.name.ends_with("stored") {
            "stored exponentials and scalar.reciprocal_segments; raise these, or run `softmax`"
                .into()
        } else {
            format!("scalar.log2_segments of {}; raise them", t.log2.segments)
        };
        Some(Part { error: table + place + last, reason })
    }

    /// The rounding of M, octaves a code in units of 2^-sh; a row of scale 2^-k has M 2^-k, rounded again. At D
    /// codes below the maximum its error counts D times, in output LSB of a share of 2^-t; most at t = log2 e.
    fn multiplier(&self) -> Option<Part> {
        let b = self.b;
        let (octaves, sh, m) = (self.name("octaves")?, self.name("sh")?, self.name("M")?);
        let unit = libm::exp2(-sh);
        let reach = libm::exp2(f64::from(b.input_format.bits));
        // A larger M is bounded. One code is 2^-16 of full scale then, which rows of a smaller scale do not bear.
        let is_bounded = octaves > libm::exp2(self.p() - 1.0) * unit;
        let error = |k: u32| {
            let part = libm::exp2(-f64::from(k));
            let (real, held) = (octaves * part, (m * part + 0.5).floor() * unit);
            let most = (std::f64::consts::LOG2_E / real).min(reach);
            let share = libm::exp2(-most * real.min(held)) / b.output_scale;
            match (is_bounded, k) {
                (true, 0) => 0.0,
                (true, _) => f64::INFINITY,
                _ => (real - held).abs() * most * std::f64::consts::LN_2 * share,
            }
        };
        let (worst, at) = (0..=b.k_max)
            .map(|k| (error(k), k))
            .max_by(|a, b| a.0.total_cmp(&b.0))
            .unwrap_or_default();
        let (of, out) = match at {
            0 => (String::new(), ""),
            k => (format!("2^-{k} of "), ", or leave row scales out"),
        };
        let reason = format!(
            "{of}an input scale of {:e}, {octaves:.2e} octaves a code; divide the scores{out}",
            b.input_scale
        );
        Some(Part { error: worst, reason })
    }

    /// The reciprocal root's table, and the cuts of its argument and of the row's mantissa to P bits.
    fn root(&self) -> Option<Part> {
        let table = &self.engine.tables.rsqrt;
        let table_error = match self.engine.config.newton_steps {
            0 => table.max_error,
            _ => 1.5 * table.max_error * table.max_error,
        };
        let cut = 1.25 * libm::exp2(2.0 - self.p());
        let largest = libm::exp2(f64::from(self.b.output_format.bits) - 1.0);
        let reason = if table_error > cut {
            format!("scalar.rsqrt_segments of {}; raise them", table.segments)
        } else {
            format!("lane.multiplier_bits of {}; raise them", self.p())
        };
        Some(Part { error: (table_error + cut) * largest, reason })
    }

    /// The mean's last place, in a row whose largest result is the format's: that is 2/3 of a code from it, as
    /// with three elements, or more. An epsilon makes results smaller.
    fn mean(&self) -> Option<Part> {
        let w = &self.engine.widths;
        let largest = libm::exp2(f64::from(self.b.output_format.bits) - 1.0);
        let deviations = self.name("scale")? / libm::sqrt(self.name("e_codes")?.max(0.5));
        let of_code = (1.5 * largest).min(deviations * self.gamma_most());
        let error = of_code * libm::exp2(-f64::from(w.accumulator_fraction) - 1.0);
        let reason = format!(
            "{} fraction bits of a mean, which an engine.n_max of {} leaves; lower it",
            w.accumulator_fraction, self.engine.config.n_max
        );
        self.has_addend().then_some(Part { error, reason })
    }

    /// The largest gamma in codes; 1 without gamma.
    fn gamma_most(&self) -> f64 {
        let bits = self.b.input_format.bits.max(self.engine.widths.input) - 1;
        if self.program.has_gamma { libm::exp2(f64::from(bits)) } else { 1.0 }
    }

    /// Subtracts a mean: something is added to every product.
    fn has_addend(&self) -> bool {
        self.program.blocks.iter().any(|block| match block {
            Block::Vector(lines) => lines.iter().any(|l| l.op.c == C::Row),
            Block::Scalar(_) => false,
        })
    }

    /// Half an LSB of h times the largest gamma.
    fn block_number(&self) -> Option<Part> {
        let fraction = self.name("HF").filter(|_| self.program.has_gamma)?;
        let error = self.gamma_most() * libm::exp2(-fraction - 1.0);
        let more = libm::log2(error / ERROR_MAX).ceil().max(1.0);
        let reason = format!(
            "h, which has {fraction} fraction bits; lane.multiplier_bits of {} would do, or a larger output scale",
            self.p() + more
        );
        Some(Part { error, reason })
    }

    /// A bounded epsilon stands for a larger one, relative to which the variance weighs less: the error of
    /// a row of the largest codes. In whole codes a variance lacks up to N / 4 of its N var.
    fn epsilon(&self) -> Option<Part> {
        let b = self.b;
        let (room, held) = (self.name("room")?, self.name("e_codes")?);
        let fraction = self.name("VF")?;
        let squares = f64::from(b.row_len) * libm::exp2(2.0 * f64::from(b.input_format.bits - 1));
        let largest = libm::exp2(f64::from(b.output_format.bits) - 1.0);
        let bounded = if held * libm::exp2(fraction) > room { squares / (2.0 * room) } else { 0.0 };
        let lacking = if fraction == 0.0 { f64::from(b.row_len) / (8.0 * held) } else { 0.0 };
        let (with, out) = match b.k_max {
            0 => (String::new(), "a larger input scale"),
            k => (format!(" with row scales down to 2^-{k}"), "one scale for the tensor"),
        };
        let reason = format!(
            "N eps of {held:.2e} squared codes where {room:.2e} can be held{with} (eps = {:e}, input scale {:e}); \
             give a smaller eps or {out}",
            b.eps, b.input_scale
        );
        Some(Part { error: largest * (bounded + lacking), reason })
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
        let is_block = self.names.contains_key("HF");
        let is_past_end = self.has_addend() && !is_block && shift < point;
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
}
