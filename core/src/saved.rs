//! The answers of the saved pairs: [`JobRun::saved`](crate::JobRun::saved). It is a run without a map stage,
//! whose partial comes from snapshots alone.

use crate::aggregate::Aggregate;
use crate::context::RunContext;
use crate::core::{Core, FILE_LIST};
use crate::error::Result;
use crate::options::Options;
use crate::output::Finished;
use crate::plan::FileNames;
use crate::progress::Stage;
use crate::reduce::Ranking;
use crate::room::Room;
use crate::run::{merge, reduce};
use crate::sizing;
use crate::state::{SavedPartials, StateReport};
use crate::stats::Stats;
use std::sync::Arc;

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
    let partial = room.partial();
    context.time(Stage::Map, || {
        let parts = context.parts();
        let (into, block_bytes) = ((&partial, &room.chunks), room.shares.block_bytes);
        partials.restore::<C>(into, block_bytes, &context.progress, parts)
    })?;
    let reduced = reduce(&context, ranking, &partial, &room)?;
    let answer = merge(&context, ranking, partial, &room, reduced)?;
    let SavedPartials { files, report, .. } = partials;
    let bytes = report.mapped_bytes;
    let stats = Stats { files: report.files, bytes, restored_bytes: bytes, ..context.close() };
    Ok((report, answer.finish(core, room, FileNames::of(files, list), stats, options)))
}
