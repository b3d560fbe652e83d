//! Writes an engine as a folder: Verilog, test bench, vectors, programs, file list and scripts.
//!
//! The folder is written beside its place and moved there when it is complete.
pub mod bench;
pub mod cases;
mod files;
mod folder;
mod programs;
pub mod template;

pub use files::Manifest;

use crate::engine::Engine;
use crate::rtl::names;
use crate::rtl::verilog::Dialect;
use std::path::{Path, PathBuf};

/// What the user chooses.
#[derive(Clone, Debug)]
pub struct Options {
    /// Starts the name of every module; see [`names::check_prefix`].
    pub prefix: String,
    pub dialect: Dialect,
    /// Decides rows and pauses of the vectors.
    pub seed: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self { prefix: "mive_".into(), dialect: Dialect::SystemVerilog, seed: 1 }
    }
}

/// Why nothing was written.
#[derive(Debug, thiserror::Error)]
pub enum EmitError {
    #[error("--prefix: {0}")]
    Prefix(String),
    #[error("{path}: found {found}; expected {expected}; {help}")]
    Folder { path: PathBuf, found: String, expected: &'static str, help: &'static str },
    #[error("template {name}: {message}")]
    Template { name: String, message: String },
    #[error("{what}: {message}")]
    Case { what: String, message: String },
}

/// What was written.
#[derive(Clone, Debug)]
pub struct Emitted {
    pub manifest: Manifest,
    /// Name of the top module.
    pub top: String,
    /// Files, the manifest included.
    pub n_files: usize,
    /// Cycles of all vectors.
    pub cycles: usize,
}

/// Writes the folder `dir`. An earlier output in its place is replaced.
///
/// # Errors
/// The prefix is illegal, `dir` holds something else, or it cannot be written. Nothing is left behind.
pub fn write(dir: &Path, engine: &Engine, options: &Options) -> Result<Emitted, EmitError> {
    names::check_prefix(&options.prefix).map_err(EmitError::Prefix)?;
    folder::check(dir)?;
    let all = files::all(engine, options)?;
    folder::replace(dir, &all.files)?;
    Ok(Emitted {
        manifest: all.manifest,
        top: all.top,
        n_files: all.files.len(),
        cycles: all.cycles,
    })
}
