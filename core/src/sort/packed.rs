//! Sorting one range: each record is a number of 64 bits, the first bits of its key in front and its
//! place in the range behind, so that what is sorted are numbers in the cache, and records stay where
//! they are. Records whose numbers agree in the key's part are sorted again by what is behind those
//! bytes, or compared in full where they are few. The place decides between equal keys: it is the
//! order of the input.

use super::radix;
use super::records::{Form, head, shared};

/// Of so few records, whole keys are compared.
const COMPARED_MOST: usize = 24;
/// Keys that agree this often in further bytes are compared too, for the stack is bounded.
const DEPTH_MOST: u32 = 64;

/// The records of a range, by their place.
pub(super) trait Located {
    /// A record's bytes.
    fn record(&self, place: usize) -> &[u8];
}

/// Records of one size.
pub(super) struct Fixed<'b> {
    pub(super) bytes: &'b [u8],
    pub(super) size: usize,
}

/// Lines, with the places where they begin and the end of the last.
pub(super) struct Lines<'b> {
    pub(super) bytes: &'b [u8],
    pub(super) starts: &'b [u32],
}

impl Located for Fixed<'_> {
    #[inline(always)]
    fn record(&self, place: usize) -> &[u8] {
        &self.bytes[place * self.size..(place + 1) * self.size]
    }
}

impl Located for Lines<'_> {
    #[inline(always)]
    fn record(&self, place: usize) -> &[u8] {
        &self.bytes[self.starts[place] as usize..self.starts[place + 1] as usize]
    }
}

/// The order of a range's records: `numbers` holds one number per record, and afterwards the places of
/// the records in order, to be read by [`place`](Sorter::place).
pub(super) struct Sorter<'r, L> {
    form: &'r Form,
    records: &'r L,
    place_bits: u32,
}

impl<'r, L: Located> Sorter<'r, L> {
    pub(super) fn new(form: &'r Form, records: &'r L, count: usize) -> Sorter<'r, L> {
        Sorter { form, records, place_bits: count.next_power_of_two().trailing_zeros() }
    }

    /// `spare` has room for as many numbers.
    pub(super) fn sort(&self, numbers: &mut [u64], spare: &mut [u64]) {
        (0..).zip(numbers.iter_mut()).for_each(|(place, number)| *number = place);
        self.sort_behind(numbers, spare, 0, 0);
    }

    /// The place in a number.
    #[inline(always)]
    pub(super) fn place(&self, number: u64) -> usize {
        (number & ((1 << self.place_bits) - 1)) as usize
    }

    fn key(&self, number: u64) -> &'r [u8] {
        self.form.key(self.records.record(self.place(number)))
    }

    /// Sorts records, which stand in ascending order of their places and whose keys agree up to
    /// `depth` if keys are thought of as followed by zeros.
    fn sort_behind(&self, numbers: &mut [u64], spare: &mut [u64], depth: usize, agreed: u32) {
        if numbers.len() <= COMPARED_MOST || agreed > DEPTH_MOST {
            return self.compare(numbers);
        }
        let Some(depth) = self.depth_of_difference(numbers, depth) else {
            return;
        };
        if depth == usize::MAX {
            return self.compare(numbers);
        }
        let flip = if self.form.reverse { u64::MAX } else { 0 };
        for number in numbers.iter_mut() {
            let head = head(self.key(*number), depth) ^ flip;
            *number = head >> self.place_bits << self.place_bits | self.place(*number) as u64;
        }
        radix::sort(numbers, spare);
        let bytes = (u64::BITS - self.place_bits) as usize / 8;
        let alike = |a: &u64, b: &u64| a >> self.place_bits == b >> self.place_bits;
        for group in numbers.chunk_by_mut(alike).filter(|group| group.len() > 1) {
            self.sort_behind(group, spare, depth + bytes, agreed + 1);
        }
    }

    fn compare(&self, numbers: &mut [u64]) {
        numbers.sort_unstable_by(|&a, &b| {
            let by_key = self.form.order(self.key(a), self.key(b));
            by_key.then_with(|| self.place(a).cmp(&self.place(b)))
        });
    }

    /// The depth from `depth` on at which keys begin to differ; `None` if they do not, and `MAX` if
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

#[cfg(test)]
mod tests {
    use super::super::records::Sort;
    use super::*;
    use proptest::prelude::*;

    fn sorted(lines: &[Vec<u8>], sort: &Sort) -> Vec<Vec<u8>> {
        let (mut bytes, mut starts) = (Vec::new(), vec![0]);
        for line in lines {
            bytes.extend_from_slice(line);
            bytes.push(b'\n');
            starts.push(bytes.len() as u32);
        }
        let (form, records) = (sort.form().unwrap(), Lines { bytes: &bytes, starts: &starts });
        let sorter = Sorter::new(&form, &records, lines.len());
        let (mut numbers, mut spare) = (vec![0; lines.len()], vec![0; lines.len()]);
        sorter.sort(&mut numbers, &mut spare);
        let place = |&number: &u64| lines[sorter.place(number)].clone();
        numbers.iter().map(place).collect()
    }

    fn check(mut lines: Vec<Vec<u8>>, sort: &Sort) {
        let form = sort.form().unwrap();
        let found = sorted(&lines, sort);
        lines.sort_by(|a, b| form.order(form.key(a), form.key(b)));
        assert!(found == lines);
    }

    proptest! {
        #[test]
        fn ranges_come_in_the_order_of_a_stable_sort(
            lines in prop::collection::vec("[ab\0]{0,30}", 0..300),
            alike in "[ab\0]{0,20}",
            start in 0u64..4,
            length in 1u64..30,
            reverse: bool,
        ) {
            let key = Some(start..start + length);
            let lines = lines.into_iter().map(|line| (alike.clone() + &line).into_bytes()).collect();
            check(lines, &Sort { key, reverse, ..Sort::lines() });
        }
    }

    #[test]
    fn many_lines_that_begin_with_each_other_are_sorted_without_a_deep_stack() {
        for filler in [b'a', 0] {
            let lines = (0..2000).map(|i| vec![filler; i * 7919 % 2000]).collect();
            check(lines, &Sort::lines());
        }
    }

    #[test]
    fn equal_keys_keep_their_order_both_ways() {
        let lines: Vec<Vec<u8>> =
            (0..1000).map(|i| format!("same key, long enough {i}").into_bytes()).collect();
        for reverse in [false, true] {
            let sort = Sort { key: Some(0..21), reverse, ..Sort::lines() };
            assert!(sorted(&lines, &sort) == lines);
        }
    }
}
