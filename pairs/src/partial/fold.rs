//! Folding: pairs with equal keys become one. Compress (while the job runs, so that partials stay
//! small) and reduce (at its end) are the same fold; they differ in who takes the result.

use super::form::Accumulators;
use super::runs::RunWriter;
use super::taker::{Batch, Receiver};
use super::{PARTITION_BITS, Pairs, Partition};
use crate::aggregate::Aggregate;
use crate::error::{MemoryError, Result};
use crate::memory::{ChunkList, ChunkPool, ValueStore};
use crate::slots::{Entry, LongKey, MediumKey, ShortKey, SlotKey, Table};
use std::sync::Arc;

/// Within a partition the hash's first bits are all alike.
type FoldTable<K, C> = Table<K, <C as Aggregate>::Accumulator, PARTITION_BITS>;

/// A worker's tables for folding one partition at a time, reused from one to the next.
pub struct Folder<C: Aggregate> {
    short: FoldTable<ShortKey, C>,
    medium: FoldTable<MediumKey, C>,
    long: FoldTable<LongKey, C>,
    /// Memory of the values that folding copies. The partition keeps it with its pairs.
    store: ValueStore,
    pool: Arc<ChunkPool>,
}

impl<C: Aggregate> Folder<C> {
    pub fn new(pool: &Arc<ChunkPool>) -> Result<Folder<C>, MemoryError> {
        let (blocks, bits) = (pool.blocks(), FoldTable::<ShortKey, C>::bits_for(0));
        Ok(Folder {
            short: Table::new(blocks, bits)?,
            medium: Table::new(blocks, bits)?,
            long: Table::new(blocks, bits)?,
            store: ValueStore::new(pool),
            pool: Arc::clone(pool),
        })
    }

    /// Folds a partition in place.
    pub fn compress(&mut self, partition: &mut Partition<C::Accumulator>) -> Result<()> {
        self.compress_as(partition, Sorting::None)
    }

    /// Folds a partition in place, its pairs in the order of class, hash, key: the same whatever
    /// came together in it, and in which order.
    pub fn compress_canonically(
        &mut self,
        partition: &mut Partition<C::Accumulator>,
    ) -> Result<()> {
        self.compress_as(partition, Sorting::Canonical)
    }

    fn compress_as(
        &mut self,
        partition: &mut Partition<C::Accumulator>,
        sorting: Sorting,
    ) -> Result<()> {
        let mut folded = Pairs::new(&self.pool);
        self.fold(&mut partition.pairs, &mut folded, sorting)?;
        partition.folded(folded, self.store.seal());
        Ok(())
    }

    /// Hands a partition's pairs, one per key and in canonical order, to the run they go to, and
    /// leaves memory empty of them.
    pub fn spill(
        &mut self,
        partition: &mut Partition<C::Accumulator>,
        run: &mut RunWriter<Accumulators<C>>,
    ) -> Result<()> {
        self.fold(&mut partition.pairs, run, Sorting::Canonical)?;
        self.store.reset();
        Ok(())
    }

    /// Hands a partition's pairs, one per key, to `receiver`, and leaves the partition empty.
    pub fn reduce(
        &mut self,
        partition: &mut Partition<C::Accumulator>,
        receiver: &mut dyn Receiver<C::Accumulator>,
    ) -> Result<()> {
        if partition.may_repeat() {
            self.fold(&mut partition.pairs, receiver, Sorting::None)?;
            partition.keep_values(self.store.seal());
            return Ok(());
        }
        give_all(&partition.pairs, receiver)?;
        receiver.keep(partition.pairs.clear());
        Ok(())
    }

    /// Shows a partition's pairs, one per key, to `receiver`, and leaves them folded in place: keys and values
    /// that the receiver keeps point there.
    pub fn show(
        &mut self,
        partition: &mut Partition<C::Accumulator>,
        receiver: &mut dyn Receiver<C::Accumulator>,
    ) -> Result<()> {
        if partition.may_repeat() {
            self.compress(partition)?;
        }
        give_all(&partition.pairs, receiver)
    }

    /// Folds `pairs` into `receiver` and leaves `pairs` empty. The chunks of a class are free again
    /// before its folded pairs are received.
    fn fold(
        &mut self,
        pairs: &mut Pairs<C::Accumulator>,
        receiver: &mut dyn Receiver<C::Accumulator>,
        sorting: Sorting,
    ) -> Result<()> {
        let (short, medium, long) = (&mut pairs.short, &mut pairs.medium, &mut pairs.long);
        let store = &mut self.store;
        fold_class::<C, _>(&mut self.short, store, short, sorting, |batch| {
            receiver.receive(Batch::Short(batch))
        })?;
        fold_class::<C, _>(&mut self.medium, store, medium, sorting, |batch| {
            receiver.receive(Batch::Medium(batch))
        })?;
        fold_class::<C, _>(&mut self.long, store, long, sorting, |batch| {
            receiver.receive(Batch::Long(batch))
        })?;
        receiver.keep(pairs.clear());
        Ok(())
    }
}

/// The order of the folded pairs of a class.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sorting {
    /// None: about that of their hashes.
    None,
    /// That of hash, then key.
    Canonical,
}

fn give_all<V: Copy>(pairs: &Pairs<V>, receiver: &mut dyn Receiver<V>) -> Result<()> {
    pairs.short.slices().try_for_each(|entries| receiver.receive(Batch::Short(entries)))?;
    pairs.medium.slices().try_for_each(|entries| receiver.receive(Batch::Medium(entries)))?;
    pairs.long.slices().try_for_each(|entries| receiver.receive(Batch::Long(entries)))
}

/// Pairs are probed for this many at a time, so that their cache misses overlap.
const BATCH: usize = 32;

fn fold_class<C: Aggregate, K: SlotKey>(
    table: &mut FoldTable<K, C>,
    store: &mut ValueStore,
    entries: &mut ChunkList<Entry<K, C::Accumulator>>,
    sorting: Sorting,
    mut receive: impl FnMut(&[Entry<K, C::Accumulator>]) -> Result<()>,
) -> Result<()> {
    if entries.len() == 0 {
        return Ok(());
    }
    let bits = FoldTable::<K, C>::bits_for(entries.len());
    table.resize(bits)?;
    let mut hashes = [0; BATCH];
    for batch in entries.slices().flat_map(|slice| slice.chunks(BATCH)) {
        for (entry, hash) in batch.iter().zip(&mut hashes) {
            *hash = entry.key.hash();
            table.prefetch(*hash);
        }
        if C::KEEPS_VALUES {
            let hashes = &hashes[..batch.len()];
            hashes.iter().filter_map(|&hash| table.at_home(hash)).for_each(C::prefetch);
        }
        for (entry, &hash) in batch.iter().zip(&hashes) {
            table.combine(entry.key, hash, C::identity(), |total| {
                C::merge(total, &entry.value, store);
            });
        }
        if table.is_crowded(hashes[batch.len() - 1]) && !table.is_spread() {
            table.spread();
        }
    }
    store.check()?;
    entries.clear();
    let see = |folded: &mut Vec<Entry<K, C::Accumulator>>| {
        if C::INVERSE.is_some() {
            folded.retain(|entry| !is_gone::<C>(&entry.value));
        }
        receive(folded)
    };
    match sorting {
        Sorting::None => table.drain_batches(see),
        Sorting::Canonical => table.drain_sorted(see),
    }
}

/// Returns whether all that was put into a value was taken out again. Such a value equals the identity, so it
/// can be dropped even if more is merged later.
#[inline(always)]
pub(super) fn is_gone<C: Aggregate>(value: &C::Accumulator) -> bool {
    C::INVERSE.is_some_and(|inverse| (inverse.is_nothing)(value))
}
