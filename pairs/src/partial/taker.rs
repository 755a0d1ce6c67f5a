//! Receivers of folded pairs. Folding and merging hand pairs over in batches, so that they are compiled once for all
//! receivers: a batch costs one call through a table of functions.

use super::Pairs;
use crate::error::Result;
use crate::memory::ByteArena;
use crate::slots::{Entry, LongKey, MediumKey, ShortKey, SlotKey};

/// Pairs of one class of keys, one per key.
#[derive(Clone, Copy)]
pub enum Batch<'a, V> {
    Short(&'a [Entry<ShortKey, V>]),
    Medium(&'a [Entry<MediumKey, V>]),
    Long(&'a [Entry<LongKey, V>]),
}

/// A receiver of folded pairs, pair by pair.
pub trait Taker<V> {
    /// Takes a pair. A long key's bytes live until `keep` is called, or for this call alone if it
    /// never is.
    fn take<K: SlotKey>(&mut self, entry: &Entry<K, V>) -> Result<()>;

    /// Takes each pair of a batch, in its order.
    fn take_batch(&mut self, batch: Batch<'_, V>) -> Result<()> {
        match batch {
            Batch::Short(entries) => entries.iter().try_for_each(|entry| self.take(entry)),
            Batch::Medium(entries) => entries.iter().try_for_each(|entry| self.take(entry)),
            Batch::Long(entries) => entries.iter().try_for_each(|entry| self.take(entry)),
        }
    }

    /// Takes the arena of the long keys of a partition's pairs, after all pairs were taken. A taker that
    /// keeps such keys must keep the arena; a taker that copies them drops it.
    fn keep(&mut self, arena: ByteArena);
}

/// A receiver of folded pairs, batch by batch: any [`Taker`].
pub trait Receiver<V> {
    /// See [`Taker::take_batch`].
    fn receive(&mut self, batch: Batch<'_, V>) -> Result<()>;

    /// See [`Taker::keep`].
    fn keep(&mut self, arena: ByteArena);
}

impl<V, T: Taker<V>> Receiver<V> for T {
    fn receive(&mut self, batch: Batch<'_, V>) -> Result<()> {
        self.take_batch(batch)
    }

    fn keep(&mut self, arena: ByteArena) {
        Taker::keep(self, arena);
    }
}

impl<V: Copy> Taker<V> for Pairs<V> {
    fn take<K: SlotKey>(&mut self, entry: &Entry<K, V>) -> Result<()> {
        Ok(self.put(entry)?)
    }

    fn take_batch(&mut self, batch: Batch<'_, V>) -> Result<()> {
        match batch {
            Batch::Short(entries) => Ok(self.short.extend(entries)?),
            Batch::Medium(entries) => Ok(self.medium.extend(entries)?),
            Batch::Long(entries) => entries.iter().try_for_each(|entry| self.take(entry)),
        }
    }

    /// `put` has copied the keys.
    fn keep(&mut self, arena: ByteArena) {
        drop(arena);
    }
}
