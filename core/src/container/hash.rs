//! The hash container: an open table per size class of keys. A table lives on over tiles while it has
//! room, and keeps its size when it is handed over.

use super::class::ClassTable;
use super::{Batched, HandedOver, Hashed, OfClass};
use crate::aggregate::Aggregate;
use crate::error::MemoryError;
use crate::memory::{ByteArena, ChunkPool};
use crate::partial::Outlet;
use crate::sizing::TableLimits;
use crate::slots::{ClassKey, Entry, Hint, LongKey, MediumKey, PairRef, ShortKey, SlotKey};
use std::sync::Arc;

/// Tables of one worker.
pub(crate) struct HashTables<C: Aggregate> {
    pub(super) short: ClassTable<ShortKey, C::Accumulator>,
    pub(super) medium: ClassTable<MediumKey, C::Accumulator>,
    pub(super) long: ClassTable<LongKey, C::Accumulator>,
    /// The bytes of the keys in `long`.
    arena: ByteArena,
    pub(super) handed_over: HandedOver,
}

impl<C: Aggregate> HashTables<C> {
    pub(super) fn new(
        pool: &Arc<ChunkPool>,
        limits: TableLimits,
    ) -> Result<HashTables<C>, MemoryError> {
        Ok(HashTables {
            short: ClassTable::new(pool, limits)?,
            medium: ClassTable::new(pool, limits)?,
            // Its keys lie in the arena, which is cleared with the table.
            long: ClassTable::new(pool, TableLimits { standing: 0, ..limits })?,
            arena: ByteArena::new(pool),
            handed_over: HandedOver::default(),
        })
    }

    fn put_long(
        &mut self,
        batch: &[Hashed<LongKey, C::Held>],
        outlet: &Outlet<'_, C::Accumulator>,
    ) -> Result<(), MemoryError> {
        if self.arena.bytes() > self.long.limits.beside {
            self.handed_over += self.long.hand_over(outlet)?;
        }
        self.handed_over += self.long.make_room(batch.len(), outlet)?;
        let (ClassTable { table, store, .. }, arena) = (&mut self.long, &mut self.arena);
        if table.len() == 0 {
            arena.clear();
        }
        batch.iter().for_each(|pair| table.prefetch(pair.hash));
        batch.iter().try_for_each(|&Hashed { key, hash, value }| {
            let absent = || Ok(Entry { key: key.copied(arena)?, value: C::identity() });
            table.combine_borrowed(key, hash, absent, |total| C::absorb(total, value, store))
        })?;
        self.long.end_batch(batch)
    }
}

impl<C: Aggregate> Batched<C> for HashTables<C> {
    fn begin_split(&mut self, number: u32, _: usize) {
        self.short.store.set_split(number);
        self.medium.store.set_split(number);
        self.long.store.set_split(number);
    }

    fn ahead(&self) -> Hint<ShortKey, C::Accumulator, 0> {
        self.short.table.hint()
    }

    fn put(
        &mut self,
        pairs: OfClass<'_, C::Held>,
        outlet: &Outlet<'_, C::Accumulator>,
    ) -> Result<(), MemoryError> {
        match pairs {
            OfClass::Short(pairs) => {
                self.handed_over += self.short.make_room(pairs.len(), outlet)?;
                combine_inline::<C, _>(&mut self.short, pairs)
            }
            OfClass::Medium(pairs) => {
                self.handed_over += self.medium.make_room(pairs.len(), outlet)?;
                pairs.iter().for_each(|pair| self.medium.table.prefetch(pair.hash));
                combine_inline::<C, _>(&mut self.medium, pairs)
            }
            OfClass::Long(pairs) => self.put_long(pairs, outlet),
        }
    }

    fn end_piece(&mut self, outlet: &Outlet<'_, C::Accumulator>) -> Result<(), MemoryError> {
        self.handed_over += self.short.end_piece::<C>(outlet)?;
        self.handed_over += self.medium.end_piece::<C>(outlet)?;
        self.handed_over += self.long.end_piece::<C>(outlet)?;
        self.arena.clear();
        Ok(())
    }

    fn hand_over(&mut self, outlet: &Outlet<'_, C::Accumulator>) -> Result<(), MemoryError> {
        self.handed_over += self.short.hand_over(outlet)?;
        self.handed_over += self.short.hand_over_retained(outlet)?;
        self.handed_over += self.medium.hand_over(outlet)?;
        self.handed_over += self.medium.hand_over_retained(outlet)?;
        self.handed_over += self.long.hand_over(outlet)?;
        self.arena.clear();
        Ok(())
    }

    fn handed_over(&self) -> HandedOver {
        self.handed_over
    }

    fn each(
        &self,
        wants: &dyn Fn(&C::Accumulator) -> bool,
        see: &mut dyn FnMut(PairRef<'_, C::Accumulator>),
    ) -> bool {
        self.short.table.each(wants, &mut *see);
        self.medium.table.each(wants, &mut *see);
        self.long.table.each(wants, &mut *see);
        true
    }

    fn get(&self, key: &[u8]) -> Option<&C::Accumulator> {
        match ClassKey::of(key) {
            ClassKey::Short(key) => self.short.table.get(&key),
            ClassKey::Medium(key) => self.medium.table.get(&key),
            ClassKey::Long(key) => self.long.table.get(&key),
        }
    }

    fn held(&self) -> u64 {
        let HashTables { short, medium, long, .. } = self;
        (short.held() + medium.held() + long.held()) as u64
    }
}

/// Keys are seldom new when a batch has at least this many pairs per new key.
const SETTLED_PAIRS_PER_NEW_KEY: usize = 16;

#[inline]
fn combine_inline<C: Aggregate, K: SlotKey>(
    class: &mut ClassTable<K, C::Accumulator>,
    batch: &[Hashed<K, C::Held>],
) -> Result<(), MemoryError> {
    let before = class.table.len();
    let ClassTable { table, store, .. } = class;
    if class.is_settled {
        for &Hashed { key, hash, value } in batch {
            table.combine_known(key, hash, C::identity(), |total| C::absorb(total, value, store));
        }
    } else {
        for &Hashed { key, hash, value } in batch {
            table.combine(key, hash, C::identity(), |total| C::absorb(total, value, store));
        }
    }
    class.is_settled = (class.table.len() - before) * SETTLED_PAIRS_PER_NEW_KEY <= batch.len();
    class.end_batch(batch)
}
