//! Where an input may be cut, as the job defines its records. Offsets between cuts are nominal; a record
//! belongs to the split in which it begins, and the reader of the split reads on to its end.

use super::delimiter::Delimiter;
use crate::error::{Error, Result};
use crate::tokenize::WordClass;
use std::fmt;

/// Where a job's input may be cut, so that no record is torn.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Cut {
    /// After each newline. In a line that ends in `\r\n`, the `\r` is the last byte.
    Lines,
    /// After each byte of a set. See [`Cut::around`] for words.
    After(ByteSet),
    /// After each delimiter of several bytes, or of one. [`Split::delimited`](crate::split::Split::delimited)
    /// returns the records.
    Delimiter(Delimiter),
    /// Between two neighbouring bytes for which the function returns true.
    Between(fn(u8, u8) -> bool),
    /// Records of this many bytes, at least 1. A file whose length is no multiple is an error.
    Fixed(u64),
    /// After each record, where only the begin of a record gives its length: after a length, say, or where a
    /// newline in quotes ends no line. The function gets bytes that begin with a record, at least one, and
    /// returns the length of the record, at least 1. It returns `None`, or more than it got, if it needs more
    /// bytes; it then gets more until it has them or the file ends. The last record of a file may be cut
    /// short: the map sees it unchanged.
    ///
    /// Such a record can only be found from the one before it, so each file is read in order, and many files
    /// at once.
    ///
    /// ```
    /// # use tegula::*;
    /// // A length of four bytes, little endian, then that many bytes.
    /// fn record(bytes: &[u8]) -> Option<usize> {
    ///     Some(4 + u32::from_le_bytes(*bytes.first_chunk()?) as usize)
    /// }
    /// let cut = Cut::Framed(record);
    /// ```
    Framed(fn(&[u8]) -> Option<usize>),
    /// Nowhere: every file is one split, and must fit in memory.
    Whole,
}

/// A set of byte values.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct ByteSet([u64; 4]);

impl ByteSet {
    /// Returns the set of these bytes.
    pub const fn of(bytes: &[u8]) -> ByteSet {
        let mut set = [0; 4];
        let mut at = 0;
        while at < bytes.len() {
            set[(bytes[at] >> 6) as usize] |= 1 << (bytes[at] & 63);
            at += 1;
        }
        ByteSet(set)
    }

    /// Returns the set of the bytes for which `member` says so.
    pub fn from_fn(member: impl Fn(u8) -> bool) -> ByteSet {
        let members: Vec<u8> = (0..=u8::MAX).filter(|&byte| member(byte)).collect();
        ByteSet::of(&members)
    }

    /// Returns whether the byte is in the set.
    #[inline(always)]
    pub const fn contains(self, byte: u8) -> bool {
        self.0[(byte >> 6) as usize] >> (byte & 63) & 1 == 1
    }
}

impl fmt::Debug for ByteSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries((0..=u8::MAX).filter(|&byte| self.contains(byte))).finish()
    }
}

impl Cut {
    /// Returns a cut after every byte that separates words of this class: for a job that looks at words, and
    /// for which a line may have any length.
    pub fn around(words: WordClass) -> Cut {
        Cut::After(ByteSet::from_fn(|byte| !words.contains(byte)))
    }

    /// Returns whether records are lines.
    #[doc(hidden)]
    pub fn is_lines(&self) -> bool {
        matches!(self, Cut::Lines)
    }

    /// Refuses a cut that cannot be meant.
    #[doc(hidden)]
    pub fn check(&self) -> Result<()> {
        match self {
            Cut::Fixed(0) => Err(Error::Option {
                option: "record size",
                cause: "0 bytes; give at least 1".into(),
            }),
            _ => Ok(()),
        }
    }

    /// Returns how many of `length` bytes of a file are whole records, as far as their size is fixed.
    #[doc(hidden)]
    pub fn whole_bytes(&self, length: u64) -> u64 {
        match *self {
            Cut::Fixed(record) => length - length % record,
            _ => length,
        }
    }

    /// Returns whether records can be found from the begin of their file only.
    #[doc(hidden)]
    pub fn is_in_order(&self) -> bool {
        matches!(self, Cut::Framed(_))
    }

    /// Returns the number of bytes before a border that decide whether it is one, at least 1.
    #[doc(hidden)]
    pub fn bytes_before(&self) -> usize {
        match self {
            Cut::Delimiter(delimiter) => delimiter.before(),
            _ => 1,
        }
    }

    /// Returns the number of bytes after a border, beside the next, that decide whether it is one.
    #[doc(hidden)]
    pub fn bytes_behind(&self) -> usize {
        match self {
            Cut::Delimiter(delimiter) => delimiter.behind(),
            _ => 0,
        }
    }

    /// Returns the first border at an index in `from..to`: a place before which `bytes` may be cut. `from` is
    /// at least 1 and `to` at most `bytes.len()`, because the bytes beside a border show it:
    /// [`bytes_before`](Cut::bytes_before) `from`, if the file has that many, and
    /// [`bytes_behind`](Cut::bytes_behind) `to`. The end of a file is always a border, and not looked for
    /// here; neither are the borders of `Fixed` and `Whole`, which are known without looking. For `Framed`,
    /// `bytes` begin with a record.
    #[doc(hidden)]
    pub fn find_border(&self, bytes: &[u8], from: usize, to: usize) -> Option<usize> {
        if from >= to {
            return None;
        }
        let before = &bytes[from - 1..to - 1];
        match self {
            Cut::Lines => memchr::memchr(b'\n', before).map(|at| from + at),
            Cut::After(set) => {
                before.iter().position(|&byte| set.contains(byte)).map(|at| from + at)
            }
            Cut::Delimiter(delimiter) => delimiter.find_border(bytes, from, to),
            Cut::Between(border) => (from..to).find(|&at| border(bytes[at - 1], bytes[at])),
            Cut::Framed(record) => {
                frames(*record, bytes).find(|&end| end >= from).filter(|&end| end < to)
            }
            Cut::Fixed(_) | Cut::Whole => None,
        }
    }

    /// Returns the last border of `bytes`, which begin with a record, other than their ends, and such that no
    /// byte after them can change it. The first `looked` bytes were searched before and have no border.
    #[doc(hidden)]
    pub fn find_last_border(&self, bytes: &[u8], looked: usize) -> Option<usize> {
        // At the end of the bytes searched before, the bytes after them were missing.
        let from = looked.saturating_sub(1 + self.bytes_behind());
        let inner = from..bytes.len().saturating_sub(1).max(from);
        match self {
            Cut::Lines => memchr::memrchr(b'\n', &bytes[inner]).map(|at| from + at + 1),
            Cut::After(set) => {
                bytes[inner].iter().rposition(|&byte| set.contains(byte)).map(|at| from + at + 1)
            }
            Cut::Delimiter(delimiter) => delimiter.find_last_border(bytes, from),
            Cut::Between(border) => {
                (from + 1..bytes.len()).rev().find(|&at| border(bytes[at - 1], bytes[at]))
            }
            Cut::Framed(record) => {
                frames(*record, bytes).take_while(|&end| end < bytes.len()).last()
            }
            Cut::Fixed(record) => {
                let whole = bytes.len() as u64 / record * record;
                (whole > 0).then_some(whole as usize)
            }
            Cut::Whole => None,
        }
    }
}

/// Returns the ends of the records that are whole in `bytes`, which begin with one.
///
/// # Panics
/// If a record is said to have no bytes: it would have no end.
fn frames(record: fn(&[u8]) -> Option<usize>, bytes: &[u8]) -> impl Iterator<Item = usize> {
    let mut end = 0;
    std::iter::from_fn(move || {
        let rest = bytes.get(end..).filter(|rest| !rest.is_empty())?;
        let length = record(rest).filter(|&length| length <= rest.len())?;
        assert!(length > 0, "Cut::Framed: a record of 0 bytes");
        end += length;
        Some(end)
    })
}
