//! Plays recorded cycles through the printed Verilog in Icarus and in Verilator.
use super::{IVERILOG, ToolError, VERILATOR, VVP, capture};
use crate::emit::EmitError;
use crate::emit::bench::{self, Names};
use crate::engine::Engine;
use crate::rtl::verilog::{self, Dialect, Style};
use crate::simulate::record::{Layout, Record};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A simulator of Verilog.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    Icarus,
    Verilator,
}

impl Backend {
    pub fn name(self) -> &'static str {
        match self {
            Backend::Icarus => "Icarus",
            Backend::Verilator => "Verilator",
        }
    }
}

/// Why nothing was compared.
#[derive(Debug, thiserror::Error)]
pub enum LockstepError {
    #[error(transparent)]
    Tool(#[from] ToolError),
    #[error(transparent)]
    Emit(#[from] EmitError),
    #[error("{path}: {source}; expected room to write")]
    Write { path: PathBuf, source: std::io::Error },
    #[error("{backend} said nothing that could be read:\n{said}")]
    Unreadable { backend: &'static str, said: String },
}

/// The first difference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    pub cycle: usize,
    /// Output port, without `_o`.
    pub port: String,
    pub expected: String,
    pub got: String,
}

/// What one simulator found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    pub cycles: u64,
    pub mismatches: u64,
    pub first: Option<Difference>,
}

/// A compiled engine in one simulator.
#[derive(Clone, Debug)]
pub struct Compiled {
    backend: Backend,
    folder: PathBuf,
    program: PathBuf,
}

impl Compiled {
    /// Prints and compiles an engine in `folder`, which must exist.
    ///
    /// # Errors
    /// The tool is missing or refuses the text.
    pub fn new(
        engine: &Engine,
        dialect: Dialect,
        backend: Backend,
        folder: &Path,
    ) -> Result<Self, LockstepError> {
        let style = Style::new(dialect);
        let layout = Layout::of(engine);
        let mut files = vec![];
        for (name, text) in verilog::print_all(&engine.top, &style) {
            write(folder, &name, &text)?;
            files.push(name);
        }
        let names = Names {
            top: style.module_name(&engine.top.name),
            bench: style.module_name("lockstep"),
        };
        let is_sv = dialect == Dialect::SystemVerilog;
        let program = match backend {
            Backend::Icarus => {
                let text = bench::self_checking(&layout, &names, &[], &[])?;
                write(folder, "bench.v", &text)?;
                let generation = if is_sv { "-g2012" } else { "-g2005" };
                let mut args = vec![generation, "-s", &names.bench, "-o", "bench.vvp", "bench.v"];
                args.extend(files.iter().map(String::as_str));
                IVERILOG.succeed(folder, &args)?;
                VVP.find()?
            }
            Backend::Verilator => {
                let (wrapper, main) = bench::for_verilator(&layout, &names)?;
                write(folder, "bench.v", &wrapper)?;
                write(folder, "main.cpp", &main)?;
                let language = if is_sv { "1800-2017" } else { "1364-2005" };
                let mut args = vec!["--cc", "--exe", "--build", "-j", "2", "--default-language"];
                args.extend([language, "-CFLAGS", "-O0", "-Wno-fatal", "--Mdir", "build"]);
                args.extend(["--top-module", &names.bench, "-o", "bench", "main.cpp", "bench.v"]);
                args.extend(files.iter().map(String::as_str));
                VERILATOR.succeed(folder, &args)?;
                folder.join("build").join("bench")
            }
        };
        Ok(Self { backend, folder: folder.to_path_buf(), program })
    }

    pub fn backend(&self) -> Backend {
        self.backend
    }

    /// Plays a record.
    ///
    /// # Errors
    /// The simulator does not run or stops early.
    pub fn play(&self, record: &Record) -> Result<Verdict, LockstepError> {
        write(&self.folder, "cycles.hex", &record.to_hex())?;
        let name = self.backend.name();
        let mut command = Command::new(&self.program);
        command.current_dir(&self.folder);
        match self.backend {
            Backend::Icarus => command.args(["-n", "bench.vvp", "+vectors=cycles.hex"]),
            Backend::Verilator => command.arg("cycles.hex"),
        };
        let said = capture(name, &mut command)?;
        let verdict = read(&said.text);
        match verdict {
            Some(v) if v.cycles == record.cycles() as u64 => Ok(v),
            _ => Err(LockstepError::Unreadable { backend: name, said: said.text }),
        }
    }
}

fn write(folder: &Path, name: &str, text: &str) -> Result<(), LockstepError> {
    let path = folder.join(name);
    std::fs::write(&path, text).map_err(|source| LockstepError::Write { path, source })
}

/// Reads the lines that both benches print.
fn read(text: &str) -> Option<Verdict> {
    let mut first = None;
    let mut total = None;
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("MISMATCH: cycle ") {
            first = first.or_else(|| difference(rest));
        }
        let rest = line.strip_prefix("PASS: ").or_else(|| line.strip_prefix("FAIL: "));
        if let Some(rest) = rest.filter(|r| r.ends_with(" mismatches")) {
            let numbers: Vec<u64> =
                rest.split_whitespace().filter_map(|w| w.parse().ok()).collect();
            if let [cycles, _, mismatches] = numbers[..] {
                total = Some((cycles, mismatches));
            }
        }
    }
    let (cycles, mismatches) = total?;
    Some(Verdict { cycles, mismatches, first })
}

fn difference(rest: &str) -> Option<Difference> {
    let (cycle, rest) = rest.split_once(": ")?;
    let (port, rest) = rest.split_once(": expected ")?;
    let (expected, got) = rest.split_once(", got ")?;
    Some(Difference {
        cycle: cycle.parse().ok()?,
        port: port.to_string(),
        expected: expected.to_string(),
        got: got.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_are_read() {
        let text = "MISMATCH: cycle 7: m_axis_tdata: expected 0a, got 0b\n\
                    FAIL: 90 cycles of 1 files, 1 mismatches\n";
        let v = read(text).expect("a verdict");
        assert_eq!((v.cycles, v.mismatches), (90, 1));
        let first = v.first.expect("a difference");
        assert_eq!((first.cycle, first.port.as_str()), (7, "m_axis_tdata"));
        assert_eq!((first.expected.as_str(), first.got.as_str()), ("0a", "0b"));
        assert_eq!(read("nothing"), None);
    }
}
