//! A split: the piece of input that one call of a map sees. It begins and ends at borders that the
//! job's cut allows, and its bytes stay where they are until the call's pairs are combined.

use crate::error::{Error, Place};
use crate::tokenize::{Tokens, WordClass};
use std::path::{Path, PathBuf};

/// Whole records of one file (or stream), in the worker's own memory.
#[derive(Clone, Copy)]
pub struct Split<'s> {
    bytes: &'s [u8],
    origin: Origin<'s>,
    offset: u64,
}

/// What a split was cut from. The path is put together only when someone asks.
#[derive(Clone, Copy)]
pub(crate) enum Origin<'s> {
    File { files: &'s crate::input::FileList, file: usize },
    Named(&'s Path),
}

impl Origin<'_> {
    pub(crate) fn path(&self) -> PathBuf {
        match self {
            Origin::File { files, file } => files.path(*file),
            Origin::Named(name) => name.to_path_buf(),
        }
    }

    pub(crate) fn place(&self, offset: u64) -> Place {
        Place { source: self.path(), offset: Some(offset) }
    }
}

impl<'s> Split<'s> {
    pub(crate) fn new(bytes: &'s [u8], origin: Origin<'s>, offset: u64) -> Split<'s> {
        Split { bytes, origin, offset }
    }

    /// The split's bytes.
    #[inline]
    pub fn bytes(&self) -> &'s [u8] {
        self.bytes
    }

    /// Where the split begins in its file, in bytes.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// The path of the file the split was cut from (or `standard input`, `memory`). Allocates.
    pub fn path(&self) -> PathBuf {
        self.origin.path()
    }

    /// The words of a class, in order, found with vector instructions where the machine has them.
    #[inline]
    pub fn words(&self, class: WordClass) -> Tokens<'s> {
        Tokens::new(class, self.bytes)
    }

    /// The words between white space: [`WordClass::Whitespace`].
    #[inline]
    pub fn fields(&self) -> Tokens<'s> {
        self.words(WordClass::Whitespace)
    }

    /// The lines, without their newline. A last line without one counts; an empty rest does not.
    #[inline]
    pub fn lines(&self) -> Lines<'s> {
        Lines { rest: self.bytes }
    }

    /// An error that names the place of `record`, which should be a part of the split's bytes (the
    /// split's own place is named if it is not).
    pub fn error_at(
        &self,
        record: &[u8],
        cause: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Error {
        let inside = (record.as_ptr() as usize).wrapping_sub(self.bytes.as_ptr() as usize);
        let inside = if inside <= self.bytes.len() { inside as u64 } else { 0 };
        Error::Record { place: self.origin.place(self.offset + inside), cause: cause.into() }
    }
}

/// The lines of a split.
#[derive(Clone, Debug)]
pub struct Lines<'s> {
    rest: &'s [u8],
}

impl<'s> Iterator for Lines<'s> {
    type Item = &'s [u8];

    #[inline]
    fn next(&mut self) -> Option<&'s [u8]> {
        if self.rest.is_empty() {
            return None;
        }
        let (line, rest) = match memchr::memchr(b'\n', self.rest) {
            Some(end) => (&self.rest[..end], &self.rest[end + 1..]),
            None => (self.rest, &[][..]),
        };
        self.rest = rest;
        Some(line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_end_at_newlines_and_at_the_end() {
        let lines = |text| Lines { rest: text }.collect::<Vec<&[u8]>>();
        assert_eq!(lines(b"a\n\nb"), [&b"a"[..], b"", b"b"]);
        assert_eq!(lines(b"a\n"), [&b"a"[..]]);
        assert!(lines(b"").is_empty());
    }

    #[test]
    fn an_error_names_the_record_it_was_given() {
        let split = Split::new(b"one two", Origin::Named(Path::new("memory")), 100);
        assert_eq!(split.error_at(&split.bytes()[4..], "bad").to_string(), "memory, byte 104: bad");
        assert_eq!(split.error_at(b"elsewhere", "bad").to_string(), "memory, byte 100: bad");
    }
}
