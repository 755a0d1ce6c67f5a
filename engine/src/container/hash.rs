//! The hash container: an open table per size class of keys. A table lives on over tiles while it has
//! room, and keeps its size when it is handed over.

use super::class::{ClassTable, HandedOver};
use super::slot::{Entry, LongKey, MediumKey, ShortKey, SlotKey};
use super::table::Hint;
use crate::combine::Combine;
use crate::error::MemoryError;
use crate::memory::{ByteArena, ChunkPool};
use crate::partial::Partial;
use crate::sizing::TableLimits;
use std::sync::Arc;

/// Tables of one worker.
pub(crate) struct HashContainer<C: Combine> {
    short: ClassTable<ShortKey, C::Accumulator>,
    medium: ClassTable<MediumKey, C::Accumulator>,
    long: ClassTable<LongKey, C::Accumulator>,
    /// The bytes of the keys in `long`.
    arena: ByteArena,
    handed_over: HandedOver,
}

/// A pair that was emitted and is to be probed for.
#[derive(Clone, Copy)]
pub(super) struct Hashed<K, T> {
    pub(super) key: K,
    pub(super) hash: u64,
    pub(super) value: T,
}

impl<C: Combine> HashContainer<C> {
    pub(crate) fn new(
        pool: &Arc<ChunkPool>,
        limits: TableLimits,
    ) -> Result<HashContainer<C>, MemoryError> {
        let blocks = pool.blocks();
        Ok(HashContainer {
            short: ClassTable::new(blocks, limits)?,
            medium: ClassTable::new(blocks, limits)?,
            long: ClassTable::new(blocks, limits)?,
            arena: ByteArena::new(pool),
            handed_over: HandedOver::default(),
        })
    }

    pub(crate) fn handed_over(&self) -> HandedOver {
        self.handed_over
    }

    /// Where short keys are found, as of now.
    pub(super) fn short_hint(&self) -> Hint<ShortKey, C::Accumulator, 0> {
        self.short.table.hint()
    }

    /// Combines a batch of short keys, whose slots were asked for.
    pub(super) fn combine_short(
        &mut self,
        batch: &[Hashed<ShortKey, C::Value>],
        partial: &Partial<C::Accumulator>,
    ) -> Result<(), MemoryError> {
        self.handed_over += self.short.make_room(batch.len(), partial)?;
        combine_inline::<C, _>(&mut self.short, batch);
        Ok(())
    }

    /// As `combine_short`, for keys of 16 to 31 bytes whose slots were not asked for yet.
    pub(super) fn combine_medium(
        &mut self,
        batch: &[Hashed<MediumKey, C::Value>],
        partial: &Partial<C::Accumulator>,
    ) -> Result<(), MemoryError> {
        self.handed_over += self.medium.make_room(batch.len(), partial)?;
        batch.iter().for_each(|pair| self.medium.table.prefetch(pair.hash));
        combine_inline::<C, _>(&mut self.medium, batch);
        Ok(())
    }

    /// As `combine_medium`, for borrowed keys of 32 bytes and more; the bytes of new ones are copied.
    pub(super) fn combine_long(
        &mut self,
        batch: &[Hashed<LongKey, C::Value>],
        partial: &Partial<C::Accumulator>,
    ) -> Result<(), MemoryError> {
        self.handed_over += self.long.make_room(batch.len(), partial)?;
        let (table, arena) = (&mut self.long.table, &mut self.arena);
        if table.len() == 0 {
            arena.clear();
        }
        batch.iter().for_each(|pair| table.prefetch(pair.hash));
        batch.iter().try_for_each(|&Hashed { key, hash, value }| {
            let absent = || Ok(Entry { key: key.copied(arena)?, value: C::identity() });
            table.combine_borrowed(key, hash, absent, |total| C::absorb(total, value))
        })
    }

    /// Hands everything over.
    pub(crate) fn hand_over(
        &mut self,
        partial: &Partial<C::Accumulator>,
    ) -> Result<(), MemoryError> {
        self.handed_over += self.short.hand_over(partial)?;
        self.handed_over += self.medium.hand_over(partial)?;
        self.handed_over += self.long.hand_over(partial)?;
        self.arena.clear();
        Ok(())
    }
}

/// Keys are seldom new when a batch has at least this many pairs per new key.
const SETTLED_PAIRS_PER_NEW_KEY: usize = 16;

#[inline]
fn combine_inline<C: Combine, K: SlotKey>(
    class: &mut ClassTable<K, C::Accumulator>,
    batch: &[Hashed<K, C::Value>],
) {
    let before = class.table.len();
    let table = &mut class.table;
    if class.is_settled {
        for &Hashed { key, hash, value } in batch {
            table.combine_known(key, hash, C::identity(), |total| C::absorb(total, value));
        }
    } else {
        for &Hashed { key, hash, value } in batch {
            table.combine(key, hash, C::identity(), |total| C::absorb(total, value));
        }
    }
    class.is_settled = (table.len() - before) * SETTLED_PAIRS_PER_NEW_KEY <= batch.len();
}
