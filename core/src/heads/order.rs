//! Sorts one range by key. Each record or pair has a number of 64 bits: the first bits of its key, then its place
//! in the range. The sort moves these numbers, which lie in a cache, and leaves records where they are. Records
//! whose numbers have the same key bits are sorted again by the bytes that follow; whole keys are compared where
//! those are equal, too. Equal keys keep the order of their places, which is that of the input.

use super::{head, radix, shared, sort_distinct};
use std::cmp::Ordering;

/// Up to this number of records are sorted by the heads that follow, beside them on the stack.
const COMPARED_MOST: usize = 24;
/// Bits that agree, beyond those that the place takes, from which on heads are taken further on in the keys.
const AGREED_MOST: u32 = 16;
/// The most levels of recursion, so that the stack is bounded; deeper, whole keys are compared.
const DEPTH_MOST: u32 = 64;

/// The keys of a range, by their places.
pub trait Keyed {
    /// Returns a key's bytes.
    fn key(&self, place: usize) -> &[u8];

    /// Returns a key's head after `skip` bytes.
    #[inline(always)]
    fn head(&self, place: usize, skip: usize) -> u64 {
        head(self.key(place), skip)
    }

    /// Returns whether the greatest key comes first.
    fn is_reversed(&self) -> bool;
}

/// The order of a range's records: `numbers` holds one number per record, and afterwards the places of
/// the records in order, to be read by [`place`](Sorter::place).
pub struct Sorter<'r, K> {
    keys: &'r K,
    place_bits: u32,
}

impl<'r, K: Keyed> Sorter<'r, K> {
    pub fn new(keys: &'r K, count: usize) -> Sorter<'r, K> {
        Sorter { keys, place_bits: count.next_power_of_two().trailing_zeros() }
    }

    /// Sorts keys that all begin with the same `agree` bytes. `spare` has room for as many numbers.
    pub fn sort(&self, numbers: &mut [u64], spare: &mut [u64], agree: usize) {
        (0..).zip(numbers.iter_mut()).for_each(|(place, number)| *number = place);
        self.sort_from(numbers, spare, agree, 0);
    }

    /// Returns the place in a number.
    #[inline(always)]
    pub fn place(&self, number: u64) -> usize {
        (number & ((1 << self.place_bits) - 1)) as usize
    }

    fn key(&self, number: u64) -> &'r [u8] {
        self.keys.key(self.place(number))
    }

    /// Sorts records, which are in ascending order of their places. Their keys, followed by zeros, agree in
    /// their first `depth` bytes.
    fn sort_from(&self, numbers: &mut [u64], spare: &mut [u64], depth: usize, agreed: u32) {
        if numbers.len() <= COMPARED_MOST {
            return self.sort_few(numbers, depth);
        }
        if agreed > DEPTH_MOST {
            return self.compare(numbers);
        }
        let mut depth = depth;
        let mut agree = self.take_heads(numbers, spare, depth);
        if agree > self.place_bits + AGREED_MOST {
            depth = match self.depth_of_difference(numbers, depth) {
                None => return,
                Some(usize::MAX) => return self.compare(numbers),
                Some(depth) => depth,
            };
            agree = self.take_heads(numbers, spare, depth);
        }
        // The bits in which all agree give way to bits that follow those that the place would take.
        let shift = agree.min(self.place_bits);
        let flip = self.flip();
        for (number, &head) in numbers.iter_mut().zip(&*spare) {
            let head = head << shift ^ flip;
            *number = head >> self.place_bits << self.place_bits | self.place(*number) as u64;
        }
        radix::sort(numbers, spare);
        let bytes = (shift + u64::BITS - self.place_bits) as usize / 8;
        let alike = |a: &u64, b: &u64| a >> self.place_bits == b >> self.place_bits;
        for group in numbers.chunk_by_mut(alike).filter(|group| group.len() > 1) {
            self.sort_from(group, spare, depth + bytes, agreed + 1);
        }
    }

    /// Takes the heads of records at `depth`. Returns the number of bits that they begin with alike.
    fn take_heads(&self, numbers: &[u64], heads: &mut [u64], depth: usize) -> u32 {
        let first = self.keys.head(self.place(numbers[0]), depth);
        let mut differ = 0;
        for (&number, head) in numbers.iter().zip(heads) {
            *head = self.keys.head(self.place(number), depth);
            differ |= *head ^ first;
        }
        differ.leading_zeros()
    }

    /// Sorts at most [`COMPARED_MOST`] records by insertion. Each key is fetched once for its head at `depth`, and
    /// again only where heads are equal.
    fn sort_few(&self, numbers: &mut [u64], depth: usize) {
        let mut heads = [0; COMPARED_MOST];
        let flip = self.flip();
        for at in 0..numbers.len() {
            let number = numbers[at];
            let head = self.keys.head(self.place(number), depth) ^ flip;
            let mut free = at;
            while free > 0 && self.is_before(head, number, heads[free - 1], numbers[free - 1]) {
                (heads[free], numbers[free]) = (heads[free - 1], numbers[free - 1]);
                free -= 1;
            }
            (heads[free], numbers[free]) = (head, number);
        }
    }

    #[inline(always)]
    fn is_before(&self, head: u64, number: u64, other_head: u64, other: u64) -> bool {
        head < other_head || head == other_head && self.order(number, other).is_lt()
    }

    /// Sorts records by whole keys.
    fn compare(&self, numbers: &mut [u64]) {
        sort_distinct(numbers, &|a, b| self.order(a, b));
    }

    /// Compares whole keys, and equal ones by their places.
    #[inline(never)]
    fn order(&self, a: u64, b: u64) -> Ordering {
        let by_key = self.key(a).cmp(self.key(b));
        let by_key = if self.keys.is_reversed() { by_key.reverse() } else { by_key };
        by_key.then_with(|| self.place(a).cmp(&self.place(b)))
    }

    /// Returns the bits by which a head is changed, so that heads ascend in the order of the records.
    fn flip(&self) -> u64 {
        if self.keys.is_reversed() { u64::MAX } else { 0 }
    }

    /// Returns the depth from `depth` on at which keys begin to differ; `None` if they do not, and `MAX` if
    /// some end before.
    fn depth_of_difference(&self, numbers: &[u64], depth: usize) -> Option<usize> {
        let first = self.key(numbers[0]);
        let (mut agree, mut equal) = (first.len(), true);
        for &number in &numbers[1..] {
            let key = self.key(number);
            let same = match (first.get(depth..agree), key.get(depth..)) {
                (Some(first), Some(key)) => depth + shared(first, key),
                _ => first.len().min(key.len()),
            };
            equal &= same == first.len() && key.len() == first.len();
            agree = agree.min(same);
            if agree <= depth && !equal {
                break;
            }
        }
        match equal {
            true => None,
            false if agree < depth => Some(usize::MAX),
            false => Some(agree),
        }
    }
}
