//! Fits the costs of a technology to measured engines, and judges them on engines that had no part in it.
use std::collections::BTreeMap;

use super::samples::{HELD_OUT, Sample};
use crate::estimate::area::{SHELL, area, blocks_of};
use crate::estimate::fit::{self, non_negative};
use crate::gates::Kind;
use crate::tech::{AreaModel, Flow};

const KINDS: usize = Kind::ALL.len();

/// Relative error over several engines, percent of what was measured.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Error {
    /// Engines.
    pub count: u32,
    /// Mean of the absolute values.
    pub mean: f64,
    /// The largest absolute value.
    pub worst: f64,
    /// Mean of the signed values: above 0 where the estimate is too large.
    pub bias: f64,
}

impl Error {
    fn of(errors: &[f64]) -> Self {
        let n = errors.len().max(1) as f64;
        Self {
            count: errors.len() as u32,
            mean: errors.iter().map(|e| e.abs()).sum::<f64>() / n,
            worst: errors.iter().fold(0.0, |worst, e| worst.max(e.abs())),
            bias: errors.iter().sum::<f64>() / n,
        }
    }
}

/// The error of each block, of the core, of the shell and of the engine.
pub type ErrorTable = BTreeMap<String, Error>;

/// The samples whose engine still has the text that was measured, with their blocks.
fn rows(samples: &[&Sample], unit: f64) -> BTreeMap<String, Vec<fit::Sample<KINDS>>> {
    let mut rows: BTreeMap<String, Vec<fit::Sample<KINDS>>> = BTreeMap::new();
    for sample in samples {
        for block in blocks_of(&sample.config()).iter() {
            // A block that is only wires has no error that could be relative.
            let measured = sample.blocks.get(&block.name).copied().unwrap_or(0.0) / unit;
            let row = rows.entry(block.name.clone()).or_default();
            if measured > 0.0 {
                let counts = Kind::ALL.map(|k| block.counts[k] as f64);
                row.push(fit::Sample { counts, measured });
            }
        }
    }
    rows
}

/// Costs by block and kind, from the samples below [`HELD_OUT`]. `unit` is um^2 a GE, or 1.
pub fn fit_costs(samples: &[&Sample], unit: f64) -> BTreeMap<String, BTreeMap<String, f64>> {
    let rows = rows(samples, unit);
    let all: Vec<fit::Sample<KINDS>> = rows.values().flatten().cloned().collect();
    let global = non_negative(&all, &[1.0; KINDS]);
    let rounded = |cost: f64| (cost * 1e4).round() / 1e4;
    let costs = |own: &[fit::Sample<KINDS>]| {
        let costs = non_negative(own, &global);
        Kind::ALL.iter().map(|k| (k.name().to_string(), rounded(costs[*k as usize]))).collect()
    };
    rows.iter().map(|(block, own)| (block.clone(), costs(own))).collect()
}

/// The error of a model over samples.
pub fn errors(samples: &[&Sample], model: &AreaModel, unit: f64) -> ErrorTable {
    let mut all: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for sample in samples {
        let estimate = area(&blocks_of(&sample.config()), model);
        let (mut core, mut shell) = (0.0, 0.0);
        for block in &estimate.blocks {
            let measured = sample.blocks.get(&block.name).copied().unwrap_or(0.0) / unit;
            let total = measured * block.copies as f64;
            *(if block.name == SHELL { &mut shell } else { &mut core }) += total;
            if measured > 0.0 {
                let error = 100.0 * (block.one / measured - 1.0);
                all.entry(block.name.clone()).or_default().push(error);
            }
        }
        let mut whole = |name: &str, estimated: f64, measured: f64| {
            all.entry(name.into()).or_default().push(100.0 * (estimated / measured - 1.0));
        };
        whole("whole_core", estimate.core(), core);
        whole("whole_engine", estimate.core() + estimate.shell(), core + shell);
    }
    all.into_iter().map(|(name, errors)| (name, Error::of(&errors))).collect()
}

/// Fits to the samples below [`HELD_OUT`] and judges on the others.
pub fn calibrate(
    samples: &BTreeMap<u64, Sample>,
    flow: Flow,
    tool: String,
    unit: f64,
) -> (AreaModel, ErrorTable) {
    let (fitted, held_out): (Vec<&Sample>, Vec<&Sample>) =
        samples.values().partition(|s| s.seed < HELD_OUT);
    let mut model = AreaModel {
        flow,
        tool,
        fitted: fitted.len() as u32,
        held_out: held_out.len() as u32,
        core_error_percent: [0.0; 2],
        shell_error_percent: [0.0; 2],
        costs: fit_costs(&fitted, unit),
    };
    let table = errors(&held_out, &model, unit);
    let rounded = |name: &str| {
        let e = table.get(name).copied().unwrap_or_default();
        [e.mean, e.worst].map(|v| (v * 100.0).round() / 100.0)
    };
    model.core_error_percent = rounded("whole_core");
    model.shell_error_percent = rounded(SHELL);
    (model, table)
}
