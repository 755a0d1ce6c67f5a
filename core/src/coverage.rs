//! The mapped part of the input: ranges of splits of the parts that are read at any offset, and of bytes of
//! each file that is decompressed (in a sort, of its splits). Ranges are disjoint and not adjacent, so the list is as
//! short as possible.

use crate::encoding::{Reading, put_number};
use std::collections::BTreeMap;
use std::ops::Range;

/// Numbers, as ranges: the start of each, and its end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ranges(BTreeMap<u64, u64>);

impl Ranges {
    /// Adds a range. Returns whether some of it was there already.
    pub fn add(&mut self, range: Range<u64>) -> bool {
        let Range { mut start, mut end } = range;
        if start >= end {
            return false;
        }
        let mut overlaps = false;
        // From the last that may touch it backwards.
        while let Some((&from, &to)) = self.0.range(..=end).next_back() {
            if to < start {
                break;
            }
            overlaps |= from < end && start < to;
            (start, end) = (start.min(from), end.max(to));
            self.0.remove(&from);
        }
        self.0.insert(start, end);
        overlaps
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the part of `range` that begins first and is not there.
    pub fn first_gap(&self, range: Range<u64>) -> Option<Range<u64>> {
        let mut start = range.start;
        if let Some((_, &to)) = self.0.range(..=start).next_back() {
            start = start.max(to);
        }
        let end = self.0.range(start..).next().map_or(range.end, |(&from, _)| from.min(range.end));
        (start < end).then_some(start..end)
    }

    /// Returns the parts of `range` that are not there, in order.
    pub fn gaps(&self, range: Range<u64>) -> impl Iterator<Item = Range<u64>> {
        let mut from = range.start;
        std::iter::from_fn(move || {
            let gap = self.first_gap(from..range.end)?;
            from = gap.end;
            Some(gap)
        })
    }

    pub fn iter(&self) -> impl Iterator<Item = Range<u64>> {
        self.0.iter().map(|(&start, &end)| start..end)
    }
}

/// The mapped part of an input: by part of its plan and, where files of the part are read in order, by file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coverage(BTreeMap<(u64, u64), Ranges>);

/// The number used for all files of a part whose splits are numbered consecutively.
pub const ALL_FILES: u64 = 0;

impl Coverage {
    /// Adds splits of a part, or bytes of one of its files. Returns whether some were there already.
    pub fn add(&mut self, part: usize, file: u64, range: Range<u64>) -> bool {
        self.0.entry((part as u64, file)).or_default().add(range)
    }

    /// Adds all of another. Returns whether some of it was there already.
    pub fn add_all(&mut self, other: &Coverage) -> bool {
        let mut overlaps = false;
        for (&(part, file), ranges) in &other.0 {
            let into = self.0.entry((part, file)).or_default();
            for range in ranges.iter() {
                overlaps |= into.add(range);
            }
        }
        overlaps
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the files of a part of which something is covered.
    pub fn files(&self, part: usize) -> impl Iterator<Item = u64> {
        let part = part as u64;
        self.0.range((part, 0)..=(part, u64::MAX)).map(|(&(_, file), _)| file)
    }

    /// Returns the covered part of a part's splits, or of one of its files.
    pub fn of(&self, part: usize, file: u64) -> Option<&Ranges> {
        self.0.get(&(part as u64, file))
    }

    pub fn encode(&self, out: &mut Vec<u8>) {
        put_number(self.0.len() as u64, out);
        for (&(part, file), ranges) in &self.0 {
            put_number(part, out);
            put_number(file, out);
            put_number(ranges.0.len() as u64, out);
            let mut before = 0;
            for Range { start, end } in ranges.iter() {
                put_number(start - before, out);
                put_number(end - start, out);
                before = end;
            }
        }
    }

    pub fn decode(from: &mut Reading<'_>) -> Option<Coverage> {
        let mut coverage = Coverage::default();
        for _ in 0..from.number()? {
            let (part, file) = (from.number()?, from.number()?);
            let (count, mut before) = (from.number()?, 0_u64);
            let ranges = coverage.0.entry((part, file)).or_default();
            for _ in 0..count {
                let start = before.checked_add(from.number()?)?;
                let end = start.checked_add(from.number()?)?;
                ranges.add(start..end);
                before = end;
            }
        }
        Some(coverage)
    }
}
