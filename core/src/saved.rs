//! The answers of the saved pairs: [`JobRun::saved`](crate::JobRun::saved). It is a run without a map stage,
//! whose partial comes from snapshots alone.

use crate::aggregate::Aggregate;
use crate::context::RunContext;
use crate::core::{Core, FILE_LIST};
use crate::error::Result;
use crate::options::Options;
use crate::output::Finished;
use crate::partial::Upkeep;
use crate::plan::FileNames;
use crate::progress::Stage;
use crate::reduce::Ranking;
use crate::room::Room;
use crate::run::{merge, reduce};
use crate::schedule::{PerWorker, for_each};
use crate::sizing;
use crate::state::{SavedPartials, StateReport};
use crate::stats::Stats;
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
    let context = RunContext::open(core, options)?;
    let (pool, unit_bytes) = (core.pool(), sizing::unit_bytes(core.topology()));
    let least = core.least_bytes::<C>(unit_bytes, pool.workers());
    let list = core.count(partials.files.memory_bytes(), FILE_LIST, least)?;
    let room = Room::new(core, core.shares::<C>(unit_bytes, list.bytes(), pool.workers())?);
    let (partial, chunks) = (room.partial(), &room.chunks);
    let workers = PerWorker::new(pool.workers());
    context.time(Stage::Map, || {
        let takings = &partials.takings;
        for_each(pool, &context.failure, STAGE, takings.len(), |worker, at| {
            let make = || Ok(Upkeep::<C>::new(chunks));
            workers.with(worker, make, |upkeep| {
                let mut reader = partials.read(&takings[at], chunks, room.shares.block_bytes)?;
                let mut unseen = 0;
                reader.restore::<C>(&partial, chunks, |pairs| {
                    unseen += pairs;
                    if unseen >= PAIRS_PER_LOOK {
                        unseen = 0;
                        context.progress.set_keys_held(upkeep.fold(&partial, 0)?);
                    }
                    upkeep.relieve(&partial)
                })
            })
        })
    })?;
    drop(workers);
    let reduced = reduce(&context, ranking, &partial, &room)?;
    let answer = merge(&context, ranking, partial, &room, reduced)?;
    let SavedPartials { files, report, .. } = partials;
    let bytes = report.mapped_bytes;
    let stats = Stats { files: report.files, bytes, restored_bytes: bytes, ..context.close() };
    Ok((report, answer.finish(core, room, FileNames::of(files, list), stats, options)))
}
