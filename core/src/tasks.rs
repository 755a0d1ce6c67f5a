//! Tasks: a parallel loop on the engine's workers, for work that emits no pairs. It shares with the stages of
//! a job: pinned workers, cancel, progress, a timeline, and a failure that names its place.

use crate::core::Core;
use crate::error::{Error, Place, Result};
use crate::failure::{Failure, guard};
use crate::memory::resident_peak_bytes;
use crate::options::Options;
use crate::progress::Stage;
use crate::schedule::for_each;
use crate::stats::{StageClock, Stats};

const STAGE: &str = "the tasks";

/// Runs the tasks, as [`Engine::tasks`](crate::Engine::tasks) says.
pub(crate) fn run(
    core: &Core,
    count: usize,
    options: &Options,
    task: &(dyn Fn(usize, usize) -> Result<()> + Sync),
) -> Result<Stats> {
    let progress = options.progress.clone().unwrap_or_default();
    let failure = Failure::new(&options.cancel);
    options.timeline.iter().for_each(|timeline| timeline.watch(core.blocks(), core.limit_bytes()));
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
