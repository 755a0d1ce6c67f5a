//! Samples: shows of the top N for which workers keep their tables. At the end of its present work, each
//! worker gives those of its own pairs that rank high. Nothing is handed over, and only these pairs are
//! merged.
//!
//! This is the first phase of TPUT (Cao and Wang, "Efficient Top-K Query Calculation in Distributed
//! Networks", 2004). TPUT's second phase asks all nodes for the keys that only some have given. Here it
//! would find other values, because workers have mapped on. So workers give more than TPUT's bound
//! requires, and also all their pairs of the keys that were high before. If a doubt remains, a full show is
//! made instead.
//!
//! # Why it is exact
//! Merging never lowers the rank of an accumulator ([`Share`](crate::combine::Share)), so the N-th total of the last
//! show is at most the next one. A quarter of that total is divided among the workers in proportion to
//! their bytes; this is a worker's threshold, and it gives all its pairs from the threshold on. So a key
//! that a worker has not given has less than the threshold there, which bounds the key's total. If the
//! bound is less than the N-th of the fully known totals, the key is not among the first N. The thresholds
//! of all workers add up to a quarter of the N-th total, whatever each has mapped, so there is seldom a
//! doubt.

use crate::aggregate::Aggregate;
use crate::memory::ValueStore;
use std::collections::HashMap;
use std::sync::Arc;

/// A worker's threshold is its share of the N-th total, divided by this.
pub const MARGIN: u64 = 4;

/// The contribution of one worker.
pub struct Sample<V> {
    /// Bytes that it has mapped since it last handed its pairs over.
    pub bytes: u64,
    /// The threshold: the sample has all its pairs that rank at least as high, and those of requested keys.
    pub least: Option<V>,
    pub pairs: Vec<(Box<[u8]>, V)>,
    /// Whether the worker holds all pairs of those bytes, and has given all requested ones.
    pub is_whole: bool,
}

impl<V> Sample<V> {
    /// The sample of a worker whose pairs were handed over.
    pub const NOTHING: Sample<V> =
        Sample { bytes: 0, least: None, pairs: Vec::new(), is_whole: false };
}

/// The highest pairs of the run's own partial, to which nobody adds meanwhile. All workers are asked for
/// their keys.
pub struct Base<V> {
    pub pairs: Vec<(Box<[u8]>, V)>,
    /// No other key's value in the partial ranks above this; `None` if there is no other key.
    pub bound: Option<V>,
}

/// The request for a sample.
#[derive(Clone)]
pub(crate) struct Asked<V> {
    /// The N-th total of the last show.
    pub nth: V,
    /// Pairs of its keys are requested whatever their values.
    pub base: Arc<Base<V>>,
}

/// Pairs that include the first N and all of equal rank.
pub struct Highest<V> {
    pub pairs: Vec<(Box<[u8]>, V)>,
    /// The N-th of them.
    pub nth: V,
}

/// A key with the known part of its value.
struct Total<V> {
    value: V,
    /// The workers that have given it, ascending.
    given: Vec<usize>,
    is_in_base: bool,
}

/// Returns the threshold of a worker that has mapped `own` of `all` bytes, if the N-th total was `nth`.
/// `None` if the combine has no [`Share`](crate::combine::Share).
pub fn least<C: Aggregate>(nth: &C::Accumulator, own: u64, all: u64) -> Option<C::Accumulator> {
    let parts = all.max(1).div_ceil(own.max(1)).saturating_mul(MARGIN);
    C::SHARE.map(|share| (share.of)(nth, parts))
}

fn rank<C: Aggregate>(a: &C::Accumulator, b: &C::Accumulator) -> std::cmp::Ordering {
    C::rank(&C::reduce(&[], a), &C::reduce(&[], b))
}

/// Returns the pairs among the first `top`, and those of the same rank as the last of them. Returns `None`
/// if that is not certain.
pub fn highest<C: Aggregate>(
    base: &Base<C::Accumulator>,
    samples: &[Sample<C::Accumulator>],
    top: usize,
    store: &mut ValueStore,
) -> Option<Highest<C::Accumulator>> {
    let share = C::SHARE?;
    let totals = totals::<C>(base, samples, store);
    let is_known = |total: &Total<C::Accumulator>| {
        total.is_in_base || base.bound.is_none() && total.given.len() == samples.len()
    };
    let known = totals.values().filter(|total| is_known(total));
    let mut known: Vec<C::Accumulator> = known.map(|total| total.value).collect();
    if top == 0 || known.len() < top {
        return None;
    }
    let (_, &mut nth, _) = known.select_nth_unstable_by(top - 1, |a, b| rank::<C>(b, a));
    // The most to which a key that is not fully known can amount.
    let most = |total: &Total<C::Accumulator>| {
        let mut most = total.value;
        let mut given = total.given.iter().peekable();
        for (number, sample) in samples.iter().enumerate() {
            if given.next_if_eq(&&number).is_none() {
                most = sample.least.iter().fold(most, |most, least| (share.most)(&most, least));
            }
        }
        base.bound.iter().fold(most, |most, bound| (share.most)(&most, bound))
    };
    let nowhere = Total { value: C::identity(), given: Vec::new(), is_in_base: false };
    let mut doubtful = totals.values().filter(|total| !is_known(total)).chain([&nowhere]);
    if doubtful.any(|total| rank::<C>(&most(total), &nth).is_ge()) {
        return None;
    }
    let known = totals.iter().filter(|(_, total)| is_known(total));
    let first = known.filter(|(_, total)| rank::<C>(&total.value, &nth).is_ge());
    let pairs = first.map(|(key, total)| ((*key).into(), total.value)).collect();
    Some(Highest { pairs, nth })
}

/// Collects the known values of each key.
fn totals<'s, C: Aggregate>(
    base: &'s Base<C::Accumulator>,
    samples: &'s [Sample<C::Accumulator>],
    store: &mut ValueStore,
) -> HashMap<&'s [u8], Total<C::Accumulator>> {
    let mut totals: HashMap<&[u8], Total<C::Accumulator>> = HashMap::new();
    let sources = samples.iter().map(|sample| &sample.pairs).chain([&base.pairs]);
    for (number, pairs) in sources.enumerate() {
        for (key, value) in pairs {
            let total = totals.entry(key).or_insert_with(|| {
                let given = Vec::new();
                Total { value: C::identity(), given, is_in_base: false }
            });
            C::merge(&mut total.value, value, store);
            match number < samples.len() {
                true => total.given.push(number),
                false => total.is_in_base = true,
            }
        }
    }
    totals
}
