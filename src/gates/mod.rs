//! A module of the netlist as gates: what the estimates of area, timing and energy walk.
//!
//! [`blast::module`] and [`blast::flat`] give a [`Graph`]: two-input gates, choices, full adders and
//! flip-flops, with constants folded, equal gates (adders excepted) shared and dead logic dropped. The structures are
//! those of a synthesis for area: ripple chains, carry-save trees, choices bit by bit. Nothing here knows
//! a technology.
pub mod blast;
mod build;
pub mod count;
pub mod graph;
mod operation;
mod word;

pub use count::{Counts, Kind};
pub use graph::{Gate, Graph, Lit, Origin, Role};
