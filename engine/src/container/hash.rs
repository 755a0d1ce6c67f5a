//! The hash container: an open table per size class of keys. It lives on over tiles while it is
//! small; a table that would outgrow its share of the cache is handed over by partition and starts
//! again, empty, in the same memory.

use super::slot::{Entry, LongKey, MediumKey, ShortKey, SlotKey};
use super::table::Table;
use crate::combine::Combine;
use crate::error::MemoryError;
use crate::memory::{ByteArena, ChunkPool};
use crate::partial::Partial;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// log2 of the slots a table starts with.
const FIRST_BITS: u32 = 12;

/// Tables of one worker.
pub(crate) struct HashContainer<C: Combine> {
    pub(super) short: Table<ShortKey, C::Accumulator, 0>,
    medium: Table<MediumKey, C::Accumulator, 0>,
    long: Table<LongKey, C::Accumulator, 0>,
    arena: ByteArena,
    table_bytes_most: usize,
    handed_over: HandedOver,
}

/// What a container handed over so far.
#[derive(Clone, Copy, Default)]
pub(crate) struct HandedOver {
    pub(crate) pairs: u64,
    pub(crate) busy: Duration,
}

/// A pair of an inline class that was emitted and is to be probed for.
#[derive(Clone, Copy)]
pub(super) struct Hashed<K, T> {
    pub(super) key: K,
    pub(super) hash: u64,
    pub(super) value: T,
}

impl<C: Combine> HashContainer<C> {
    /// An empty container whose tables are handed over before one takes more than
    /// `table_bytes_most` bytes.
    pub(crate) fn new(
        pool: &Arc<ChunkPool>,
        table_bytes_most: usize,
    ) -> Result<HashContainer<C>, MemoryError> {
        let blocks = pool.blocks();
        Ok(HashContainer {
            short: Table::new(blocks, FIRST_BITS)?,
            medium: Table::new(blocks, FIRST_BITS)?,
            long: Table::new(blocks, FIRST_BITS)?,
            arena: ByteArena::new(pool),
            table_bytes_most,
            handed_over: HandedOver::default(),
        })
    }

    pub(crate) fn handed_over(&self) -> HandedOver {
        self.handed_over
    }

    /// Combines a batch of short keys, whose slots were asked for.
    pub(super) fn combine_short(
        &mut self,
        batch: &[Hashed<ShortKey, C::Value>],
        partial: &Partial<C::Accumulator>,
    ) -> Result<(), MemoryError> {
        if !self.short.has_room(batch.len()) {
            let most = self.table_bytes_most;
            make_room(&mut self.short, batch.len(), most, partial, &mut self.handed_over)?;
        }
        combine_inline::<C, _>(&mut self.short, batch);
        Ok(())
    }

    /// As `combine_short`, for keys of 16 to 31 bytes whose slots were not asked for yet.
    pub(super) fn combine_medium(
        &mut self,
        batch: &[Hashed<MediumKey, C::Value>],
        partial: &Partial<C::Accumulator>,
    ) -> Result<(), MemoryError> {
        if !self.medium.has_room(batch.len()) {
            let most = self.table_bytes_most;
            make_room(&mut self.medium, batch.len(), most, partial, &mut self.handed_over)?;
        }
        batch.iter().for_each(|pair| self.medium.prefetch(pair.hash));
        combine_inline::<C, _>(&mut self.medium, batch);
        Ok(())
    }

    /// As `combine_medium`, for borrowed keys of 32 bytes and more; the bytes of new ones are copied.
    pub(super) fn combine_long(
        &mut self,
        batch: &[Hashed<LongKey, C::Value>],
        partial: &Partial<C::Accumulator>,
    ) -> Result<(), MemoryError> {
        if !self.long.has_room(batch.len()) {
            let most = self.table_bytes_most;
            make_room(&mut self.long, batch.len(), most, partial, &mut self.handed_over)?;
            if self.long.len() == 0 {
                self.arena.clear();
            }
        }
        batch.iter().for_each(|pair| self.long.prefetch(pair.hash));
        let (table, arena) = (&mut self.long, &mut self.arena);
        batch.iter().try_for_each(|&Hashed { key, hash, value }| {
            let accumulator = table.claim_with(key, hash, || {
                Ok(Entry { key: key.copied(arena)?, value: C::identity() })
            })?;
            C::absorb(accumulator, value);
            Ok(())
        })
    }

    /// Hands everything over and empties the tables.
    pub(crate) fn hand_over(
        &mut self,
        partial: &Partial<C::Accumulator>,
    ) -> Result<(), MemoryError> {
        empty(&mut self.short, partial, &mut self.handed_over)?;
        empty(&mut self.medium, partial, &mut self.handed_over)?;
        empty(&mut self.long, partial, &mut self.handed_over)?;
        self.arena.clear();
        Ok(())
    }
}

#[inline]
fn combine_inline<C: Combine, K: SlotKey>(
    table: &mut Table<K, C::Accumulator, 0>,
    batch: &[Hashed<K, C::Value>],
) {
    for &Hashed { key, hash, value } in batch {
        C::absorb(table.claim(key, hash, C::identity()), value);
    }
}

/// Sees to it that `entries` more pairs find room: the table grows, or is handed over when it is as
/// large as it may be.
#[cold]
fn make_room<K: SlotKey, V: Copy>(
    table: &mut Table<K, V, 0>,
    entries: usize,
    table_bytes_most: usize,
    partial: &Partial<V>,
    handed_over: &mut HandedOver,
) -> Result<(), MemoryError> {
    while !table.has_room(entries) {
        let doubled = size_of::<Entry<K, V>>() << (table.bits() + 1);
        if doubled <= table_bytes_most || table.len() == 0 {
            table.grow()?;
        } else {
            empty(table, partial, handed_over)?;
        }
    }
    Ok(())
}

fn empty<K: SlotKey, V: Copy>(
    table: &mut Table<K, V, 0>,
    partial: &Partial<V>,
    handed_over: &mut HandedOver,
) -> Result<(), MemoryError> {
    let began = Instant::now();
    handed_over.pairs += table.len() as u64;
    partial.hand_over(table)?;
    handed_over.busy += began.elapsed();
    Ok(())
}
