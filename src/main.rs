//! Entry point: parse, call, print the error, set the exit status.
use std::process::ExitCode;

fn main() -> ExitCode {
    match mive::cli::main() {
        Ok(status) => status,
        Err(failure) => {
            mive::cli::say(&format!("error: {}", failure.message));
            ExitCode::from(failure.status)
        }
    }
}
