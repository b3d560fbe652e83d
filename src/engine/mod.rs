//! The engine as a netlist: lanes, trees, scalar unit, sequencer, shell. Built from a configuration.
//!
//! Nothing here reads a file or holds an `f64`: coefficients arrive as integer tables.
pub mod control;
pub mod core;
pub mod cuts;
pub mod lane;
pub mod scalar;
pub mod shell;
pub mod tables;
pub mod tree;
pub mod turns;
pub mod widths;

pub use cuts::Cuts;
pub use tables::Tables;
pub use widths::Widths;

use crate::config::HwConfig;
use crate::isa::{FieldSet, ScalarOp, VectorOp};
use crate::rtl::Module;
use std::rc::Rc;

/// One engine: its configuration, derived widths, tables and netlist.
pub struct Engine {
    pub config: HwConfig,
    pub widths: Widths,
    pub tables: Tables,
    /// Pipeline registers.
    pub cuts: Cuts,
    pub vector_fields: FieldSet,
    pub scalar_fields: FieldSet,
    /// The whole design: stream registers, load port, counters and the core.
    pub top: Rc<Module>,
}

impl Engine {
    /// Describes the engine of a configuration.
    pub fn describe(config: &HwConfig) -> Self {
        let widths = Widths::derive(config);
        let tables = Tables::fit(config, &widths);
        let vector_fields = VectorOp::fields();
        let scalar_fields = ScalarOp::fields(widths.scalar);
        let cuts = Cuts::listed(config);
        let core = core::describe(config, &widths, &tables, &cuts, &vector_fields, &scalar_fields);
        let top = shell::describe(config, &widths, &cuts, &core, &vector_fields, &scalar_fields);
        Self { config: config.clone(), widths, tables, cuts, vector_fields, scalar_fields, top }
    }
}
