//! The append container: pairs go to the partial as they come, by partition, and are combined there.
//! A worker gathers a few pairs for each partition, so that a lock is taken and a list's end is
//! touched once for all of them. It holds nothing else.

use super::slot::{Entry, LongKey, MediumKey, ShortKey, SlotKey};
use super::{Batched, HandedOver, Hashed, named};
use crate::combine::Combine;
use crate::error::MemoryError;
use crate::memory::ChunkPool;
use crate::partial::{PARTITIONS, Partial, partition_of};
use crate::sizing::TableLimits;
use std::sync::Arc;
use std::time::Instant;

/// Pairs go straight to the partial's partitions and are combined there later, when a partition has
/// doubled and at the end. Best for keys that hardly repeat: there is no table to miss in, and each
/// pair is written once before its partition is folded inside the cache.
#[derive(Clone, Copy, Debug)]
pub struct Append;

named!(Append, super::emitter::BatchEmitter<'p, J, Appender<J::Combine>>);

/// Pairs that are gathered for one partition: a few cache lines, for all partitions less than a
/// second-level cache.
const GATHERED: usize = if cfg!(miri) { 4 } else { 32 };

/// A worker's pairs on their way to the partial.
pub(crate) struct Appender<C: Combine> {
    short: Gathered<ShortKey, C::Accumulator>,
    medium: Gathered<MediumKey, C::Accumulator>,
    handed_over: HandedOver,
}

/// Pairs of one size class, by partition; no lists as long as there was none.
struct Gathered<K, V> {
    lists: Vec<Vec<Entry<K, V>>>,
}

impl<K: SlotKey, V: Copy> Gathered<K, V> {
    fn put<C: Combine<Accumulator = V>>(
        &mut self,
        batch: &[Hashed<K, C::Value>],
        partial: &Partial<V>,
    ) -> Result<HandedOver, MemoryError> {
        if batch.is_empty() {
            return Ok(HandedOver::default());
        }
        let began = Instant::now();
        if self.lists.is_empty() {
            self.lists.resize_with(PARTITIONS, || Vec::with_capacity(GATHERED));
        }
        for &Hashed { key, hash, value } in batch {
            let partition = partition_of(hash);
            let list = &mut self.lists[partition];
            let mut total = C::identity();
            C::absorb(&mut total, value);
            list.push(Entry { key, value: total });
            if list.len() == GATHERED {
                partial.append(partition, list)?;
                list.clear();
            }
        }
        Ok(HandedOver { pairs: batch.len() as u64, busy: began.elapsed() })
    }

    fn hand_over(&mut self, partial: &Partial<V>) -> Result<(), MemoryError> {
        for (partition, list) in self.lists.iter_mut().enumerate() {
            if !list.is_empty() {
                partial.append(partition, list)?;
                list.clear();
            }
        }
        Ok(())
    }
}

impl<C: Combine> Batched<C> for Appender<C> {
    type Ahead = ();

    fn new(_: &Arc<ChunkPool>, _: TableLimits) -> Result<Appender<C>, MemoryError> {
        Ok(Appender {
            short: Gathered { lists: Vec::new() },
            medium: Gathered { lists: Vec::new() },
            handed_over: HandedOver::default(),
        })
    }

    fn ahead(&self) {}

    fn put_short(
        &mut self,
        batch: &[Hashed<ShortKey, C::Value>],
        partial: &Partial<C::Accumulator>,
    ) -> Result<(), MemoryError> {
        self.handed_over += self.short.put::<C>(batch, partial)?;
        Ok(())
    }

    fn put_medium(
        &mut self,
        batch: &[Hashed<MediumKey, C::Value>],
        partial: &Partial<C::Accumulator>,
    ) -> Result<(), MemoryError> {
        self.handed_over += self.medium.put::<C>(batch, partial)?;
        Ok(())
    }

    /// One by one: their bytes are only borrowed for the split, and the partition copies them.
    fn put_long(
        &mut self,
        batch: &[Hashed<LongKey, C::Value>],
        partial: &Partial<C::Accumulator>,
    ) -> Result<(), MemoryError> {
        if batch.is_empty() {
            return Ok(());
        }
        let began = Instant::now();
        for &Hashed { key, hash, value } in batch {
            let mut total = C::identity();
            C::absorb(&mut total, value);
            partial.append(partition_of(hash), &[Entry { key, value: total }])?;
        }
        self.handed_over += HandedOver { pairs: batch.len() as u64, busy: began.elapsed() };
        Ok(())
    }

    fn hand_over(&mut self, partial: &Partial<C::Accumulator>) -> Result<(), MemoryError> {
        self.short.hand_over(partial)?;
        self.medium.hand_over(partial)
    }

    fn handed_over(&self) -> HandedOver {
        self.handed_over
    }
}
