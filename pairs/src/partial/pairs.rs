//! A list of pairs in the three size classes of keys: the pairs of a partition of a partial, or of a range of
//! an answer. Pairs are numbered: first the short ones, then the medium, then the long.

use crate::error::MemoryError;
use crate::memory::{ByteArena, ChunkList, ChunkPool, Entries, prefetch};
use crate::slots::{ClassEntry, ClassKey, Entry, LongKey, MediumKey, PairRef, ShortKey, SlotKey};
use std::sync::Arc;

/// Pairs by size class; the arena holds the bytes of the long keys.
pub struct Pairs<V: Copy> {
    pub short: ChunkList<Entry<ShortKey, V>>,
    pub medium: ChunkList<Entry<MediumKey, V>>,
    pub long: ChunkList<Entry<LongKey, V>>,
    pub arena: ByteArena,
    /// So many of each class come first in canonical order, one for each key. Pairs are only added after them.
    pub(super) in_order: [usize; 3],
}

impl<V: Copy> Pairs<V> {
    pub fn new(pool: &Arc<ChunkPool>) -> Pairs<V> {
        Pairs {
            short: ChunkList::new(pool),
            medium: ChunkList::new(pool),
            long: ChunkList::new(pool),
            arena: ByteArena::new(pool),
            in_order: [0; 3],
        }
    }

    pub fn len(&self) -> usize {
        self.lens().iter().sum()
    }

    /// Returns the number of pairs of each class.
    pub(super) fn lens(&self) -> [usize; 3] {
        [self.short.len(), self.medium.len(), self.long.len()]
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

    /// Adds a pair, to the class that its key's length decides.
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
        for entries in other.short.slices() {
            self.short.extend(entries)?;
        }
        for entries in other.medium.slices() {
            self.medium.extend(entries)?;
        }
        other.long.iter().try_for_each(|entry| self.put(entry))?;
        other.clear();
        Ok(())
    }

    /// Returns the entry of a number below `len`.
    #[inline(always)]
    fn entry(&self, number: usize) -> ClassEntry<'_, V> {
        let medium = self.short.len();
        if number < medium {
            return ClassEntry::Short(self.short.get(number));
        }
        let long = medium + self.medium.len();
        if number < long {
            return ClassEntry::Medium(self.medium.get(number - medium));
        }
        ClassEntry::Long(self.long.get(number - long))
    }

    /// Returns the pair of a number below `len`.
    #[inline]
    pub fn get(&self, number: usize) -> PairRef<'_, V> {
        self.entry(number).pair()
    }

    /// 16 bytes of a pair's key, from the `skip`-th on ([`SlotKey::head`]).
    pub fn head(&self, number: usize, skip: usize) -> u128 {
        match self.entry(number) {
            ClassEntry::Short(entry) => entry.key.head(skip),
            ClassEntry::Medium(entry) => entry.key.head(skip),
            ClassEntry::Long(entry) => entry.key.head(skip),
        }
    }

    /// Asks the processor to fetch a pair, but not the bytes of a long key.
    #[inline]
    pub fn prefetch(&self, number: usize) {
        match self.entry(number) {
            ClassEntry::Short(entry) => prefetch_all(entry),
            ClassEntry::Medium(entry) => prefetch_all(entry),
            ClassEntry::Long(entry) => prefetch_all(entry),
        }
    }

    /// Asks the processor to fetch the first bytes of a long key, of a pair that was fetched before.
    #[inline]
    pub fn prefetch_key(&self, number: usize) {
        if let ClassEntry::Long(entry) = self.entry(number) {
            prefetch(entry.key.bytes().as_ptr());
        }
    }

    /// Returns the pairs in the order of their numbers.
    pub fn iter(&self) -> PairRefs<'_, V> {
        PairRefs { short: self.short.iter(), medium: self.medium.iter(), long: self.long.iter() }
    }

    /// Forgets all pairs and gives their chunks back, but for those with the bytes of long keys, which
    /// it returns.
    pub fn clear(&mut self) -> ByteArena {
        self.short.clear();
        self.medium.clear();
        self.long.clear();
        self.in_order = [0; 3];
        let empty = ByteArena::new(self.arena.pool());
        std::mem::replace(&mut self.arena, empty)
    }
}

/// Pairs in the order of their numbers. A type of its own, as [`Entries`] are.
#[allow(missing_debug_implementations, reason = "no part of the interface")]
pub struct PairRefs<'p, V> {
    short: Entries<'p, Entry<ShortKey, V>>,
    medium: Entries<'p, Entry<MediumKey, V>>,
    long: Entries<'p, Entry<LongKey, V>>,
}

impl<'p, V: Copy> Iterator for PairRefs<'p, V> {
    type Item = PairRef<'p, V>;

    #[inline]
    fn next(&mut self) -> Option<PairRef<'p, V>> {
        if let Some(entry) = self.short.next() {
            return Some(PairRef::of(entry));
        }
        if let Some(entry) = self.medium.next() {
            return Some(PairRef::of(entry));
        }
        self.long.next().map(PairRef::of)
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.short.size_hint().0 + self.medium.size_hint().0 + self.long.size_hint().0;
        (left, Some(left))
    }

    /// A loop for each class.
    #[inline]
    fn fold<A, F: FnMut(A, PairRef<'p, V>) -> A>(self, start: A, mut add: F) -> A {
        let sum = self.short.fold(start, |sum, entry| add(sum, PairRef::of(entry)));
        let sum = self.medium.fold(sum, |sum, entry| add(sum, PairRef::of(entry)));
        self.long.fold(sum, |sum, entry| add(sum, PairRef::of(entry)))
    }
}

/// Asks the processor to fetch an entry, which may lie in two lines of its cache.
#[inline(always)]
fn prefetch_all<E>(entry: &E) {
    let start: *const u8 = std::ptr::from_ref(entry).cast();
    prefetch(start);
    prefetch(start.wrapping_add(size_of::<E>() - 1));
}
