//! A list of pairs in the three size classes of keys: the pairs of a partition of a partial, or of a range of
//! an answer. Pairs are numbered: first the short ones, then the medium, then the long.

use crate::error::MemoryError;
use crate::memory::{ByteArena, ChunkList, ChunkPool, prefetch};
use crate::slots::{ClassEntry, ClassKey, Entry, LongKey, MediumKey, PairRef, ShortKey, SlotKey};
use std::sync::Arc;

/// Pairs by size class; the arena holds the bytes of the long keys.
pub struct Pairs<V: Copy> {
    pub short: ChunkList<Entry<ShortKey, V>>,
    pub medium: ChunkList<Entry<MediumKey, V>>,
    pub long: ChunkList<Entry<LongKey, V>>,
    pub arena: ByteArena,
}

impl<V: Copy> Pairs<V> {
    pub fn new(pool: &Arc<ChunkPool>) -> Pairs<V> {
        Pairs {
            short: ChunkList::new(pool),
            medium: ChunkList::new(pool),
            long: ChunkList::new(pool),
            arena: ByteArena::new(pool),
        }
    }

    pub fn len(&self) -> usize {
        self.short.len() + self.medium.len() + self.long.len()
    }

    /// Adds an entry to the list of its class; a long key's bytes are copied.
    #[inline]
    pub fn put<K: SlotKey>(&mut self, entry: &Entry<K, V>) -> Result<(), MemoryError> {
        match K::class(entry) {
            ClassEntry::Short(entry) => self.short.push(*entry),
            ClassEntry::Medium(entry) => self.medium.push(*entry),
            ClassEntry::Long(entry) => {
                let key = entry.key.copied(&mut self.arena)?;
                self.long.push(Entry { key, ..*entry })
            }
        }
    }

    /// Adds a pair, to the class that its key's length says.
    pub fn push(&mut self, key: &[u8], value: V) -> Result<(), MemoryError> {
        match ClassKey::of(key) {
            ClassKey::Short(key) => self.short.push(Entry { key, value }),
            ClassKey::Medium(key) => self.medium.push(Entry { key, value }),
            ClassKey::Long(key) => self.put(&Entry { key, value }),
        }
    }

    /// Moves the pairs of another list to the end of this one.
    pub(super) fn append(&mut self, other: &mut Pairs<V>) -> Result<(), MemoryError> {
        if self.len() == 0 {
            std::mem::swap(self, other);
            return Ok(());
        }
        other.short.slices().try_for_each(|entries| self.short.extend(entries))?;
        other.medium.slices().try_for_each(|entries| self.medium.extend(entries))?;
        other.long.iter().try_for_each(|entry| self.put(entry))?;
        other.clear();
        Ok(())
    }

    /// Returns the pair of a number below `len`.
    #[inline]
    pub fn get(&self, number: usize) -> PairRef<'_, V> {
        let mut index = number;
        if index < self.short.len() {
            return PairRef::of(self.short.get(index));
        }
        index -= self.short.len();
        if index < self.medium.len() {
            return PairRef::of(self.medium.get(index));
        }
        PairRef::of(self.long.get(index - self.medium.len()))
    }

    /// 16 bytes of a pair's key, from the `skip`-th on ([`SlotKey::head`]).
    pub fn head(&self, number: usize, skip: usize) -> u128 {
        let mut index = number;
        if index < self.short.len() {
            return self.short.get(index).key.head(skip);
        }
        index -= self.short.len();
        if index < self.medium.len() {
            return self.medium.get(index).key.head(skip);
        }
        self.long.get(index - self.medium.len()).key.head(skip)
    }

    /// Asks the processor to fetch a pair.
    #[inline]
    pub fn prefetch(&self, number: usize) {
        let medium = self.short.len();
        if number < medium {
            prefetch(self.short.get(number));
        } else if number - medium < self.medium.len() {
            prefetch(self.medium.get(number - medium));
        } else {
            prefetch(self.long.get(number - medium - self.medium.len()));
        }
    }

    /// Returns the pairs in the order of their numbers.
    pub fn iter(&self) -> impl Iterator<Item = PairRef<'_, V>> {
        let short = self.short.iter().map(PairRef::of);
        let medium = self.medium.iter().map(PairRef::of);
        short.chain(medium).chain(self.long.iter().map(PairRef::of))
    }

    /// Forgets all pairs and gives their chunks back, but for those with the bytes of long keys, which
    /// it returns.
    pub fn clear(&mut self) -> ByteArena {
        self.short.clear();
        self.medium.clear();
        self.long.clear();
        let empty = ByteArena::new(self.arena.pool());
        std::mem::replace(&mut self.arena, empty)
    }
}
