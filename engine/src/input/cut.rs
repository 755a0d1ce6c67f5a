//! Where an input may be cut: the job's word on what a record is. Offsets between cuts are nominal;
//! a record belongs to the split in which it begins, and whoever reads the split reads on to its end.

use crate::error::{Error, Result};
use crate::tokenize::WordClass;
use std::fmt;

/// Where a job's input may be cut, so that no record is torn.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Cut {
    /// Behind each newline. Of a line that ends in `\r\n`, the `\r` is the last byte.
    Lines,
    /// Behind each byte of a set. See [`Cut::around`] for words.
    After(ByteSet),
    /// Between two neighbouring bytes for which the function says so.
    Between(fn(u8, u8) -> bool),
    /// Records of this many bytes, at least 1. A file whose length is no multiple is an error.
    Fixed(u64),
    /// Nowhere: every file is one split, and must fit in memory.
    Whole,
}

/// A set of byte values.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct ByteSet([u64; 4]);

impl ByteSet {
    /// The set of these bytes.
    pub const fn of(bytes: &[u8]) -> ByteSet {
        let mut set = [0; 4];
        let mut at = 0;
        while at < bytes.len() {
            set[(bytes[at] >> 6) as usize] |= 1 << (bytes[at] & 63);
            at += 1;
        }
        ByteSet(set)
    }

    /// The set of the bytes for which `member` says so.
    pub fn from_fn(member: impl Fn(u8) -> bool) -> ByteSet {
        let members: Vec<u8> = (0..=u8::MAX).filter(|&byte| member(byte)).collect();
        ByteSet::of(&members)
    }

    /// Whether the byte is in the set.
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
    /// Behind every byte that separates words of this class: the cut of a job that looks at words,
    /// and to which a line of any length is nothing special.
    pub fn around(words: WordClass) -> Cut {
        Cut::After(ByteSet::from_fn(|byte| !words.contains(byte)))
    }

    /// Whether records are lines.
    pub(crate) fn is_lines(&self) -> bool {
        matches!(self, Cut::Lines)
    }

    /// Refuses a cut that cannot be meant.
    pub(crate) fn check(&self) -> Result<()> {
        match self {
            Cut::Fixed(0) => Err(Error::Option {
                option: "record size",
                cause: "0 bytes; give at least 1".into(),
            }),
            _ => Ok(()),
        }
    }

    /// The first border at an index in `from..to`: a place before which `bytes` may be cut. `from`
    /// is at least 1 and `to` at most `bytes.len()`, for a border is seen by the bytes beside it.
    /// The end of a file is always a border, and not looked for here; neither are the borders of
    /// `Fixed` and `Whole`, which are known without looking.
    pub(crate) fn find_border(&self, bytes: &[u8], from: usize, to: usize) -> Option<usize> {
        if from >= to {
            return None;
        }
        let before = &bytes[from - 1..to - 1];
        match self {
            Cut::Lines => memchr::memchr(b'\n', before).map(|at| from + at),
            Cut::After(set) => {
                before.iter().position(|&byte| set.contains(byte)).map(|at| from + at)
            }
            Cut::Between(border) => (from..to).find(|&at| border(bytes[at - 1], bytes[at])),
            Cut::Fixed(_) | Cut::Whole => None,
        }
    }

    /// The last border of `bytes` other than its ends.
    pub(crate) fn find_last_border(&self, bytes: &[u8]) -> Option<usize> {
        let inner = bytes.len().saturating_sub(1);
        match self {
            Cut::Lines => memchr::memrchr(b'\n', &bytes[..inner]).map(|at| at + 1),
            Cut::After(set) => {
                bytes[..inner].iter().rposition(|&byte| set.contains(byte)).map(|at| at + 1)
            }
            Cut::Between(border) => {
                (1..bytes.len()).rev().find(|&at| border(bytes[at - 1], bytes[at]))
            }
            Cut::Fixed(record) => {
                let whole = bytes.len() as u64 / record * record;
                (whole > 0).then_some(whole as usize)
            }
            Cut::Whole => None,
        }
    }

    /// The last border of `bytes` at an index above `from`, other than their end. Borders of a fixed
    /// size are counted from the start of `bytes`, itself one.
    pub(crate) fn last_border_from(&self, bytes: &[u8], from: usize) -> Option<usize> {
        match self {
            Cut::Fixed(_) => self.find_last_border(bytes),
            _ => self.find_last_border(&bytes[from..]).map(|border| from + border),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn borders_are_found_from_both_ends() {
        let text = b"one two\nthree four";
        let spaces = Cut::After(ByteSet::of(b" \n"));
        let between = Cut::Between(|a, b| a == b' ' && b != b' ');
        assert_eq!(Cut::Lines.find_border(text, 1, text.len()), Some(8));
        assert_eq!(Cut::Lines.find_border(text, 8, 9), Some(8));
        assert_eq!(Cut::Lines.find_border(text, 9, text.len()), None);
        assert_eq!(spaces.find_border(text, 1, 5), Some(4));
        assert_eq!(spaces.find_border(text, 1, 4), None);
        assert_eq!(spaces.find_last_border(text), Some(14));
        assert_eq!(between.find_border(text, 5, text.len()), Some(14));
        assert_eq!(between.find_last_border(text), Some(14));
        assert_eq!(Cut::Lines.find_last_border(b"no border\n"), None);
        assert_eq!(Cut::Fixed(5).find_last_border(text), Some(15));
        assert_eq!(Cut::Fixed(50).find_last_border(text), None);
        for cut in [Cut::Lines, spaces, between, Cut::Whole] {
            assert_eq!(cut.find_last_border(b""), None);
        }
    }
}
