//! Takes saved pairs into a partial: those of a run that resumes, and those of a state that is shown.

use super::folds::Taking;
use super::snapshot::SnapshotReader;
use super::tiles::EngineParts;
use crate::aggregate::Aggregate;
use crate::error::Result;
use crate::memory::ChunkPool;
use crate::partial::{PARTITIONS, Partial, Upkeep};
use crate::progress::Progress;
use crate::schedule::{PerWorker, for_each};
use crate::timeline::{self, Kind};
use std::sync::Arc;

const STAGE: &str = "reading what was saved";
/// Partitions are checked after this number of pairs.
const PAIRS_PER_LOOK: u64 = 16 << 10;

/// Takes in the pairs of `takings`, or takes them out, snapshot by snapshot on all workers. `open` opens one. The
/// partial is folded and spilled as the map stage does it. Values of one split keep their order, because one worker
/// takes all snapshots over which a split goes on.
pub(super) fn restore<C: Aggregate>(
    takings: &[Taking],
    open: &(dyn Fn(&Taking) -> Result<SnapshotReader> + Sync),
    (partial, chunks): (&Partial<C::Accumulator>, &Arc<ChunkPool>),
    progress: &Progress,
    EngineParts { pool, failure, .. }: EngineParts<'_>,
) -> Result<()> {
    let workers = PerWorker::new(pool.workers());
    let rows: Vec<&[Taking]> =
        takings.chunk_by(|taking, _| C::KEEPS_VALUES && taking.goes_on()).collect();
    for_each(pool, failure, STAGE, rows.len(), |worker, number| {
        let make = || Ok((Upkeep::<C>::new(chunks), 0));
        workers.with(worker, make, |(upkeep, unseen)| {
            let mut after = |pairs| {
                *unseen += pairs;
                if *unseen >= PAIRS_PER_LOOK {
                    *unseen = 0;
                    let _folding = timeline::begin(Kind::Compress);
                    let first = worker * PARTITIONS / pool.workers();
                    progress.set_keys_held(upkeep.fold(partial, first)?);
                }
                let _spilling = upkeep.is_full(partial).then(|| timeline::begin(Kind::Spill));
                upkeep.relieve(partial)
            };
            let mut row = rows[number].iter();
            row.try_for_each(|taking| open(taking)?.restore::<C>(partial, chunks, &mut after))
        })
    })
}
