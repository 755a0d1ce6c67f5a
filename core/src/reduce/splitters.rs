//! Splitters: the keys (or values) at which the answer is divided into ranges, chosen by sampling the
//! partial. Sampling first and sorting each range afterwards (sample sort) is what regular sampling
//! (PSRS, Metis section 3.3) does, but for its final merge: each range is sorted once, inside the
//! cache, by one worker.

use super::copies::Copies;
use super::ranking::Ranking;
use crate::aggregate::Aggregate;
use crate::error::MemoryError;
use crate::memory::{ByteArena, ChunkPool, KeptValues};
use crate::options::Order;
use crate::partial::{PARTITIONS, Partial, Taker};
use crate::slots::{Entry, PairRef, SlotKey, head};
use std::sync::Arc;

/// Pairs in a range: about what fits a second-level cache together with its sort keys.
const RANGE_PAIRS: usize = 32 << 10;
/// Below this many pairs a further range costs more than it gains.
const RANGE_PAIRS_LEAST: usize = 2 << 10;
/// Ranges per worker, so that none is idle while another sorts the last one.
const RANGES_PER_WORKER: usize = 4;
/// The most ranges; beyond, they grow.
const RANGES_MOST: usize = 4096;
/// Sampled pairs per range. The largest of many ranges is then rarely twice the average.
const OVERSAMPLING: usize = 32;
/// The most that is kept of a sample.
const SAMPLE_PAIRS_MOST: usize = RANGES_MOST * OVERSAMPLING;
const SAMPLE_BYTES_MOST: usize = 4 << 20;
/// What a sampled key costs beside its bytes: a small allocation of its own.
const KEY_BESIDE_BYTES: usize = 32;

type Sampled<C> = (<C as Aggregate>::Reduced, Box<[u8]>);

/// Pairs of an answer (or of the partial that becomes it), of all parts of it alike.
pub(super) struct Sample<'j, C: Aggregate> {
    ranking: Ranking<'j, C>,
    order: Order,
    pairs: Vec<Sampled<C>>,
    bytes: usize,
    bytes_most: usize,
    seen: u64,
    /// One of so many pairs is kept.
    one_of: u64,
    /// What values that are kept point at, if what they were given with is gone soon.
    copies: Option<Copies>,
}

impl<'j, C: Aggregate> Sample<'j, C> {
    /// A sample that holds about so many bytes at most.
    pub(super) fn new(ranking: Ranking<'j, C>, order: Order, bytes_most: usize) -> Sample<'j, C> {
        let bytes_most = bytes_most.min(SAMPLE_BYTES_MOST);
        let (pairs, copies) = (Vec::new(), None);
        Sample { ranking, order, pairs, bytes: 0, bytes_most, seen: 0, one_of: 1, copies }
    }

    /// Such that what values point at is copied, if the order looks at values.
    pub(super) fn copying(self, chunks: &Arc<ChunkPool>) -> Sample<'j, C> {
        let looks = self.order == Order::Value;
        let copies = looks.then(|| Copies::if_needed::<C>(chunks)).flatten();
        Sample { copies, ..self }
    }

    /// Adds a pair. A sample that has grown too large is thinned.
    pub(super) fn add(&mut self, pair: PairRef<'_, C::Reduced>) -> Result<(), MemoryError> {
        self.seen += 1;
        if !self.seen.is_multiple_of(self.one_of) {
            return Ok(());
        }
        let value = match &mut self.copies {
            Some(copies) => copies.copy::<C>(pair.value)?,
            None => *pair.value,
        };
        self.pairs.push((value, pair.key.into()));
        // Twice its place, for lists grow by doubling.
        self.bytes += 2 * size_of::<Sampled<C>>() + KEY_BESIDE_BYTES + pair.key.len();
        while self.pairs.len() > SAMPLE_PAIRS_MOST
            || (self.bytes > self.bytes_most && self.pairs.len() > 2)
        {
            let mut number = 0;
            self.pairs.retain(|_| {
                number += 1;
                number % 2 == 0
            });
            self.bytes /= 2;
            self.one_of *= 2;
            if let Some(copies) = &mut self.copies {
                copies.thin::<C>(self.pairs.iter_mut().map(|pair| &mut pair.0))?;
            }
        }
        Ok(())
    }

    /// Divides the answer into about `ranges` ranges.
    pub(super) fn splitters(mut self, ranges: usize) -> Splitters<'j, C> {
        match self.order {
            Order::Value => {
                let ranking = self.ranking;
                self.pairs.sort_unstable_by(|a, b| ranking.compare(pair_of(a), pair_of(b)));
                let pointed_at = self.copies.and_then(|copies| copies.into_store().seal());
                let splitters = every_nth(self.pairs, ranges);
                Splitters::Values { ranking, splitters, _pointed_at: pointed_at }
            }
            Order::Key | Order::None => {
                let mut keys: Vec<Box<[u8]>> = self.pairs.into_iter().map(|pair| pair.1).collect();
                keys.sort_unstable();
                keys.dedup();
                Splitters::Keys(KeySplitters::new(every_nth(keys, ranges)))
            }
        }
    }
}

/// A sample of what a partition folds to.
impl<C: Aggregate> Taker<C::Reduced> for Sample<'_, C> {
    type Error = crate::error::Error;

    fn take<K: SlotKey>(&mut self, entry: &Entry<K, C::Reduced>) -> Result<(), Self::Error> {
        Ok(self.add(PairRef::of(entry))?)
    }

    /// What is kept was copied.
    fn keep(&mut self, arena: ByteArena) {
        drop(arena);
    }
}

/// Where ranges begin. There is one range more than there are splitters.
pub(super) enum Splitters<'j, C: Aggregate> {
    Keys(KeySplitters),
    /// In the answer's order.
    Values {
        ranking: Ranking<'j, C>,
        splitters: Vec<Sampled<C>>,
        _pointed_at: Option<KeptValues>,
    },
}

/// Splitters by key, with the 8 bytes behind what all of them begin with at hand.
pub(super) struct KeySplitters {
    keys: Vec<Box<[u8]>>,
    heads: Vec<u64>,
    shared: Box<[u8]>,
}

impl<'j, C: Aggregate> Splitters<'j, C> {
    /// Samples the partial. The ranges differ with the sample, the answer does not.
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
        let mut sample = Sample::new(ranking, order, SAMPLE_BYTES_MOST);
        if ranges > 1 {
            visit(partial, stride, |pair| {
                let value = &C::reduce(pair.key, pair.value);
                sample.add(PairRef { key: pair.key, value })
            })?;
        }
        Ok(sample.splitters(ranges))
    }

    pub(super) fn ranges(&self) -> usize {
        1 + match self {
            Splitters::Keys(splitters) => splitters.keys.len(),
            Splitters::Values { splitters, .. } => splitters.len(),
        }
    }

    /// The range of a pair: the number of splitters at or before it.
    #[inline]
    pub(super) fn range_of<K: SlotKey>(&self, entry: &Entry<K, C::Reduced>) -> usize {
        match self {
            Splitters::Keys(splitters) => splitters.range_of(&entry.key),
            Splitters::Values { .. } => self.range_of_pair(PairRef::of(entry)),
        }
    }

    /// As `range_of`, for a pair that is in no slot.
    pub(super) fn range_of_pair(&self, pair: PairRef<'_, C::Reduced>) -> usize {
        match self {
            Splitters::Keys(KeySplitters { keys, .. }) => {
                keys.partition_point(|splitter| **splitter <= *pair.key)
            }
            Splitters::Values { ranking, splitters, .. } => splitters
                .partition_point(|splitter| ranking.compare(pair_of(splitter), pair).is_le()),
        }
    }

    /// How many bytes all keys of a range surely begin with alike.
    pub(super) fn shared_prefix(&self, range: usize) -> usize {
        match self {
            Splitters::Keys(KeySplitters { keys, .. }) if 0 < range && range < keys.len() => {
                shared_prefix(&keys[range - 1], &keys[range])
            }
            _ => 0,
        }
    }
}

impl KeySplitters {
    fn new(keys: Vec<Box<[u8]>>) -> KeySplitters {
        let shared: Box<[u8]> = match (keys.first(), keys.last()) {
            (Some(first), Some(last)) => first[..shared_prefix(first, last)].into(),
            _ => Box::default(),
        };
        let heads = keys.iter().map(|key| (head(&key[shared.len()..]) >> 64) as u64).collect();
        KeySplitters { keys, heads, shared }
    }

    #[inline]
    fn range_of(&self, key: &impl SlotKey) -> usize {
        let shared = &*self.shared;
        if !shared.is_empty() && !key.bytes().starts_with(shared) {
            return if *key.bytes() < *shared { 0 } else { self.keys.len() };
        }
        let head = (key.head(shared.len()) >> 64) as u64;
        let below = self.heads.partition_point(|&splitter| splitter < head);
        // Heads are equal for few keys; whole keys decide among those.
        let tied = self.heads[below..].iter().zip(&self.keys[below..]);
        let at_or_below = |splitter: &[u8]| *splitter <= *key.bytes();
        below + tied.take_while(|&(&tie, key)| tie == head && at_or_below(key)).count()
    }
}

fn pair_of<V>(owned: &(V, Box<[u8]>)) -> PairRef<'_, V> {
    PairRef { key: &owned.1, value: &owned.0 }
}

/// The length of the longest common beginning.
fn shared_prefix(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
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

/// `parts - 1` of the sorted items, equally far apart.
fn every_nth<T>(items: Vec<T>, parts: usize) -> Vec<T> {
    let count = items.len();
    let mut wanted = (1..parts).map(|part| part * count / parts).peekable();
    let keep = |(at, item)| {
        let mut chosen = false;
        while wanted.next_if_eq(&at).is_some() {
            chosen = true;
        }
        chosen.then_some(item)
    };
    items.into_iter().enumerate().filter_map(keep).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::slots::{MediumKey, ShortKey};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_range_of_a_key_is_the_number_of_splitters_at_or_below_it(
            mut keys in prop::collection::vec("(com[.]example[.]|)[a-c]{0,20}", 1..40),
            wanted in prop::collection::vec("(com[.]example[.]|com|)[a-d]{0,19}", 1..40),
        ) {
            keys.sort();
            keys.dedup();
            let keys: Vec<Box<[u8]>> = keys.iter().map(|key| key.as_bytes().into()).collect();
            let splitters = KeySplitters::new(keys.clone());
            for key in wanted {
                let naive = keys.iter().filter(|splitter| ***splitter <= *key.as_bytes()).count();
                let short = &key.as_bytes()[..key.len().min(15)];
                prop_assert_eq!(splitters.range_of(&MediumKey::new(key.as_bytes())), naive);
                let naive = keys.iter().filter(|splitter| ***splitter <= *short).count();
                prop_assert_eq!(splitters.range_of(&ShortKey::new(short)), naive);
            }
        }
    }

    #[test]
    fn parts_are_equal() {
        assert_eq!(every_nth((0..12).collect(), 4), [3, 6, 9]);
        assert_eq!(every_nth(vec![1], 4), [1]);
        assert!(every_nth(Vec::<u8>::new(), 4).is_empty());
    }
}
