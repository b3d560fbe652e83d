//! The first rows of a tensor, word by word: a cycle trace and a VCD.
use std::fmt::Write as _;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

use vcd::{IdCode, TimescaleUnit, Value};

use super::{Job, RunError, input};
use crate::program::Loaded;
use crate::rtl::step::{Mode, Program, Stepper, WordId};
use crate::simulate::{Rows, Simulator, Stall};

/// Most elements of the rows that are watched; a row is whole.
const WATCHED: usize = 8192;
/// Most rows that are watched.
const ROWS: usize = 4;

/// What to watch.
#[derive(Clone, Debug, Default)]
pub struct Watch {
    /// Cycles of the trace, counted from the first accepted beat.
    pub trace: Option<Range<u64>>,
    pub vcd: Option<PathBuf>,
}

/// What was seen.
#[derive(Clone, Debug, Default)]
pub struct Watched {
    pub trace: String,
    pub rows: usize,
    pub cycles: u64,
    /// Bytes of the VCD.
    pub vcd_bytes: u64,
}

impl Watched {
    /// The trace, and what the VCD holds.
    pub fn to_text(&self, vcd: Option<&Path>) -> String {
        let mut text = format!("\nwatched   {} rows, {} cycles\n", self.rows, self.cycles);
        if let Some(path) = vcd {
            let _ = writeln!(text, "vcd       {}, {} bytes", path.display(), self.vcd_bytes);
        }
        text + &self.trace
    }
}

impl Job<'_> {
    /// Runs the first rows on one stream with every word evaluated.
    pub(super) fn watch(&self, simulator: &Simulator, watch: &Watch) -> Result<Watched, RunError> {
        let n = self.plan.input.row_len();
        let count = (WATCHED / n).clamp(1, ROWS).min(self.plan.input.n_rows());
        let block = input::read(self.plan, 0, count)?;
        let quantised = self.quantiser.quantise(&block, n)?;
        let mut session = simulator.session(&self.loaded, &self.parameters, 1, Mode::Full);
        let keep = (!block.keep.is_empty()).then_some(&block.keep[..]);
        let k = (!quantised.k.is_empty()).then_some(&quantised.k[..]);
        let rows = Rows { row_len: n, x: &quantised.codes, keep, k };
        let mut out = vec![0; quantised.codes.len()];
        let mut watched = Watched { rows: count, ..Watched::default() };
        let mut trace = Trace::new(simulator.program(), &self.loaded);
        let mut dump = (watch.vcd.as_deref())
            .map(|path| Dump::create(path, simulator.program()))
            .transpose()?;
        let mut failed = None;
        session.run_watched(&rows, &mut Stall::none(), &mut out, &mut |cycle, stepper| {
            watched.cycles = cycle + 1;
            if let Some(range) = &watch.trace {
                trace.cycle(stepper, cycle, range.contains(&cycle), &mut watched.trace);
            }
            if let Some(Err(e)) = dump.as_mut().map(|d| d.cycle(stepper, cycle)) {
                failed.get_or_insert(e);
            }
        });
        if let (Some(dump), Some(path)) = (dump, &watch.vcd) {
            let kept = failed.map_or(Ok(()), Err).and_then(|()| dump.finish(path));
            watched.vcd_bytes = kept.map_err(|e| refused(path, &e))?;
        }
        Ok(watched)
    }
}

fn refused(path: &Path, e: &io::Error) -> RunError {
    let place = path.display().to_string();
    RunError::request(place, e.to_string(), "a file to write", "check the folder and its room")
}

/// A line a cycle: what is accepted, worked on and given.
struct Trace<'a> {
    loaded: &'a Loaded,
    words: Vec<Option<WordId>>,
    /// Rows that each bank has finished.
    done: [u64; 2],
}

/// Words that a trace shows.
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

impl<'a> Trace<'a> {
    fn new(program: &Program, loaded: &'a Loaded) -> Self {
        let words = SHOWN.map(|name| {
            // A register's word ends in _q.
            let word = |end: &str| program.word(&format!("core.sequencer.{name}{end}"));
            word("_q").or_else(|| word(""))
        });
        Self { loaded, words: words.to_vec(), done: [0; 2] }
    }

    fn cycle(&mut self, stepper: &Stepper, cycle: u64, is_shown: bool, text: &mut String) {
        let word = |i: usize| self.words[i].map_or(0, |w| stepper.read(w, 0)[0]);
        let [step, bank, chunk, pc, row_end, busy, scalar_bank, scalar_pc] =
            std::array::from_fn(word);
        let row = |bank: i64| 2 * self.done[bank as usize & 1] + bank as u64;
        if is_shown {
            let op = |list: &'a [String], at: i64| list.get(at as usize).map_or("", |t| t.trim());
            let lanes = match step {
                0 => "-".to_string(),
                _ => format!("{} chunk {chunk}: {}", row(bank), op(&self.loaded.vector_text, pc)),
            };
            let scalar = match busy {
                0 => "-".to_string(),
                _ => format!("{}: {}", row(scalar_bank), op(&self.loaded.scalar_text, scalar_pc)),
            };
            let port = |name: &str| {
                let value = stepper.program().word(name).map(|w| stepper.read(w, 0)[0]);
                if value == Some(1) { '1' } else { '0' }
            };
            let out = stepper.get_uniform(stepper.program().output("m_axis_tvalid"));
            let ready = stepper.get_uniform(stepper.program().output("s_axis_tready"));
            let _ = writeln!(
                text,
                "{cycle:>7}  in {}{ready}  out {out}{}  lanes {lanes:<44}  scalar {scalar}",
                port("s_axis_tvalid"),
                port("m_axis_tready"),
            );
        }
        if row_end == 1 {
            self.done[bank as usize & 1] += 1;
        }
    }
}

/// One word of a dump: each lane is a variable.
struct Dumped {
    word: WordId,
    bits: u32,
    ids: Vec<IdCode>,
    last: Vec<Option<i64>>,
}

/// A VCD under way in a file without a name.
struct Dump {
    file: tempfile::NamedTempFile,
    writer: vcd::Writer<io::BufWriter<File>>,
    words: Vec<Dumped>,
}

impl Dump {
    fn create(path: &Path, program: &Program) -> Result<Self, RunError> {
        let folder = path.parent().filter(|p| !p.as_os_str().is_empty());
        let file = tempfile::NamedTempFile::new_in(folder.unwrap_or(Path::new(".")));
        let file = file.map_err(|e| refused(path, &e))?;
        let to = io::BufWriter::new(file.reopen().map_err(|e| refused(path, &e))?);
        let mut dump = Self { file, writer: vcd::Writer::new(to), words: vec![] };
        dump.header(program).map_err(|e| refused(path, &e))?;
        Ok(dump)
    }

    /// Instances are scopes; a lane k of a word is `word_k`.
    fn header(&mut self, program: &Program) -> io::Result<()> {
        self.writer.timescale(1, TimescaleUnit::NS)?;
        self.writer.add_module("top")?;
        let mut order: Vec<usize> = (0..program.words().len()).collect();
        let scope_of = |i: usize| {
            let parts: Vec<&str> = program.words()[i].name.split('.').collect();
            parts[..parts.len() - 1].iter().map(|p| clean(p)).collect::<Vec<_>>()
        };
        order.sort_by_key(|&i| (scope_of(i), i));
        let mut open: Vec<String> = vec![];
        for i in order {
            let scope = scope_of(i);
            let common = open.iter().zip(&scope).take_while(|(a, b)| a == b).count();
            for _ in common..open.len() {
                self.writer.upscope()?;
            }
            for name in &scope[common..] {
                self.writer.add_module(name)?;
            }
            open = scope;
            let info = &program.words()[i];
            let name = clean(info.name.rsplit('.').next().unwrap_or_default());
            let bits = info.ty.width().max(1);
            let mut ids = vec![];
            for lane in 0..info.count {
                let name = if info.count > 1 { format!("{name}_{lane}") } else { name.clone() };
                ids.push(self.writer.add_wire(bits, &name)?);
            }
            let last = vec![None; ids.len()];
            self.words.push(Dumped { word: WordId(i), bits, ids, last });
        }
        for _ in 0..open.len() + 1 {
            self.writer.upscope()?;
        }
        self.writer.enddefinitions()
    }

    fn cycle(&mut self, stepper: &Stepper, cycle: u64) -> io::Result<()> {
        self.writer.timestamp(cycle)?;
        for word in &mut self.words {
            let values = stepper.read(word.word, 0);
            for ((&value, &id), last) in values.iter().zip(&word.ids).zip(&mut word.last) {
                if last.replace(value) == Some(value) {
                    continue;
                }
                let bit = |b: u32| Value::from(value >> b.min(63) & 1 == 1);
                match word.bits {
                    1 => self.writer.change_scalar(id, bit(0))?,
                    bits => self.writer.change_vector(id, (0..bits).rev().map(bit))?,
                }
            }
        }
        Ok(())
    }

    fn finish(mut self, path: &Path) -> io::Result<u64> {
        self.writer.flush()?;
        let bytes = self.file.as_file().metadata()?.len();
        self.file.persist(path).map_err(|e| e.error)?;
        Ok(bytes)
    }
}

/// Only letters, digits and underscores.
fn clean(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect()
}
