//! A small typed netlist: what computes a value or decides a cycle is described here, once.
//!
//! A [`Module`] is a list of nodes in evaluation order. A node is one of the operations of [`Op`],
//! its type is an integer [`Interval`](crate::num::Interval) and a count of lanes. One clock, one
//! reset (asynchronous, active low), no aggregates and no conditional blocks. Three readers walk it:
//! the stepper, the printer and the estimator.
pub mod build;
pub mod evaluate;
pub mod module;
pub mod names;
pub mod pipe;
pub mod step;
pub mod timing;
pub mod verilog;

pub use build::{Net, Word};
pub use evaluate::evaluate;
pub use module::{Instance, Memory, MemoryField, MemoryKind, Module, Node, NodeId, Op};
pub use pipe::{Pipe, Rank};
