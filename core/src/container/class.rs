//! The table of one size class of keys, and the decision what to do when it is full: grow, or hand
//! its pairs over and start again, empty, in the same memory.

use super::retained::Retained;
use super::{HandedOver, Hashed};
use crate::aggregate::Aggregate;
use crate::error::MemoryError;
use crate::memory::{ChunkPool, ValueStore};
use crate::partial::Outlet;
use crate::sizing::TableLimits;
use crate::slots::{Entry, SlotKey, Table};
use crate::timeline;
use std::sync::Arc;

/// log2 of the slots a table starts with. (Miri takes small steps, so it is given small tables.)
const FIRST_BITS: u32 = if cfg!(miri) { 6 } else { 12 };
/// A table grows out of the cache only if its keys were seen this often on average: handing the same keys
/// over again must cost more than the misses and the fresh memory.
const PAIRS_PER_KEY_TO_GROW: u64 = 2;

/// A table that knows how large it may grow.
pub(super) struct ClassTable<K, V> {
    pub(super) table: Table<K, V, 0>,
    pub(super) store: ValueStore,
    /// The pairs of saved pieces, if they have few keys.
    retained: Retained<K, V>,
    /// Whether keys were seldom new in the last batch.
    pub(super) is_settled: bool,
    pub(super) limits: TableLimits,
    /// Whether keys of the last batch lead to a crowd of occupied slots.
    pub(super) is_crowded: bool,
    /// Pairs combined since the table was last empty.
    combined: u64,
}

impl<K: SlotKey, V: Copy> ClassTable<K, V> {
    pub(super) fn new(
        pool: &Arc<ChunkPool>,
        limits: TableLimits,
    ) -> Result<ClassTable<K, V>, MemoryError> {
        Ok(ClassTable {
            table: Table::new(pool.blocks(), FIRST_BITS)?,
            store: ValueStore::new(pool),
            retained: Retained::new(pool, limits.standing),
            is_settled: false,
            is_crowded: false,
            limits,
            combined: 0,
        })
    }

    /// Makes room to combine `pairs` more. Returns the pairs handed over for that.
    #[inline]
    pub(super) fn make_room(
        &mut self,
        pairs: usize,
        outlet: &Outlet<'_, V>,
    ) -> Result<HandedOver, MemoryError> {
        let mut handed_over = HandedOver::default();
        if self.store.bytes() > self.limits.beside || self.is_crowded {
            handed_over += self.hand_over(outlet)?;
        }
        if !self.table.has_room(pairs) {
            handed_over += self.grow_or_hand_over(pairs, outlet)?;
        }
        self.combined += pairs as u64;
        Ok(handed_over)
    }

    /// Looks, after a batch was combined, whether its keys lead to a crowd, and whether memory lasted.
    #[inline]
    pub(super) fn end_batch<T>(&mut self, batch: &[Hashed<K, T>]) -> Result<(), MemoryError> {
        self.is_crowded = batch.last().is_some_and(|last| self.table.is_crowded(last.hash));
        self.store.check()
    }

    #[cold]
    fn grow_or_hand_over(
        &mut self,
        pairs: usize,
        outlet: &Outlet<'_, V>,
    ) -> Result<HandedOver, MemoryError> {
        let mut handed_over = HandedOver::default();
        while !self.table.has_room(pairs) {
            match self.larger() {
                Some(bits) => self.table.grow(bits)?,
                None => handed_over += self.hand_over(outlet)?,
            }
        }
        Ok(handed_over)
    }

    /// Returns the size that the table should grow to, if it should: twofold while it is cached; all the way
    /// when it leaves the cache, because the sizes between would touch fresh memory for nothing.
    fn larger(&self) -> Option<u32> {
        let bytes = |bits: u32| size_of::<Entry<K, V>>() << bits;
        let doubled = self.table.bits() + 1;
        if bytes(doubled) <= self.limits.cached || self.table.len() == 0 {
            return Some(doubled);
        }
        let repeats = self.combined >= PAIRS_PER_KEY_TO_GROW * self.table.len() as u64;
        let most = (doubled..).take_while(|&bits| bytes(bits) <= self.limits.most).last();
        most.filter(|_| repeats)
    }

    /// Pairs combined for each key, of a table that has no room for `pairs` more and is about to leave
    /// the second-level cache, or has left it.
    #[inline]
    pub(super) fn repeats_if_full(&self, pairs: usize) -> Option<f64> {
        let is_small = || size_of::<Entry<K, V>>() << self.table.bits() < self.limits.cached / 4;
        if self.table.has_room(pairs) || is_small() {
            return None;
        }
        self.repeats()
    }

    /// Pairs combined for each key, if there is any.
    pub(super) fn repeats(&self) -> Option<f64> {
        let keys = self.table.len();
        (keys > 0).then(|| self.combined as f64 / keys as f64)
    }

    /// Grows to hold `keys`, if it may; returns whether it did.
    pub(super) fn grow_for(&mut self, keys: f64) -> Result<bool, MemoryError> {
        let bits = Table::<K, V, 0>::bits_for(keys as usize);
        let may = bits > self.table.bits() && size_of::<Entry<K, V>>() << bits <= self.limits.all;
        if may {
            self.table.grow(bits)?;
        }
        Ok(may)
    }

    /// Ends a piece that is saved: the witness has seen all pairs then, and the table is empty. Few stay with the
    /// worker; many are handed over.
    pub(super) fn end_piece<C: Aggregate<Accumulator = V>>(
        &mut self,
        outlet: &Outlet<'_, V>,
    ) -> Result<HandedOver, MemoryError> {
        let combining = timeline::begin(timeline::Kind::Combine);
        let Some(pairs) = self.retained.take_in::<C>(&mut self.table, &mut self.store, outlet)?
        else {
            return self.hand_over(outlet);
        };
        (self.combined, self.is_crowded) = (0, false);
        Ok(HandedOver { pairs, busy: combining.end() })
    }

    /// Hands over the pairs that stayed after pieces were saved.
    pub(super) fn hand_over_retained(
        &mut self,
        outlet: &Outlet<'_, V>,
    ) -> Result<HandedOver, MemoryError> {
        let handing_over = timeline::begin(timeline::Kind::Combine);
        let pairs = self.retained.hand_over(outlet)?;
        Ok(HandedOver { pairs, busy: handing_over.end() })
    }

    /// Distinct keys, of this piece or, if more, of those before.
    pub(super) fn held(&self) -> usize {
        self.table.len().max(self.retained.len())
    }

    /// Hands all pairs over; the table is empty then.
    pub(super) fn hand_over(&mut self, outlet: &Outlet<'_, V>) -> Result<HandedOver, MemoryError> {
        let (handing_over, pairs) =
            (timeline::begin(timeline::Kind::Combine), self.table.len() as u64);
        outlet.hand_over(&mut self.table)?;
        outlet.keep_values(&mut self.store);
        (self.combined, self.is_crowded) = (0, false);
        Ok(HandedOver { pairs, busy: handing_over.end() })
    }
}
