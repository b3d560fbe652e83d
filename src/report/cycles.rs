//! Cycles of rows back to back, from a short run of the same engine: timing does not depend on data.
use crate::program::Loaded;
use crate::rtl::step::Mode;
use crate::simulate::{Parameters, Rows, Simulator, Stall};

/// Rows of the control run: enough for two rows in flight to settle.
const CONTROL_ROWS: usize = 8;

/// Cycles of a job as one engine takes them, unstalled.
#[derive(Clone, Debug, PartialEq)]
pub struct Cycles {
    /// From the first accepted beat to the first row's last output beat, inclusive.
    pub first_row: u64,
    /// Distance of the last output beats of consecutive rows in steady state.
    pub per_row: f64,
    /// All rows of the job.
    pub total: u64,
    /// Elements a cycle in steady state.
    pub elements_per_cycle: f64,
    /// Most elements a cycle that the lanes allow: L over the micro-ops a chunk.
    pub elements_per_cycle_bound: f64,
}

/// Cycles that the rows of a job take.
pub fn count(
    simulator: &Simulator,
    loaded: &Loaded,
    parameters: &Parameters,
    lanes: u32,
    n_rows: usize,
) -> Cycles {
    let n = loaded.binding.row_len as usize;
    let x = vec![0; CONTROL_ROWS * n];
    let mut out = vec![0; x.len()];
    let mut session = simulator.session(loaded, parameters, 1, Mode::Results);
    let rows = Rows { row_len: n, x: &x, keep: None, k: None };
    let ends = session.run(&rows, &mut Stall::none(), &mut out).row_ends;
    let last = CONTROL_ROWS - 1;
    // Two rows share the engine, so the steady state may alternate between two distances.
    let pair = ends[last] - ends[last - 2];
    let per_row = pair as f64 / 2.0;
    let total = match n_rows {
        0..=CONTROL_ROWS => ends[n_rows.max(1) - 1],
        _ => {
            let more = (n_rows - CONTROL_ROWS) as u64;
            ends[last] + more / 2 * pair + more % 2 * (ends[last - 1] - ends[last - 2])
        }
    };
    let slots: u32 = loaded.body_slots.iter().sum();
    Cycles {
        first_row: ends[0],
        per_row,
        total,
        elements_per_cycle: n as f64 / per_row,
        elements_per_cycle_bound: f64::from(lanes) / f64::from(slots.max(1)),
    }
}
