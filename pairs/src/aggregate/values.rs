//! Iterates the values of one key in the order of the input. A list was joined as workers came, and each
//! worker's values are in order. So it is a few stretches with ascending splits, which are merged.

use super::element::Element;
use super::list::{List, Records};
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::iter::FusedIterator;

impl<T: Element + ?Sized> List<T> {
    /// Returns the values in the order of the input. `n` values in `k` ordered stretches take O(n log k);
    /// one worker makes one stretch, several workers a few.
    pub(super) fn values(&self) -> Values<'_, T> {
        Values { records: self.in_order() }
    }

    /// Returns the records in the order of the input.
    pub(super) fn in_order(&self) -> InOrder<'_, T> {
        let mut stretches = Vec::new();
        let (mut stretch, mut rest, mut before) = (self.records(), self.records(), 0);
        while let Some(split) = rest.split() {
            if split < before {
                stretches.push(stretch.without_last(rest.left()));
                stretch = rest.clone();
            }
            before = split;
            rest.next();
        }
        if stretches.is_empty() {
            return InOrder::AsTheyStand(stretch);
        }
        stretches.push(stretch);
        InOrder::Merged(Merged::of(stretches, self.len()))
    }
}

/// Stretches, merged by split.
pub(super) struct Merged<'a, T: Element + ?Sized> {
    current: Stretch<'a, T>,
    /// The other stretches, the one with the next records first.
    others: BinaryHeap<Reverse<Stretch<'a, T>>>,
    /// The position up to which the current stretch continues.
    until: (u32, u32),
    left: usize,
}

/// Neighbouring records whose splits ascend.
struct Stretch<'a, T: Element + ?Sized> {
    /// The split of its next record when it began to wait, and the number of the stretch in the list:
    /// records of one split in two stretches come in that order.
    next: (u32, u32),
    records: Records<'a, T>,
}

impl<T: Element + ?Sized> Ord for Stretch<'_, T> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.next.cmp(&other.next)
    }
}

impl<T: Element + ?Sized> PartialOrd for Stretch<'_, T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T: Element + ?Sized> PartialEq for Stretch<'_, T> {
    fn eq(&self, other: &Self) -> bool {
        self.next == other.next
    }
}

impl<T: Element + ?Sized> Eq for Stretch<'_, T> {}

impl<'a, T: Element + ?Sized> Merged<'a, T> {
    /// Merges stretches that are not empty, with `left` records in all.
    fn of(stretches: Vec<Records<'a, T>>, left: usize) -> Merged<'a, T> {
        let stretch = |(place, mut records): (u32, Records<'a, T>)| {
            let next = (records.split().unwrap_or_default(), place);
            Stretch { next, records }
        };
        let mut others: BinaryHeap<_> = (0..).zip(stretches).map(stretch).map(Reverse).collect();
        let Some(Reverse(current)) = others.pop() else { unreachable!("there are several") };
        let until = others.peek().map_or((u32::MAX, u32::MAX), |Reverse(other)| other.next);
        Merged { current, others, until, left }
    }

    /// Continues with the stretch of the next records. Returns `false` if there is none.
    fn advance(&mut self) -> bool {
        let Some(Reverse(other)) = self.others.pop() else { return false };
        let mut before = std::mem::replace(&mut self.current, other);
        if let Some(split) = before.records.split() {
            self.others.push(Reverse(Stretch { next: (split, before.next.1), ..before }));
        }
        self.until = self.others.peek().map_or((u32::MAX, u32::MAX), |Reverse(other)| other.next);
        true
    }
}

impl<'a, T: Element + ?Sized> Iterator for Merged<'a, T> {
    type Item = (u32, T::Value<'a>);

    #[inline]
    fn next(&mut self) -> Option<(u32, T::Value<'a>)> {
        loop {
            let Stretch { next: (_, place), records } = &mut self.current;
            if records.split().is_some_and(|split| (split, *place) <= self.until) {
                self.left -= 1;
                return records.next();
            }
            if !self.advance() {
                return None;
            }
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

/// Records in the order of the input.
pub(super) enum InOrder<'a, T: Element + ?Sized> {
    AsTheyStand(Records<'a, T>),
    Merged(Merged<'a, T>),
}

impl<'a, T: Element + ?Sized> Iterator for InOrder<'a, T> {
    type Item = (u32, T::Value<'a>);

    #[inline]
    fn next(&mut self) -> Option<(u32, T::Value<'a>)> {
        match self {
            InOrder::AsTheyStand(records) => records.next(),
            InOrder::Merged(records) => records.next(),
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        match self {
            InOrder::AsTheyStand(records) => records.size_hint(),
            InOrder::Merged(records) => records.size_hint(),
        }
    }

    /// Tests the variant only once.
    #[inline]
    fn fold<B, F: FnMut(B, Self::Item) -> B>(self, first: B, fold: F) -> B {
        match self {
            InOrder::AsTheyStand(records) => records.fold(first, fold),
            InOrder::Merged(records) => records.fold(first, fold),
        }
    }
}

/// The values of a key, in the order of the input.
pub struct Values<'a, T: Element + ?Sized> {
    records: InOrder<'a, T>,
}

impl<'a, T: Element + ?Sized> Iterator for Values<'a, T> {
    type Item = T::Value<'a>;

    #[inline]
    fn next(&mut self) -> Option<T::Value<'a>> {
        self.records.next().map(|(_, value)| value)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.records.size_hint()
    }

    #[inline]
    fn fold<B, F: FnMut(B, T::Value<'a>) -> B>(self, first: B, mut fold: F) -> B {
        self.records.fold(first, |so_far, (_, value)| fold(so_far, value))
    }
}

impl<T: Element + ?Sized> ExactSizeIterator for Values<'_, T> {}
impl<T: Element + ?Sized> FusedIterator for Values<'_, T> {}

impl<T: Element + ?Sized> std::fmt::Debug for Values<'_, T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} values", self.len())
    }
}
