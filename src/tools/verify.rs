//! Checks an engine against itself: recorded cycles in Icarus and Verilator, and the batched simulator.
use super::lockstep::{Backend, Compiled, Difference, LockstepError, Verdict};
use crate::emit::cases::Case;
use crate::engine::Engine;
use crate::program::library;
use crate::rtl::step::Mode;
use crate::rtl::verilog::Dialect;
use crate::simulate::record::{Record, Recorder};
use crate::simulate::{Simulator, Stall};
use std::path::Path;

/// What to compare.
#[derive(Clone, Debug)]
pub struct Options {
    /// Rows of each program and pair of formats, at least 1.
    pub rows: usize,
    /// Probability of a pause in a cycle, on each side.
    pub stall: f64,
    pub seed: u64,
    pub dialect: Dialect,
    pub backends: Vec<Backend>,
    /// Assert that every word of the simulator stays in its interval; slower.
    pub checks_intervals: bool,
}

/// What one simulator compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Count {
    pub tool: &'static str,
    /// Cycles whose outputs and handshakes were compared; 0 where only results were.
    pub cycles: u64,
    pub rows: u64,
    pub mismatches: u64,
}

/// What was compared and what differed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Pairs of a program and a row length that ran.
    pub cases: usize,
    /// Programs and formats that the engine cannot hold, with the reason.
    pub refused: Vec<String>,
    pub counts: Vec<Count>,
    /// The first mismatch, in words.
    pub first: Option<String>,
}

impl Report {
    pub fn is_clean(&self) -> bool {
        self.cases > 0 && self.counts.iter().all(|c| c.mismatches == 0)
    }

    /// A line a simulator.
    pub fn table(&self) -> String {
        let mut text =
            format!("{:<18}{:>10}{:>8}{:>12}\n", "compared", "cycles", "rows", "mismatches");
        for c in &self.counts {
            let cycles = if c.cycles == 0 { "-".to_string() } else { c.cycles.to_string() };
            text += &format!("{:<18}{cycles:>10}{:>8}{:>12}\n", c.tool, c.rows, c.mismatches);
        }
        text
    }
}

/// Cases with the cycles of one engine that runs them one after the other.
pub struct Recorded {
    pub cases: Vec<Case>,
    pub refused: Vec<String>,
    pub record: Record,
    /// Output codes of each case.
    pub outputs: Vec<Vec<i32>>,
}

/// Row lengths around the multiples of L up to 4L + 1, and a long one.
fn lengths(engine: &Engine) -> Vec<u32> {
    let l = engine.config.lanes;
    let long = 40 * l + 3;
    let mut all = vec![long, 1, 4 * l + 1, l + 1, 2 * l, l, 2, 3 * l - 1, 2 * l + 1, 4 * l, l - 1];
    all.extend([3 * l, 3 * l + 1, 2 * l - 1, 4 * l - 1, 3]);
    let mut kept: Vec<u32> = vec![];
    for n in all {
        let n = n.min(engine.config.n_max);
        if n > 0 && !kept.contains(&n) {
            kept.push(n);
        }
    }
    kept
}

/// Cases for every shipped program and pair of formats that the engine can hold: (cases, refusals).
pub fn cases(engine: &Engine, rows: usize, seed: u64) -> (Vec<Case>, Vec<String>) {
    const ROWS: usize = 3;
    let config = &engine.config;
    let lengths = lengths(engine);
    let (mut all, mut refused) = (vec![], vec![]);
    let mut at = 0;
    for &(name, _) in library::SHIPPED {
        let Some(program) = library::shipped(name) else { continue };
        for &input in &config.input_formats {
            for &output in &config.output_formats {
                let mut left = rows;
                let mut reason = None;
                let start = at;
                // The long length comes first; then each program goes on in the list where the last stopped.
                let rest =
                    (0..lengths.len() - 1).map(|k| lengths[1 + (start + k) % (lengths.len() - 1)]);
                for n in std::iter::once(lengths[0]).chain(rest.cycle().take(4 * rows)) {
                    if left == 0 {
                        break;
                    }
                    let seed = seed.wrapping_mul(1000).wrapping_add(all.len() as u64);
                    let n_rows = left.min(ROWS);
                    match Case::new(engine, &program, n, n_rows, (input, output), seed) {
                        Ok(case) => {
                            left -= n_rows;
                            all.push(case);
                        }
                        Err(e) => reason = Some(e.to_string()),
                    }
                    at += 1;
                }
                refused.extend(reason.map(|r| format!("{name} {input} to {output}: {r}")));
            }
        }
    }
    (all, refused)
}

/// Records the cases of [`cases`]; every third one also meets a row of a wrong length and a reset.
pub fn record(engine: &Engine, simulator: &Simulator, options: &Options) -> Recorded {
    let (cases, refused) = cases(engine, options.rows, options.seed);
    let mut recorder = Recorder::new(engine, simulator, options.seed);
    if options.checks_intervals {
        recorder.check_intervals();
    }
    let mut outputs = vec![];
    for (k, case) in cases.iter().enumerate() {
        recorder.start_case(k);
        outputs.push(case.play(&mut recorder, options.stall, k % 3 == 2));
    }
    Recorded { cases, refused, record: recorder.finish(), outputs }
}

/// Compares an engine in every way. `folder` must exist and takes the tools' files.
///
/// # Errors
/// A tool is missing or fails.
pub fn verify(engine: &Engine, options: &Options, folder: &Path) -> Result<Report, LockstepError> {
    for backend in &options.backends {
        match backend {
            Backend::Icarus => super::IVERILOG.find().and(super::VVP.find())?,
            Backend::Verilator => super::VERILATOR.find()?,
        };
    }
    let simulator = Simulator::new(engine);
    let recorded = record(engine, &simulator, options);
    let rows: usize = recorded.cases.iter().map(|c| c.rows().n_rows()).sum();
    let mut report = Report {
        cases: recorded.cases.len(),
        refused: recorded.refused.clone(),
        ..Report::default()
    };
    for &backend in &options.backends {
        let inside = folder.join(backend.name().to_lowercase());
        std::fs::create_dir_all(&inside)
            .map_err(|source| LockstepError::Write { path: inside.clone(), source })?;
        let compiled = Compiled::new(engine, options.dialect, backend, &inside)?;
        let Verdict { cycles, mismatches, first } = compiled.play(&recorded.record)?;
        let words = first.map(|d| describe(&recorded, &d, backend.name()));
        report.first = report.first.or(words);
        let tool = backend.name();
        report.counts.push(Count { tool, cycles, rows: rows as u64, mismatches });
    }
    let (mismatches, first) = compare_batched(&simulator, &recorded);
    let tool = "batched simulator";
    report.counts.push(Count { tool, cycles: 0, rows: rows as u64, mismatches });
    report.first = report.first.or(first);
    Ok(report)
}

/// Runs the cases in many streams, results only, and compares the codes.
fn compare_batched(simulator: &Simulator, recorded: &Recorded) -> (u64, Option<String>) {
    let (mut mismatches, mut first) = (0, None);
    for (case, wanted) in recorded.cases.iter().zip(&recorded.outputs) {
        let rows = case.rows();
        let streams = rows.n_rows();
        let mut session = simulator.session(&case.loaded, &case.parameters, streams, Mode::Results);
        let mut out = vec![0; wanted.len()];
        session.run(&rows, &mut Stall::none(), &mut out);
        for (k, (&got, &want)) in out.iter().zip(wanted).enumerate() {
            if got != want {
                mismatches += 1;
                first.get_or_insert_with(|| {
                    let (row, element) = (k / rows.row_len, k % rows.row_len);
                    format!(
                        "batched simulator: {}, row {row}, element {element}: expected {want}, got {got}",
                        case.title()
                    )
                });
            }
        }
    }
    (mismatches, first)
}

/// A mismatch by its row, element, cycle and word.
fn describe(recorded: &Recorded, d: &Difference, tool: &str) -> String {
    let Some(place) = recorded.record.places.get(d.cycle) else {
        return format!("{tool}: cycle {}, {}", d.cycle, d.port);
    };
    let wire = recorded.record.layout.outputs.iter().find(|w| w.name == d.port);
    let lane = wire.map_or(0, |w| lane_of(&d.expected, &d.got, w.width));
    format!(
        "{tool}: {}, row {}, element {}, cycle {}, word {}: expected {}, got {}",
        recorded.cases.get(place.case).map_or(String::new(), Case::title),
        place.row,
        place.element + lane,
        d.cycle,
        d.port,
        d.expected,
        d.got
    )
}

/// The lowest lane in which two hexadecimal texts differ.
fn lane_of(expected: &str, got: &str, width: u32) -> usize {
    let pairs = expected.chars().rev().zip(got.chars().rev()).enumerate();
    for (digit, (a, b)) in pairs {
        let bits = a.to_digit(16).unwrap_or(0) ^ b.to_digit(16).unwrap_or(15);
        if a != b && bits != 0 {
            return (digit * 4 + bits.trailing_zeros() as usize) / width.max(1) as usize;
        }
    }
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lane_that_differs_is_found() {
        assert_eq!(lane_of("00ff", "00fe", 8), 0);
        assert_eq!(lane_of("00ff", "01ff", 8), 1);
        assert_eq!(lane_of("0", "8", 1), 3);
        assert_eq!(lane_of("0000", "xx00", 8), 1);
    }
}
