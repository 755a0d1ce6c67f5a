//! The append container: pairs go to the partial as they come, by partition, and are combined there.
//! A worker gathers a few pairs for each partition, so that a lock is taken and a list's end is
//! touched once for all of them. It holds nothing else.

use super::{Batched, HandedOver, Hashed, OfClass};
use crate::aggregate::Aggregate;
use crate::error::MemoryError;
use crate::memory::{ChunkPool, ValueStore};
use crate::partial::{Outlet, PARTITIONS, partition_of};
use crate::sizing::TableLimits;
use crate::slots::{Entry, Hint, LongKey, MediumKey, ShortKey, SlotKey};
use crate::timeline;
use std::sync::Arc;

/// Pairs that are gathered for one partition: a few cache lines, and for all partitions less than a
/// second-level cache.
const GATHERED: usize = if cfg!(miri) { 4 } else { 32 };

/// The store of collected values is handed over when it has this size.
const VALUES_BYTES: usize = 1 << 20;

/// A worker's pairs on their way to the partial.
pub(crate) struct Appender<C: Aggregate> {
    short: Gathered<ShortKey, C::Accumulator>,
    medium: Gathered<MediumKey, C::Accumulator>,
    long_store: ValueStore,
    values_bytes: usize,
    handed_over: HandedOver,
}

/// Pairs of one size class, by partition; no lists as long as there was none.
struct Gathered<K, V> {
    lists: Vec<Vec<Entry<K, V>>>,
    store: ValueStore,
}

impl<K: SlotKey, V: Copy> Gathered<K, V> {
    fn is_empty(&self) -> bool {
        self.lists.iter().all(Vec::is_empty)
    }

    fn put<C: Aggregate<Accumulator = V>>(
        &mut self,
        batch: &[Hashed<K, C::Held>],
        outlet: &Outlet<'_, V>,
        values_bytes: usize,
    ) -> Result<HandedOver, MemoryError> {
        if batch.is_empty() {
            return Ok(HandedOver::default());
        }
        let handing_over = timeline::begin(timeline::Kind::Combine);
        if self.lists.is_empty() {
            self.lists.resize_with(PARTITIONS, || Vec::with_capacity(GATHERED));
        }
        for &Hashed { key, hash, value } in batch {
            let partition = partition_of(hash);
            let list = &mut self.lists[partition];
            let mut total = C::identity();
            C::absorb(&mut total, value, &mut self.store);
            list.push(Entry { key, value: total });
            if list.len() == GATHERED {
                outlet.append(partition, list)?;
                list.clear();
            }
        }
        self.store.check()?;
        if self.store.bytes() >= values_bytes {
            self.hand_over(outlet)?;
        }
        Ok(HandedOver { pairs: batch.len() as u64, busy: handing_over.end() })
    }

    fn hand_over(&mut self, outlet: &Outlet<'_, V>) -> Result<(), MemoryError> {
        for (partition, list) in self.lists.iter_mut().enumerate() {
            if !list.is_empty() {
                outlet.append(partition, list)?;
                list.clear();
            }
        }
        outlet.keep_values(&mut self.store);
        Ok(())
    }
}

impl<C: Aggregate> Appender<C> {
    pub(super) fn new(pool: &Arc<ChunkPool>, limits: TableLimits) -> Appender<C> {
        Appender {
            short: Gathered { lists: Vec::new(), store: ValueStore::new(pool) },
            medium: Gathered { lists: Vec::new(), store: ValueStore::new(pool) },
            long_store: ValueStore::new(pool),
            values_bytes: VALUES_BYTES.min(limits.beside),
            handed_over: HandedOver::default(),
        }
    }

    /// Appends long keys one by one: their bytes are only borrowed for the split, and the partition copies
    /// them.
    fn put_long(
        &mut self,
        batch: &[Hashed<LongKey, C::Held>],
        outlet: &Outlet<'_, C::Accumulator>,
    ) -> Result<HandedOver, MemoryError> {
        if batch.is_empty() {
            return Ok(HandedOver::default());
        }
        let handing_over = timeline::begin(timeline::Kind::Combine);
        for &Hashed { key, hash, value } in batch {
            let mut total = C::identity();
            C::absorb(&mut total, value, &mut self.long_store);
            outlet.append(partition_of(hash), &[Entry { key, value: total }])?;
        }
        self.long_store.check()?;
        if self.long_store.bytes() >= self.values_bytes {
            outlet.keep_values(&mut self.long_store);
        }
        Ok(HandedOver { pairs: batch.len() as u64, busy: handing_over.end() })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.short.is_empty() && self.medium.is_empty()
    }
}

impl<C: Aggregate> Batched<C> for Appender<C> {
    fn begin_split(&mut self, number: u32, _: usize) {
        self.short.store.set_split(number);
        self.medium.store.set_split(number);
        self.long_store.set_split(number);
    }

    fn ahead(&self) -> Hint<ShortKey, C::Accumulator, 0> {
        Hint::nowhere(self)
    }

    fn put(
        &mut self,
        pairs: OfClass<'_, C::Held>,
        outlet: &Outlet<'_, C::Accumulator>,
    ) -> Result<(), MemoryError> {
        let handed_over = match pairs {
            OfClass::Short(pairs) => self.short.put::<C>(pairs, outlet, self.values_bytes)?,
            OfClass::Medium(pairs) => self.medium.put::<C>(pairs, outlet, self.values_bytes)?,
            OfClass::Long(pairs) => self.put_long(pairs, outlet)?,
        };
        self.handed_over += handed_over;
        Ok(())
    }

    fn hand_over(&mut self, outlet: &Outlet<'_, C::Accumulator>) -> Result<(), MemoryError> {
        self.short.hand_over(outlet)?;
        self.medium.hand_over(outlet)?;
        outlet.keep_values(&mut self.long_store);
        Ok(())
    }

    fn handed_over(&self) -> HandedOver {
        self.handed_over
    }
}
