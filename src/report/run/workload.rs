//! The first rows of a request as an engine takes them, for estimates that depend on data.
use super::{Request, RunError, Walk, check_formats, input, paths, plan, prepare};
use crate::engine::Engine;
use crate::estimate::activity::Work;

/// Settles a request as [`super::run_tensor`] does, scales from all rows, and keeps the first `most` rows.
///
/// # Errors
/// As [`super::run_tensor`].
pub fn workload(request: &Request, engine: &Engine, most: usize) -> Result<Work, RunError> {
    paths::check(request)?;
    let plan = plan::plan(request, &engine.config)?;
    check_formats(&plan, engine)?;
    let nothing = |_| ();
    let walk = Walk::new(request, &plan, &nothing)?;
    let job = prepare(&plan, engine, &walk)?;
    let n_rows = plan.input.n_rows().min(most);
    let block = input::read(&plan, 0, n_rows)?;
    let quantised = job.quantiser.quantise(&block, plan.input.row_len())?;
    Ok(Work {
        loaded: job.loaded.clone(),
        parameters: job.parameters.clone(),
        codes: quantised.codes,
        keep: block.keep,
        k: quantised.k,
    })
}
