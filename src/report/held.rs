//! Gamma and beta as an engine holds them.
use super::error::RunError;
use crate::engine::Widths;
use crate::engine::widths::OUTPUT_FRACTION;
use crate::num::IntFormat;
use crate::simulate::Parameters;
use crate::tensor::{Scale, absmax, absmax_scale, quantise};

/// The rounding half of the output stage, which a beta code carries.
const HALF: i64 = 1 << (OUTPUT_FRACTION - 1);

/// Gamma in the input's width, with the real values that its codes stand for.
#[derive(Clone, Debug, Default)]
pub struct HeldGamma {
    pub codes: Vec<i32>,
    /// Real value of one code; None where there is no gamma.
    pub scale: Option<f64>,
    pub real: Option<Vec<f64>>,
}

/// Beta at the output's scale with the output stage's fraction bits.
#[derive(Clone, Debug, Default)]
pub struct HeldBeta {
    /// As the parameter store takes them, rounding half included.
    pub codes: Vec<i32>,
    pub scale: Option<f64>,
    pub real: Option<Vec<f64>>,
    pub saturated: u64,
}

/// Quantises gamma symmetrically to the widest input format.
///
/// # Errors
/// A gamma without a scale.
pub fn hold_gamma(gamma: Option<&[f64]>, w: &Widths) -> Result<HeldGamma, RunError> {
    let Some(gamma) = gamma else { return Ok(HeldGamma::default()) };
    let format = IntFormat { bits: w.input, is_signed: true };
    let (scale, _) = absmax_scale(absmax(gamma), format)
        .map_err(|error| RunError::Scale { place: "--gamma".into(), error })?;
    let mut codes = vec![];
    quantise(gamma, scale, format, &mut codes);
    let real = codes.iter().map(|&c| f64::from(c) * scale.get()).collect();
    Ok(HeldGamma { codes, scale: Some(scale.get()), real: Some(real) })
}

/// Quantises beta to 2^-`OUTPUT_FRACTION` of an output LSB.
pub fn hold_beta(beta: Option<&[f64]>, w: &Widths, output_scale: Scale) -> HeldBeta {
    let Some(beta) = beta else { return HeldBeta::default() };
    let scale = output_scale.get() / f64::from(1u32 << OUTPUT_FRACTION);
    let largest = (1i64 << (w.beta - 1)) - 1 - HALF;
    let smallest = -(1i64 << (w.beta - 1));
    let mut held = HeldBeta { scale: Some(scale), ..HeldBeta::default() };
    let mut real = vec![];
    for &b in beta {
        let raw = (b / scale + 0.5).floor();
        let code = raw.clamp(smallest as f64, largest as f64);
        held.saturated += u64::from(code != raw);
        held.codes.push((code as i64 + HALF) as i32);
        real.push(code * scale);
    }
    held.real = Some(real);
    held
}

/// What the simulator's parameter store is loaded with.
pub fn parameters(gamma: &HeldGamma, beta: &HeldBeta) -> Parameters {
    Parameters { gamma: gamma.codes.clone(), beta: beta.codes.clone() }
}
