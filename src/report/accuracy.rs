//! The accuracy table: every configuration, program and format over named populations of rows.
use std::fmt::Write;
use std::path::{Path, PathBuf};

use rayon::prelude::*;

use super::error::RunError;
use super::populations::{self, Case, Population};
use super::{Request, run_tensor};
use crate::config::{self, HwConfig};
use crate::engine::Engine;
use crate::num::IntFormat;
use crate::num::error_metrics::ErrorMetrics;
use crate::program::library;
use crate::tensor::TensorError;

const EDGE: &str = include_str!("../../hw_configs/edge.toml");
const EDGE16: &str = include_str!("../../hw_configs/edge16.toml");
const SERVER: &str = include_str!("../../hw_configs/server.toml");
const LONG: &str = include_str!("../../hw_configs/long.toml");

/// Configurations that the table has lines for.
pub const CONFIGS: [&str; 5] = ["edge", "edge_newton", "edge16", "server", "long"];

/// Largest |code - exact| that a result may have, in output LSB.
pub const MAX_ERROR_LSB: f64 = 1.0;
/// Most that the SQNR of an 8-bit output may lie below the ideal operator's.
pub const SQNR_GAP_DB: f64 = 0.1;

/// Row lengths of the adversarial rows.
const LENGTHS: [usize; 4] = [7, 100, 768, 4096];
const LENGTHS_LONG: [usize; 2] = [100, 131_072];

/// One line of the table, before it is measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// A shipped configuration, or `edge_newton`: edge with a Newton step and a table of half the size.
    pub config: &'static str,
    pub program: &'static str,
    pub input: IntFormat,
    pub output: IntFormat,
    pub population: Population,
}

/// A line as measured.
#[derive(Clone, Debug)]
pub struct Measured {
    pub entry: Entry,
    pub has_newton: bool,
    pub metrics: ErrorMetrics,
    /// The tensor, row and element that have the largest error.
    pub worst: String,
    /// Tensors measured.
    pub cases: usize,
    /// Tensors that are refused, with the reason: not finite, or past what the engine holds.
    pub refused: Vec<String>,
}

/// Folders of tensors that are not part of the crate.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    pub public: Option<PathBuf>,
    pub stress: Option<PathBuf>,
}

/// Every line of the table in its order; populations without a source are left out.
pub fn entries(sources: &Sources) -> Vec<Entry> {
    use IntFormat as F;
    let with = |bits, is_signed| F { bits, is_signed };
    let softmax = ["softmax", "softmax_stored"];
    let norms = ["layernorm", "layernorm_affine", "rmsnorm", "rmsnorm_gamma"];
    let mut all = vec![];
    for (config, input, bits) in [
        ("edge", F::S8, 8),
        ("edge_newton", F::S8, 8),
        ("edge16", F::S8, 8),
        ("edge16", F::S16, 8),
        ("edge16", F::S16, 16),
        ("server", F::S8, 8),
        ("long", F::S16, 8),
    ] {
        let populations = [
            (Population::Public, sources.public.is_some() && config != "long"),
            (Population::Normal, true),
            (Population::RowScale, true),
            (Population::Stress, sources.stress.is_some()),
            (Population::Adversarial, true),
        ];
        for program in softmax.into_iter().chain(norms) {
            let has = match (config, program) {
                ("edge_newton", p) => norms.contains(&p),
                ("edge16", "softmax_stored") => bits == 8,
                ("server", p) => p == "softmax_stored",
                (_, p) => p != "softmax_stored",
            };
            let output = with(bits, !softmax.contains(&program));
            let there = populations.iter().filter(|(_, is_there)| has && *is_there);
            let entry = |&(population, _)| Entry { config, program, input, output, population };
            all.extend(there.map(entry));
        }
    }
    all
}

fn configuration(name: &str) -> Result<HwConfig, RunError> {
    let text = match name {
        "edge16" => EDGE16,
        "server" => SERVER,
        "long" => LONG,
        _ => EDGE,
    };
    let wrong = |e: config::ConfigErrors| {
        RunError::request(name, e.to_string(), "a shipped configuration", "reinstall mive")
    };
    let mut config = config::parse(text, name).map_err(wrong)?;
    if name == "edge_newton" {
        config.newton_steps = 1;
        config.rsqrt_segments = 16;
    }
    Ok(config)
}

impl Entry {
    fn is_softmax(&self) -> bool {
        self.program.starts_with("softmax")
    }

    fn cases(&self, sources: &Sources, folder: &Path) -> Result<Vec<Case>, RunError> {
        let operator = self.program.split('_').next().unwrap_or_default();
        let described = |from: &Option<PathBuf>| match from {
            Some(from) => populations::described(from, operator),
            None => Ok(vec![]),
        };
        let is_long = self.config == "long";
        let lengths: &[usize] = if is_long { &LENGTHS_LONG } else { &LENGTHS };
        match self.population {
            Population::Public => described(&sources.public),
            Population::Stress => described(&sources.stress),
            Population::Normal => populations::normal(folder, self.is_softmax(), is_long),
            Population::RowScale => populations::row_scaled(folder, self.is_softmax(), is_long),
            Population::Adversarial => {
                populations::adversarial(folder, self.is_softmax(), self.input, lengths)
            }
        }
    }

    fn request(&self, case: &Case) -> Request {
        let program = library::shipped(self.program);
        // A norm without parameters is asked for as a user does, who may be given the one with them.
        let is_operator = matches!(self.program, "layernorm" | "rmsnorm");
        let has_gamma = program.as_ref().is_some_and(|p| p.has_gamma);
        let has_beta = program.as_ref().is_some_and(|p| p.has_beta);
        Request {
            operator: self.program.to_string(),
            program: program.filter(|_| !is_operator),
            input: case.x.clone(),
            gamma: case.gamma.clone().filter(|_| has_gamma),
            beta: case.beta.clone().filter(|_| has_beta),
            keep: case.keep.clone().filter(|_| self.is_softmax()),
            eps: case.eps.filter(|_| !self.is_softmax()),
            input_scale: case.input_scale,
            row_scale: case.row_scale,
            in_format: Some(self.input),
            out_format: Some(self.output),
            jobs: 1,
            ..Request::default()
        }
    }
}

/// Measures one line. Rows longer than the engine takes are left out.
///
/// # Errors
/// A tensor that cannot be read or written; an engine's refusal is part of the line.
pub fn measure(entry: &Entry, sources: &Sources) -> Result<Measured, RunError> {
    let config = configuration(entry.config)?;
    let folder = tempfile::tempdir().map_err(|e| {
        RunError::request("temporary folder", e.to_string(), "room for rows", "set TMPDIR")
    })?;
    let engine = Engine::describe(&config);
    let mut measured = Measured {
        entry: entry.clone(),
        has_newton: config.newton_steps > 0,
        metrics: ErrorMetrics::new(entry.output, 0),
        worst: String::new(),
        cases: 0,
        refused: vec![],
    };
    for case in entry.cases(sources, folder.path())? {
        if case.row_len > config.n_max as usize {
            continue;
        }
        let figures = match run_tensor(&entry.request(&case), &engine, &|_| ()) {
            Ok(figures) => figures,
            Err(e @ (RunError::Bind(_) | RunError::Tensor(TensorError::NonFinite { .. }))) => {
                measured.refused.push(format!("{}: {e}", case.name));
                continue;
            }
            Err(e) => return Err(e),
        };
        measured.cases += 1;
        let largest = measured.metrics.max_error_lsb().map_or(-1.0, |(e, _)| e);
        if let Some((_, at)) = figures.held.max_error_lsb().filter(|&(e, _)| e > largest) {
            let n = case.row_len as u64;
            measured.worst = format!("{} row {} element {}", case.name, at / n, at % n);
        }
        measured.metrics.merge(&figures.held);
    }
    Ok(measured)
}

/// Measures lines on every core, in order.
///
/// # Errors
/// That of the first line that has one.
pub fn measure_all(
    entries: &[Entry],
    sources: &Sources,
    on_line: &(dyn Fn(&Entry) + Sync),
) -> Result<Vec<Measured>, RunError> {
    let one = |entry: &Entry| {
        let measured = measure(entry, sources);
        on_line(entry);
        measured
    };
    entries.par_iter().map(one).collect()
}

impl Measured {
    /// Least share of correctly rounded results that the line owes; None without such a target.
    pub fn share_owed(&self) -> Option<f64> {
        let e = &self.entry;
        let is_quoted = matches!(e.population, Population::Public | Population::Normal);
        if !is_quoted || e.output.bits != 8 {
            return None;
        }
        Some(match e.program {
            p if p.starts_with("softmax") => 0.998,
            "layernorm_affine" | "rmsnorm_gamma" => 0.983,
            _ if self.has_newton => 0.999,
            _ => 0.993,
        })
    }

    pub fn max_error(&self) -> f64 {
        self.metrics.max_error_lsb().map_or(0.0, |(e, _)| e)
    }

    pub fn share(&self) -> f64 {
        self.metrics.correctly_rounded_share().unwrap_or(1.0)
    }

    /// Decibels below the ideal operator; None where either is not a number.
    pub fn sqnr_gap(&self) -> Option<f64> {
        Some(self.metrics.ideal_sqnr_db()? - self.metrics.sqnr_db()?)
    }

    /// (error, share, SQNR): whether each target is met; None where the line owes none.
    pub fn met(&self) -> (bool, Option<bool>, Option<bool>) {
        let owed = self.share_owed();
        let gap = owed.and(self.sqnr_gap()).map(|gap| gap <= SQNR_GAP_DB);
        (self.max_error() <= MAX_ERROR_LSB, owed.map(|s| self.share() >= s), gap)
    }

    /// The line as text, without its end.
    pub fn line(&self) -> String {
        let e = &self.entry;
        let number =
            |v: Option<f64>, digits: usize| v.map_or("-".into(), |v| format!("{v:.digits$}"));
        let met = |v: Option<bool>| v.map_or("-", |v| if v { "yes" } else { "no" });
        let (error, share, gap) = self.met();
        let m = &self.metrics;
        let mut line = format!("{},{},{},{}", e.config, e.program, e.input, e.output);
        let _ = write!(
            line,
            ",{},{},{},{},{},{},{},{},{},{},{},{},{},{}",
            e.population.name(),
            self.cases,
            self.refused.len(),
            m.n_elements(),
            number(m.max_error_lsb().map(|(e, _)| e), 4),
            number(m.mean_error_lsb(), 5),
            number(m.correctly_rounded_share(), 5),
            number(m.sqnr_db(), 3),
            number(m.ideal_sqnr_db(), 3),
            met(Some(error)),
            number(self.share_owed(), 3),
            met(share),
            met(gap),
            self.worst
        );
        line
    }
}

const HEADER: &str = "\
# Errors of results against the exact operator on the same quantised input and parameters as held.
# Written by `mive accuracy`; rounding half_up. A line is a configuration, program, formats and population.
# population: public = real tensors pooled by operator; normal = N(0, sigma) rows, N 64 to 4096 (long: 4096
#   and 131072), sigma 1 for norms and 3 for softmax, seeds named after the case; row_scale = such rows times
#   2^-k, k from 0 to 15, each with its own scale (sigma 6 for softmax); stress = tensors that broke other
#   implementations, defined cases; adversarial = rows of codes at the edges of the format or below epsilon.
# cases: tensors measured, norms without parameters as `mive run` runs them: past their reach with a gamma of 1;
# refused: tensors that are not finite or that the engine says it cannot hold to 1 LSB; elements: judged.
# max_error_lsb, mean_error_lsb: |code - exact| in output LSB, exact values clamped to the format.
# correctly_rounded: share of elements with |code - exact| <= 0.5 + 2^-20 LSB.
# sqnr_db, ideal_sqnr_db: of the results, and of the exact values rounded; - where there is no noise.
# error_met: max_error_lsb <= 1. share_owed, share_met: least correctly_rounded, owed by 8-bit results on public
#   and normal. sqnr_met: at most 0.1 dB below ideal, owed by the same. worst: where max_error_lsb is.
config,program,in,out,population,cases,refused,elements,max_error_lsb,mean_error_lsb,correctly_rounded,sqnr_db,\
ideal_sqnr_db,error_met,share_owed,share_met,sqnr_met,worst
";

/// The table; the same bytes for the same engine and tensors.
pub fn csv(lines: &[Measured]) -> String {
    let mut text = HEADER.to_string();
    for line in lines {
        text += &line.line();
        text.push('\n');
    }
    text
}
