//! The adaptive container: for each size class of keys by itself, either hash tables or appending. Full
//! tables show how keys repeat, and each of them decides anew, so a misleading start costs one stretch only.

use super::append::Appender;
use super::class::ClassTable;
use super::hash::HashTables;
use super::{Batched, HandedOver, Hashed};
use crate::aggregate::Aggregate;
use crate::error::MemoryError;
use crate::memory::ChunkPool;
use crate::partial::Outlet;
use crate::sizing::TableLimits;
use crate::slots::{Hint, LongKey, MediumKey, PairRef, ShortKey, SlotKey};
use std::sync::Arc;

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

impl<C: Aggregate> Choosing<C> {
    pub(super) fn new(
        pool: &Arc<ChunkPool>,
        limits: TableLimits,
        share_bytes: u64,
    ) -> Result<Choosing<C>, MemoryError> {
        let tables = HashTables::new(pool, limits)?;
        let lists = Appender::new(pool, limits);
        let share = Share { bytes: 0, likely_bytes: share_bytes };
        let mind = Mind::default();
        Ok(Choosing { tables, lists, short: mind, medium: mind, long: mind, share })
    }
}

impl<C: Aggregate> Batched<C> for Choosing<C> {
    fn begin_split(&mut self, number: u32, bytes: usize) {
        self.share.bytes += bytes as u64;
        self.tables.begin_split(number, bytes);
        self.lists.begin_split(number, bytes);
    }

    fn ahead(&self) -> Hint<ShortKey, C::Accumulator, 0> {
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
        wants: &dyn Fn(&C::Accumulator) -> bool,
        see: &mut dyn FnMut(PairRef<'_, C::Accumulator>),
    ) -> bool {
        self.lists.is_empty() && self.tables.each(wants, see)
    }

    fn get(&self, key: &[u8]) -> Option<&C::Accumulator> {
        self.tables.get(key)
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
