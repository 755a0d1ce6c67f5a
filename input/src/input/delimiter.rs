//! A delimiter: the bytes between two records. Where it overlaps itself, as three newlines hold `\n\n`
//! twice, the whole chain is one delimiter: so any part of a text shows, by a few bytes more, where its
//! records end, and it never matters where the input was cut.

use crate::error::{Error, Result};
use memchr::memmem;
use std::fmt;

/// Bytes that end a record, 1 to 32 of them. Overlapping delimiters are one: after `\n\n`, records are
/// paragraphs, whatever the number of empty lines between them.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Delimiter {
    bytes: [u8; BYTES_MOST],
    len: usize,
    /// Bit `k`: the delimiter may begin again `k` bytes after its begin.
    shifts: u32,
}

const BYTES_MOST: usize = 32;

impl Delimiter {
    /// Returns the delimiter that these bytes are.
    ///
    /// # Errors
    /// [`Error::Option`] if there are none, or more than 32.
    pub fn new(bytes: impl AsRef<[u8]>) -> Result<Delimiter> {
        let bytes = bytes.as_ref();
        if bytes.is_empty() || bytes.len() > BYTES_MOST {
            let cause = format!("{} bytes; give 1 to {BYTES_MOST}", bytes.len());
            return Err(Error::Option { option: "delimiter", cause });
        }
        let mut padded = [0; BYTES_MOST];
        padded[..bytes.len()].copy_from_slice(bytes);
        let overlapping = (1..bytes.len()).filter(|&by| bytes.starts_with(&bytes[by..]));
        let shifts = overlapping.fold(0, |shifts, by| shifts | 1 << by);
        Ok(Delimiter { bytes: padded, len: bytes.len(), shifts })
    }

    /// Returns the bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    /// Returns the number of bytes before a border that decide whether it is one.
    pub(super) fn before(&self) -> usize {
        self.len
    }

    /// Returns the number of bytes after a border that decide whether it is one: those of a delimiter that
    /// may overlap.
    pub(super) fn behind(&self) -> usize {
        self.shifts.checked_ilog2().unwrap_or(0) as usize
    }

    /// Where the chain of delimiters ends that begins at `from`.
    fn chain_end(&self, text: &[u8], from: usize) -> usize {
        let mut last = from;
        while let Some(next) = self.overlapping(text, last) {
            last = next;
        }
        last + self.len
    }

    /// Where the next delimiter begins that overlaps the one at `at`.
    fn overlapping(&self, text: &[u8], at: usize) -> Option<usize> {
        let mut shifts = self.shifts;
        while shifts != 0 {
            let next = at + shifts.trailing_zeros() as usize;
            if text[next..].starts_with(self.bytes()) {
                return Some(next);
            }
            shifts &= shifts - 1;
        }
        None
    }

    /// Returns the first border of `text` in `from..to`. The bytes after [`text`](Delimiter::behind) count as
    /// no delimiter.
    pub(super) fn find_border(&self, text: &[u8], from: usize, to: usize) -> Option<usize> {
        let start = from.saturating_sub(self.len);
        // A chain may be seen from its middle on: only its end is a border.
        let found = memmem::find(&text[start..to.max(start)], self.bytes())?;
        let border = self.chain_end(text, start + found);
        (border < to).then_some(border)
    }

    /// Returns the last border of `text` above `from` that no byte after `text` can change.
    pub(super) fn find_last_border(&self, text: &[u8], from: usize) -> Option<usize> {
        let start = (from + 1).saturating_sub(self.len);
        let decided = text.len().saturating_sub(self.behind().max(1));
        let mut later = usize::MAX;
        let finder = memmem::FinderRev::new(self.bytes());
        let mut end = text.len();
        while let Some(found) = finder.rfind(&text[start.min(end)..end]) {
            let at = start + found;
            let border = at + self.len;
            if border <= decided && border <= later && border > from {
                return Some(border);
            }
            later = at;
            // Of those before, the next may overlap this one.
            end = border - 1;
        }
        None
    }

    /// Returns the records of `text`.
    #[doc(hidden)]
    pub fn records<'t>(&self, text: &'t [u8]) -> Delimited<'t> {
        Delimited {
            delimiter: *self,
            finder: memmem::Finder::new(self.bytes()).into_owned(),
            rest: text,
        }
    }
}

impl fmt::Debug for Delimiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Delimiter(\"{}\")", self.bytes().escape_ascii())
    }
}

/// The records of a split that a delimiter ends, without it.
#[derive(Clone, Debug)]
pub struct Delimited<'s> {
    delimiter: Delimiter,
    finder: memmem::Finder<'static>,
    rest: &'s [u8],
}

impl<'s> Iterator for Delimited<'s> {
    type Item = &'s [u8];

    fn next(&mut self) -> Option<&'s [u8]> {
        if self.rest.is_empty() {
            return None;
        }
        let Some(at) = self.finder.find(self.rest) else {
            return Some(std::mem::take(&mut self.rest));
        };
        let (record, end) = (&self.rest[..at], self.delimiter.chain_end(self.rest, at));
        self.rest = &self.rest[end..];
        Some(record)
    }
}
