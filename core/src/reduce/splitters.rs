//! Splitters: the keys (or values) at which the answer is divided into ranges, chosen by sampling the
//! partial. Sampling first and sorting each range afterwards (sample sort) is regular sampling (PSRS, Metis
//! section 3.3) without its final merge: each range is sorted once, inside the cache, by one worker.

use super::copies::Copies;
use super::ranking::Ranking;
use crate::aggregate::Aggregate;
use crate::error::{MemoryError, Result};
use crate::heads::{Borders, RANGES_MOST, every_nth, head, sort_numbers};
use crate::memory::{ByteArena, ChunkPool, KeptValues};
use crate::options::Order;
use crate::partial::{PARTITIONS, Partial, Taker};
use crate::slots::{Entry, PairRef, SlotKey};
use std::sync::Arc;

/// Pairs in a range: about what fits a second-level cache together with its sort keys.
const RANGE_PAIRS: usize = 32 << 10;
/// Below this many pairs a further range costs more than it gains.
const RANGE_PAIRS_LEAST: usize = 2 << 10;
/// Ranges per worker, so that none is idle while another sorts the last one.
const RANGES_PER_WORKER: usize = 4;
/// Sampled pairs per range. The largest of many ranges is then rarely twice the average.
const OVERSAMPLING: usize = 32;
/// The most that is kept of a sample.
const SAMPLE_PAIRS_MOST: usize = RANGES_MOST * OVERSAMPLING;
const SAMPLE_BYTES_MOST: usize = 4 << 20;
/// The memory of a sampled key beside its bytes: a small allocation of its own.
const KEY_BESIDE_BYTES: usize = 32;

/// Fewer pairs divide nothing: the least of an answer is no splitter.
const SAMPLE_PAIRS_LEAST: usize = 2;

type Sampled<V> = (V, Box<[u8]>);

/// Pairs of an answer (or of the partial that becomes it), of all parts of it alike.
pub(super) enum PairSample<'j, C: Aggregate> {
    /// Their keys alone, where the order does not look at values.
    Keys(Sample<()>),
    Values {
        ranking: Ranking<'j, C>,
        sample: Sample<C::Reduced>,
        /// Copies of the stores of kept values, if the original stores are dropped soon.
        copies: Option<Copies>,
    },
}

/// Some of the pairs that it was shown.
pub(super) struct Sample<V> {
    pairs: Vec<Sampled<V>>,
    bytes: usize,
    bytes_most: usize,
    seen: u64,
    /// One of this number of pairs is kept.
    one_of: u64,
}

impl<V> Sample<V> {
    fn new(bytes_most: usize) -> Sample<V> {
        let bytes_most = bytes_most.min(SAMPLE_BYTES_MOST);
        Sample { pairs: Vec::new(), bytes: 0, bytes_most, seen: 0, one_of: 1 }
    }

    /// Counts the next pair; returns whether it is to be kept.
    fn takes_next(&mut self) -> bool {
        self.seen += 1;
        self.seen.is_multiple_of(self.one_of)
    }

    /// Keeps a pair. Returns whether others were thrown out for that.
    fn keep(&mut self, value: V, key: &[u8]) -> bool {
        self.pairs.push((value, key.into()));
        // Twice its place, for lists grow by doubling.
        self.bytes += 2 * size_of::<Sampled<V>>() + KEY_BESIDE_BYTES + key.len();
        let before = self.one_of;
        while self.pairs.len() > SAMPLE_PAIRS_MOST
            || (self.bytes > self.bytes_most && self.pairs.len() >= 2 * SAMPLE_PAIRS_LEAST)
        {
            let mut number = 0;
            self.pairs.retain(|_| {
                number += 1;
                number % 2 == 0
            });
            self.bytes /= 2;
            self.one_of *= 2;
        }
        self.one_of > before
    }
}

impl<'j, C: Aggregate> PairSample<'j, C> {
    /// Returns a sample of about `bytes_most` bytes at most.
    pub(super) fn new(
        ranking: Ranking<'j, C>,
        order: Order,
        bytes_most: usize,
    ) -> PairSample<'j, C> {
        match order {
            Order::Key | Order::None => PairSample::Keys(Sample::new(bytes_most)),
            Order::Value => {
                PairSample::Values { ranking, sample: Sample::new(bytes_most), copies: None }
            }
        }
    }

    /// Copies the stores of values, if the order looks at values.
    pub(super) fn copying(mut self, chunks: &Arc<ChunkPool>) -> PairSample<'j, C> {
        if let PairSample::Values { copies, .. } = &mut self {
            *copies = Copies::if_needed::<C>(chunks);
        }
        self
    }

    /// Adds a pair. A sample that has grown too large is thinned. The value is asked for where the order looks at
    /// values; its key is complete then, because a job's own code may make it.
    pub(super) fn add(
        &mut self,
        key: &[u8],
        value: impl FnOnce() -> C::Reduced,
    ) -> Result<(), MemoryError> {
        match self {
            PairSample::Keys(sample) => {
                if sample.takes_next() {
                    sample.keep((), key);
                }
            }
            PairSample::Values { sample, copies, .. } => {
                if !sample.takes_next() {
                    return Ok(());
                }
                let Some(copies) = copies else {
                    sample.keep(value(), key);
                    return Ok(());
                };
                let was_thinned = sample.keep(copies.copy::<C>(&value())?, key);
                if was_thinned {
                    copies.thin::<C>(sample.pairs.iter_mut().map(|pair| &mut pair.0))?;
                }
            }
        }
        Ok(())
    }

    /// Divides the answer into about `ranges` ranges.
    pub(super) fn splitters(self, ranges: usize) -> Splitters<'j, C> {
        match self {
            PairSample::Values { ranking, sample: Sample { mut pairs, .. }, copies } => {
                let mut order: Vec<u64> = (0..pairs.len() as u64).collect();
                let pair = |number: u64| pair_of(&pairs[number as usize]);
                sort_numbers(&mut order, &|a, b| ranking.compare(pair(a), pair(b)));
                let pointed_at = copies.and_then(|copies| copies.into_store().seal());
                let chosen = every_nth(order, ranges).into_iter();
                let splitters = chosen.map(|number| {
                    let (value, key) = &mut pairs[number as usize];
                    (*value, std::mem::take(key))
                });
                let splitters = splitters.collect();
                Splitters::Values { ranking, splitters, _pointed_at: pointed_at }
            }
            PairSample::Keys(sample) => {
                let mut keys: Vec<Box<[u8]>> =
                    sample.pairs.into_iter().map(|pair| pair.1).collect();
                keys.sort_unstable();
                keys.dedup();
                Splitters::Keys(Borders::new(every_nth(keys, ranges)))
            }
        }
    }
}

/// Samples the folded pairs of a partition.
impl<C: Aggregate> Taker<C::Accumulator> for PairSample<'_, C> {
    fn take<K: SlotKey>(&mut self, entry: &Entry<K, C::Accumulator>) -> Result<()> {
        let key = entry.key.bytes();
        Ok(self.add(key, || C::reduce(key, &entry.value))?)
    }

    /// Drops the arena, because kept keys are copies.
    fn keep(&mut self, arena: ByteArena) {
        drop(arena);
    }
}

/// Where ranges begin. There is one range more than there are splitters.
pub(super) enum Splitters<'j, C: Aggregate> {
    Keys(Borders),
    /// In the answer's order.
    Values {
        ranking: Ranking<'j, C>,
        splitters: Vec<Sampled<C::Reduced>>,
        _pointed_at: Option<KeptValues>,
    },
}

impl<'j, C: Aggregate> Splitters<'j, C> {
    /// Samples the partial, which is folded if the order looks at values. The ranges differ with the sample, the answer
    /// does not.
    pub(super) fn sample(
        partial: &Partial<C::Accumulator>,
        ranking: Ranking<'j, C>,
        order: Order,
        workers: usize,
    ) -> Result<Splitters<'j, C>, MemoryError> {
        let pairs: usize = (0..PARTITIONS).map(|p| partial.partition(p).pairs.len()).sum();
        let wanted = (pairs / RANGE_PAIRS).max(RANGES_PER_WORKER * workers);
        let ranges = wanted.min(pairs / RANGE_PAIRS_LEAST).clamp(1, RANGES_MOST);
        let stride = (pairs / (ranges * OVERSAMPLING)).max(1);
        let mut sample = PairSample::new(ranking, order, SAMPLE_BYTES_MOST);
        if ranges > 1 {
            visit(partial, stride, |pair| {
                sample.add(pair.key, || C::reduce(pair.key, pair.value))
            })?;
        }
        Ok(sample.splitters(ranges))
    }

    pub(super) fn ranges(&self) -> usize {
        1 + match self {
            Splitters::Keys(borders) => borders.keys().len(),
            Splitters::Values { splitters, .. } => splitters.len(),
        }
    }

    /// Returns the range of a pair: the number of splitters at or before it.
    #[inline]
    pub(super) fn range_of<K: SlotKey>(&self, entry: &Entry<K, C::Reduced>) -> usize {
        match self {
            Splitters::Keys(borders) => {
                borders.range_of(entry.key.bytes(), |skip| (entry.key.head(skip) >> 64) as u64)
            }
            Splitters::Values { .. } => self.range_of_pair(PairRef::of(entry)),
        }
    }

    /// As `range_of`, for a pair that is in no slot.
    pub(super) fn range_of_pair(&self, pair: PairRef<'_, C::Reduced>) -> usize {
        match self {
            Splitters::Keys(borders) => borders.range_of(pair.key, |skip| head(pair.key, skip)),
            Splitters::Values { ranking, splitters, .. } => splitters
                .partition_point(|splitter| ranking.compare(pair_of(splitter), pair).is_le()),
        }
    }

    /// Returns the number of bytes with which all keys of a range begin alike.
    pub(super) fn shared_prefix(&self, range: usize) -> usize {
        match self {
            Splitters::Keys(borders) => borders.shared_prefix(range),
            Splitters::Values { .. } => 0,
        }
    }
}

fn pair_of<V>(owned: &Sampled<V>) -> PairRef<'_, V> {
    PairRef { key: &owned.1, value: &owned.0 }
}

/// Shows every `stride`-th pair of the partial; hashing has mixed them already.
fn visit<V: Copy>(
    partial: &Partial<V>,
    stride: usize,
    mut see: impl FnMut(PairRef<'_, V>) -> Result<(), MemoryError>,
) -> Result<(), MemoryError> {
    let mut skip = 0;
    for number in 0..PARTITIONS {
        let partition = partial.partition(number);
        let len = partition.pairs.len();
        (skip..len).step_by(stride).try_for_each(|at| see(partition.pairs.get(at)))?;
        skip = (stride - (len.saturating_sub(skip)) % stride) % stride;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::combine::Count;

    /// Of pairs that are larger than a sample at least two are kept, so that neither side of a splitter is empty.
    #[test]
    fn few_huge_pairs_are_divided() {
        for order in [Order::Key, Order::Value] {
            for (count, first) in
                (2..20_u64).flat_map(|count| (0..count).map(move |at| (count, at)))
            {
                let numbers = (0..count).map(|at| (at + first) % count);
                let pairs: Vec<_> =
                    numbers.map(|number| (number, format!("{number:05}").repeat(1000))).collect();
                let mut sample = PairSample::<Count>::new(Ranking::new(None), order, 1000);
                for (number, key) in &pairs {
                    sample.add(key.as_bytes(), || *number).unwrap();
                }
                let splitters = sample.splitters(2);
                let in_first = pairs.iter().filter(|(value, key)| {
                    splitters.range_of_pair(PairRef { key: key.as_bytes(), value }) == 0
                });
                assert!((1..count as usize).contains(&in_first.count()), "{order:?} {pairs:?}");
            }
        }
    }
}
