//! The engine as a netlist: lanes, trees, scalar unit, sequencer, shell. Built from a configuration.
//!
//! Nothing here reads a file or holds an `f64`: coefficients arrive as integer tables.
pub mod control;
pub mod core;
pub mod cuts;
pub mod delay;
pub mod lane;
pub mod place;
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
use crate::rtl::timing::{Path, longest_path};
use delay::LogicDepth;
use std::rc::Rc;

/// One engine: its configuration, derived widths, tables and netlist.
pub struct Engine {
    pub config: HwConfig,
    pub widths: Widths,
    pub tables: Tables,
    /// Pipeline registers, listed by the configuration or chosen for its clock.
    pub cuts: Cuts,
    /// The longest path where no registers meet the configuration's clock; the engine then has one in
    /// every place.
    pub missed: Option<Path>,
    pub vector_fields: FieldSet,
    pub scalar_fields: FieldSet,
    /// The whole design: stream registers, load port, counters and the core.
    pub top: Rc<Module>,
}

impl Engine {
    /// Describes the engine of a configuration.
    pub fn describe(config: &HwConfig) -> Self {
        if config.clock_ps == 0 {
            return Self::with_cuts(config, Cuts::listed(config));
        }
        match place::choose(config, config.clock_ps, &Self::longest_path) {
            Ok(cuts) => Self::with_cuts(config, cuts),
            Err((cuts, path)) => Self { missed: Some(path), ..Self::with_cuts(config, cuts) },
        }
    }

    /// The longest path by the model that places registers.
    pub fn longest_path(&self) -> Path {
        longest_path(&self.top, &LogicDepth)
    }

    /// Describes the engine of a configuration with registers at given places.
    pub fn with_cuts(config: &HwConfig, cuts: Cuts) -> Self {
        let widths = Widths::derive(config);
        let tables = Tables::fit(config, &widths);
        let vector_fields = VectorOp::fields();
        let scalar_fields = ScalarOp::fields(widths.scalar);
        let core = core::describe(config, &widths, &tables, &cuts, &vector_fields, &scalar_fields);
        let top = shell::describe(config, &widths, &cuts, &core, &vector_fields, &scalar_fields);
        let (config, missed) = (config.clone(), None);
        Self { config, widths, tables, cuts, missed, vector_fields, scalar_fields, top }
    }
}
