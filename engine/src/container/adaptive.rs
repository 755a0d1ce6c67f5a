//! The adaptive container: an array where the job's keys are a small range of integers, and otherwise,
//! for each size class of keys by itself, either hash tables or appending, by what full tables show of
//! how keys repeat. It goes on asking, so a misleading start misleads it for one stretch only.

use super::append::Appender;
use super::array::{ArrayEmitter, ArraySplit};
use super::class::ClassTable;
use super::emitter::{BatchEmitter, BatchSplit};
use super::hash::HashTables;
use super::slot::{LongKey, MediumKey, ShortKey, SlotKey};
use super::table::Hint;
use super::{Batched, HandedOver, Hashed, Inlet, Making, named};
use crate::aggregate::Aggregate;
use crate::error::{MemoryError, Result};
use crate::job::{Emit, Job};
use crate::key::Key;
use crate::memory::ChunkPool;
use crate::partial::Partial;
use crate::sizing::TableLimits;
use crate::split::Split;
use std::ptr::NonNull;
use std::sync::Arc;

/// Chooses by itself, and changes its mind: the default.
///
/// Integer keys of a small range go to an [`Array`](super::Array). For other keys it begins with
/// [`Hash`](super::Hash) tables, each a sample of its stretch of the input: where one is about to
/// outgrow the second-level cache and its keys hardly repeat, the next pairs are appended
/// ([`Append`](super::Append)), thirty-two times as many as the table took; then the next table is filled,
/// and decides anew. Metis (section 3.4) predicts once, from the first 7 % of the input, and cannot go
/// back.
#[derive(Clone, Copy, Debug)]
pub struct Adaptive;

named!(Adaptive, AdaptiveEmitter<'p, J>);

/// Below so many pairs per key of a table that is about to leave the second-level cache, combining
/// pairs in a larger one costs more than folding them by partition, inside the cache: 1.26 where 108
/// thousand keys are all as likely (appending is a sixth faster), 2.7 where a million follow Zipf's law
/// (hashing is 1.6 times faster).
const PAIRS_PER_KEY_LEAST: f64 = 1.75;
/// The same where values are kept: appended, each takes a block of its own.
const VALUES_PER_KEY_LEAST: f64 = 1.1;
/// Pairs that are appended for each pair of the table that said so.
const STRETCH: u64 = 32;

/// Tables, and lists beside them for the classes of keys that hardly repeat.
pub(crate) struct Choosing<C: Aggregate> {
    tables: HashTables<C>,
    lists: Appender<C>,
    /// Pairs of each class that are still to be appended; 0 while its table is filled.
    short: u64,
    medium: u64,
    long: u64,
}

/// Whether the next `pairs` pairs of a class are appended; `left` counts those that still will be. A
/// full table decides, and is handed over if it is not to grow.
#[inline]
fn appends<C: Aggregate, K: SlotKey>(
    left: &mut u64,
    table: &mut ClassTable<K, C::Accumulator>,
    handed_over: &mut HandedOver,
    pairs: usize,
    partial: &Partial<C::Accumulator>,
) -> Result<bool, MemoryError> {
    if *left == 0 {
        let least = if C::KEEPS_VALUES { VALUES_PER_KEY_LEAST } else { PAIRS_PER_KEY_LEAST };
        let Some(repeats) = table.repeats_if_full(pairs).filter(|&repeats| repeats < least) else {
            return Ok(false);
        };
        *left = STRETCH * (repeats * table.table.len() as f64) as u64;
        *handed_over += table.hand_over(partial)?;
    }
    *left = left.saturating_sub(pairs as u64);
    Ok(true)
}

impl<C: Aggregate> Choosing<C> {
    /// At the end of a stretch collected values go to the partial before those that the table will
    /// take: the values of a key in one split must come there in order.
    fn end_stretch(
        &mut self,
        left: u64,
        partial: &Partial<C::Accumulator>,
    ) -> Result<(), MemoryError> {
        if left == 0 && C::KEEPS_VALUES { self.lists.hand_over(partial) } else { Ok(()) }
    }
}

impl<C: Aggregate> Batched<C> for Choosing<C> {
    type Ahead = Hint<ShortKey, C::Accumulator, 0>;

    fn new(pool: &Arc<ChunkPool>, limits: TableLimits) -> Result<Choosing<C>, MemoryError> {
        let (tables, lists) = (HashTables::new(pool, limits)?, Appender::new(pool, limits)?);
        Ok(Choosing { tables, lists, short: 0, medium: 0, long: 0 })
    }

    fn begin_split(&mut self, number: u32) {
        self.tables.begin_split(number);
        self.lists.begin_split(number);
    }

    fn ahead(&self) -> Self::Ahead {
        let ahead = self.tables.ahead();
        if self.short > 0 { ahead.idle() } else { ahead }
    }

    fn put_short(
        &mut self,
        batch: &[Hashed<ShortKey, C::Held>],
        partial: &Partial<C::Accumulator>,
    ) -> Result<(), MemoryError> {
        let HashTables { short, handed_over, .. } = &mut self.tables;
        if appends::<C, _>(&mut self.short, short, handed_over, batch.len(), partial)? {
            self.lists.put_short(batch, partial)?;
            return self.end_stretch(self.short, partial);
        }
        self.tables.put_short(batch, partial)
    }

    fn put_medium(
        &mut self,
        batch: &[Hashed<MediumKey, C::Held>],
        partial: &Partial<C::Accumulator>,
    ) -> Result<(), MemoryError> {
        let HashTables { medium, handed_over, .. } = &mut self.tables;
        if appends::<C, _>(&mut self.medium, medium, handed_over, batch.len(), partial)? {
            self.lists.put_medium(batch, partial)?;
            return self.end_stretch(self.medium, partial);
        }
        self.tables.put_medium(batch, partial)
    }

    fn put_long(
        &mut self,
        batch: &[Hashed<LongKey, C::Held>],
        partial: &Partial<C::Accumulator>,
    ) -> Result<(), MemoryError> {
        let HashTables { long, handed_over, .. } = &mut self.tables;
        if appends::<C, _>(&mut self.long, long, handed_over, batch.len(), partial)? {
            self.lists.put_long(batch, partial)?;
            return self.end_stretch(self.long, partial);
        }
        self.tables.put_long(batch, partial)
    }

    fn hand_over(&mut self, partial: &Partial<C::Accumulator>) -> Result<(), MemoryError> {
        self.tables.hand_over(partial)?;
        self.lists.hand_over(partial)
    }

    fn handed_over(&self) -> HandedOver {
        let mut both = self.tables.handed_over();
        both += self.lists.handed_over();
        both
    }
}

/// A worker's array, or else its tables and lists.
pub(crate) struct AdaptiveEmitter<'p, J: Job> {
    batched: BatchEmitter<'p, J, Choosing<J::Combine>>,
    array: Option<ArrayEmitter<'p, J>>,
}

impl<'p, J: Job> Inlet<'p, J> for AdaptiveEmitter<'p, J> {
    type Split<'e, 's>
        = AdaptiveSplit<'e, 'p, 's, J>
    where
        Self: 'e;

    fn new(making: &Making<'p, J>) -> Result<Self> {
        let bytes = making.range.and_then(ArrayEmitter::<J>::bytes);
        let is_small = bytes.is_some_and(|bytes| bytes <= making.limits.cached);
        let array = is_small.then(|| ArrayEmitter::new(making)).transpose()?;
        Ok(AdaptiveEmitter { batched: BatchEmitter::new(making)?, array })
    }

    unsafe fn begin_split<'e, 's>(
        &'e mut self,
        start: NonNull<u8>,
        len: usize,
        number: u32,
    ) -> AdaptiveSplit<'e, 'p, 's, J> {
        // SAFETY: the caller's promises are the same.
        let (batched, array) = unsafe {
            let array = self.array.as_mut().map(|array| array.begin_split(start, len, number));
            (self.batched.begin_split(start, len, number), array)
        };
        AdaptiveSplit { batched, array }
    }

    fn finish_split(&mut self, split: &Split<'_>) -> Result<()> {
        self.array.as_mut().map_or(Ok(()), |array| array.finish_split(split))?;
        self.batched.finish_split(split)
    }

    fn abandon_split(&mut self) {
        self.array.iter_mut().for_each(Inlet::abandon_split);
        self.batched.abandon_split();
    }

    fn hand_over(&mut self) -> Result<(), MemoryError> {
        self.array.as_mut().map_or(Ok(()), Inlet::hand_over)?;
        self.batched.hand_over()
    }

    fn emitted(&self) -> u64 {
        self.batched.emitted() + self.array.as_ref().map_or(0, Inlet::emitted)
    }

    fn handed_over(&self) -> HandedOver {
        let mut all = self.batched.handed_over();
        all += self.array.as_ref().map_or(HandedOver::default(), Inlet::handed_over);
        all
    }
}

/// What a map emits into, for the time of one split.
pub(crate) struct AdaptiveSplit<'e, 'p, 's, J: Job> {
    batched: BatchSplit<'e, 'p, 's, J, Choosing<J::Combine>>,
    array: Option<ArraySplit<'e, J>>,
}

type Value<'s, J> = <<J as Job>::Combine as Aggregate>::Value<'s>;

impl<'e, J: Job> AdaptiveSplit<'e, '_, '_, J> {
    /// The array, if there is one; for keys that are no integers this is known beforehand.
    #[inline(always)]
    fn array(&mut self) -> Option<&mut ArraySplit<'e, J>> {
        if J::Key::IS_INTEGER { self.array.as_mut() } else { None }
    }
}

impl<'s, J: Job> Emit<'s, J> for AdaptiveSplit<'_, '_, 's, J> {
    #[inline(always)]
    fn emit(&mut self, key: <J::Key as Key>::Borrowed<'s>, value: Value<'s, J>) {
        match self.array() {
            Some(array) => array.add(key, value),
            None => self.batched.emit(key, value),
        }
    }

    #[inline(always)]
    fn emit_each(
        &mut self,
        keys: impl Iterator<Item = <J::Key as Key>::Borrowed<'s>>,
        value: Value<'s, J>,
    ) {
        match self.array() {
            Some(array) => array.emit_each(keys, value),
            None => self.batched.emit_each(keys, value),
        }
    }

    #[inline(always)]
    fn emit_copied(&mut self, key: <J::Key as Key>::Borrowed<'_>, value: Value<'_, J>) {
        match self.array() {
            Some(array) => array.add(key, value),
            None => self.batched.emit_copied(key, value),
        }
    }
}
