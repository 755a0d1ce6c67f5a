//! The records of a range where they lie, and their keys.

use super::records::Form;
use crate::heads::Keyed;

/// The records of a range, by their place.
pub(super) trait Located {
    /// Returns a record's bytes.
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

/// Records by their keys.
pub(super) struct ByKey<'r, L> {
    pub(super) form: &'r Form,
    pub(super) records: &'r L,
}

impl<L: Located> Keyed for ByKey<'_, L> {
    #[inline(always)]
    fn key(&self, place: usize) -> &[u8] {
        self.form.key(self.records.record(place))
    }

    fn is_reversed(&self) -> bool {
        self.form.reverse
    }
}

#[cfg(test)]
mod tests {
    use super::super::records::Sort;
    use super::*;
    use crate::heads::Sorter;
    use proptest::prelude::*;

    fn sorted(lines: &[Vec<u8>], sort: &Sort) -> Vec<Vec<u8>> {
        let (mut bytes, mut starts) = (Vec::new(), vec![0]);
        for line in lines {
            bytes.extend_from_slice(line);
            bytes.push(b'\n');
            starts.push(bytes.len() as u32);
        }
        let (form, records) = (sort.form().unwrap(), Lines { bytes: &bytes, starts: &starts });
        let keys = ByKey { form: &form, records: &records };
        let sorter = Sorter::new(&keys, lines.len());
        let (mut numbers, mut spare) = (vec![0; lines.len()], vec![0; lines.len()]);
        sorter.sort(&mut numbers, &mut spare, 0);
        let place = |&number: &u64| lines[sorter.place(number)].clone();
        numbers.iter().map(place).collect()
    }

    fn check(mut lines: Vec<Vec<u8>>, sort: &Sort) {
        let form = sort.form().unwrap();
        let found = sorted(&lines, sort);
        lines.sort_by(|a, b| match sort.reverse {
            true => form.key(b).cmp(form.key(a)),
            false => form.key(a).cmp(form.key(b)),
        });
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
