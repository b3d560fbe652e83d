//! Estimates of an engine from its netlist and the costs of a technology. No tool runs here.
pub mod activity;
pub mod area;
pub mod energy;
pub mod fit;
pub mod memory;

pub use area::{Area, Block, BlockArea, area, blocks, blocks_of};
