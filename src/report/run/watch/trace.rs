//! A line a cycle: what is accepted, worked on and given.
use std::fmt::Write as _;
use std::io::Write as _;

use super::super::RunError;
use crate::program::Loaded;
use crate::rtl::step::{Program, Stepper, WordId};
use crate::tensor::AtomicFile;

/// Bytes of a line, about.
pub(super) const LINE: u64 = 110;

const HEADER: &str = "\
# Cycle 0 accepts the first beat. in: s_axis valid, ready; out: m_axis valid, ready; lanes: row, chunk and
# micro-op that enters the lanes; scalar: row and micro-op of the scalar unit.
  cycle  in  out  lanes                                                 scalar
";

/// Words of the sequencer that a trace shows.
const SHOWN: [&str; 8] = [
    "step",
    "run_row",
    "run_chunk",
    "run_pc",
    "row_end",
    "scalar_is_busy",
    "scalar_row",
    "scalar_pc",
];

/// A trace under way: in `file` where there is one, else in `text`.
pub(super) struct Trace<'a> {
    loaded: &'a Loaded,
    words: [WordId; SHOWN.len()],
    /// s_axis_tvalid and m_axis_tready.
    inputs: [WordId; 2],
    /// Rows that each bank has finished.
    done: [u64; 2],
    pub text: String,
    pub file: Option<AtomicFile>,
}

impl<'a> Trace<'a> {
    /// # Panics
    /// When the engine has no word of that name: a trace of nothing would look like an idle engine.
    pub fn new(program: &Program, loaded: &'a Loaded, file: Option<AtomicFile>) -> Self {
        let word = |name: &str| {
            // A register's word ends in _q.
            let found = program.word(&format!("{name}_q")).or_else(|| program.word(name));
            found.unwrap_or_else(|| panic!("the engine has no word {name}"))
        };
        Self {
            loaded,
            words: SHOWN.map(|name| word(&format!("core.sequencer.{name}"))),
            inputs: ["s_axis_tvalid", "m_axis_tready"].map(word),
            done: [0; 2],
            text: HEADER.to_string(),
            file,
        }
    }

    pub fn cycle(&mut self, stepper: &Stepper, cycle: u64, is_shown: bool) -> Result<(), RunError> {
        let [step, bank, chunk, pc, row_end, busy, scalar_bank, scalar_pc] =
            self.words.map(|w| stepper.read(w, 0)[0]);
        let row = |bank: i64| 2 * self.done[bank as usize & 1] + bank as u64;
        if is_shown {
            let op = |list: &'a [String], at: i64| list.get(at as usize).map_or("", |t| t.trim());
            let lanes = match step {
                0 => "-".to_string(),
                _ => format!("{} {chunk}: {}", row(bank), op(&self.loaded.vector_text, pc)),
            };
            let scalar = match busy {
                0 => "-".to_string(),
                _ => format!("{}: {}", row(scalar_bank), op(&self.loaded.scalar_text, scalar_pc)),
            };
            let [in_valid, out_ready] = self.inputs.map(|w| stepper.read(w, 0)[0]);
            let port = |name: &str| stepper.get_uniform(stepper.program().output(name));
            let (in_ready, out_valid) = (port("s_axis_tready"), port("m_axis_tvalid"));
            let _ = writeln!(
                self.text,
                "{cycle:>7}  {in_valid}{in_ready}  {out_valid}{out_ready}   {lanes:<52}  {scalar}"
            );
        }
        if row_end == 1 {
            self.done[bank as usize & 1] += 1;
        }
        if let Some(file) = &mut self.file {
            file.write_all(self.text.as_bytes()).map_err(|e| file.refusal(&e))?;
            self.text.clear();
        }
        Ok(())
    }
}
