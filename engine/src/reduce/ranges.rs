//! Scattering folded pairs over the answer's ranges. Each worker gathers short pairs in a small list
//! per range and copies it over when it is full, so that hundreds of open ranges cost few cache and
//! page misses and a lock only now and then.

use super::Range;
use super::splitters::Splitters;
use crate::combine::Combine;
use crate::container::{Entry, ShortKey, SlotKey};
use crate::error::MemoryError;
use crate::memory::ChunkPool;
use crate::partial::{Pairs, Taker};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Pairs that a worker gathers before it copies them to their range.
const GATHERED: usize = 32;

/// The ranges of an answer while they are filled.
pub(super) struct Ranges<C: Combine> {
    splitters: Splitters<C>,
    ranges: Vec<Mutex<Pairs<C::Accumulator>>>,
}

impl<C: Combine> Ranges<C> {
    pub(super) fn new(splitters: Splitters<C>, chunks: &Arc<ChunkPool>) -> Ranges<C> {
        let ranges = (0..splitters.ranges()).map(|_| Mutex::new(Pairs::new(chunks))).collect();
        Ranges { splitters, ranges }
    }

    pub(super) fn into_ranges(self) -> Vec<Range<C::Accumulator>> {
        let shared: Vec<usize> =
            (0..self.ranges.len()).map(|range| self.splitters.shared_prefix(range)).collect();
        let pairs = self.ranges.into_iter();
        let pairs = pairs.map(|pairs| pairs.into_inner().unwrap_or_else(PoisonError::into_inner));
        pairs.zip(shared).map(|(pairs, shared_prefix)| Range { pairs, shared_prefix }).collect()
    }

    fn lock(&self, range: usize) -> MutexGuard<'_, Pairs<C::Accumulator>> {
        self.ranges[range].lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One worker's way into the ranges. Whoever drops it has flushed it.
pub(super) struct Scatter<'r, C: Combine> {
    ranges: &'r Ranges<C>,
    gathered: Vec<Vec<Entry<ShortKey, C::Accumulator>>>,
}

impl<'r, C: Combine> Scatter<'r, C> {
    pub(super) fn new(ranges: &'r Ranges<C>) -> Scatter<'r, C> {
        let gathered = ranges.ranges.iter().map(|_| Vec::with_capacity(GATHERED)).collect();
        Scatter { ranges, gathered }
    }

    pub(super) fn flush_all(&mut self) -> Result<(), MemoryError> {
        (0..self.gathered.len()).try_for_each(|range| self.flush(range))
    }

    fn flush(&mut self, range: usize) -> Result<(), MemoryError> {
        let gathered = &mut self.gathered[range];
        if !gathered.is_empty() {
            self.ranges.lock(range).short.extend(gathered)?;
            gathered.clear();
        }
        Ok(())
    }
}

impl<C: Combine> Taker<C::Accumulator> for Scatter<'_, C> {
    fn take<K: SlotKey>(&mut self, entry: &Entry<K, C::Accumulator>) -> Result<(), MemoryError> {
        let range = self.ranges.splitters.range_of(entry);
        let Some(short) = K::as_short(entry) else {
            return K::put(&mut self.ranges.lock(range), entry);
        };
        self.gathered[range].push(*short);
        if self.gathered[range].len() == GATHERED { self.flush(range) } else { Ok(()) }
    }
}
