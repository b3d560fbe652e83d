//! Error metrics.
