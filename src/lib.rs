//! `mive`: one integer vector engine that runs LayerNorm, RMSNorm and Softmax.
//!
//! From one description of the engine (a typed netlist, [`rtl`] and [`engine`]) the crate simulates
//! it exact to the bit and to the cycle ([`simulate`]) and prints it as Verilog ([`emit`]).
//! [`mod@reference`] is the oracle: it knows the mathematics and nothing of the engine.
//!
//! | layer | modules | may import |
//! | --- | --- | --- |
//! | 0 | `num` | - |
//! | 1 | `rtl`, `isa`, `pwl`, `config`, `tensor` | `num` |
//! | 2 | `engine`, `program` | layers 0 and 1 |
//! | 1 | `tech` | `num` |
//! | 2 | `gates` | `rtl`, `num` only |
//! | 2 | `reference` | `tensor`, `num` only |
//! | 3 | `simulate`, `emit` | layers 0 to 2, not `reference`, `gates`, `tech` |
//! | 3 | `estimate` | layers 0 to 2 and `simulate`, not `reference` |
//! | 4 | `report`, `tools` | anything lower |
//! | 5 | `cli` | anything |
//!
//! Words: a *row* is the vector that one operation normalises; a *lane* is one copy of the element
//! datapath; a *chunk* is up to L consecutive elements of a row; a *beat* is a cycle in which a
//! chunk crosses an interface; a *pass* is one walk over all chunks of a row; a *micro-op* is one
//! instruction; an *LSB* is the unit of integer error.
// Only `cli::output` writes to standard output and error: a reader that has gone must not end in a panic.
#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

pub mod cli;
pub mod config;
pub mod emit;
pub mod engine;
pub mod estimate;
pub mod gates;
pub mod isa;
pub mod num;
pub mod program;
pub mod pwl;
pub mod reference;
pub mod report;
pub mod rtl;
pub mod simulate;
pub mod tech;
pub mod tensor;
pub mod tools;
