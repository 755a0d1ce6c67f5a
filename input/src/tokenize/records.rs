//! Iterates lines of a fixed number of fields between separators. Finds the positions of a window's
//! separators and newlines at once, then returns records. A record of any length, and a line that is no
//! record, costs only its bytes.

use super::Simd;
use super::positions::{Positions, WINDOW};
use std::array;
use std::iter::FusedIterator;

/// Iterates the lines of a text as records of `N` fields. An item is the fields, or the whole line if it
/// has fewer or more. A last line without a newline counts; an empty rest does not.
///
/// Creation is cheap, and takes about 4 KiB without heap memory. Time is linear in the text.
///
/// ```
/// use tegula::tokenize::Records;
/// let records: Vec<_> = Records::new(b';', b"Abha;18.0\nno field\nAccra;26.4").collect();
/// assert_eq!(records[0], Ok([&b"Abha"[..], b"18.0"]));
/// assert_eq!(records[1], Err(&b"no field"[..]));
/// assert_eq!(records[2], Ok([&b"Accra"[..], b"26.4"]));
/// ```
pub struct Records<'s, const N: usize> {
    /// The text from the base of the positions to its end.
    rest: &'s [u8],
    /// The start of the next record in `rest`.
    start: usize,
    /// The position of its first separator or newline.
    next: usize,
    separator: u8,
    /// A level that this machine has.
    simd: Simd,
    positions: Positions,
}

impl<'s, const N: usize> Records<'s, N> {
    const FIELDS: () = assert!(N > 0 && N <= WINDOW / 2, "a record has at least one field");

    /// Iterates the records of `text` at the best level of the machine.
    ///
    /// # Panics
    /// Panics if `separator` is a newline.
    #[must_use]
    #[inline]
    pub fn new(separator: u8, text: &'s [u8]) -> Self {
        Self::at(Simd::detect(), separator, text)
    }

    /// Iterates the records of `text` at the level `simd`, or at [`Simd::Portable`] if the machine lacks
    /// it. The records are the same at every level.
    #[must_use]
    pub fn with(simd: Simd, separator: u8, text: &'s [u8]) -> Self {
        Self::at(simd.or_portable(), separator, text)
    }

    /// Takes a level that this machine has.
    #[inline]
    fn at(simd: Simd, separator: u8, text: &'s [u8]) -> Self {
        let () = Self::FIELDS;
        assert!(separator != b'\n', "a newline ends records and separates no fields");
        Self { rest: text, start: 0, next: 0, separator, simd, positions: Positions::new() }
    }

    /// Returns the next record, if all of its ends are among the positions.
    #[inline(always)]
    fn found(&mut self) -> Option<Result<[&'s [u8]; N], &'s [u8]>> {
        if self.next + N > self.positions.len() {
            return None;
        }
        // SAFETY: just compared. Positions are ascending and inside `rest`, and `start` is 0 or directly
        // after the position before `next`.
        let (fields, is_record) = unsafe {
            let (mut from, mut is_record) = (self.start, true);
            let fields = array::from_fn(|field| {
                let end = self.positions.at(self.next + field);
                let expected = if field + 1 < N { self.separator } else { b'\n' };
                is_record &= *self.rest.get_unchecked(end) == expected;
                let bytes = self.rest.get_unchecked(from..end);
                from = end + 1;
                bytes
            });
            (fields, is_record)
        };
        if !is_record {
            return Some(Err(self.odd()));
        }
        // SAFETY: as above, and N is at least 1.
        self.start = unsafe { self.positions.at(self.next + N - 1) } + 1;
        self.next += N;
        Some(Ok(fields))
    }

    /// A line that is no record, although the positions contain enough ends after its start.
    #[cold]
    #[inline(never)]
    fn odd(&mut self) -> &'s [u8] {
        let (line, length) = self.line();
        self.start += length;
        let mut left = self.next..self.positions.len();
        // SAFETY: the range ends at the number of positions.
        let next = left.find(|&index| unsafe { self.positions.at(index) } >= self.start);
        self.next = next.unwrap_or(self.positions.len());
        line
    }

    /// Returns the line that begins at `start`, and its length with its newline.
    fn line(&self) -> (&'s [u8], usize) {
        let rest = &self.rest[self.start..];
        match memchr::memchr(b'\n', rest) {
            Some(end) => (&rest[..end], end + 1),
            None => (rest, rest.len()),
        }
    }

    /// Moves the window to the next record and searches it. Returns whether the record's ends are all in it.
    #[inline(never)]
    fn refill(&mut self) -> bool {
        self.rest = &self.rest[self.start..];
        (self.start, self.next) = (0, 0);
        let window = &self.rest[..self.rest.len().min(WINDOW)];
        self.positions.restart(false);
        // SAFETY: `self.simd` is a level of this machine.
        unsafe { self.positions.find(self.simd, [self.separator, b'\n'], window) };
        self.positions.len() >= N
    }

    /// Takes the line at the begin of the window, whose ends are not all in it; `None` at the end of the text.
    #[cold]
    #[inline(never)]
    fn alone(&mut self) -> Option<&'s [u8]> {
        if self.rest.is_empty() {
            return None;
        }
        let (line, length) = self.line();
        self.rest = &self.rest[length..];
        self.positions.restart(false);
        Some(line)
    }
}

/// Returns the fields of one line, if there are `N`.
#[cold]
#[inline(never)]
fn fields<const N: usize>(separator: u8, line: &[u8]) -> Option<[&[u8]; N]> {
    let mut all = line.split(|byte| *byte == separator);
    let mut fields = [&[][..]; N];
    for field in &mut fields {
        *field = all.next()?;
    }
    all.next().is_none().then_some(fields)
}

impl<'s, const N: usize> Iterator for Records<'s, N> {
    type Item = Result<[&'s [u8]; N], &'s [u8]>;

    #[inline(always)]
    fn next(&mut self) -> Option<Self::Item> {
        // Rare lines come as other types than the item: if the item's place were given to those functions, each record
        // would be written to memory.
        loop {
            if let Some(found) = self.found() {
                return Some(found);
            }
            if !self.refill() {
                let line = self.alone()?;
                return Some(fields(self.separator, line).ok_or(line));
            }
        }
    }
}

impl<const N: usize> FusedIterator for Records<'_, N> {}

impl<const N: usize> std::fmt::Debug for Records<'_, N> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Records")
            .field("separator", &char::from(self.separator))
            .field("simd", &self.simd)
            .field("bytes_left", &(self.rest.len() - self.start))
            .finish_non_exhaustive()
    }
}
