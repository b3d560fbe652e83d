//! The first cycles of a run, word by word: a trace in text and a VCD.
//!
//! Cycle 0 is the one in which the first beat is offered and accepted, after loading. The same cycles
//! are counted by [`super::cycles`].
mod dump;
mod trace;

use std::fmt::Write as _;
use std::ops::Range;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::{Event, Job, OnEvent, RunError, input};
use crate::engine::Engine;
use crate::rtl::step::Mode;
use crate::simulate::{Rows, Simulator, Stall};
use crate::tensor::AtomicFile;
use dump::Dump;
use trace::Trace;

/// Cycles of a trace that is printed, and of a file.
const PRINTED: u64 = 200;
const FILED: u64 = 4096;
/// Bytes from which a file is announced before it is written.
const LARGE: u64 = 64 << 20;

/// What to show, and where it goes.
#[derive(Clone, Debug, Default)]
pub struct Watch {
    pub trace: Option<TraceTo>,
    pub vcd: Option<PathBuf>,
    /// Cycles that are shown; a few by default.
    pub cycles: Option<Range<u64>>,
}

/// Where a trace goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TraceTo {
    /// Into [`Watched::trace`], for the caller to print.
    Text,
    File(PathBuf),
}

/// What was shown.
#[derive(Clone, Debug, Default)]
pub struct Watched {
    /// The trace, where it was asked for as text.
    pub trace: String,
    /// Cycles that are in the trace and in the VCD.
    pub trace_cycles: Option<Range<u64>>,
    pub vcd_cycles: Option<Range<u64>>,
    pub trace_file: Option<PathBuf>,
    pub vcd_file: Option<PathBuf>,
}

/// Files of a watch under way.
pub(super) struct Files {
    trace: Option<AtomicFile>,
    vcd: Option<AtomicFile>,
}

impl Watch {
    pub fn is_asked(&self) -> bool {
        self.trace.is_some() || self.vcd.is_some()
    }

    pub fn trace_path(&self) -> Option<&Path> {
        match &self.trace {
            Some(TraceTo::File(path)) => Some(path),
            _ => None,
        }
    }

    /// Opens every file, so that one that cannot be written is refused before the work.
    pub(super) fn open(&self) -> Result<Files, RunError> {
        let trace = self.trace_path().map(AtomicFile::create).transpose()?;
        let vcd = self.vcd.as_deref().map(AtomicFile::create).transpose()?;
        Ok(Files { trace, vcd })
    }

    /// (cycles of the trace, cycles of the VCD) of a run of `total` cycles.
    fn ranges(&self, total: u64) -> Result<(Range<u64>, Range<u64>), RunError> {
        if let Some(asked) = self.cycles.as_ref().filter(|c| c.start >= total) {
            return Err(RunError::request(
                "--watch",
                format!("cycles {} to {}", asked.start, asked.end - 1),
                format!("cycles of the run, which has {total}"),
                "ask for earlier ones",
            ));
        }
        let shown = |is_asked: bool, default: u64| match (is_asked, &self.cycles) {
            (false, _) => 0..0,
            (true, None) => 0..default.min(total),
            (true, Some(c)) => c.start..c.end.min(total),
        };
        let is_text = self.trace == Some(TraceTo::Text);
        let trace = shown(self.trace.is_some(), if is_text { PRINTED } else { FILED });
        Ok((trace, shown(self.vcd.is_some(), FILED)))
    }
}

impl Watched {
    /// (what, where, cycles) of each thing that was shown.
    fn shown(&self) -> impl Iterator<Item = (&'static str, Option<&Path>, &Range<u64>)> {
        let trace = self.trace_cycles.as_ref().map(|c| ("trace", self.trace_file.as_deref(), c));
        let vcd = self.vcd_cycles.as_ref().map(|c| ("vcd", self.vcd_file.as_deref(), c));
        [trace, vcd].into_iter().flatten()
    }

    pub fn to_json(&self) -> Value {
        let one = |(what, path, c): (&str, Option<&Path>, &Range<u64>)| {
            let path = path.map(|p| p.display().to_string());
            (what.to_string(), json!({"file": path, "cycles": [c.start, c.end]}))
        };
        Value::Object(self.shown().map(one).collect())
    }

    /// What was shown and which cycles it covers, and the trace where it was asked for as text.
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        for (what, path, c) in self.shown() {
            let path = path.map_or("below".to_string(), |p| p.display().to_string());
            let _ = writeln!(text, "{what:<10}{path}, cycles {} to {}", c.start, c.end - 1);
        }
        if !self.trace.is_empty() {
            text.push('\n');
            text += &self.trace;
        }
        text
    }
}

impl Job<'_> {
    /// Runs the first rows on one stream with every word evaluated, and puts nothing at its place yet.
    pub(super) fn watch(
        &self,
        engine: &Engine,
        simulator: &Simulator,
        watch: &Watch,
        files: Files,
        total: u64,
        on_event: &OnEvent<'_>,
    ) -> Result<(Watched, Files), RunError> {
        let (traced, dumped) = watch.ranges(total)?;
        let end = traced.end.max(dumped.end);
        let n = self.plan.input.row_len();
        // A cycle accepts a beat at most; the row after the last one belongs to its cycles as well.
        let elements = end.saturating_mul(engine.config.lanes.into());
        let rows = usize::try_from(elements).unwrap_or(usize::MAX) / n + 2;
        let rows = rows.min(self.plan.input.n_rows());
        let block = input::read(self.plan, 0, rows)?;
        let quantised = self.quantiser.quantise(&block, n)?;
        let mut session = simulator.session(&self.loaded, &self.parameters, 1, Mode::Full);
        let keep = (!block.keep.is_empty()).then_some(&block.keep[..]);
        let k = (!quantised.k.is_empty()).then_some(&quantised.k[..]);
        let rows = Rows { row_len: n, x: &quantised.codes, keep, k };
        let mut out = vec![0; quantised.codes.len()];

        let mut trace = Trace::new(simulator.program(), &self.loaded, files.trace);
        let dump = files.vcd.map(|file| Dump::create(file, engine, simulator.program()));
        let mut dump = dump.transpose()?;
        announce(watch, &traced, dump.as_ref().map(|d| (d, &dumped)), on_event);
        let mut failed = None;
        session.run_watched(&rows, &mut Stall::none(), &mut out, &mut |cycle, stepper| {
            let shown = trace.cycle(stepper, cycle, traced.contains(&cycle));
            let dump = dump.as_mut().filter(|_| dumped.contains(&cycle));
            let dumped = dump.map_or(Ok(()), |d| d.cycle(stepper, cycle));
            failed = shown.and(dumped).err();
            failed.is_none() && cycle + 1 < end
        });
        if let Some(e) = failed {
            return Err(e);
        }
        let vcd = dump.map(|d| d.finish(dumped.end)).transpose()?;
        let is_text = watch.trace == Some(TraceTo::Text);
        let watched = Watched {
            trace: if is_text { trace.text } else { String::new() },
            trace_cycles: watch.trace.is_some().then_some(traced),
            vcd_cycles: watch.vcd.is_some().then_some(dumped),
            trace_file: watch.trace_path().map(Path::to_path_buf),
            vcd_file: watch.vcd.clone(),
        };
        Ok((watched, Files { trace: trace.file, vcd }))
    }
}

impl Files {
    /// Puts every file at its place.
    pub(super) fn finish(self) -> Result<(), RunError> {
        for file in [self.trace, self.vcd].into_iter().flatten() {
            file.finish()?;
        }
        Ok(())
    }
}

/// Says what a large file will take and how to bound it.
fn announce(
    watch: &Watch,
    traced: &Range<u64>,
    dump: Option<(&Dump, &Range<u64>)>,
    on_event: &OnEvent<'_>,
) {
    let one = |path: &Path, cycles: &Range<u64>, bytes: u64| {
        if bytes > LARGE {
            on_event(Event::Note(format!(
                "{}: about {} MB for cycles {} to {}; --watch FIRST..LAST takes fewer",
                path.display(),
                bytes / 1_000_000,
                cycles.start,
                cycles.end - 1
            )));
        }
    };
    let length = |c: &Range<u64>| c.end - c.start;
    if let Some(path) = watch.trace_path() {
        one(path, traced, length(traced).saturating_mul(trace::LINE));
    }
    if let (Some(path), Some((dump, cycles))) = (&watch.vcd, dump) {
        one(path, cycles, length(cycles).saturating_mul(dump.bytes_a_cycle()));
    }
}
