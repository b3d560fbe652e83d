//! The oracle: the operators as mathematics, in f64. Knows nothing of the engine.
pub mod exact;
pub mod real;

pub use real::{layernorm, rmsnorm, softmax};
