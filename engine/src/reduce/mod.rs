//! The reduce stage: partition by partition, pairs with equal keys become one, and each goes straight
//! on to where the answer wants it: into ranges of keys (or of values) that are sorted next, into a
//! selection of the top N, or back into its partition if order does not matter. A partition's memory
//! is free again before the next one is taken, so the answer replaces the partials instead of
//! standing beside them.

mod ranges;
mod select;
mod splitters;
#[cfg(test)]
mod tests;

use crate::combine::Combine;
use crate::container::{Entry, SlotKey};
use crate::error::{MemoryError, Result};
use crate::failure::Failure;
use crate::memory::{ByteArena, ChunkPool};
use crate::options::Order;
use crate::partial::{Folder, PARTITIONS, Pairs, Partial, Partition, Taker};
use crate::schedule::{Cursor, PerWorker, Pool, Step};
use ranges::{Ranges, Scatter};
use select::Selection;
use splitters::Splitters;
use std::sync::Arc;

/// What the reduce stage needs to know of its run.
pub(crate) struct ReduceStage<'r, C: Combine> {
    pub(crate) pool: &'r Pool,
    pub(crate) chunks: &'r Arc<ChunkPool>,
    pub(crate) partial: &'r Partial<C::Accumulator>,
    pub(crate) failure: &'r Failure,
    pub(crate) order: Order,
    pub(crate) top: Option<usize>,
}

/// The answer's pairs, one per key.
pub(crate) struct Reduced<V: Copy> {
    /// In order from range to range, unless the answer has no order.
    pub(crate) ranges: Vec<Range<V>>,
    /// Bytes of long keys that the ranges point at but do not own.
    pub(crate) long_keys: Vec<ByteArena>,
    pub(crate) totals: ReduceTotals,
}

/// Pairs that stand together in the answer's order, not yet sorted among themselves.
pub(crate) struct Range<V: Copy> {
    pub(crate) pairs: Pairs<V>,
    /// Bytes that all keys begin with, so that sorting need not look at them.
    pub(crate) shared_prefix: usize,
}

/// What the reduce stage saw.
#[derive(Clone, Copy, Default)]
pub(crate) struct ReduceTotals {
    pub(crate) keys: u64,
    pub(crate) key_bytes: u64,
}

/// A worker of the stage.
struct Worker<C: Combine, T> {
    folder: Folder<C>,
    taker: Counted<T>,
}

impl<C: Combine> ReduceStage<'_, C> {
    pub(crate) fn run(&self) -> Result<Reduced<C::Accumulator>> {
        if let Some(most) = self.top {
            return self.select(most);
        }
        match self.order {
            Order::None => self.fold_in_place(),
            Order::Key | Order::Value => self.scatter(),
        }
    }

    fn select(&self, most: usize) -> Result<Reduced<C::Accumulator>> {
        let workers = self.fold_all(|| Ok(Selection::<C>::new(most)))?;
        let (selections, totals) = split_totals(workers);
        let pairs = Selection::merge(selections, most, self.chunks)?;
        let ranges = vec![Range { pairs, shared_prefix: 0 }];
        Ok(Reduced { ranges, long_keys: Vec::new(), totals })
    }

    fn scatter(&self) -> Result<Reduced<C::Accumulator>> {
        if self.order == Order::Value {
            // Splitters by value are only as good as the values in the sample: fold them first.
            self.compress_all(Folder::compress)?;
        }
        let splitters = Splitters::<C>::sample(self.partial, self.order, self.pool.workers());
        let ranges = Ranges::new(splitters, self.chunks);
        let workers = self.fold_all(|| Ok(Scatter::new(&ranges)))?;
        let (scatters, totals) = split_totals(workers);
        let mut long_keys = Vec::new();
        for scatter in scatters {
            long_keys.extend(scatter.finish()?);
        }
        Ok(Reduced { ranges: ranges.into_ranges(), long_keys, totals })
    }

    fn fold_in_place(&self) -> Result<Reduced<C::Accumulator>> {
        self.compress_all(Folder::compress_canonically)?;
        let mut totals = ReduceTotals::default();
        let ranges = (0..PARTITIONS).map(|number| {
            let mut partition = self.partial.partition(number);
            let pairs = std::mem::replace(&mut partition.pairs, Pairs::new(self.chunks));
            totals.keys += pairs.len() as u64;
            totals.key_bytes += pairs.iter().map(|pair| pair.key.len() as u64).sum::<u64>();
            Range { pairs, shared_prefix: 0 }
        });
        let ranges = ranges.filter(|range| range.pairs.len() > 0).collect();
        Ok(Reduced { ranges, long_keys: Vec::new(), totals })
    }

    /// Folds every partition into the takers that workers make.
    fn fold_all<T: Taker<C::Accumulator> + Send>(
        &self,
        taker: impl Fn() -> Result<T> + Sync,
    ) -> Result<Vec<Worker<C, T>>> {
        let workers = PerWorker::new(self.pool.workers());
        self.for_each_partition(|index, partition| {
            let make = || {
                let taker = Counted { taker: taker()?, totals: ReduceTotals::default() };
                Ok(Worker { folder: Folder::new(self.chunks)?, taker })
            };
            workers.with(index, make, |worker: &mut Worker<C, T>| {
                Ok(worker.folder.reduce(partition, &mut worker.taker)?)
            })
        })?;
        Ok(workers.into_values().collect())
    }

    fn compress_all(
        &self,
        compress: impl Fn(&mut Folder<C>, &mut Partition<C::Accumulator>) -> Result<(), MemoryError>
        + Sync,
    ) -> Result<()> {
        let folders = PerWorker::new(self.pool.workers());
        self.for_each_partition(|index, partition| {
            let make = || Ok(Folder::<C>::new(self.chunks)?);
            folders.with(index, make, |folder| Ok(compress(folder, partition)?))
        })
    }

    fn for_each_partition(
        &self,
        work: impl Fn(usize, &mut Partition<C::Accumulator>) -> Result<()> + Sync,
    ) -> Result<()> {
        for_each(self.pool, self.failure, "the reduce stage", PARTITIONS, |index, number| {
            work(index, &mut self.partial.partition(number))
        })
    }
}

/// Does numbered pieces of work on all workers: `work(worker, number)` for each number below `count`.
pub(crate) fn for_each(
    pool: &Pool,
    failure: &Failure,
    stage: &str,
    count: usize,
    work: impl Fn(usize, usize) -> Result<()> + Sync,
) -> Result<()> {
    let cursor = Cursor::new(count as u64);
    let step = |index| {
        let Some(number) = (!failure.stops()).then(|| cursor.take()).flatten() else {
            return Step::Done;
        };
        match failure.attempt(number, stage, || work(index, number as usize)) {
            Some(()) => Step::More,
            None => Step::Done,
        }
    };
    pool.run(step, || ());
    failure.check()
}

/// A taker that counts what it passes on.
struct Counted<T> {
    taker: T,
    totals: ReduceTotals,
}

impl<V, T: Taker<V>> Taker<V> for Counted<T> {
    fn take<K: SlotKey>(&mut self, entry: &Entry<K, V>) -> Result<(), MemoryError> {
        self.totals.keys += 1;
        self.totals.key_bytes += entry.key.bytes().len() as u64;
        self.taker.take(entry)
    }

    fn keep(&mut self, arena: ByteArena) {
        self.taker.keep(arena);
    }
}

fn split_totals<C: Combine, T>(workers: Vec<Worker<C, T>>) -> (Vec<T>, ReduceTotals) {
    let mut sum = ReduceTotals::default();
    let takers = workers.into_iter().map(|worker| {
        sum.keys += worker.taker.totals.keys;
        sum.key_bytes += worker.taker.totals.key_bytes;
        worker.taker.taker
    });
    (takers.collect(), sum)
}
