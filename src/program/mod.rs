//! Programs bound to an engine: constants evaluated, words encoded, parameters laid out.
pub mod bind;
pub mod library;
pub mod listing;
mod precision;
pub mod turns;

pub use bind::{BindError, Binding, Loaded, bind};
pub use precision::largest_row_scale;
