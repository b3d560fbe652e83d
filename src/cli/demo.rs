//! Stub.
use super::Failure;
use std::process::ExitCode;

/// Arguments.
#[derive(Debug, clap::Args)]
pub struct Args {}

pub fn run(_args: &Args) -> Result<ExitCode, Failure> {
    Ok(ExitCode::SUCCESS)
}
