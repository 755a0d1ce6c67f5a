//! Records and their keys: the sorted items, and the bytes that decide their order. All later code looks at a
//! record as bytes and at its key as a part of them.

use crate::error::{Error, Result};
use crate::input::Cut;
use std::ops::Range;

/// The kind of a sort. Equal keys always keep the order of the input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sort {
    /// The kind of records.
    pub records: Records,
    /// The bytes of a record that are its key, half open; of a line, those that it has. Default: the whole
    /// record (of a line, without its newline).
    pub key: Option<Range<u64>>,
    /// From the last key to the first.
    pub reverse: bool,
    /// Of records with equal keys, only the first of the input.
    pub unique: bool,
}

/// The kind of records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Records {
    /// Lines. Every line of the output ends with a newline, also the last of a file without one.
    Lines,
    /// Records of this number of bytes, at least 1.
    Fixed(u64),
}

impl Sort {
    /// Lines by all of their bytes, ascending, as `LC_ALL=C sort` has them.
    pub fn lines() -> Sort {
        Sort { records: Records::Lines, key: None, reverse: false, unique: false }
    }

    /// Records of `bytes` bytes by the bytes of `key`, ascending.
    pub fn fixed(bytes: u64, key: Range<u64>) -> Sort {
        Sort { records: Records::Fixed(bytes), key: Some(key), reverse: false, unique: false }
    }

    /// Returns the sort of the TeraSort benchmark: records of 100 bytes, whose first 10 are the key.
    pub fn terasort() -> Sort {
        Sort::fixed(100, 0..10)
    }

    /// Where the input may be cut.
    pub(super) fn cut(&self) -> Cut {
        match self.records {
            Records::Lines => Cut::Lines,
            Records::Fixed(bytes) => Cut::Fixed(bytes),
        }
    }

    pub(super) fn form(&self) -> Result<Form> {
        let fault = |cause: String| Err(Error::Option { option: "key", cause });
        let record = match self.records {
            Records::Lines => None,
            Records::Fixed(bytes) => Some(bytes),
        };
        let key = self.key.clone().unwrap_or(0..record.unwrap_or(u64::MAX));
        if key.start >= key.end {
            return fault(format!("{}..{} is empty; give a later end", key.start, key.end));
        }
        if let Some(bytes) = record.filter(|&bytes| bytes < key.end) {
            let Range { start, end } = key;
            return fault(format!("{start}..{end} is not inside a record of {bytes} bytes"));
        }
        let size = |bytes: u64| usize::try_from(bytes).unwrap_or(usize::MAX);
        Ok(Form {
            kind: record.map_or(Kind::Lines, |bytes| Kind::Fixed(size(bytes))),
            key: size(key.start)..size(key.end),
            reverse: self.reverse,
        })
    }
}

/// What records are, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Lines,
    /// Of this many bytes.
    Fixed(usize),
    /// Pairs: the lengths of a key and of a value, 4 bytes each, and both.
    Pairs,
}

/// In front of a pair: the lengths of its key and of its value.
pub(super) const PAIR_HEADER_BYTES: usize = 8;

/// Returns a pair's key and value; of a pair that is cut short, their available parts.
#[inline(always)]
pub(super) fn pair(record: &[u8]) -> (&[u8], &[u8]) {
    let (header, rest) = record.split_at(PAIR_HEADER_BYTES.min(record.len()));
    let length = header.first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes));
    rest.split_at(rest.len().min(length as usize))
}

/// The way to find records in bytes and keys in records.
#[derive(Clone, Debug)]
pub(super) struct Form {
    pub(super) kind: Kind,
    key: Range<usize>,
    pub(super) reverse: bool,
}

impl Form {
    /// The form of pairs by their whole keys, ascending.
    pub(super) fn pairs() -> Form {
        Form { kind: Kind::Pairs, key: 0..usize::MAX, reverse: false }
    }

    /// The key of a record. A line may or may not have its newline still.
    #[inline(always)]
    pub(super) fn key<'r>(&self, record: &'r [u8]) -> &'r [u8] {
        match self.kind {
            Kind::Fixed(_) => &record[self.key.clone()],
            Kind::Pairs => pair(record).0,
            Kind::Lines => {
                let line = record.strip_suffix(b"\n").unwrap_or(record);
                &line[self.key.start.min(line.len())..self.key.end.min(line.len())]
            }
        }
    }

    /// The first record of bytes that begin with one; they are not empty.
    #[inline(always)]
    pub(super) fn first<'r>(&self, bytes: &'r [u8]) -> &'r [u8] {
        match self.kind {
            Kind::Fixed(size) => &bytes[..size],
            Kind::Lines => match memchr::memchr(b'\n', bytes) {
                Some(end) => &bytes[..=end],
                None => bytes,
            },
            Kind::Pairs => {
                let length = |at: usize| {
                    bytes[at..].first_chunk().map_or(0, |it| u32::from_le_bytes(*it)) as usize
                };
                &bytes[..bytes.len().min(PAIR_HEADER_BYTES + length(0) + length(4))]
            }
        }
    }

    /// Fills `starts` with 0 and with the ends of records that follow each other; of records of one size it is empty.
    pub(super) fn find_ends(&self, records: &[u8], starts: &mut [u32]) {
        let Some((first, ends)) = starts.split_first_mut() else { return };
        *first = 0;
        if self.kind == Kind::Lines {
            let newlines = memchr::memchr_iter(b'\n', records).map(|newline| newline as u32 + 1);
            ends.iter_mut().zip(newlines).for_each(|(end, newline)| *end = newline);
            return;
        }
        let mut at = 0;
        for end in ends {
            at += self.first(&records[at..]).len();
            *end = at as u32;
        }
    }

    pub(super) fn has_one_size(&self) -> bool {
        matches!(self.kind, Kind::Fixed(_))
    }

    /// The least bytes of a record.
    pub(super) fn least_bytes(&self) -> usize {
        match self.kind {
            Kind::Fixed(size) => size,
            Kind::Lines => 1,
            Kind::Pairs => PAIR_HEADER_BYTES,
        }
    }

    /// Memory that a record needs beside its bytes while its range is sorted.
    pub(super) fn upkeep_bytes(&self) -> u64 {
        match self.kind {
            Kind::Fixed(_) => 2 * size_of::<u64>() as u64,
            Kind::Lines | Kind::Pairs => (2 * size_of::<u64>() + size_of::<u32>()) as u64,
        }
    }
}
