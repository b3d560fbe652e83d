//! Standard output and standard error, which may be closed by their readers at any time.
use std::io::{ErrorKind, Write};

use super::Failure;

/// Prints text. A reader that has gone is no error: `mive ... | head -1` ends well.
pub fn print(text: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(e) if e.kind() != ErrorKind::BrokenPipe => Err(Failure::input(format!(
            "standard output: found {e}, expected room to write; free some or redirect elsewhere"
        ))),
        _ => Ok(()),
    }
}

/// Writes a line to standard error. One that nobody reads is lost.
pub fn say(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// Prints JSON, one document, and a line end.
pub fn print_json(value: &serde_json::Value) -> Result<(), Failure> {
    print(&format!("{value:#}\n"))
}
