//! Splitters: the keys (or values) at which the answer is divided into ranges, chosen by sampling the
//! partial. Sampling first and sorting each range afterwards (sample sort) is what regular sampling
//! (PSRS, Metis section 3.3) does, but for its final merge: each range is sorted once, inside the
//! cache, by one worker.

use crate::combine::Combine;
use crate::container::{Entry, SlotKey, head};
use crate::options::Order;
use crate::partial::{PARTITIONS, PairRef, Partial};
use std::cmp::Ordering;

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

/// Where ranges begin. There is one range more than there are splitters.
pub(super) enum Splitters<C: Combine> {
    Keys(KeySplitters),
    /// In the answer's order: greatest value first, then key.
    Values(Vec<(C::Accumulator, Box<[u8]>)>),
}

/// Splitters by key, with the 8 bytes behind what all of them begin with at hand.
pub(super) struct KeySplitters {
    keys: Vec<Box<[u8]>>,
    heads: Vec<u64>,
    shared: Box<[u8]>,
}

impl<C: Combine> Splitters<C> {
    /// Samples the partial. The ranges differ with the sample, the answer does not.
    pub(super) fn sample(
        partial: &Partial<C::Accumulator>,
        order: Order,
        workers: usize,
    ) -> Splitters<C> {
        let pairs: usize = (0..PARTITIONS).map(|p| partial.partition(p).pairs.len()).sum();
        let wanted = (pairs / RANGE_PAIRS).max(RANGES_PER_WORKER * workers);
        let ranges = wanted.min(pairs / RANGE_PAIRS_LEAST).clamp(1, RANGES_MOST);
        let stride = (pairs / (ranges * OVERSAMPLING)).max(1);
        match order {
            Order::Value => {
                let mut sample: Vec<(C::Accumulator, Box<[u8]>)> = Vec::new();
                if ranges > 1 {
                    visit(partial, stride, |pair| sample.push((*pair.value, pair.key.into())));
                }
                sample.sort_unstable_by(|a, b| by_value::<C>(pair_of(a), pair_of(b)));
                Splitters::Values(every_nth(sample, ranges))
            }
            Order::Key | Order::None => {
                let mut sample: Vec<Box<[u8]>> = Vec::new();
                if ranges > 1 {
                    visit(partial, stride, |pair| sample.push(pair.key.into()));
                }
                sample.sort_unstable();
                sample.dedup();
                Splitters::Keys(KeySplitters::new(every_nth(sample, ranges)))
            }
        }
    }

    pub(super) fn ranges(&self) -> usize {
        1 + match self {
            Splitters::Keys(splitters) => splitters.keys.len(),
            Splitters::Values(splitters) => splitters.len(),
        }
    }

    /// The range of a pair: the number of splitters at or before it.
    #[inline]
    pub(super) fn range_of<K: SlotKey>(&self, entry: &Entry<K, C::Accumulator>) -> usize {
        match self {
            Splitters::Keys(splitters) => splitters.range_of(&entry.key),
            Splitters::Values(splitters) => splitters.partition_point(|splitter| {
                by_value::<C>(pair_of(splitter), PairRef::of(entry)).is_le()
            }),
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

/// The answer's order by value: greatest first, ties by key.
pub(super) fn by_value<C: Combine>(
    a: PairRef<'_, C::Accumulator>,
    b: PairRef<'_, C::Accumulator>,
) -> Ordering {
    C::rank(b.value, a.value).then_with(|| a.key.cmp(b.key))
}

fn pair_of<V>(owned: &(V, Box<[u8]>)) -> PairRef<'_, V> {
    PairRef { key: &owned.1, value: &owned.0 }
}

/// The length of the longest common beginning.
fn shared_prefix(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

/// Shows every `stride`-th pair of the partial; hashing has mixed them already.
fn visit<V: Copy>(partial: &Partial<V>, stride: usize, mut see: impl FnMut(PairRef<'_, V>)) {
    let mut skip = 0;
    for number in 0..PARTITIONS {
        let partition = partial.partition(number);
        let len = partition.pairs.len();
        (skip..len).step_by(stride).for_each(|at| see(partition.pairs.get(at)));
        skip = (stride - (len.saturating_sub(skip)) % stride) % stride;
    }
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
    use crate::container::{MediumKey, ShortKey};
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
