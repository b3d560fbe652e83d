//! The engine of a configuration file, or what is wrong with the file.
use std::path::Path;

use crate::config::{self, ConfigErrors};
use crate::engine::Engine;

/// Loads and describes an engine.
///
/// # Errors
/// As [`config::load`], and a clock that no pipeline registers meet.
pub fn engine(path: &Path) -> Result<Engine, ConfigErrors> {
    let engine = Engine::describe(&config::load(path)?);
    let Some(longest) = &engine.missed else { return Ok(engine) };
    let (from, to) = match longest.words.as_slice() {
        [from, .., to] => (from.as_str(), to.as_str()),
        _ => ("", ""),
    };
    let found = engine.config.clock_ps.to_string();
    let expected = format!("{} or more", longest.ps);
    let help = format!(
        "with a register in every place the longest path, from {from} to {to}, is estimated at {} ps",
        longest.ps
    );
    Err(config::refusal(path, ("pipeline", "clock_ps"), &found, &expected, &help))
}
