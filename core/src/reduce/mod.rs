//! The reduce stage: partition by partition, pairs with equal keys become one, and each goes straight
//! on to where the answer wants it: into ranges of keys (or of values) that are sorted next, into a
//! selection of the top N, or back into its partition if order does not matter. A partition's memory
//! is free again before the next one is taken, so the answer replaces the partials instead of
//! standing beside them.
//!
//! If the partial was spilled, all of it is on disk: its runs are merged, and the ranges are on disk, too.

mod copies;
mod ranges;
mod ranking;
mod select;
mod splitters;
mod stored;

pub(crate) use ranking::Compare;
pub use ranking::Ranking;

use crate::aggregate::Aggregate;
use crate::error::{MemoryError, Result};
use crate::failure::Failure;
use crate::memory::{ByteArena, ChunkPool};
use crate::options::Order;
use crate::partial::{
    Answers, Folder, Merger, PARTITIONS, Pairs, Partial, Partition, Receiver, Run, RunWriter,
    Spill, Taker,
};
use crate::schedule::{PerWorker, Pool, for_each};
use crate::slots::{Entry, SlotKey};
use crate::sync::Mutex;
use ranges::{Ranges, Scatter};
use select::Selection;
use splitters::{PairSample, Splitters};
use std::any::{Any, TypeId};
use std::marker::PhantomData;
use std::sync::Arc;
use stored::{StoredRanges, StoredScatter, divide};

/// The parts of a run that the reduce stage needs.
pub struct ReduceStage<'r, C: Aggregate> {
    pub ranking: Ranking<'r, C>,
    pub pool: &'r Pool,
    pub chunks: &'r Arc<ChunkPool>,
    pub partial: &'r Partial<C::Accumulator>,
    pub failure: &'r Failure,
    pub order: Order,
    pub top: Option<usize>,
    /// Whether the partial stays, because more pairs will come: reduced pairs may point into it.
    pub keeps: bool,
}

/// The answer's pairs, one per key.
pub struct Reduced<V: Copy> {
    /// In order from range to range, unless the answer has no order.
    pub ranges: Vec<Range<V>>,
    /// Bytes of long keys that the ranges point at but do not own.
    pub long_keys: Vec<ByteArena>,
    pub totals: ReduceTotals,
}

impl<V: Copy> Reduced<V> {
    /// Ranges on disk.
    fn stored(runs: Vec<Run>, totals: ReduceTotals) -> Reduced<V> {
        let ranges = runs.into_iter().map(Range::Stored).collect();
        Reduced { ranges, long_keys: Vec::new(), totals }
    }
}

/// Pairs that are adjacent in the answer's order, not yet sorted among themselves.
pub enum Range<V: Copy> {
    /// In memory. All keys begin with the same `shared_prefix` bytes, so that sorting need not look
    /// at them.
    Held { pairs: Box<Pairs<V>>, shared_prefix: usize },
    /// On disk.
    Stored(Run),
}

/// The counts of the reduce stage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReduceTotals {
    /// All keys, also those that are not among the top N.
    pub keys: u64,
    /// Their bytes; not counted of pairs without an order that stay.
    pub key_bytes: u64,
}

/// A worker of the stage: its folder or merger of partitions, and the receiver of their pairs.
struct Worker<C, F, T> {
    folder: F,
    taker: Finishing<C, T>,
}

type Folding<C, T> = Worker<C, Folder<C>, T>;
type Merging<C, T> = Worker<C, Merger<C>, T>;

impl<'r, C: Aggregate> ReduceStage<'r, C> {
    pub fn run(&self) -> Result<Reduced<C::Reduced>> {
        if let Some(spill) = self.partial.spill().filter(|spill| spill.began()) {
            return self.run_stored(spill);
        }
        if let Some(most) = self.top {
            let workers = self.fold_all(|| Ok(self.selection(most)))?;
            return self.merge_selections(workers, most);
        }
        match self.order {
            Order::None => self.fold_in_place(),
            Order::Key | Order::Value => self.scatter(),
        }
    }

    /// As `run`, when the partial is on disk.
    fn run_stored(&self, spill: &'r Spill) -> Result<Reduced<C::Reduced>> {
        self.spill_rest(spill)?;
        // Nothing in memory points there any more.
        drop(self.partial.take_values());
        if let Some(most) = self.top {
            let workers =
                self.merge_all(spill, || Ok(self.selection(most).copying(self.chunks)))?;
            return self.merge_selections(workers, most);
        }
        match self.order {
            Order::None => self.merge_in_place(spill),
            Order::Key | Order::Value => self.scatter_stored(spill),
        }
    }

    fn selection(&self, most: usize) -> Selection<'r, C> {
        Selection::new(self.ranking, most, self.chunks.blocks())
    }

    fn merge_selections<F>(
        &self,
        workers: Vec<Worker<C, F, Selection<'r, C>>>,
        most: usize,
    ) -> Result<Reduced<C::Reduced>> {
        let (selections, totals) = split_totals(workers);
        let (pairs, store) = Selection::merge(selections, self.ranking, most, self.chunks)?;
        store.into_iter().for_each(|mut store| self.partial.keep_values(&mut store));
        let ranges = vec![Range::Held { pairs: Box::new(pairs), shared_prefix: 0 }];
        Ok(Reduced { ranges, long_keys: Vec::new(), totals })
    }

    /// Returns the first pairs of reduced ones in memory, by value.
    pub(crate) fn first_of(
        &self,
        ranges: &[Range<C::Reduced>],
        most: usize,
    ) -> Result<Range<C::Reduced>> {
        let workers = PerWorker::new(self.pool.workers());
        for_each(self.pool, self.failure, STAGE, ranges.len(), |index, number| {
            let Range::Held { pairs, .. } = &ranges[number] else { return Ok(()) };
            workers.with(
                index,
                || Ok(self.selection(most)),
                |selection| {
                    pairs.short.iter().try_for_each(|entry| selection.take(entry))?;
                    pairs.medium.iter().try_for_each(|entry| selection.take(entry))?;
                    pairs.long.iter().try_for_each(|entry| selection.take(entry))
                },
            )
        })?;
        let selections = workers.into_values();
        let (pairs, _) = Selection::merge(selections, self.ranking, most, self.chunks)?;
        Ok(Range::Held { pairs: Box::new(pairs), shared_prefix: 0 })
    }

    fn scatter(&self) -> Result<Reduced<C::Reduced>> {
        if self.order == Order::Value {
            // Splitters by value are only as good as the values in the sample: fold them first.
            self.compress_all(Folder::compress)?;
        }
        let (ranking, workers) = (self.ranking, self.pool.workers());
        let splitters = Splitters::sample(self.partial, ranking, self.order, workers)?;
        let ranges = Ranges::new(splitters, self.chunks);
        let workers = self.fold_all(|| Ok(Scatter::new(&ranges)))?;
        let (scatters, totals) = split_totals(workers);
        let mut long_keys = Vec::new();
        for scatter in scatters {
            long_keys.extend(scatter.finish()?);
        }
        Ok(Reduced { ranges: ranges.into_ranges(), long_keys, totals })
    }

    /// A partial that stays lends its pairs, if they are the answers; see [`take_back`].
    fn fold_in_place(&self) -> Result<Reduced<C::Reduced>> {
        self.compress_all(Folder::compress_canonically)?;
        let mut totals = ReduceTotals::default();
        let pairs = (0..PARTITIONS).map(|number| {
            let mut partition = self.partial.partition(number);
            let pairs = &partition.pairs;
            totals.keys += pairs.len() as u64;
            if !self.keeps {
                totals.key_bytes += pairs.iter().map(|pair| pair.key.len() as u64).sum::<u64>();
            }
            let pairs = if self.keeps && !answers_are_pairs::<C>() {
                self.finished_copies(pairs)?
            } else {
                let pairs = std::mem::replace(&mut partition.pairs, Pairs::new(self.chunks));
                self.finished(pairs)?
            };
            Ok(Range::Held { pairs: Box::new(pairs), shared_prefix: 0 })
        });
        let ranges = pairs.collect::<Result<_>>()?;
        Ok(Reduced { ranges, long_keys: Vec::new(), totals })
    }

    /// Returns the answers of pairs that are complete: the pairs themselves, for most aggregates.
    fn finished(&self, pairs: Pairs<C::Accumulator>) -> Result<Pairs<C::Reduced>, MemoryError> {
        let mut pairs = Some(pairs);
        if answers_are_pairs::<C>()
            && let Some(same) = same(&mut pairs)
        {
            return Ok(same);
        }
        pairs.map_or_else(|| Ok(Pairs::new(self.chunks)), |pairs| self.finished_copies(&pairs))
    }

    /// As `finished`, of pairs that stay.
    fn finished_copies(
        &self,
        pairs: &Pairs<C::Accumulator>,
    ) -> Result<Pairs<C::Reduced>, MemoryError> {
        let mut put = Pairs::new(self.chunks);
        pairs.short.iter().try_for_each(|entry| put.put(&reduced::<C, _>(entry)))?;
        pairs.medium.iter().try_for_each(|entry| put.put(&reduced::<C, _>(entry)))?;
        pairs.long.iter().try_for_each(|entry| put.put(&reduced::<C, _>(entry)))?;
        Ok(put)
    }

    /// Spills the pairs that are still in memory, so that all of the partial is in runs.
    fn spill_rest(&self, spill: &Spill) -> Result<()> {
        let workers = PerWorker::new(self.pool.workers());
        for_each(self.pool, self.failure, STAGE, PARTITIONS, |index, number| {
            let make = || Ok((Folder::new(self.chunks)?, spill.spiller(self.chunks)?));
            workers.with(index, make, |(folder, spiller)| {
                spill.spill::<C>(number, self.partial, folder, spiller)
            })
        })
    }

    /// Scatters over ranges on disk. Hashing has mixed the keys, so the pairs of one partition are a
    /// fair sample of the answer.
    fn scatter_stored(&self, spill: &'r Spill) -> Result<Reduced<C::Reduced>> {
        let on_disk = |number: usize| {
            let mut partition = self.partial.partition(number);
            let sizes = partition.runs.runs_mut().iter().map(|run| (run.pairs, run.held_bytes));
            sizes.fold((0, 0), |sum: (u64, u64), size| (sum.0 + size.0, sum.1 + size.1))
        };
        let sizes: Vec<(u64, u64)> = (0..PARTITIONS).map(on_disk).collect();
        let (pairs, bytes) =
            sizes.iter().fold((0, 0), |sum, size| (sum.0 + size.0, sum.1 + size.1));
        let largest = (0..PARTITIONS).max_by_key(|&number| sizes[number]).unwrap_or_default();
        let mut sample = PairSample::new(self.ranking, self.order, spill.shares().sample_bytes)
            .copying(self.chunks);
        let mut merger = spill.merger::<C>(self.chunks);
        merger.merge(self.partial.partition(largest).runs.runs_mut(), &mut sample)?;
        drop(merger);
        let ranges = StoredRanges::new(sample, pairs, bytes, spill, self.chunks)?;
        let workers = self.merge_all(spill, || Ok(StoredScatter::new(&ranges)?))?;
        let (scatters, totals) = split_totals(workers);
        scatters.into_iter().try_for_each(StoredScatter::finish)?;
        let runs: Vec<_> =
            ranges.into_runs().into_iter().map(|run| Mutex::new((Some(run), Vec::new()))).collect();
        for_each(self.pool, self.failure, STAGE, runs.len(), |_, number| {
            let mut run = runs[number].lock();
            let (run, parts) = &mut *run;
            run.take().map_or(Ok(()), |run| {
                divide(run, self.ranking, self.order, spill, self.chunks, parts)
            })
        })?;
        let mut parts = Vec::new();
        runs.into_iter().for_each(|run| parts.append(&mut run.into_inner().1));
        Ok(Reduced::stored(parts, totals))
    }

    fn merge_in_place(&self, spill: &'r Spill) -> Result<Reduced<C::Reduced>> {
        let runs: Vec<_> = (0..PARTITIONS).map(|_| Mutex::new(Run::default())).collect();
        let make = || Ok((spill.merger(self.chunks), spill.writer(self.chunks)?));
        let workers = self.take_all(make, |number, partition, worker: &mut Merging<C, _>| {
            let Worker { folder, taker } = worker;
            let writer: &mut RunWriter<Answers<C>> = &mut taker.taker;
            writer.begin(number);
            merge(spill, partition, folder, taker, self.keeps)?;
            let run = taker.taker.finish()?;
            spill.note(&run, &[])?;
            *runs[number].lock() = run;
            Ok(())
        })?;
        let (_, totals) = split_totals(workers);
        let mut runs: Vec<Run> = runs.into_iter().map(Mutex::into_inner).collect();
        runs.retain(|run| run.pairs > 0);
        Ok(Reduced::stored(runs, totals))
    }

    /// Folds every partition into the takers that workers make.
    fn fold_all<T: Taker<C::Reduced> + Send>(
        &self,
        taker: impl Fn() -> Result<T> + Sync,
    ) -> Result<Vec<Folding<C, T>>> {
        let make = || Ok((Folder::new(self.chunks)?, taker()?));
        self.take_all(make, |_, partition, Worker { folder, taker }: &mut Folding<C, T>| {
            if self.keeps {
                return folder.show(partition, taker);
            }
            folder.reduce(partition, taker)
        })
    }

    /// Merges every partition's runs into the takers that workers make.
    fn merge_all<T: Taker<C::Reduced> + Send>(
        &self,
        spill: &Spill,
        taker: impl Fn() -> Result<T> + Sync,
    ) -> Result<Vec<Merging<C, T>>> {
        let make = || Ok((spill.merger(self.chunks), taker()?));
        self.take_all(make, |_, partition, Worker { folder, taker }: &mut Merging<C, T>| {
            merge(spill, partition, folder, taker, self.keeps)
        })
    }

    /// Does a work on every partition, each with the folder or merger and the taker of its worker.
    fn take_all<F: Send, T: Send>(
        &self,
        make: impl Fn() -> Result<(F, T)> + Sync,
        work: impl Fn(usize, &mut Partition<C::Accumulator>, &mut Worker<C, F, T>) -> Result<()> + Sync,
    ) -> Result<Vec<Worker<C, F, T>>> {
        let workers = PerWorker::new(self.pool.workers());
        self.for_each_partition(|index, number, partition| {
            let make = || {
                let (folder, taker) = make()?;
                Ok(Worker { folder, taker: Finishing::new(taker) })
            };
            workers.with(index, make, |worker| work(number, partition, worker))
        })?;
        Ok(workers.into_values())
    }

    fn compress_all(
        &self,
        compress: impl Fn(&mut Folder<C>, &mut Partition<C::Accumulator>) -> Result<()> + Sync,
    ) -> Result<()> {
        let folders = PerWorker::new(self.pool.workers());
        self.for_each_partition(|index, _, partition| {
            let make = || Ok(Folder::<C>::new(self.chunks)?);
            folders.with(index, make, |folder| compress(folder, partition))
        })
    }

    fn for_each_partition(
        &self,
        work: impl Fn(usize, usize, &mut Partition<C::Accumulator>) -> Result<()> + Sync,
    ) -> Result<()> {
        for_each(self.pool, self.failure, STAGE, PARTITIONS, |index, number| {
            work(index, number, &mut self.partial.partition(number))
        })
    }
}

const STAGE: &str = "the reduce stage";

/// Puts back the pairs that the stage has lent of a partition where order does not matter. Pairs that were copied
/// for the answer are dropped.
pub(crate) fn take_back<C: Aggregate>(
    partial: &Partial<C::Accumulator>,
    number: usize,
    pairs: Pairs<C::Reduced>,
) {
    if answers_are_pairs::<C>()
        && let Some(same) = same(&mut Some(pairs))
    {
        partial.partition(number).pairs = same;
    }
}

/// Whether the answer of a key is its accumulator.
fn answers_are_pairs<C: Aggregate>() -> bool {
    !C::REDUCES && TypeId::of::<C::Accumulator>() == TypeId::of::<C::Reduced>()
}

/// Returns the pairs as those of values of another name, if these are of the same type.
fn same<A: Copy + 'static, B: Copy + 'static>(pairs: &mut Option<Pairs<A>>) -> Option<Pairs<B>> {
    (pairs as &mut dyn Any).downcast_mut::<Option<Pairs<B>>>().and_then(Option::take)
}

/// Hands a partition's pairs from its runs to `receiver`, and gives their space back unless they are kept.
fn merge<C: Aggregate>(
    spill: &Spill,
    partition: &mut Partition<C::Accumulator>,
    merger: &mut Merger<C>,
    receiver: &mut dyn Receiver<C::Accumulator>,
    keeps: bool,
) -> Result<()> {
    let mut runs = std::mem::take(partition.runs.runs_mut());
    let merged = merger.merge(&mut runs, receiver);
    if keeps || merged.is_err() {
        *partition.runs.runs_mut() = runs;
        return merged;
    }
    Ok(runs.iter().try_for_each(|run| spill.scratch().free(&run.extents))?)
}

/// A taker that makes the answer of each key, and counts what it passes on.
struct Finishing<C, T> {
    taker: T,
    totals: ReduceTotals,
    aggregate: PhantomData<fn(C)>,
}

impl<C, T> Finishing<C, T> {
    fn new(taker: T) -> Finishing<C, T> {
        Finishing { taker, totals: ReduceTotals::default(), aggregate: PhantomData }
    }
}

impl<C: Aggregate, T: Taker<C::Reduced>> Taker<C::Accumulator> for Finishing<C, T> {
    fn take<K: SlotKey>(&mut self, entry: &Entry<K, C::Accumulator>) -> Result<()> {
        self.totals.keys += 1;
        self.totals.key_bytes += entry.key.bytes().len() as u64;
        self.taker.take(&reduced::<C, K>(entry))
    }

    fn keep(&mut self, arena: ByteArena) {
        self.taker.keep(arena);
    }
}

/// Returns the answer of a key that is complete.
#[inline(always)]
fn reduced<C: Aggregate, K: SlotKey>(entry: &Entry<K, C::Accumulator>) -> Entry<K, C::Reduced> {
    Entry { key: entry.key, value: C::reduce(entry.key.bytes(), &entry.value) }
}

fn split_totals<C, F, T>(workers: Vec<Worker<C, F, T>>) -> (Vec<T>, ReduceTotals) {
    let mut sum = ReduceTotals::default();
    let takers = workers.into_iter().map(|worker| {
        sum.keys += worker.taker.totals.keys;
        sum.key_bytes += worker.taker.totals.key_bytes;
        worker.taker.taker
    });
    (takers.collect(), sum)
}
