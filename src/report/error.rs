//! Why a job is refused: place, found, expected and a way out.
use crate::program::BindError;
use crate::tensor::{ScaleError, TensorError};

/// One refusal of a run. Nothing has been written when it is returned.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    #[error(transparent)]
    Tensor(#[from] TensorError),
    #[error(transparent)]
    Bind(#[from] BindError),
    /// A number that is no scale.
    #[error("{place}: {error}")]
    Scale { place: String, error: ScaleError },
    /// An option or a tensor that does not fit the others.
    #[error("{place}: found {found}, expected {expected}; {help}")]
    Request { place: String, found: String, expected: String, help: String },
}

impl RunError {
    pub(crate) fn request(
        place: impl Into<String>,
        found: impl Into<String>,
        expected: impl Into<String>,
        help: impl Into<String>,
    ) -> Self {
        Self::Request {
            place: place.into(),
            found: found.into(),
            expected: expected.into(),
            help: help.into(),
        }
    }
}
