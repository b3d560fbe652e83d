//! The instruction set: vector micro-ops (one a lane slot), scalar micro-ops, and their bit fields.
//!
//! A program alternates scalar blocks and vector bodies: S0 V0 S1 V1 ... A vector body is run once for
//! every chunk of the row. Words are horizontal: a field drives a multiplexer, nothing is decoded twice.
pub mod assembler;
pub mod disassembler;
pub mod expression;
pub mod fields;
pub mod ops;

pub use assembler::{AssemblerError, Block, Family, Program, assemble};
pub use fields::{Field, FieldSet};
pub use ops::*;
