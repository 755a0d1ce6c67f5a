//! Folding: pairs with equal keys become one. Compress (while the job runs, so that partials stay
//! small) and reduce (at its end) are the same fold; they differ in who takes the result.

use super::form::Accumulators;
use super::runs::RunWriter;
use super::taker::{Batch, Receiver};
use super::{PARTITION_BITS, Pairs, Partition};
use crate::aggregate::Aggregate;
use crate::error::{MemoryError, Result};
use crate::memory::{ChunkList, ChunkPool, Entries, ValueStore};
use crate::slots::{Entry, LongKey, MediumKey, SeeEntries, ShortKey, SlotKey, Table};
use std::iter::Take;
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
        if sorting == Sorting::Canonical && partition.pairs.in_order == partition.pairs.lens() {
            return Ok(());
        }
        let mut folded = Pairs::new(&self.pool);
        self.fold(&mut partition.pairs, &mut folded, sorting)?;
        if sorting == Sorting::Canonical {
            folded.in_order = folded.lens();
        }
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
    /// before its folded pairs are received, unless pairs are merged with those that are in order.
    fn fold(
        &mut self,
        pairs: &mut Pairs<C::Accumulator>,
        receiver: &mut dyn Receiver<C::Accumulator>,
        sorting: Sorting,
    ) -> Result<()> {
        let (short, medium, long) = (&mut pairs.short, &mut pairs.medium, &mut pairs.long);
        let store = &mut self.store;
        let [shorts, mediums, longs] = pairs.in_order.map(|in_order| match sorting {
            Sorting::None => 0,
            Sorting::Canonical => in_order,
        });
        fold_class::<C, _>(&mut self.short, store, (short, shorts), sorting, &mut |batch| {
            receiver.receive(Batch::Short(batch))
        })?;
        fold_class::<C, _>(&mut self.medium, store, (medium, mediums), sorting, &mut |batch| {
            receiver.receive(Batch::Medium(batch))
        })?;
        fold_class::<C, _>(&mut self.long, store, (long, longs), sorting, &mut |batch| {
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
    for entries in pairs.short.slices() {
        receiver.receive(Batch::Short(entries))?;
    }
    for entries in pairs.medium.slices() {
        receiver.receive(Batch::Medium(entries))?;
    }
    for entries in pairs.long.slices() {
        receiver.receive(Batch::Long(entries))?;
    }
    Ok(())
}

/// Pairs are probed for this many at a time, so that their cache misses overlap.
const BATCH: usize = 32;

/// Folds the entries of a class into `receive`. The first `in_order` of them are in canonical order, one for each
/// key: they are not put into the table, but merged with what comes out of it.
fn fold_class<C: Aggregate, K: SlotKey>(
    table: &mut FoldTable<K, C>,
    store: &mut ValueStore,
    (entries, in_order): (&mut ChunkList<Entry<K, C::Accumulator>>, usize),
    sorting: Sorting,
    receive: &mut SeeEntries<'_, K, C::Accumulator>,
) -> Result<()> {
    if entries.len() == 0 {
        return Ok(());
    }
    let bits = FoldTable::<K, C>::bits_for(entries.len() - in_order);
    table.resize(bits)?;
    let mut hashes = [0; BATCH];
    for batch in entries.slices_from(in_order).flat_map(|slice| slice.chunks(BATCH)) {
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
    let mut see = |folded: &mut Vec<Entry<K, C::Accumulator>>| {
        if C::INVERSE.is_some() {
            folded.retain(|entry| !is_gone::<C>(&entry.value));
        }
        receive(folded)
    };
    if in_order > 0 {
        {
            let mut merging = Merging::of(entries.iter().take(in_order));
            table.drain_sorted(&mut |folded| see(merging.with::<C>(folded, store)))?;
            while let Some(rest) = merging.rest() {
                see(rest)?;
            }
        }
        store.check()?;
        entries.clear();
        return Ok(());
    }
    entries.clear();
    match sorting {
        Sorting::None => table.drain_batches(&mut see),
        Sorting::Canonical => table.drain_sorted(&mut see),
    }
}

/// Entries in canonical order, one for each key, while they are merged with others that are.
struct Merging<'e, K, V> {
    entries: Take<Entries<'e, Entry<K, V>>>,
    /// The next of them, with the hash of its key.
    next: Option<(u64, &'e Entry<K, V>)>,
    merged: Vec<Entry<K, V>>,
}

impl<'e, K: SlotKey, V: Copy> Merging<'e, K, V> {
    fn of(entries: Take<Entries<'e, Entry<K, V>>>) -> Self {
        let mut merging = Merging { entries, next: None, merged: Vec::new() };
        merging.advance();
        merging
    }

    fn advance(&mut self) {
        self.next = self.entries.next().map(|entry| (entry.key.hash(), entry));
    }

    /// Returns these entries and those that come before the last of them, in order.
    fn with<C: Aggregate<Accumulator = V>>(
        &mut self,
        others: &[Entry<K, V>],
        store: &mut ValueStore,
    ) -> &mut Vec<Entry<K, V>> {
        self.merged.clear();
        for other in others {
            let hash = other.key.hash();
            let mut merged = *other;
            while let Some((own, entry)) = self.next {
                let is_same = own == hash && entry.key.same(&other.key);
                if is_same {
                    merged = *entry;
                    C::merge(&mut merged.value, &other.value, store);
                } else if own > hash || own == hash && entry.key.bytes() > other.key.bytes() {
                    break;
                } else {
                    self.merged.push(*entry);
                }
                self.advance();
                if is_same {
                    break;
                }
            }
            self.merged.push(merged);
        }
        &mut self.merged
    }

    /// Returns some of the entries that are left; `None` if there are none.
    fn rest(&mut self) -> Option<&mut Vec<Entry<K, V>>> {
        self.merged.clear();
        while self.merged.len() < BATCH
            && let Some((_, entry)) = self.next
        {
            self.merged.push(*entry);
            self.advance();
        }
        (!self.merged.is_empty()).then_some(&mut self.merged)
    }
}

/// Returns whether all that was put into a value was taken out again. Such a value equals the identity, so it
/// can be dropped even if more is merged later.
#[inline(always)]
pub(super) fn is_gone<C: Aggregate>(value: &C::Accumulator) -> bool {
    C::INVERSE.is_some_and(|inverse| (inverse.is_nothing)(value))
}
