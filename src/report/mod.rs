//! Whole jobs: tensors streamed through an engine and judged against the exact operators.
//!
//! Nothing here prints: a job returns its figures and reports progress through a callback.
pub mod accuracy;
pub mod activations;
pub mod cycles;
pub mod error;
pub mod figures;
pub mod held;
pub mod input;
pub mod nominal;
mod paths;
pub mod plan;
pub mod populations;
pub mod run;

pub use error::RunError;
pub use figures::RunFigures;
pub use plan::Request;
pub use run::{TraceTo, Watch, Watched, run_tensor, workload};
