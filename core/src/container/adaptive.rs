//! The adaptive container: for each size class of keys by itself, either hash tables or appending. Full
//! tables show how keys repeat, and each of them decides anew, so a misleading start costs one stretch only.

use super::append::Appender;
use super::class::ClassTable;
use super::hash::HashTables;
use super::{Batched, HandedOver, OfClass};
use crate::aggregate::Aggregate;
use crate::error::MemoryError;
use crate::memory::ChunkPool;
use crate::partial::Outlet;
use crate::sizing::TableLimits;
use crate::slots::{Hint, PairRef, ShortKey, SlotKey};
use std::sync::Arc;

/// With fewer pairs per key than this in a table that is about to leave the second-level cache, combining
/// pairs in a larger table costs more than folding them by partition inside the cache. Measured: at 1.26 (108
/// thousand keys, all equally likely) appending is a sixth faster; at 2.7 (a million keys by Zipf's law)
/// hashing is 1.6 times faster.
const PAIRS_PER_KEY_LEAST: f64 = 1.75;
/// The same where values are kept, and an appended one is whole in its pair. Measured: at 3.2 (a million keys by
/// Zipf's law) appending takes 0.8 of the CPU time and 0.6 of the memory; at 5.4 (words of source text) 1.2 of the time.
const VALUES_PER_KEY_LEAST: f64 = 4.0;
/// The same where an appended value takes a block of its own.
const BLOCKS_PER_KEY_LEAST: f64 = 1.1;
/// Pairs that are appended for each pair of the full table.
const STRETCH: u64 = 32;
/// With this many expected pairs for each expected key, a table of all keys pays for its memory and its
/// misses.
const PAIRS_PER_EXPECTED_KEY: f64 = 4.0;
/// The expected length of an input of unknown length, in terms of the part so far.
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

/// The part of the input that a worker was given.
#[derive(Clone, Copy)]
struct Share {
    /// Bytes so far.
    bytes: u64,
    /// The likely bytes in all; 0 if unknown.
    likely_bytes: u64,
}

impl Share {
    /// Returns the likely input of the whole run in terms of the input so far.
    fn times_as_long(self) -> f64 {
        if self.likely_bytes == 0 {
            return TIMES_AS_LONG;
        }
        (self.likely_bytes as f64 / self.bytes.max(1) as f64).max(1.0)
    }
}

/// The present decision for one class of keys.
#[derive(Clone, Copy, Default)]
struct Mind {
    /// Pairs that are still to be appended; 0 while the table is filled.
    left: u64,
    /// Pairs seen.
    seen: u64,
}

/// Returns the estimated number of distinct keys if `pairs` draws, all keys equally likely, show `seen`: the
/// D of seen = D (1 - exp(-pairs / D)), by bisection. For skewed keys it is too low.
fn distinct_keys(pairs: f64, seen: f64) -> f64 {
    let shown = |distinct: f64| distinct * -(-pairs / distinct).exp_m1();
    let (mut least, mut most) = (seen, seen * 1e6);
    for _ in 0..60 {
        let middle = (least * most).sqrt();
        if shown(middle) < seen { least = middle } else { most = middle }
    }
    most
}

/// The facts about pairs of one class that arrive.
struct Arrival<'a, 'p, C: Aggregate> {
    share: Share,
    outlet: &'a Outlet<'p, C::Accumulator>,
    handed_over: &'a mut HandedOver,
}

impl<C: Aggregate> Arrival<'_, '_, C> {
    /// Returns how many pairs are to be appended after the next `pairs`; `None` if these go to the table. A full
    /// table decides. If its keys hardly repeat, it is handed over and pairs are appended for a stretch. But if
    /// a larger table can hold all expected keys, and the input is likely to be long enough, the table grows for
    /// the last time. A crowded table is handed over as well: keys in the order of their hashes do not repeat.
    #[inline]
    fn appends<K: SlotKey>(
        self,
        mind: &mut Mind,
        table: &mut ClassTable<K, C::Accumulator>,
        pairs: usize,
    ) -> Result<Option<u64>, MemoryError> {
        mind.seen += pairs as u64;
        if mind.left == 0 {
            if table.is_crowded {
                mind.left = STRETCH * table.table.len() as u64;
                *self.handed_over += table.hand_over(self.outlet)?;
                return Ok(Some(mind.left));
            }
            let least = match (C::KEEPS_VALUES, C::ONE_POINTS) {
                (true, true) => BLOCKS_PER_KEY_LEAST,
                (true, false) => VALUES_PER_KEY_LEAST,
                (false, _) => PAIRS_PER_KEY_LEAST,
            };
            let repeats = table.repeats_if_full(pairs);
            let Some(repeats) = repeats.filter(|&repeats| repeats < least) else {
                return Ok(None);
            };
            let keys = table.table.len() as f64;
            let distinct = distinct_keys(repeats * keys, keys);
            let expected = mind.seen as f64 * self.share.times_as_long();
            let is_long = expected >= PAIRS_PER_EXPECTED_KEY * distinct;
            if is_long && !C::KEEPS_VALUES && table.grow_for(distinct * SLACK)? {
                return Ok(None);
            }
            mind.left = STRETCH * (repeats * keys) as u64;
            *self.handed_over += table.hand_over(self.outlet)?;
        }
        mind.left = mind.left.saturating_sub(pairs as u64);
        Ok(Some(mind.left))
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

    fn put(
        &mut self,
        pairs: OfClass<'_, C::Held>,
        outlet: &Outlet<'_, C::Accumulator>,
    ) -> Result<(), MemoryError> {
        let HashTables { short, medium, long, handed_over, .. } = &mut self.tables;
        let arrival = Arrival::<C> { share: self.share, outlet, handed_over };
        let left = match pairs {
            OfClass::Short(pairs) => arrival.appends(&mut self.short, short, pairs.len())?,
            OfClass::Medium(pairs) => arrival.appends(&mut self.medium, medium, pairs.len())?,
            OfClass::Long(pairs) => arrival.appends(&mut self.long, long, pairs.len())?,
        };
        let Some(left) = left else { return self.tables.put(pairs, outlet) };
        self.lists.put(pairs, outlet)?;
        // At the end of a stretch collected values go to the partial before those of the table, because the
        // values of a key in one split must arrive there in order.
        if left == 0 && C::KEEPS_VALUES { self.lists.hand_over(outlet) } else { Ok(()) }
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
        // D equally likely keys show about D (1 - exp(-p / D)) of them in p pairs.
        for (keys, pairs) in [(1000.0, 500.0), (1e6, 1e5), (1e6, 3e6), (1e9, 1e5)] {
            let seen = keys * -f64::exp_m1(-pairs / keys);
            let expected = distinct_keys(pairs, seen);
            assert!((expected / keys - 1.0).abs() < 0.01, "{keys} keys, {pairs} pairs: {expected}");
        }
        // Nothing repeats, so there is no upper bound.
        assert!(distinct_keys(1000.0, 1000.0) > 1e6);
    }
}
