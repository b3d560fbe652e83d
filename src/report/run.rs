//! Streams a tensor through an engine in fixed blocks of rows, spread over threads, and judges every
//! output. Results are merged in row order: the same bytes for any number of threads.
mod walk;
mod watch;
mod workload;

use std::sync::Mutex;

use super::cycles;
use super::error::RunError;
use super::figures::RunFigures;
use super::held::{self, HeldBeta, HeldGamma};
use super::input::{self, Block, Quantised, Quantiser};
use super::paths;
use super::plan::{self, Operator, Plan, Request};
use crate::engine::Engine;
use crate::num::error_metrics::ErrorMetrics;
use crate::program::{BindError, Binding, Loaded, bind, largest_row_scale};
use crate::reference;
use crate::rtl::step::Mode;
use crate::simulate::{Parameters, Rows, Session, Simulator, Stall};
use crate::tensor::{Scale, TensorWriter, absmax_scale};
use walk::Walk;
pub use walk::{Event, OnEvent, Progress};
pub use watch::{TraceTo, Watch, Watched};
pub use workload::workload;

/// Streams of a session: rows that are stepped together.
const STREAMS: usize = 256;
/// Most elements of the row buffers of a session's streams, so that memory stays flat.
const BUFFERED: usize = 1 << 20;

/// Largest epsilon in squared codes; every code squared and summed stays below 2^48.
const EPS_CODES_MAX: f64 = 1e200;

/// The exact operator with one set of parameters.
struct Exact<'a> {
    operator: Operator,
    gamma: Option<&'a [f64]>,
    beta: Option<&'a [f64]>,
    eps: f64,
}

impl Exact<'_> {
    fn row(&self, x: &[f64], keep: Option<&[bool]>, out: &mut Vec<f64>) {
        match self.operator {
            Operator::Softmax => reference::softmax(x, keep, out),
            Operator::LayerNorm => reference::layernorm(x, self.gamma, self.beta, self.eps, out),
            Operator::RmsNorm => reference::rmsnorm(x, self.gamma, self.eps, out),
        }
    }
}

/// Everything that is settled before the engine sees a row.
struct Job<'a> {
    plan: &'a Plan,
    quantiser: Quantiser,
    gamma: HeldGamma,
    beta: HeldBeta,
    output_scale: Scale,
    loaded: Loaded,
    parameters: Parameters,
    /// Why it is not the plan's program that was loaded.
    detour: Option<String>,
}

/// What one block gave.
struct Outcome {
    codes: Vec<i32>,
    held: ErrorMetrics,
    real: ErrorMetrics,
    saturated: u64,
    input_saturated: u64,
    masked_rows: u64,
}

/// Settles everything before the engine sees a row.
fn prepare<'a>(plan: &'a Plan, engine: &Engine, walk: &Walk<'_>) -> Result<Job<'a>, RunError> {
    let w = &engine.widths;
    let mut quantiser = quantiser(plan, walk)?;
    check_eps(plan, &quantiser)?;
    let mut gamma = held::hold_gamma(plan.gamma.as_deref(), w)?;
    if quantiser.k_max > 0 {
        let scale = own_scale(plan)?;
        let wanted = binding(plan, &quantiser, gamma.scale, scale);
        quantiser.k_max = largest_row_scale(&plan.program, engine, &wanted)?;
    }
    let output_scale = output_scale(plan, walk, &quantiser, &gamma)?;
    let mut beta = held::hold_beta(plan.beta.as_deref(), w, output_scale);
    let bound = |program, gamma_scale| {
        bind(program, engine, &binding(plan, &quantiser, gamma_scale, output_scale))
    };
    let mut detour = None;
    let loaded = match (bound(&plan.program, gamma.scale), &plan.detour) {
        (Err(needs @ BindError::Needs { .. }), Some(program)) => {
            let n = plan.input.row_len();
            gamma = held::hold_gamma(Some(&vec![1.0; n]), w)?;
            beta =
                held::hold_beta(program.has_beta.then(|| vec![0.0; n]).as_deref(), w, output_scale);
            detour = Some(needs.to_string());
            bound(program, gamma.scale).map_err(|_| needs)?
        }
        (loaded, _) => loaded?,
    };
    let parameters = held::parameters(&gamma, &beta);
    Ok(Job { plan, quantiser, gamma, beta, output_scale, loaded, parameters, detour })
}

/// Runs a tensor; writes the output codes where a path is given, and shows the first cycles where asked.
///
/// # Errors
/// The first thing that is wrong, see [`RunError`]; no output file is left behind then.
pub fn run_tensor(
    request: &Request,
    engine: &Engine,
    on_event: &OnEvent<'_>,
) -> Result<RunFigures, RunError> {
    paths::check(request)?;
    let plan = plan::plan(request, &engine.config)?;
    check_formats(&plan, engine)?;
    let shape = plan.input.shape();
    let mut writer = (request.output.as_ref())
        .map(|path| TensorWriter::create(path, plan.out_format, shape))
        .transpose()?;
    let files = request.watch.open()?;
    let (n_rows, row_len) = (plan.input.n_rows(), plan.input.row_len());
    let walk = Walk::new(request, &plan, on_event)?;
    let job = prepare(&plan, engine, &walk)?;
    let simulator = Simulator::new(engine);
    let lanes = engine.config.lanes;
    let cycles = cycles::count(&simulator, &job.loaded, &job.parameters, lanes, n_rows);
    let (watched, files) = match request.watch.is_asked() {
        true => {
            let watch = &request.watch;
            let (w, f) = job.watch(engine, &simulator, watch, files, cycles.total, on_event)?;
            (Some(w), f)
        }
        false => (None, files),
    };
    let most = (BUFFERED / engine.config.n_max as usize).clamp(4, STREAMS);
    let streams = most.min(walk.block);
    let sessions = Mutex::new(vec![]);
    let mut total = job.nothing();
    walk.pass(
        "simulate",
        |first, count| job.block(&simulator, &sessions, streams, first, count),
        |outcome: Outcome| {
            if let Some(writer) = &mut writer {
                writer.write_rows(&outcome.codes)?;
            }
            total.add(&outcome);
            Ok(())
        },
    )?;
    if let Some(writer) = writer {
        writer.finish()?;
    }
    files.finish()?;
    Ok(RunFigures {
        program: job.loaded.name.clone(),
        detour: job.detour.clone(),
        config: engine.config.name.clone(),
        rows: n_rows,
        row_len,
        in_format: plan.in_format,
        out_format: plan.out_format,
        gamma_bits: job.gamma.scale.map(|_| engine.widths.input),
        beta_bits: job.beta.scale.map(|_| engine.widths.beta),
        input_scale: job.quantiser.scale.get(),
        is_input_scale_given: plan.input_scale.is_some(),
        is_all_zero: job.quantiser.is_all_zero,
        k_max: job.quantiser.row_absmax_of.map(|_| job.quantiser.k_max),
        output_scale: job.output_scale.get(),
        is_output_scale_measured: plan.output_scale.is_none() && !plan.is_softmax(),
        zero_point: plan.zero_point,
        gamma_scale: job.gamma.scale,
        beta_scale: job.beta.scale,
        beta_saturated: job.beta.saturated,
        eps: (!plan.is_softmax()).then_some(plan.eps),
        eps_codes: (!plan.is_softmax()).then(|| eps_codes(&plan, &job.quantiser)),
        is_eps_zero: !plan.is_softmax() && plan.eps > 0.0 && constant(&job, "eps_m") == Some(0.0),
        is_judged: plan.operator.is_some(),
        held: total.held,
        real: total.real,
        saturated: total.saturated,
        input_saturated: total.input_saturated,
        masked_rows: total.masked_rows,
        cycles,
        lanes,
        slots: job.loaded.body_slots.iter().sum(),
        watched,
    })
}

/// Epsilon where it meets the sum of squares: N eps in squared codes.
fn eps_codes(plan: &Plan, quantiser: &Quantiser) -> f64 {
    // The square of the smallest scales is 0.
    if plan.eps == 0.0 {
        return 0.0;
    }
    plan.input.row_len() as f64 * plan.eps / quantiser.scale.get().powi(2)
}

/// Refuses an epsilon that has no number in codes: no engine's fixed point begins to hold it.
fn check_eps(plan: &Plan, quantiser: &Quantiser) -> Result<(), RunError> {
    let codes = eps_codes(plan, quantiser);
    if plan.is_softmax() || codes.abs() < EPS_CODES_MAX {
        return Ok(());
    }
    Err(RunError::request(
        "--eps",
        format!("{:e} with an input scale of {:e}", plan.eps, quantiser.scale.get()),
        format!("N eps / scale^2 below {EPS_CODES_MAX:e}"),
        "give a smaller epsilon or a larger --input-scale",
    ))
}

fn constant(job: &Job<'_>, name: &str) -> Option<f64> {
    job.loaded.constants.iter().find(|(n, _)| n == name).map(|&(_, v)| v)
}

/// Refuses formats that the engine does not have before any row is read.
fn check_formats(plan: &Plan, engine: &Engine) -> Result<(), RunError> {
    let one = Scale::new(1.0).map_err(|error| RunError::Scale { place: "scale".into(), error })?;
    let quantiser = Quantiser::new(plan, None)?;
    match bind(&plan.program, engine, &binding(plan, &quantiser, Some(1.0), one)) {
        Err(e @ (BindError::RowLength { .. } | BindError::Format { .. })) => Err(e.into()),
        _ => Ok(()),
    }
}

fn binding(
    plan: &Plan,
    quantiser: &Quantiser,
    gamma_scale: Option<f64>,
    output_scale: Scale,
) -> Binding {
    Binding {
        row_len: u32::try_from(plan.input.row_len()).unwrap_or(u32::MAX),
        input_format: plan.in_format,
        output_format: plan.out_format,
        input_scale: quantiser.scale.get(),
        output_scale: output_scale.get(),
        gamma_scale: gamma_scale.unwrap_or(1.0),
        eps: plan.eps,
        k_max: quantiser.k_max,
    }
}

/// The input's scale: given, or from a pass over the tensor.
fn quantiser(plan: &Plan, walk: &Walk<'_>) -> Result<Quantiser, RunError> {
    if plan.input_scale.is_some() {
        return Quantiser::new(plan, None);
    }
    let row_len = plan.input.row_len();
    let (mut largest, mut smallest) = (0.0f64, f64::INFINITY);
    walk.pass(
        "input scale",
        |first, count| Ok(input::row_extremes(&input::read(plan, first, count)?, row_len)),
        |(l, s)| {
            largest = largest.max(l);
            smallest = smallest.min(s);
            Ok(())
        },
    )?;
    Quantiser::new(plan, Some((largest, smallest)))
}

/// The output's scale: given, the operator's own, or from a pass of the exact operator.
fn output_scale(
    plan: &Plan,
    walk: &Walk<'_>,
    quantiser: &Quantiser,
    gamma: &HeldGamma,
) -> Result<Scale, RunError> {
    let (true, Some(operator), None) = (!plan.is_softmax(), plan.operator, plan.output_scale)
    else {
        return own_scale(plan);
    };
    let row_len = plan.input.row_len();
    let exact =
        Exact { operator, gamma: gamma.real.as_deref(), beta: plan.beta.as_deref(), eps: plan.eps };
    let mut largest = 0.0f64;
    walk.pass(
        "output scale",
        |first, count| {
            let block = input::read(plan, first, count)?;
            let quantised = quantiser.quantise(&block, row_len)?;
            let (mut x, mut y, mut most) = (vec![], vec![], 0.0f64);
            for (r, codes) in quantised.codes.chunks(row_len).enumerate() {
                dequantise(codes, quantiser.row_scale(&quantised, r), &mut x);
                exact.row(&x, None, &mut y);
                most = most.max(crate::tensor::absmax(&y));
            }
            Ok(most)
        },
        |most| {
            largest = largest.max(most);
            Ok(())
        },
    )?;
    // An offset format spends half its codes on each sign.
    let signed = crate::num::IntFormat { is_signed: true, ..plan.out_format };
    absmax_scale(largest, signed)
        .map(|(scale, _)| scale)
        .map_err(|error| RunError::Scale { place: "output scale".into(), error })
}

/// The scale that is given, or that of full scale.
fn own_scale(plan: &Plan) -> Result<Scale, RunError> {
    match plan.output_scale {
        Some(scale) => Ok(scale),
        None => Scale::new(1.0 / plan.out_format.max() as f64)
            .map_err(|error| RunError::Scale { place: "output scale".into(), error }),
    }
}

fn dequantise(codes: &[i32], scale: f64, out: &mut Vec<f64>) {
    out.clear();
    out.extend(codes.iter().map(|&c| f64::from(c) * scale));
}

impl Job<'_> {
    fn nothing(&self) -> Outcome {
        let metrics = || ErrorMetrics::new(self.plan.out_format, self.plan.zero_point);
        Outcome {
            codes: vec![],
            held: metrics(),
            real: metrics(),
            saturated: 0,
            input_saturated: 0,
            masked_rows: 0,
        }
    }

    /// Runs one block on a session that is free, or a new one.
    fn block<'s>(
        &self,
        simulator: &'s Simulator,
        sessions: &Mutex<Vec<Session<'s>>>,
        streams: usize,
        first: usize,
        count: usize,
    ) -> Result<Outcome, RunError> {
        let row_len = self.plan.input.row_len();
        let block = input::read(self.plan, first, count)?;
        let quantised = self.quantiser.quantise(&block, row_len)?;
        let free = sessions.lock().ok().and_then(|mut s| s.pop());
        let mut session = free.unwrap_or_else(|| {
            simulator.session(&self.loaded, &self.parameters, streams, Mode::Results)
        });
        // Counts start at 0: a session may have run another block.
        let clear = simulator.program().input("clear");
        session.stepper().set_uniform(clear, 1);
        session.stepper().settle();
        session.stepper().clock();
        session.stepper().set_uniform(clear, 0);
        let ones;
        let keep = match (self.plan.is_softmax(), block.keep.is_empty()) {
            (false, _) => None,
            (true, false) => Some(&block.keep[..]),
            (true, true) => {
                ones = vec![1; quantised.codes.len()];
                Some(&ones[..])
            }
        };
        let k = (!quantised.k.is_empty()).then_some(&quantised.k[..]);
        let rows = Rows { row_len, x: &quantised.codes, keep, k };
        let mut outcome = self.nothing();
        outcome.codes.resize(quantised.codes.len(), 0);
        let report = session.run(&rows, &mut Stall::none(), &mut outcome.codes);
        if let Ok(mut sessions) = sessions.lock() {
            sessions.push(session);
        }
        outcome.saturated = report.saturated;
        outcome.masked_rows = report.masked_rows;
        outcome.input_saturated = quantised.saturated;
        self.judge(&block, &quantised, &mut outcome);
        Ok(outcome)
    }

    /// Compares a block with the exact operator, as held and unquantised.
    fn judge(&self, block: &Block, quantised: &Quantised, outcome: &mut Outcome) {
        let Some(operator) = self.plan.operator else { return };
        let n = self.plan.input.row_len();
        let eps = self.plan.eps;
        let (gamma, beta) = (self.gamma.real.as_deref(), self.beta.real.as_deref());
        let held = Exact { operator, gamma, beta, eps };
        let (gamma, beta) = (self.plan.gamma.as_deref(), self.plan.beta.as_deref());
        let real = Exact { operator, gamma, beta, eps };
        let (scale, zero) = (self.output_scale.get(), self.plan.zero_point as f64);
        let (mut x, mut y, mut keep) = (vec![], vec![], vec![]);
        for r in 0..block.n_rows {
            let row = r * n..(r + 1) * n;
            keep.clear();
            if !block.keep.is_empty() {
                keep.extend(block.keep[row.clone()].iter().map(|&k| k != 0));
            }
            let keep = (!keep.is_empty()).then_some(&keep[..]);
            let out = &outcome.codes[row.clone()];
            dequantise(
                &quantised.codes[row.clone()],
                self.quantiser.row_scale(quantised, r),
                &mut x,
            );
            held.row(&x, keep, &mut y);
            for (&code, &exact) in out.iter().zip(&y) {
                outcome.held.add(code.into(), exact / scale + zero);
            }
            real.row(&block.real[row.clone()], keep, &mut y);
            for (&code, &exact) in out.iter().zip(&y) {
                outcome.real.add(code.into(), exact / scale + zero);
            }
        }
    }
}

impl Outcome {
    fn add(&mut self, later: &Self) {
        self.held.merge(&later.held);
        self.real.merge(&later.real);
        self.saturated += later.saturated;
        self.input_saturated += later.input_saturated;
        self.masked_rows += later.masked_rows;
    }
}
