//! Threads and blocks of rows.
use rayon::prelude::*;

use super::{Plan, Request, RunError, input};

/// How far a job is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// What the rows are read for.
    pub stage: &'static str,
    pub rows_done: usize,
    pub rows: usize,
}

/// What a job has to say while it runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    Progress(Progress),
    /// Something to know beforehand, such as the size of a large file.
    Note(String),
}

/// A callback that shows events; called from one thread at a time.
pub type OnEvent<'a> = dyn Fn(Event) + Sync + 'a;

/// Threads and the walk over a tensor's blocks.
pub(super) struct Walk<'a> {
    pub pool: rayon::ThreadPool,
    pub n_rows: usize,
    pub block: usize,
    pub on_event: &'a OnEvent<'a>,
}

impl<'a> Walk<'a> {
    /// # Errors
    /// Threads that cannot be started.
    pub fn new(
        request: &Request,
        plan: &Plan,
        on_event: &'a OnEvent<'a>,
    ) -> Result<Self, RunError> {
        let (n_rows, row_len) = (plan.input.n_rows(), plan.input.row_len());
        let pool =
            rayon::ThreadPoolBuilder::new().num_threads(request.jobs).build().map_err(|e| {
                let expected = "threads that can be started";
                RunError::request("--jobs", e.to_string(), expected, "give fewer")
            })?;
        Ok(Self { pool, n_rows, block: input::rows_per_block(n_rows, row_len), on_event })
    }

    /// Works on every block, in parallel, and takes the results in row order.
    pub fn pass<T: Send>(
        &self,
        stage: &'static str,
        work: impl Fn(usize, usize) -> Result<T, RunError> + Sync,
        mut take: impl FnMut(T) -> Result<(), RunError>,
    ) -> Result<(), RunError> {
        let at_once = self.pool.current_num_threads();
        let firsts: Vec<usize> = (0..self.n_rows).step_by(self.block).collect();
        for batch in firsts.chunks(at_once) {
            let count = |first: usize| self.block.min(self.n_rows - first);
            let done: Vec<Result<T, RunError>> = self
                .pool
                .install(|| batch.par_iter().map(|&first| work(first, count(first))).collect());
            for result in done {
                take(result?)?;
            }
            let rows_done = batch.last().map_or(0, |&first| first + count(first));
            let progress = Progress { stage, rows_done, rows: self.n_rows };
            (self.on_event)(Event::Progress(progress));
        }
        Ok(())
    }
}
