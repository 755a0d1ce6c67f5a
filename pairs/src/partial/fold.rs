//! Folding: pairs with equal keys become one. Compress (while the job runs, so that partials stay
//! small) and reduce (at its end) are the same fold; they differ in who takes the result.

use super::form::Accumulators;
use super::runs::RunWriter;
use super::{PARTITION_BITS, Pairs, Partition};
use crate::aggregate::Aggregate;
use crate::error::{MemoryError, Result};
use crate::memory::{ByteArena, ChunkList, ChunkPool};
use crate::slots::{Entry, LongKey, MediumKey, ShortKey, SlotKey, Table};
use std::sync::Arc;

/// A receiver of folded pairs, class by class.
pub trait Taker<V> {
    /// The error of a receiver.
    type Error: From<MemoryError>;

    /// Takes a pair. A long key's bytes live until `keep` is called, or for this call alone if it
    /// never is.
    fn take<K: SlotKey>(&mut self, entry: &Entry<K, V>) -> Result<(), Self::Error>;

    /// Takes the arena of the long keys of a partition's pairs, after all pairs were taken. A taker that
    /// keeps such keys must keep the arena; a taker that copies them drops it.
    fn keep(&mut self, arena: ByteArena);
}

impl<V: Copy> Taker<V> for Pairs<V> {
    type Error = MemoryError;

    fn take<K: SlotKey>(&mut self, entry: &Entry<K, V>) -> Result<(), MemoryError> {
        self.put(entry)
    }

    /// `put` has copied the keys.
    fn keep(&mut self, arena: ByteArena) {
        drop(arena);
    }
}

/// Within a partition the hash's first bits are all alike.
type FoldTable<K, C> = Table<K, <C as Aggregate>::Accumulator, PARTITION_BITS>;

/// A worker's tables for folding one partition at a time, reused from one to the next.
pub struct Folder<C: Aggregate> {
    short: FoldTable<ShortKey, C>,
    medium: FoldTable<MediumKey, C>,
    long: FoldTable<LongKey, C>,
    pool: Arc<ChunkPool>,
}

impl<C: Aggregate> Folder<C> {
    pub fn new(pool: &Arc<ChunkPool>) -> Result<Folder<C>, MemoryError> {
        let (blocks, bits) = (pool.blocks(), FoldTable::<ShortKey, C>::bits_for(0));
        Ok(Folder {
            short: Table::new(blocks, bits)?,
            medium: Table::new(blocks, bits)?,
            long: Table::new(blocks, bits)?,
            pool: Arc::clone(pool),
        })
    }

    /// Folds a partition in place.
    pub fn compress(
        &mut self,
        partition: &mut Partition<C::Accumulator>,
    ) -> Result<(), MemoryError> {
        self.compress_in_order::<false>(partition)
    }

    /// Folds a partition in place, its pairs in the order of class, hash, key: the same whatever
    /// came together in it, and in which order.
    pub fn compress_canonically(
        &mut self,
        partition: &mut Partition<C::Accumulator>,
    ) -> Result<(), MemoryError> {
        self.compress_in_order::<true>(partition)
    }

    fn compress_in_order<const CANONICAL: bool>(
        &mut self,
        partition: &mut Partition<C::Accumulator>,
    ) -> Result<(), MemoryError> {
        let mut folded = Pairs::new(&self.pool);
        self.fold::<CANONICAL, _>(&mut partition.pairs, &mut folded)?;
        partition.folded(folded);
        Ok(())
    }

    /// Hands a partition's pairs, one per key and in canonical order, to the run they go to, and
    /// leaves memory empty of them.
    pub fn spill(
        &mut self,
        partition: &mut Partition<C::Accumulator>,
        run: &mut RunWriter<Accumulators<C>>,
    ) -> Result<()> {
        self.fold::<true, _>(&mut partition.pairs, run)
    }

    /// Hands a partition's pairs, one per key, to `taker`, and leaves the partition empty.
    pub fn reduce<T: Taker<C::Accumulator>>(
        &mut self,
        partition: &mut Partition<C::Accumulator>,
        taker: &mut T,
    ) -> Result<(), T::Error> {
        if partition.may_repeat() {
            return self.fold::<false, _>(&mut partition.pairs, taker);
        }
        give_all(&partition.pairs, taker)?;
        taker.keep(partition.pairs.clear());
        Ok(())
    }

    /// Shows a partition's pairs, one per key, to `taker`, and leaves them folded in place: keys and values
    /// that the taker keeps point there.
    pub fn show<T: Taker<C::Accumulator>>(
        &mut self,
        partition: &mut Partition<C::Accumulator>,
        taker: &mut T,
    ) -> Result<(), T::Error> {
        if partition.may_repeat() {
            self.compress(partition)?;
        }
        give_all(&partition.pairs, taker)
    }

    /// Folds `pairs` into `taker` and leaves `pairs` empty. The chunks of a class are free again
    /// before its folded pairs are taken.
    fn fold<const CANONICAL: bool, T: Taker<C::Accumulator>>(
        &mut self,
        pairs: &mut Pairs<C::Accumulator>,
        taker: &mut T,
    ) -> Result<(), T::Error> {
        fold_class::<C, _, T, CANONICAL>(&mut self.short, &mut pairs.short, taker)?;
        fold_class::<C, _, T, CANONICAL>(&mut self.medium, &mut pairs.medium, taker)?;
        fold_class::<C, _, T, CANONICAL>(&mut self.long, &mut pairs.long, taker)?;
        taker.keep(pairs.clear());
        Ok(())
    }
}

fn give_all<V: Copy, T: Taker<V>>(pairs: &Pairs<V>, taker: &mut T) -> Result<(), T::Error> {
    pairs.short.iter().try_for_each(|entry| taker.take(entry))?;
    pairs.medium.iter().try_for_each(|entry| taker.take(entry))?;
    pairs.long.iter().try_for_each(|entry| taker.take(entry))
}

/// Pairs are probed for this many at a time, so that their cache misses overlap.
const BATCH: usize = 32;

fn fold_class<C: Aggregate, K: SlotKey, T: Taker<C::Accumulator>, const CANONICAL: bool>(
    table: &mut FoldTable<K, C>,
    entries: &mut ChunkList<Entry<K, C::Accumulator>>,
    taker: &mut T,
) -> Result<(), T::Error> {
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
        for (entry, &hash) in batch.iter().zip(&hashes) {
            table.combine(entry.key, hash, C::identity(), |total| C::merge(total, &entry.value));
        }
        if table.is_crowded(hashes[batch.len() - 1]) && !table.is_spread() {
            table.spread();
        }
    }
    entries.clear();
    let take = |entry: &Entry<K, C::Accumulator>| match is_gone::<C>(&entry.value) {
        true => Ok(()),
        false => taker.take(entry),
    };
    if CANONICAL { table.drain_sorted(take) } else { table.drain(take) }
}

/// Returns whether all that was put into a value was taken out again. Such a value equals the identity, so it
/// can be dropped even if more is merged later.
#[inline(always)]
pub(super) fn is_gone<C: Aggregate>(value: &C::Accumulator) -> bool {
    C::INVERSE.is_some_and(|inverse| (inverse.is_nothing)(value))
}
