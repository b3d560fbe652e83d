//! The command line. A subcommand is one variant of `Command` and one file with its arguments and
//! its `run`. Only this module prints.
mod accuracy;
mod args;
mod calibrate;
mod calibrate_energy;
mod check;
mod demo;
mod doctor;
mod emit;
mod energy;
mod estimate;
mod load;
mod output;
mod programs;
mod progress;
mod run;
mod synth;
mod synth_energy;
mod verify;

use std::process::ExitCode;

pub use output::say;

use clap::{CommandFactory, Parser, Subcommand};

const TEACHING: &str = "\
A first run, from any folder:

  mive demo                                  all three operators, then look into demo/
  mive check demo/edge.toml                  what this engine can run
  mive run demo/edge.toml softmax --input demo/softmax_x.npy --keep demo/softmax_keep.npy
  mive run demo/edge16.toml layernorm --input demo/layernorm_x.npy --output y.npy \\
       --gamma demo/layernorm_gamma.npy --beta demo/layernorm_beta.npy

The last axis of a tensor is the row. Floats are quantised; integers are taken as codes.
An error is in LSB of the output, against the exact operator on the same quantised input.
Exit status: 0 fine, 1 a comparison failed, 2 input or usage wrong.";

/// One integer vector engine for LayerNorm, RMSNorm and Softmax: simulator and Verilog.
#[derive(Debug, Parser)]
#[command(name = "mive", version, after_help = TEACHING)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run a tensor through an engine: exact results, errors and cycles.
    Run(Box<run::Args>),
    /// Check a configuration and show what it can run.
    Check(check::Args),
    /// Estimate an engine's area and cycles, with the error of the estimate.
    Estimate(estimate::Args),
    /// Synthesise an engine with Yosys, and show the estimate beside it.
    Synth(synth::Args),
    /// Measure the costs of a technology with Yosys, and the error that is left.
    Calibrate(Box<calibrate::Args>),
    /// Write an engine as Verilog with a test bench and vectors.
    Emit(emit::Args),
    /// Compare an engine's simulator with its Verilog in Icarus and Verilator.
    Verify(verify::Args),
    /// List the external tools that are found.
    Doctor(doctor::Args),
    /// List the shipped programs, or print one.
    Programs(programs::Args),
    /// Run all three operators on real activations that are built in.
    Demo(demo::Args),
    /// Measure the accuracy table: every configuration and program over populations of rows.
    Accuracy(accuracy::Args),
}

/// What went wrong: a message without its `error:`, and the exit status.
#[derive(Debug)]
pub struct Failure {
    pub message: String,
    pub status: u8,
}

impl Failure {
    /// Input or usage is wrong.
    pub fn input(message: impl ToString) -> Self {
        Self { message: message.to_string(), status: 2 }
    }
}

impl<E: std::error::Error> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::input(error)
    }
}

/// Parses the arguments and runs the command. The status is that of a success that is none, such
/// as a comparison that failed.
///
/// # Errors
/// What the caller prints once.
pub fn main() -> Result<ExitCode, Failure> {
    let parsed = match Cli::try_parse() {
        Ok(parsed) => parsed,
        // Help and version are output like any other.
        Err(text) if !text.use_stderr() => {
            output::print(&text.to_string())?;
            return Ok(ExitCode::SUCCESS);
        }
        Err(error) => error.exit(),
    };
    let Some(command) = parsed.command else {
        output::print(&Cli::command().render_long_help().to_string())?;
        return Ok(ExitCode::SUCCESS);
    };
    match command {
        Command::Run(args) => run::run(&args),
        Command::Check(args) => check::run(&args),
        Command::Estimate(args) => estimate::run(&args),
        Command::Synth(args) => synth::run(&args),
        Command::Calibrate(args) => calibrate::run(&args),
        Command::Emit(args) => emit::run(&args),
        Command::Verify(args) => verify::run(&args),
        Command::Doctor(args) => doctor::run(&args),
        Command::Programs(args) => programs::run(&args),
        Command::Demo(args) => demo::run(&args),
        Command::Accuracy(args) => accuracy::run(&args),
    }
}
