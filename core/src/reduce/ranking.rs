//! The order of an answer by value: that of the job, or the largest value first; then the key, so that no
//! two pairs are equal.

use crate::aggregate::Aggregate;
use crate::slots::PairRef;
use std::cmp::Ordering;

/// How a job compares two pairs of its answer.
pub(crate) type Compare<'j, V> = dyn Fn(PairRef<'_, V>, PairRef<'_, V>) -> Ordering + Sync + 'j;

/// An order of answers by value.
pub struct Ranking<'j, C: Aggregate> {
    compare: Option<&'j Compare<'j, C::Reduced>>,
}

impl<C: Aggregate> Clone for Ranking<'_, C> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<C: Aggregate> Copy for Ranking<'_, C> {}

impl<'j, C: Aggregate> Ranking<'j, C> {
    /// Returns the order of a job's own, or the largest value first if it has none.
    pub fn new(compare: Option<&'j Compare<'j, C::Reduced>>) -> Ranking<'j, C> {
        Ranking { compare }
    }

    /// Compares by value alone.
    #[inline]
    pub fn by_value(&self, a: PairRef<'_, C::Reduced>, b: PairRef<'_, C::Reduced>) -> Ordering {
        match self.compare {
            Some(compare) => compare(a, b),
            None => C::rank(b.value, a.value),
        }
    }

    /// Compares by value, and ties by key.
    #[inline]
    pub fn compare(&self, a: PairRef<'_, C::Reduced>, b: PairRef<'_, C::Reduced>) -> Ordering {
        self.by_value(a, b).then_with(|| a.key.cmp(b.key))
    }
}
