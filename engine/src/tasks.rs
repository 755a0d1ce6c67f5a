//! Tasks: a parallel loop on the engine's workers, for work that emits no pairs. It has what the stages of a
//! job have: pinned workers, cancel, progress, a timeline, and a failure that names its place.

use crate::engine::Engine;
use crate::error::{Error, Place, Result};
use crate::failure::{Failure, guard};
use crate::memory::resident_peak_bytes;
use crate::options::Options;
use crate::progress::Stage;
use crate::schedule::for_each;
use crate::stats::{StageClock, Stats};

const STAGE: &str = "the tasks";

impl Engine {
    /// Runs `task(worker, number)` once for each number below `count`, on all workers, in no promised order.
    /// Workers are numbered from 0 to [`workers`](Engine::workers); no two tasks run at once with the same
    /// worker. A task must not wait for another one. Progress counts each task as a byte of the input. Of the
    /// options, `progress`, `timeline` and `cancel` apply. Costs one atomic increment a task.
    ///
    /// # Errors
    /// The error of the task with the least number of those that failed; [`Error::Panicked`], which names the
    /// task, if it panicked; [`Error::Cancelled`]. Tasks that had not begun are left out then.
    ///
    /// ```
    /// # fn main() -> tegula::Result<()> {
    /// use std::sync::atomic::{AtomicU64, Ordering};
    /// use tegula::{Engine, Options};
    ///
    /// let sum = AtomicU64::new(0);
    /// Engine::new()?.tasks(1000, &Options::default(), |_, number| {
    ///     sum.fetch_add(number as u64, Ordering::Relaxed);
    ///     Ok(())
    /// })?;
    /// assert_eq!(sum.into_inner(), 499_500);
    /// # Ok(())
    /// # }
    /// ```
    pub fn tasks(
        &self,
        count: usize,
        options: &Options,
        task: impl Fn(usize, usize) -> Result<()> + Sync,
    ) -> Result<Stats> {
        self.erased_tasks(count, options, &task)
    }

    fn erased_tasks(
        &self,
        count: usize,
        options: &Options,
        task: &(dyn Fn(usize, usize) -> Result<()> + Sync),
    ) -> Result<Stats> {
        let core = self.core();
        let progress = options.progress.clone().unwrap_or_default();
        let failure = Failure::new(&options.cancel);
        options
            .timeline
            .iter()
            .for_each(|timeline| timeline.watch(core.blocks(), core.limit_bytes()));
        let mut clock = StageClock::new(&progress, options.timeline.as_ref());
        progress.plan(0, count as u64, core.limit_bytes());
        clock.time(Stage::Map, || {
            for_each(core.pool(), &failure, STAGE, count, |worker, number| {
                guard(|| Place::stage(&format!("task {number}")), || task(worker, number))?;
                progress.add_bytes(1);
                Ok::<(), Error>(())
            })
        })?;
        Ok(Stats {
            stages: clock.finish(),
            workers: core.pool().workers(),
            memory_counted_peak: core.blocks().budget().peak(),
            memory_resident_peak: resident_peak_bytes(),
            ..Stats::default()
        })
    }
}
