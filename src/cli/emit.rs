//! `mive emit`: an engine as a folder of Verilog, test bench and vectors.
use std::path::PathBuf;
use std::process::ExitCode;

use serde_json::json;

use super::{Failure, load, output};
use crate::emit::{self, Options};
use crate::rtl::verilog::Dialect;

/// Language of the emitted text.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub enum DialectArg {
    /// A subset of SystemVerilog-2012.
    Sv,
    /// Verilog-2005.
    Verilog,
}

impl From<DialectArg> for Dialect {
    fn from(arg: DialectArg) -> Self {
        match arg {
            DialectArg::Sv => Dialect::SystemVerilog,
            DialectArg::Verilog => Dialect::Verilog2005,
        }
    }
}

/// Arguments of `mive emit`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Configuration of the engine, TOML.
    config: PathBuf,
    /// Folder to write: new, empty or an earlier output.
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Starts the name of every module.
    #[arg(long, value_name = "P", default_value = "mive_")]
    prefix: String,
    /// Language of the text.
    #[arg(long, value_enum, default_value = "sv")]
    dialect: DialectArg,
    /// Decides rows and pauses of the vectors.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args) -> Result<ExitCode, Failure> {
    let engine = load::engine(&args.config)?;
    let options =
        Options { prefix: args.prefix.clone(), dialect: args.dialect.into(), seed: args.seed };
    let done = emit::write(&args.out, &engine, &options)?;
    if args.json {
        output::print_json(&json!({
            "schema_version": 1,
            "folder": args.out.display().to_string(),
            "top": done.top,
            "n_files": done.n_files,
            "cycles": done.cycles,
            "manifest": done.manifest,
        }))?;
    } else {
        output::print(&format!(
            "{}: {} files, top module {}, vectors of {} cycles; README.txt says how to run them\n",
            args.out.display(),
            done.n_files,
            done.top,
            done.cycles
        ))?;
    }
    Ok(ExitCode::SUCCESS)
}
