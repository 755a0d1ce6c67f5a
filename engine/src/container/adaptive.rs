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
use crate::partial::{Outlet, PairRef, Partial};
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
/// and decides anew. If the input is likely to be long for the keys that such a table lets expect, a
/// table that holds all of them takes over. Metis (section 3.4) predicts once, from the first 7 % of the
/// input, and cannot go back.
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
/// If so many pairs are to be expected for each key that is, a table that holds all keys pays for its
/// memory and its misses.
const PAIRS_PER_EXPECTED_KEY: f64 = 4.0;
/// An input whose length nobody knows is likely to bring as much again as it has brought.
const TIMES_AS_LONG: f64 = 2.0;
/// Room for more keys than expected.
const SLACK: f64 = 1.05;

/// Tables, and lists beside them for the classes of keys that hardly repeat.
pub(crate) struct Choosing<C: Aggregate> {
    tables: HashTables<C>,
    lists: Appender<C>,
    short: Mind,
    medium: Mind,
    long: Mind,
    share: Share,
}

/// What of the input a worker has been given.
#[derive(Clone, Copy)]
struct Share {
    /// Bytes so far.
    bytes: u64,
    /// Bytes that there are likely to be; 0 where nobody knows.
    likely_bytes: u64,
}

impl Share {
    /// How many times as much as so far there is likely to be in all.
    fn times_as_long(self) -> f64 {
        if self.likely_bytes == 0 {
            return TIMES_AS_LONG;
        }
        (self.likely_bytes as f64 / self.bytes.max(1) as f64).max(1.0)
    }
}

/// What was made up of one class of keys.
#[derive(Clone, Copy, Default)]
struct Mind {
    /// Pairs that are still to be appended; 0 while the table is filled.
    left: u64,
    /// Pairs seen.
    seen: u64,
}

/// The distinct keys of which `pairs` draws, all as likely, show `seen`: the D of
/// seen = D (1 - exp(-pairs / D)), by bisection. Skewed keys are more than that.
fn distinct_keys(pairs: f64, seen: f64) -> f64 {
    let shown = |distinct: f64| distinct * -(-pairs / distinct).exp_m1();
    let (mut least, mut most) = (seen, seen * 1e6);
    for _ in 0..60 {
        let middle = (least * most).sqrt();
        if shown(middle) < seen { least = middle } else { most = middle }
    }
    most
}

/// Whether the next `pairs` pairs of a class are appended. A full table decides: it is handed over and
/// pairs are appended for a stretch if its keys hardly repeat; but if a larger one can hold all the keys
/// that are to be expected, and the input is likely to be long enough, that is the last growth. So does one
/// that is crowded: keys come in the order of their hashes, and so do not repeat.
#[inline]
fn appends<C: Aggregate, K: SlotKey>(
    mind: &mut Mind,
    table: &mut ClassTable<K, C::Accumulator>,
    handed_over: &mut HandedOver,
    pairs: usize,
    share: Share,
    outlet: &Outlet<'_, C::Accumulator>,
) -> Result<bool, MemoryError> {
    mind.seen += pairs as u64;
    if mind.left == 0 {
        if table.is_crowded {
            mind.left = STRETCH * table.table.len() as u64;
            *handed_over += table.hand_over(outlet)?;
            return Ok(true);
        }
        let least = if C::KEEPS_VALUES { VALUES_PER_KEY_LEAST } else { PAIRS_PER_KEY_LEAST };
        let Some(repeats) = table.repeats_if_full(pairs).filter(|&repeats| repeats < least) else {
            return Ok(false);
        };
        let keys = table.table.len() as f64;
        let distinct = distinct_keys(repeats * keys, keys);
        let expected = mind.seen as f64 * share.times_as_long();
        let is_long = expected >= PAIRS_PER_EXPECTED_KEY * distinct;
        if is_long && !C::KEEPS_VALUES && table.grow_for(distinct * SLACK)? {
            return Ok(false);
        }
        mind.left = STRETCH * (repeats * keys) as u64;
        *handed_over += table.hand_over(outlet)?;
    }
    mind.left = mind.left.saturating_sub(pairs as u64);
    Ok(true)
}

impl<C: Aggregate> Choosing<C> {
    /// At the end of a stretch collected values go to the partial before those that the table will
    /// take: the values of a key in one split must come there in order.
    fn end_stretch(
        &mut self,
        left: u64,
        outlet: &Outlet<'_, C::Accumulator>,
    ) -> Result<(), MemoryError> {
        if left == 0 && C::KEEPS_VALUES { self.lists.hand_over(outlet) } else { Ok(()) }
    }
}

impl<C: Aggregate> Batched<C> for Choosing<C> {
    type Ahead = Hint<ShortKey, C::Accumulator, 0>;

    fn new(
        pool: &Arc<ChunkPool>,
        limits: TableLimits,
        share_bytes: u64,
    ) -> Result<Choosing<C>, MemoryError> {
        let tables = HashTables::new(pool, limits, share_bytes)?;
        let lists = Appender::new(pool, limits, share_bytes)?;
        let share = Share { bytes: 0, likely_bytes: share_bytes };
        let mind = Mind::default();
        Ok(Choosing { tables, lists, short: mind, medium: mind, long: mind, share })
    }

    fn begin_split(&mut self, number: u32, bytes: usize) {
        self.share.bytes += bytes as u64;
        self.tables.begin_split(number, bytes);
        self.lists.begin_split(number, bytes);
    }

    fn ahead(&self) -> Self::Ahead {
        let ahead = self.tables.ahead();
        if self.short.left > 0 { ahead.idle() } else { ahead }
    }

    fn put_short(
        &mut self,
        batch: &[Hashed<ShortKey, C::Held>],
        outlet: &Outlet<'_, C::Accumulator>,
    ) -> Result<(), MemoryError> {
        let HashTables { short, handed_over, .. } = &mut self.tables;
        let (mind, pairs) = (&mut self.short, batch.len());
        if appends::<C, _>(mind, short, handed_over, pairs, self.share, outlet)? {
            self.lists.put_short(batch, outlet)?;
            return self.end_stretch(self.short.left, outlet);
        }
        self.tables.put_short(batch, outlet)
    }

    fn put_medium(
        &mut self,
        batch: &[Hashed<MediumKey, C::Held>],
        outlet: &Outlet<'_, C::Accumulator>,
    ) -> Result<(), MemoryError> {
        let HashTables { medium, handed_over, .. } = &mut self.tables;
        let (mind, pairs) = (&mut self.medium, batch.len());
        if appends::<C, _>(mind, medium, handed_over, pairs, self.share, outlet)? {
            self.lists.put_medium(batch, outlet)?;
            return self.end_stretch(self.medium.left, outlet);
        }
        self.tables.put_medium(batch, outlet)
    }

    fn put_long(
        &mut self,
        batch: &[Hashed<LongKey, C::Held>],
        outlet: &Outlet<'_, C::Accumulator>,
    ) -> Result<(), MemoryError> {
        let HashTables { long, handed_over, .. } = &mut self.tables;
        let (mind, pairs) = (&mut self.long, batch.len());
        if appends::<C, _>(mind, long, handed_over, pairs, self.share, outlet)? {
            self.lists.put_long(batch, outlet)?;
            return self.end_stretch(self.long.left, outlet);
        }
        self.tables.put_long(batch, outlet)
    }

    fn end_piece(&mut self, outlet: &Outlet<'_, C::Accumulator>) -> Result<(), MemoryError> {
        self.tables.end_piece(outlet)?;
        self.lists.hand_over(outlet)
    }

    fn hand_over(&mut self, outlet: &Outlet<'_, C::Accumulator>) -> Result<(), MemoryError> {
        self.tables.hand_over(outlet)?;
        self.lists.hand_over(outlet)
    }

    fn handed_over(&self) -> HandedOver {
        let mut both = self.tables.handed_over();
        both += self.lists.handed_over();
        both
    }

    fn held(&self) -> u64 {
        self.tables.held()
    }

    fn each(
        &self,
        wants: impl Fn(&C::Accumulator) -> bool,
        see: impl FnMut(PairRef<'_, C::Accumulator>),
    ) -> bool {
        self.lists.is_empty() && self.tables.each(wants, see)
    }

    fn get(&self, key: &[u8]) -> Option<&C::Accumulator> {
        self.tables.get(key)
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

    fn new(making: &Making<'p, J::Combine>) -> Result<Self> {
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

    fn end_piece(&mut self) -> Result<(), MemoryError> {
        self.array.as_mut().map_or(Ok(()), Inlet::end_piece)?;
        self.batched.end_piece()
    }

    fn hand_over(&mut self) -> Result<(), MemoryError> {
        self.array.as_mut().map_or(Ok(()), Inlet::hand_over)?;
        self.batched.hand_over()
    }

    fn redirect(&mut self, partial: &'p Partial<<J::Combine as Aggregate>::Accumulator>) {
        self.array.iter_mut().for_each(|array| array.redirect(partial));
        self.batched.redirect(partial);
    }

    fn emitted(&self) -> u64 {
        self.batched.emitted() + self.array.as_ref().map_or(0, Inlet::emitted)
    }

    fn handed_over(&self) -> HandedOver {
        let mut all = self.batched.handed_over();
        all += self.array.as_ref().map_or(HandedOver::default(), Inlet::handed_over);
        all
    }

    fn held(&self) -> u64 {
        self.batched.held()
    }

    fn each(
        &self,
        wants: impl Fn(&<J::Combine as Aggregate>::Accumulator) -> bool,
        see: impl FnMut(PairRef<'_, <J::Combine as Aggregate>::Accumulator>),
    ) -> bool {
        match &self.array {
            Some(array) => array.each(wants, see),
            None => self.batched.each(wants, see),
        }
    }

    fn get(&self, key: &[u8]) -> Option<&<J::Combine as Aggregate>::Accumulator> {
        match &self.array {
            Some(array) => array.get(key),
            None => self.batched.get(key),
        }
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

    fn emit_total(
        &mut self,
        key: <J::Key as Key>::Borrowed<'_>,
        total: <J::Combine as Aggregate>::Accumulator,
    ) {
        match self.array() {
            Some(array) => array.emit_total(key, total),
            None => self.batched.emit_total(key, total),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_input_of_known_length_is_not_underrated() {
        let share = |bytes, likely_bytes| Share { bytes, likely_bytes }.times_as_long();
        assert_eq!(share(2 << 20, 732 << 20), 366.0);
        assert_eq!(share(2 << 20, 0), TIMES_AS_LONG);
        // A worker may be given more than its share.
        assert_eq!(share(3 << 20, 2 << 20), 1.0);
    }

    #[test]
    fn the_number_of_keys_is_seen_from_how_few_repeat() {
        // Drawn from so many keys, all as likely, so many pairs show about D (1 - exp(-p / D)) of them.
        for (keys, pairs) in [(1000.0, 500.0), (1e6, 1e5), (1e6, 3e6), (1e9, 1e5)] {
            let seen = keys * -f64::exp_m1(-pairs / keys);
            let expected = distinct_keys(pairs, seen);
            assert!((expected / keys - 1.0).abs() < 0.01, "{keys} keys, {pairs} pairs: {expected}");
        }
        // Nothing repeats: as many as one likes.
        assert!(distinct_keys(1000.0, 1000.0) > 1e6);
    }
}
