//! What is known of a technology: its cells and its costs. Data, no synthesis.
pub mod cells;
pub mod liberty;
