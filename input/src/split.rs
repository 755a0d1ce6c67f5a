//! A split: the piece of input that one call of a map sees. It begins and ends at borders that the
//! job's cut allows, and its bytes stay where they are until the call's pairs are combined.

use crate::bad::BadRecords;
use crate::error::Result;
use crate::input::{Delimited, Delimiter};
use crate::origin::Origin;
use crate::tokenize::{Records, Tokens, WordClass};
use std::fmt;
use std::path::PathBuf;

/// Whole records of one file (or stream), in the worker's own memory.
#[derive(Clone, Copy)]
pub struct Split<'s> {
    bytes: &'s [u8],
    origin: Origin<'s>,
    offset: u64,
    file: u32,
    number: u32,
    bad: &'s BadRecords,
}

impl fmt::Debug for Split<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("Split");
        out.field("path", &self.path()).field("file", &self.file).field("offset", &self.offset);
        out.field("len", &self.bytes.len()).finish_non_exhaustive()
    }
}

impl<'s> Split<'s> {
    #[doc(hidden)]
    pub fn new(
        bytes: &'s [u8],
        origin: Origin<'s>,
        offset: u64,
        file: u32,
        bad: &'s BadRecords,
    ) -> Split<'s> {
        Split { bytes, origin, offset, file, number: 0, bad }
    }

    #[doc(hidden)]
    pub fn numbered(self, number: u32) -> Split<'s> {
        Split { number, ..self }
    }

    #[doc(hidden)]
    pub fn origin(&self) -> &Origin<'s> {
        &self.origin
    }

    /// Returns the split's bytes.
    #[inline]
    pub fn bytes(&self) -> &'s [u8] {
        self.bytes
    }

    /// Where the split begins in its file, in bytes.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Where `record`, a part of the split's bytes, begins in its file, in bytes.
    #[inline]
    pub fn offset_of(&self, record: &[u8]) -> u64 {
        self.offset + (record.as_ptr() as usize).wrapping_sub(self.bytes.as_ptr() as usize) as u64
    }

    /// Returns the number of the file the split was cut from: files (and streams) are counted from 0 in the
    /// order in which they are read. `Output::file` has its path.
    #[inline]
    pub fn file(&self) -> u32 {
        self.file
    }

    /// Returns a number that ascends with the input. Neighbouring splits that one worker maps, one after the other, may
    /// have the same.
    #[inline]
    pub fn number(&self) -> u32 {
        self.number
    }

    /// Returns the path of the file the split was cut from (or `standard input`, `memory`). Allocates.
    pub fn path(&self) -> PathBuf {
        self.origin.path()
    }

    /// Returns the words of a class, in order, found with vector instructions where the machine has them.
    #[inline]
    pub fn words(&self, class: WordClass) -> Tokens<'s> {
        Tokens::new(class, self.bytes)
    }

    /// Returns the words between white space: [`WordClass::Whitespace`].
    #[inline]
    pub fn fields(&self) -> Tokens<'s> {
        self.words(WordClass::Whitespace)
    }

    /// Returns the lines as records of `N` fields between separators, found with vector instructions where
    /// the machine has them; a line of fewer or more fields comes whole, as an error.
    #[inline]
    pub fn records<const N: usize>(&self, separator: u8) -> Records<'s, N> {
        Records::new(separator, self.bytes)
    }

    /// Returns the lines, without their newline. A last line without one counts; an empty rest does not.
    #[inline]
    pub fn lines(&self) -> Lines<'s> {
        Lines { rest: self.bytes }
    }

    /// Returns the records that `delimiter` ends, without it: for a job with
    /// [`Cut::Delimiter`](crate::input::Cut). A last record without it counts; an empty rest does not.
    pub fn delimited(&self, delimiter: &Delimiter) -> Delimited<'s> {
        delimiter.records(self.bytes)
    }

    /// Refuses `record`, a part of the split's bytes (of any other the split's own place is named).
    /// Nothing of it should have been emitted.
    ///
    /// Under `Options::skip_bad` it is counted, and the map continues with the next record:
    ///
    /// ```
    /// # use tegula::*;
    /// # struct Numbers;
    /// # impl Job for Numbers {
    /// #     type Key = [u8];
    /// #     type Combine = Sum<u64>;
    /// fn map<'s>(&self, split: Split<'s>, emit: &mut impl Emit<'s, Self>) -> Result<()> {
    ///     for line in split.lines() {
    ///         match std::str::from_utf8(line).ok().and_then(|text| text.parse().ok()) {
    ///             Some(number) => emit.emit(b"sum", number),
    ///             None => split.bad(line, "not a number")?,
    ///         }
    ///     }
    ///     Ok(())
    /// }
    /// # }
    /// # fn main() -> Result<()> {
    /// # let input = || Input::bytes("5\nsix\n7\n");
    /// let error = Engine::new()?.job(&Numbers).run(input()).err().map(|error| error.to_string());
    /// assert_eq!(error.as_deref(), Some("memory, line 2, byte 2: not a number"));
    /// let options = Options { skip_bad: true, ..Options::default() };
    /// let output = Engine::new()?.job(&Numbers).options(&options).run(input())?;
    /// assert_eq!((output.iter()?.next(), output.stats().bad_records), (Some((&b"sum"[..], 12)), 1));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Without that option [`Error::Record`](crate::error::Error::Record), which names file, line and byte.
    #[cold]
    pub fn bad(
        &self,
        record: &[u8],
        cause: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Result<()> {
        let inside = (record.as_ptr() as usize).wrapping_sub(self.bytes.as_ptr() as usize);
        let inside = if inside <= self.bytes.len() { inside } else { 0 };
        self.bad.refuse(&self.origin, self.offset, &self.bytes[..inside], cause)
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
