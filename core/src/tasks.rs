//! Tasks: a parallel loop on the engine's workers, for work that emits no pairs. It shares with the stages of
//! a job: pinned workers, cancel, progress, a timeline, and a failure that names its place.

use crate::context::RunContext;
use crate::core::Core;
use crate::error::{Error, Place, Result};
use crate::failure::guard;
use crate::options::Options;
use crate::progress::Stage;
use crate::schedule::for_each;
use crate::stats::Stats;

const STAGE: &str = "the tasks";

/// Runs the tasks, as [`Engine::tasks`](crate::Engine::tasks) says.
pub(crate) fn run(
    core: &Core,
    count: usize,
    options: &Options,
    task: &(dyn Fn(usize, usize) -> Result<()> + Sync),
) -> Result<Stats> {
    let context = RunContext::open(core, options)?;
    context.progress.plan(0, count as u64, core.limit_bytes());
    context.time(Stage::Map, || {
        for_each(&context.pool, &context.failure, STAGE, count, |worker, number| {
            guard(|| Place::stage(&format!("task {number}")), || task(worker, number))?;
            context.progress.add_bytes(1);
            Ok::<(), Error>(())
        })
    })?;
    Ok(context.close())
}
