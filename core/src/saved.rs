//! The answers of the saved pairs: [`JobRun::saved`](crate::JobRun::saved). It is a run without a map stage,
//! whose partial comes from snapshots alone.

use crate::aggregate::Aggregate;
use crate::core::Core;
use crate::error::Result;
use crate::failure::Failure;
use crate::memory::Reserved;
use crate::options::Options;
use crate::output::Finished;
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
/// Partitions are checked after this number of pairs.
const PAIRS_PER_LOOK: u64 = 64 << 10;

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
