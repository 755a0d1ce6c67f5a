//! Ranges of an answer that does not fit in memory. Workers gather the pairs of each range in blocks
//! and put full blocks on disk; a range that came out too large to be sorted in memory is divided
//! again.

use super::ranking::Ranking;
use super::splitters::{PairSample, Splitters};
use crate::aggregate::Aggregate;
use crate::error::{MemoryError, Result};
use crate::memory::{ByteArena, ChunkPool, Reserved};
use crate::options::Order;
use crate::partial::{
    Answers, Form, OpenBlock, Run, RunReader, Sealer, Spill, Taker, read_run, store,
};
use crate::slots::{Entry, PairRef, ShortKey, SlotKey};
use crate::storage::Region;
use crate::sync::Mutex;
use std::sync::Arc;

/// Memory for the places of a range's blocks: few, because the blocks lie in regions.
const PLACES_BYTES: usize = 512;

/// Ranges while they are filled.
pub(super) struct StoredRanges<'r, C: Aggregate> {
    splitters: Splitters<'r, C>,
    runs: Vec<Mutex<(Run, Region)>>,
    _memory: Reserved,
    spill: &'r Spill,
    chunks: Arc<ChunkPool>,
}

impl<'r, C: Aggregate> StoredRanges<'r, C> {
    /// Divides an answer by a sample; it has at most `pairs` pairs, whose keys and values take `bytes` in memory.
    pub(super) fn new(
        sample: PairSample<'r, C>,
        pairs: u64,
        bytes: u64,
        spill: &'r Spill,
        chunks: &Arc<ChunkPool>,
    ) -> Result<StoredRanges<'r, C>, MemoryError> {
        let shares = spill.shares();
        // Half of a range's share, because sampled ranges differ.
        let half = (shares.range_bytes as u64 / 2).max(1);
        let wanted = sorting_bytes::<C>(pairs, bytes) / half + 1;
        let most = (shares.scatter_bytes / shares.block_bytes).max(2);
        let splitters = sample.splitters((wanted as usize).clamp(2, most));
        let runs = (0..splitters.ranges()).map(|range| (Run::new(range), Region::default()));
        let runs: Vec<_> = runs.map(Mutex::new).collect();
        let bytes = runs.len() * PLACES_BYTES;
        let memory = Reserved::new(chunks.blocks(), bytes, "the places of runs on disk")?;
        Ok(StoredRanges { splitters, runs, _memory: memory, spill, chunks: Arc::clone(chunks) })
    }

    pub(super) fn into_runs(self) -> Vec<Run> {
        let runs = self.runs.into_iter();
        let runs = runs.map(|run| run.into_inner().0);
        runs.filter(|run| run.pairs > 0).collect()
    }
}

/// Returns the memory for sorting `pairs` pairs whose keys and values take `bytes`.
fn sorting_bytes<C: Aggregate>(pairs: u64, bytes: u64) -> u64 {
    // Two places, half of one while values are sorted, and a number.
    const BESIDE: usize = 16 + 4 + 4;
    let copies = if Answers::<C>::POINTS { 2 } else { 1 };
    copies * bytes + pairs * (size_of::<Entry<ShortKey, C::Reduced>>() + BESIDE) as u64
}

/// One worker's way into the ranges.
pub(super) struct StoredScatter<'r, C: Aggregate> {
    ranges: &'r StoredRanges<'r, C>,
    open: Vec<OpenBlock>,
    sealer: Sealer,
}

impl<'r, C: Aggregate> StoredScatter<'r, C> {
    pub(super) fn new(
        ranges: &'r StoredRanges<'r, C>,
    ) -> Result<StoredScatter<'r, C>, MemoryError> {
        let (blocks, block_bytes) = (ranges.chunks.blocks(), ranges.spill.shares().block_bytes);
        let open = ranges.runs.iter().map(|_| OpenBlock::new(blocks, block_bytes));
        Ok(StoredScatter {
            ranges,
            open: open.collect::<Result<_, _>>()?,
            sealer: Sealer::new(blocks, block_bytes)?,
        })
    }

    fn put(&mut self, range: usize, pair: PairRef<'_, C::Reduced>) -> Result<()> {
        if self.open[range].push::<Answers<C>>(pair)? { self.store(range) } else { Ok(()) }
    }

    fn store(&mut self, range: usize) -> Result<()> {
        let scratch = self.ranges.spill.scratch();
        store(scratch, &mut self.sealer, &mut self.open[range], range, |bytes, pairs| {
            let mut run = self.ranges.runs[range].lock();
            let (run, region) = &mut *run;
            let place = region.take(scratch, bytes);
            run.add(place.clone(), pairs);
            place
        })
    }

    /// Writes the rest of the gathered pairs to disk.
    pub(super) fn finish(mut self) -> Result<()> {
        for range in 0..self.open.len() {
            if !self.open[range].is_empty() {
                self.store(range)?;
            }
        }
        Ok(())
    }
}

impl<C: Aggregate> Taker<C::Reduced> for StoredScatter<'_, C> {
    fn take<K: SlotKey>(&mut self, entry: &Entry<K, C::Reduced>) -> Result<()> {
        let range = self.ranges.splitters.range_of(entry);
        self.put(range, PairRef::of(entry))
    }

    /// Drops the arena, because written keys are copies.
    fn keep(&mut self, arena: ByteArena) {
        drop(arena);
    }
}

/// Divides a run whose pairs cannot be sorted in memory, until its parts can. The parts come in the
/// order of the answer.
pub(super) fn divide<C: Aggregate>(
    run: Run,
    ranking: Ranking<'_, C>,
    order: Order,
    spill: &Spill,
    chunks: &Arc<ChunkPool>,
    into: &mut Vec<Run>,
) -> Result<()> {
    let shares = spill.shares();
    if sorting_bytes::<C>(run.pairs, run.held_bytes) <= shares.range_bytes as u64 || run.pairs < 2 {
        return push(run, spill, into);
    }
    let mut reader = RunReader::<Answers<C>>::new(spill.scratch(), chunks, shares.block_bytes)?;
    let mut sample = PairSample::new(ranking, order, shares.sample_bytes).copying(chunks);
    read_run(&mut reader, run.number, &run.extents, |pair| {
        Ok(sample.add(pair.key, || *pair.value)?)
    })?;
    let pairs = run.pairs;
    let ranges = StoredRanges::new(sample, pairs, run.held_bytes, spill, chunks)?;
    let mut scatter = StoredScatter::new(&ranges)?;
    read_run(&mut reader, run.number, &run.extents, |pair| {
        let range = ranges.splitters.range_of_pair(pair);
        scatter.put(range, pair)
    })?;
    drop(reader);
    scatter.finish()?;
    spill.scratch().free(&run.extents)?;
    for part in ranges.into_runs() {
        if part.pairs == pairs {
            // Only an order that contradicts itself leaves all pairs on one side of a splitter that is not the least.
            push(part, spill, into)?;
        } else {
            divide(part, ranking, order, spill, chunks, into)?;
        }
    }
    Ok(())
}

fn push(run: Run, spill: &Spill, into: &mut Vec<Run>) -> Result<()> {
    spill.note(&run, &[])?;
    into.push(run);
    Ok(())
}
