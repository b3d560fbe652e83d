//! External tools: finding them, asking their version, running them with their output captured.
pub mod calibrate;
pub mod energy;
pub mod energy_samples;
pub mod library;
pub mod lockstep;
pub mod meter;
pub mod netlist;
pub mod operations;
pub mod samples;
pub mod synthesis;
pub mod verify;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A tool that some command can use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tool {
    pub name: &'static str,
    version_flag: &'static str,
    /// The oldest version that is known to do.
    pub oldest: &'static str,
    pub needed_for: &'static str,
    package: &'static str,
}

pub const YOSYS: Tool = Tool {
    name: "yosys",
    version_flag: "-V",
    oldest: "0.23",
    needed_for: "synthesis and netlist checks",
    package: "yosys",
};
pub const VERILATOR: Tool = Tool {
    name: "verilator",
    version_flag: "--version",
    oldest: "5.006",
    needed_for: "lint and lockstep",
    package: "verilator g++ make",
};
pub const IVERILOG: Tool = Tool {
    name: "iverilog",
    version_flag: "-V",
    oldest: "11.0",
    needed_for: "lockstep",
    package: "iverilog",
};
pub const VVP: Tool = Tool {
    name: "vvp",
    version_flag: "-V",
    oldest: "11.0",
    needed_for: "lockstep",
    package: "iverilog",
};

/// Every tool, in the order of [`survey`].
pub const TOOLS: [Tool; 4] = [YOSYS, VERILATOR, IVERILOG, VVP];

/// What is known of a tool on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolStatus {
    pub name: &'static str,
    pub oldest: &'static str,
    /// `None` when it is not on PATH or does not start.
    pub found_version: Option<String>,
    /// Found, and no older than `oldest`.
    pub is_enough: bool,
    pub needed_for: &'static str,
    /// The command that installs it on Debian.
    pub install: String,
}

/// Why a tool gave nothing.
#[derive(Debug, thiserror::Error)]
pub enum ToolError {
    #[error("`{name}` is not on PATH, and {needed_for} needs it; install it with: {install}")]
    Missing { name: &'static str, needed_for: &'static str, install: String },
    #[error("`{name}` did not start: {source}")]
    Start { name: &'static str, source: std::io::Error },
    #[error("`{name}` failed ({status}); its last words:\n{said}")]
    Failed { name: &'static str, status: String, said: String },
}

/// What a tool said, and whether its exit status was 0.
#[derive(Clone, Debug)]
pub struct Said {
    pub is_ok: bool,
    pub status: String,
    /// Standard output, then standard error.
    pub text: String,
}

impl Tool {
    /// The command that installs it on Debian.
    pub fn install(&self) -> String {
        format!("sudo apt-get install {}", self.package)
    }

    /// Its path, from PATH.
    ///
    /// # Errors
    /// It is not there.
    pub fn find(&self) -> Result<PathBuf, ToolError> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let found = std::env::split_paths(&path).map(|d| d.join(self.name)).find(|p| p.is_file());
        found.ok_or_else(|| ToolError::Missing {
            name: self.name,
            needed_for: self.needed_for,
            install: self.install(),
        })
    }

    /// The first number with a point in what it says of itself.
    pub fn version(&self) -> Option<String> {
        let program = self.find().ok()?;
        let said = capture(self.name, Command::new(program).arg(self.version_flag)).ok()?;
        first_version(&said.text)
    }

    /// Runs it in a folder.
    ///
    /// # Errors
    /// It is missing or does not start. A status that is not 0 is no error here.
    pub fn run<S: AsRef<OsStr>>(&self, folder: &Path, args: &[S]) -> Result<Said, ToolError> {
        let program = self.find()?;
        capture(self.name, Command::new(program).args(args).current_dir(folder))
    }

    /// Runs it in a folder; it must succeed.
    ///
    /// # Errors
    /// As [`Tool::run`], and a status that is not 0.
    pub fn succeed<S: AsRef<OsStr>>(&self, folder: &Path, args: &[S]) -> Result<String, ToolError> {
        let said = self.run(folder, args)?;
        if said.is_ok {
            return Ok(said.text);
        }
        let lines: Vec<&str> = said.text.lines().collect();
        let said_last = lines[lines.len().saturating_sub(12)..].join("\n");
        Err(ToolError::Failed { name: self.name, status: said.status, said: said_last })
    }
}

/// Runs a command without input.
pub(crate) fn capture(name: &'static str, command: &mut Command) -> Result<Said, ToolError> {
    let out = command
        .stdin(Stdio::null())
        .output()
        .map_err(|source| ToolError::Start { name, source })?;
    let text = [out.stdout, out.stderr].concat();
    Ok(Said {
        is_ok: out.status.success(),
        status: out.status.to_string(),
        text: String::from_utf8_lossy(&text).into_owned(),
    })
}

/// Every tool with what is found of it.
pub fn survey() -> Vec<ToolStatus> {
    let status = |t: &Tool| {
        let found_version = t.version();
        ToolStatus {
            name: t.name,
            oldest: t.oldest,
            is_enough: found_version.as_deref().is_some_and(|v| parts(v) >= parts(t.oldest)),
            found_version,
            needed_for: t.needed_for,
            install: t.install(),
        }
    };
    TOOLS.iter().map(status).collect()
}

fn first_version(text: &str) -> Option<String> {
    let is_version = |w: &&str| w.starts_with(|c: char| c.is_ascii_digit()) && w.contains('.');
    let word = text.split_whitespace().find(is_version)?;
    let end = word.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(word.len());
    Some(word[..end].to_string())
}

fn parts(version: &str) -> Vec<u32> {
    version.split('.').map(|p| p.parse().unwrap_or(0)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_found_and_ordered() {
        let found = |t| first_version(t).unwrap_or_default();
        assert_eq!(found("Yosys 0.23 (git sha1 7ce5011c24b)"), "0.23");
        assert_eq!(found("Verilator 5.006 2023-01-22 rev (Debian 5.006-3)"), "5.006");
        assert_eq!(found("Icarus Verilog version 11.0 (stable) ()"), "11.0");
        assert_eq!(found("Icarus Verilog runtime version 11.0 (stable) ()"), "11.0");
        assert_eq!(found("Yosys 0.33+34 (git)"), "0.33");
        assert_eq!(first_version("no number"), None);
        assert!(parts("0.9") < parts("0.23") && parts("5.020") > parts("5.006"));
    }
}
