//! Scales for a program when no tensor gives them: what an engine can run, and in how many cycles.
use crate::engine::Engine;
use crate::isa::{Family, Program};
use crate::num::IntFormat;
use crate::program::Binding;

/// Largest real result that a norm's output scale is taken for; 8 standard deviations.
pub const NORM_RANGE: f64 = 8.0;

/// A binding for inputs of +-8, softmax outputs of full scale 1 and norm outputs of +-8.
pub fn binding(
    program: &Program,
    engine: &Engine,
    (input_format, output_format): (IntFormat, IntFormat),
    row_len: u32,
) -> Binding {
    let most = output_format.max() as f64;
    let is_softmax = program.family == Family::Softmax;
    let half = if output_format.is_signed { most } else { most / 2.0 };
    let gamma_most = libm::exp2(f64::from(engine.widths.input - 1)) - 1.0;
    Binding {
        row_len,
        input_format,
        output_format,
        input_scale: NORM_RANGE / input_format.max() as f64,
        output_scale: if is_softmax { 1.0 / most } else { NORM_RANGE / half },
        gamma_scale: if program.has_gamma { 1.0 / gamma_most } else { 1.0 },
        eps: if is_softmax { 0.0 } else { super::plan::EPS_DEFAULT },
        k_max: 0,
    }
}
