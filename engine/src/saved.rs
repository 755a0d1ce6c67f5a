//! The answers of what a state has saved: [`Engine::saved`]. It is a run without a map stage, whose partial
//! comes from snapshots alone.

use crate::aggregate::Aggregate;
use crate::engine::{Core, Engine};
use crate::error::{Error, Result, StorageError};
use crate::facts::JobFacts;
use crate::failure::Failure;
use crate::job::{Job, comparison};
use crate::memory::Reserved;
use crate::options::Options;
use crate::output::{Finished, Output};
use crate::partial::Upkeep;
use crate::plan::FileNames;
use crate::progress::Stage;
use crate::reduce::Ranking;
use crate::room::Room;
use crate::run::{Answer, answer};
use crate::schedule::{PerWorker, for_each};
use crate::sizing;
use crate::state::{SavedPartials, StateReport};
use crate::stats::{StageClock, Stats};
use std::sync::Arc;

const STAGE: &str = "reading what was saved";
/// So often a state may be changed while it is looked at; a run saves once a second at most.
const LOOKS_MOST: u32 = 20;
/// Partitions are looked at after so many pairs.
const PAIRS_PER_LOOK: u64 = 64 << 10;

/// What a state has saved so far, as answers.
#[non_exhaustive]
pub struct Saved<J: Job> {
    /// What the state holds, and of what input: `mapped_bytes` of `input_bytes` are in the answers, and all
    /// of it if it is `done`.
    pub report: StateReport,
    /// The answers of that part of the input, in the order that was asked for.
    pub output: Output<J>,
}

impl Engine {
    /// The answers of what a run with a state has saved so far: of this job, in
    /// [`Options::state`], with the order and the top of the options. The run may be at work meanwhile, in
    /// another process, or have been killed; its input is not looked at, so that the state's folder can be
    /// a copy on another machine. What is saved, is: all of the input's part that it stands for, once.
    ///
    /// # Errors
    /// [`StateError::Missing`](crate::StateError::Missing) if nothing was saved there, [`StateError::OtherJob`](crate::StateError::OtherJob) if it was by another job,
    /// and those of the disk and of memory.
    pub fn saved<J: Job>(&self, job: &J, options: &Options) -> Result<Saved<J>> {
        let Some(state) = &options.state else {
            let cause = "name the state whose answers are to be shown".to_owned();
            return Err(Error::Option { option: "state", cause });
        };
        let facts = JobFacts::of(job)?;
        let compare = comparison(job);
        let ranking = Ranking::new((!facts.is_largest_first).then_some(&compare));
        let mut looks = 0;
        loop {
            looks += 1;
            let partials = SavedPartials::look(state, &facts)?;
            match (J::Combine::compiled().saved)(self.core(), ranking, options, partials) {
                // The run has saved more, and removed what that stands for.
                Err(Error::Storage(StorageError::Missing { .. })) if looks < LOOKS_MOST => {}
                saved => {
                    let (report, output) = saved?;
                    return Ok(Saved { report, output: Output::of(output) });
                }
            }
        }
    }
}

pub(crate) fn answers_of<C: Aggregate>(
    core: &Arc<Core>,
    ranking: Ranking<'_, C>,
    options: &Options,
    partials: SavedPartials,
) -> Result<(StateReport, Finished<C>)> {
    let progress = options.progress.clone().unwrap_or_default();
    let failure = Failure::new(&options.cancel);
    let mut clock = StageClock::new(&progress, options.timeline.as_ref());
    let (pool, unit_bytes) = (core.pool(), sizing::unit_bytes(core.topology()));
    let list_bytes = partials.files.memory_bytes();
    let counted = Reserved::new(core.blocks(), list_bytes, "the list of the input's files")?;
    let room = Room::new(core, core.shares::<C>(unit_bytes, counted.bytes(), pool.workers())?);
    let (partial, chunks) = (room.partial(), &room.chunks);
    let workers = PerWorker::new(pool.workers());
    clock.time(Stage::Map, || {
        let takings = &partials.takings;
        for_each(pool, &failure, STAGE, takings.len(), |worker, at| {
            let make = || Ok(Upkeep::<C>::new(chunks));
            workers.with(worker, make, |upkeep| {
                let mut reader = partials.read(&takings[at], chunks, room.shares.block_bytes)?;
                let mut unseen = 0;
                reader.restore::<C>(&partial, chunks, |pairs| {
                    unseen += pairs;
                    if unseen >= PAIRS_PER_LOOK {
                        unseen = 0;
                        progress.set_keys_held(upkeep.fold(&partial, 0)?);
                    }
                    upkeep.relieve(&partial)
                })
            })
        })
    })?;
    drop(workers);
    let Answer { pieces, pointed_at, totals } =
        answer(core, ranking, options, (&partial, chunks), &failure, &mut clock)?;
    drop(partial);
    core.trim();
    let SavedPartials { files, report, .. } = partials;
    let stats = Stats {
        stages: clock.finish(),
        workers: pool.workers(),
        files: report.files,
        bytes: report.mapped_bytes,
        restored_bytes: report.mapped_bytes,
        keys: totals.keys,
        key_value_bytes: totals.key_bytes + totals.keys * size_of::<C::Reduced>() as u64,
        spilled_bytes: room.scratch.bytes(),
        memory_counted_peak: core.blocks().budget().peak(),
        ..Stats::default()
    };
    let names = FileNames::of(files, counted);
    let timeline = options.timeline.clone();
    let output =
        Finished::new(Arc::clone(core), pieces, pointed_at, room.stored(), names, stats, timeline);
    Ok((report, output))
}
