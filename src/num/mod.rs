//! Numbers shared by every layer: integer formats, intervals and error metrics.
pub mod error_metrics;
pub mod format;
pub mod interval;

pub use format::IntFormat;
pub use interval::Interval;
