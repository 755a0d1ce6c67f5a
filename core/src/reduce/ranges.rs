//! Scattering folded pairs over the answer's ranges. Each worker gathers pairs in small lists per
//! range and copies a list over when it is full, so that hundreds of open ranges cost few cache and
//! page misses and a lock only now and then. The bytes of long keys stay where they are.

use super::Range;
use super::splitters::Splitters;
use crate::aggregate::Aggregate;
use crate::error::{MemoryError, Result};
use crate::memory::{ByteArena, ChunkList, ChunkPool};
use crate::partial::{Pairs, Taker};
use crate::slots::{ClassEntry, Entry, LongKey, MediumKey, ShortKey, SlotKey};
use crate::sync::Mutex;
use std::sync::Arc;

/// Pairs that a worker gathers before it copies them to their range.
const GATHERED: usize = 32;

/// The ranges of an answer while they are filled.
pub(super) struct Ranges<'r, C: Aggregate> {
    splitters: Splitters<'r, C>,
    ranges: Vec<Mutex<Pairs<C::Reduced>>>,
}

impl<'r, C: Aggregate> Ranges<'r, C> {
    pub(super) fn new(splitters: Splitters<'r, C>, chunks: &Arc<ChunkPool>) -> Ranges<'r, C> {
        let ranges = (0..splitters.ranges()).map(|_| Mutex::new(Pairs::new(chunks))).collect();
        Ranges { splitters, ranges }
    }

    pub(super) fn into_ranges(self) -> Vec<Range<C::Reduced>> {
        let shared: Vec<usize> =
            (0..self.ranges.len()).map(|range| self.splitters.shared_prefix(range)).collect();
        let pairs = self.ranges.into_iter();
        let pairs = pairs.map(Mutex::into_inner);
        pairs
            .zip(shared)
            .map(|(pairs, shared_prefix)| Range::Held { pairs: Box::new(pairs), shared_prefix })
            .collect()
    }
}

/// One worker's way into the ranges. It is finished before it is dropped.
pub(super) struct Scatter<'r, C: Aggregate> {
    ranges: &'r Ranges<'r, C>,
    gathered: Vec<Gathered<C::Reduced>>,
    arenas: Vec<ByteArena>,
}

/// Pairs of one range, a list per class. Long keys point into the worker's arenas.
struct Gathered<V> {
    short: Vec<Entry<ShortKey, V>>,
    medium: Vec<Entry<MediumKey, V>>,
    long: Vec<Entry<LongKey, V>>,
}

impl<V: Copy> Gathered<V> {
    fn flush(&mut self, pairs: &mut Pairs<V>) -> Result<(), MemoryError> {
        flush(&mut self.short, &mut pairs.short)?;
        flush(&mut self.medium, &mut pairs.medium)?;
        flush(&mut self.long, &mut pairs.long)
    }
}

impl<'r, C: Aggregate> Scatter<'r, C> {
    pub(super) fn new(ranges: &'r Ranges<'r, C>) -> Scatter<'r, C> {
        let gathered = ranges.ranges.iter().map(|_| Gathered {
            short: Vec::with_capacity(GATHERED),
            medium: Vec::with_capacity(GATHERED),
            long: Vec::with_capacity(GATHERED),
        });
        Scatter { ranges, gathered: gathered.collect(), arenas: Vec::new() }
    }

    /// Copies over the rest of the gathered pairs. Returns the memory that holds the bytes of long keys, for
    /// as long as the ranges are used.
    pub(super) fn finish(mut self) -> Result<Vec<ByteArena>, MemoryError> {
        for (range, gathered) in self.gathered.iter_mut().enumerate() {
            gathered.flush(&mut self.ranges.ranges[range].lock())?;
        }
        Ok(self.arenas)
    }
}

impl<C: Aggregate> Taker<C::Reduced> for Scatter<'_, C> {
    fn take<K: SlotKey>(&mut self, entry: &Entry<K, C::Reduced>) -> Result<()> {
        let range = self.ranges.splitters.range_of(entry);
        let gathered = &mut self.gathered[range];
        let is_full = match K::class(entry) {
            ClassEntry::Short(entry) => gather(entry, &mut gathered.short),
            ClassEntry::Medium(entry) => gather(entry, &mut gathered.medium),
            ClassEntry::Long(entry) => gather(entry, &mut gathered.long),
        };
        if is_full {
            gathered.flush(&mut self.ranges.ranges[range].lock())?;
        }
        Ok(())
    }

    fn keep(&mut self, arena: ByteArena) {
        self.arenas.push(arena);
    }
}

/// Adds an entry; returns whether the list is full then.
#[inline]
fn gather<T: Copy>(entry: &T, list: &mut Vec<T>) -> bool {
    list.push(*entry);
    list.len() == GATHERED
}

fn flush<T: Copy>(from: &mut Vec<T>, to: &mut ChunkList<T>) -> Result<(), MemoryError> {
    to.extend(from)?;
    from.clear();
    Ok(())
}
