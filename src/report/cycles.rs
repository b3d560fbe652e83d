//! Cycles of rows back to back, from a short run of the same engine: timing does not depend on data.
use crate::program::Loaded;
use crate::rtl::step::Mode;
use crate::simulate::{Parameters, Rows, Simulator, Stall};

/// Rows of the control run: enough for two rows in flight to settle. Even, as rows share the engine
/// in pairs.
const CONTROL_ROWS: usize = 10;

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
    let run = |rows: usize| {
        let x = vec![0; rows * n];
        let mut out = vec![0; x.len()];
        let mut session = simulator.session(loaded, parameters, 1, Mode::Results);
        let rows = Rows { row_len: n, x: &x, keep: None, k: None };
        session.run(&rows, &mut Stall::none(), &mut out).row_ends
    };
    // Two rows share the engine, so distances alternate in the steady state; a last row without a
    // partner ends sooner, so the control run has the parity of the job.
    let rows = if n_rows < CONTROL_ROWS { n_rows } else { CONTROL_ROWS + n_rows % 2 };
    let ends = run(rows);
    let longer = if n_rows < CONTROL_ROWS { run(CONTROL_ROWS) } else { vec![] };
    let steady = if n_rows < CONTROL_ROWS { &longer } else { &ends };
    let pair = steady[CONTROL_ROWS - 3] - steady[CONTROL_ROWS - 5];
    let per_row = pair as f64 / 2.0;
    let total = ends[rows - 1] + ((n_rows - rows) / 2) as u64 * pair;
    let slots: u32 = loaded.body_slots.iter().sum();
    Cycles {
        first_row: ends[0],
        per_row,
        total,
        elements_per_cycle: n as f64 / per_row,
        elements_per_cycle_bound: f64::from(lanes) / f64::from(slots.max(1)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::HwConfig;
    use crate::engine::Engine;
    use crate::num::IntFormat;
    use crate::program::{Binding, bind, library};

    #[test]
    fn the_total_is_that_of_a_whole_run() {
        let engine = Engine::describe(&HwConfig::defaults());
        let simulator = Simulator::new(&engine);
        for name in ["softmax", "layernorm", "rmsnorm_gamma"] {
            for row_len in [1u32, 5, 17, 64, 88, 100, 384, 768] {
                let program = library::shipped(name).expect("a shipped program");
                let binding = Binding {
                    row_len,
                    input_format: IntFormat::S8,
                    output_format: IntFormat::S8,
                    input_scale: 0.05,
                    output_scale: 1.0 / 127.0 * if name == "softmax" { 1.0 } else { 8.0 },
                    gamma_scale: 1.0 / 127.0,
                    eps: if name == "softmax" { 0.0 } else { 1e-5 },
                    k_max: 0,
                };
                let loaded = bind(&program, &engine, &binding).expect("a binding");
                let parameters = Parameters::default();
                for n_rows in [1, 2, 7, 10, 11, 12, 26, 27] {
                    let x = vec![1; n_rows * row_len as usize];
                    let mut out = x.clone();
                    let mut session = simulator.session(&loaded, &parameters, 1, Mode::Results);
                    let rows = Rows { row_len: row_len as usize, x: &x, keep: None, k: None };
                    let ends = session.run(&rows, &mut Stall::none(), &mut out).row_ends;
                    let cycles = count(&simulator, &loaded, &parameters, 8, n_rows);
                    assert_eq!(cycles.total, ends[n_rows - 1], "{name} {row_len} {n_rows}");
                    assert_eq!(cycles.first_row, ends[0]);
                }
            }
        }
    }
}
