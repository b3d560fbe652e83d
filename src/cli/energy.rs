//! The energy part of `mive estimate`: rows, activity, and how both are shown.
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use crate::engine::Engine;
use crate::estimate::activity::{Work, activity, streams};
use crate::estimate::energy::{self, Energy};
use crate::isa::Program;
use crate::program::Binding;
use crate::report::activations::Activations;
use crate::report::{Request, RunError, workload};
use crate::tech::{EnergyModel, Tech};
use crate::tensor::TensorFile;

/// Most rows that the activity is counted on.
const MOST_ROWS: usize = 64;

/// Options of the energy estimate.
#[derive(Debug, Default, clap::Args)]
pub struct EnergyArgs {
    /// Rows that the energy is estimated on, .npy of floats with rows of N [default: built-in activations].
    #[arg(long, value_name = "X.npy", requires = "op")]
    input: Option<PathBuf>,
}

/// What is known of the energy.
pub enum Known {
    /// The technology has no costs, or the rows could not be run; in words.
    Nothing(String),
    Estimate {
        energy: Energy,
        model: EnergyModel,
        rows: String,
        n: u32,
    },
}

/// Rows made ready for an engine.
pub struct Prepared {
    pub work: Work,
    /// What they are, in words.
    pub rows: String,
}

/// Makes the user's rows ready, or the built-in ones.
///
/// # Errors
/// The rows cannot be taken, or do not run on the engine.
pub fn prepare(
    args: &EnergyArgs,
    program: &Program,
    binding: &Binding,
    engine: &Engine,
) -> Result<Prepared, RunError> {
    let n = binding.row_len;
    let (request, source, _folder) = match &args.input {
        Some(path) => {
            check_length(path, n)?;
            let request = Request {
                operator: program.name.clone(),
                program: Some(program.clone()),
                input: path.clone(),
                jobs: 1,
                ..Request::default()
            };
            (request, path.display().to_string(), None)
        }
        None => {
            let made = Activations::new(program, n as usize)?;
            (made.request.clone(), made.source.clone(), Some(made))
        }
    };
    let formats = (Some(binding.input_format), Some(binding.output_format));
    let request = Request { in_format: formats.0, out_format: formats.1, ..request };
    let work = workload(&request, engine, MOST_ROWS)?;
    let rows = format!("{} rows of {source}", streams(&work));
    Ok(Prepared { work, rows })
}

/// Estimates the energy of a program, with the formats that its cycles were counted with.
///
/// # Errors
/// The rows that the user gave cannot be taken.
pub fn estimate(
    args: &EnergyArgs,
    program: &Program,
    binding: &Binding,
    engine: &Engine,
    tech: &Tech,
    area_ge: f64,
) -> Result<Known, RunError> {
    let Some(model) = &tech.energy else {
        return Ok(Known::Nothing(format!("{} has no table of energies", tech.name)));
    };
    let Prepared { work, rows } = match prepare(args, program, binding, engine) {
        Ok(prepared) => prepared,
        Err(e) if args.input.is_some() => return Err(e),
        Err(e) => return Ok(Known::Nothing(format!("the built-in rows cannot be run: {e}"))),
    };
    let energy = energy::energy(&activity(engine, &work), area_ge, model);
    Ok(Known::Estimate { energy, model: model.clone(), rows, n: binding.row_len })
}

/// Rows of another length than the one asked for are refused.
fn check_length(path: &Path, n: u32) -> Result<(), RunError> {
    let found = TensorFile::open(path)?.row_len();
    if found == n as usize {
        return Ok(());
    }
    Err(RunError::request(
        path.display().to_string(),
        format!("rows of {found} elements"),
        format!("rows of {n}, as --n says"),
        format!("give --n {found}, or other rows"),
    ))
}

/// What the figures leave out, in one sentence.
const LEFT_OUT: &str = "memories, wires, the clock's tree and glitches are not in it";

impl Known {
    pub fn to_text(&self, clock_ps: Option<u32>) -> String {
        let (energy, model, rows, n) = match self {
            Known::Nothing(why) => return format!("energy: none, as {why}\n"),
            Known::Estimate { energy, model, rows, n } => (energy, model, rows, *n),
        };
        let error = match model.error_percent {
            Some([mean, worst]) => format!("(error {mean} % in the mean, {worst} % at worst)"),
            None => "(error not measured)".to_string(),
        };
        let mut text = format!("energy of a row{:>28.1} pJ  {error}\n", energy.per_row_pj);
        text += &format!("  of an element{:>28.3} pJ\n", energy.per_row_pj / f64::from(n));
        text += &format!("  clocking, of a row{:>23.1} pJ\n", energy.clock_per_row_pj);
        text += &format!("  leakage, apart{:>27.3} uW\n", energy.leakage_uw);
        text += &match clock_ps {
            Some(ps) => {
                let power = energy.power_mw(f64::from(ps));
                format!("  power{power:>36.3} mW at a clock of {ps} ps, leakage included\n")
            }
            None => "  power: give --clock-ps\n".to_string(),
        };
        text + &format!("  on {rows}; {LEFT_OUT}\n")
    }

    /// The object `energy`, and `power_mw` with its error, which stand beside each other. `area_error` is the
    /// worst error of the area in percent: leakage is so much a GE.
    pub fn to_json(&self, clock_ps: Option<u32>, area_error: f64) -> Map<String, Value> {
        let mut all = Map::new();
        let (energy, model, rows, n) = match self {
            Known::Nothing(why) => {
                all.insert("energy".into(), Value::Null);
                all.insert("energy_missing".into(), json!(why));
                all.insert("power_mw".into(), Value::Null);
                return all;
            }
            Known::Estimate { energy, model, rows, n } => (energy, model, rows, *n),
        };
        let [mean, worst] = model.error_percent.map_or([None; 2], |e| e.map(Some));
        let leakage_worst = model.leakage_error_percent.map(|e| e[1] + area_error);
        all.insert(
            "energy".into(),
            json!({
                "per_row_pj": energy.per_row_pj,
                "per_row_pj_error_percent": worst,
                "per_row_pj_error_mean_percent": mean,
                "per_element_pj": energy.per_row_pj / f64::from(n),
                "per_element_pj_error_percent": worst,
                "per_element_pj_error_mean_percent": mean,
                "clock_per_row_pj": energy.clock_per_row_pj,
                "leakage_uw": energy.leakage_uw,
                "leakage_uw_error_percent": leakage_worst,
                "leakage_per_row_pj": clock_ps.map(|ps| energy.leakage_per_row_pj(f64::from(ps))),
                "blocks_per_row_pj": energy.blocks,
                "cycles_per_row": energy.cycles_per_row,
                "rows": rows,
                "costs": model.source,
                "left_out": LEFT_OUT,
            }),
        );
        all.insert("power_mw".into(), json!(clock_ps.map(|ps| energy.power_mw(f64::from(ps)))));
        all.insert("power_mw_error_percent".into(), json!(clock_ps.and(worst)));
        all.insert("power_clock_ps".into(), json!(clock_ps));
        all
    }
}
