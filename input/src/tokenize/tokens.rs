//! Iterates the words of a text. Finds the positions of a window's words at once, then returns them. A word
//! may have any length.

use super::positions::{Positions, WINDOW};
use super::{Simd, WordClass};
use std::iter::FusedIterator;

/// Iterates the words of a text, in order, as slices of it.
///
/// Creation is cheap, and takes about 4 KiB without heap memory, so it serves lines as well as splits. Time
/// is linear in the text, also for words of many gigabytes.
///
/// ```
/// use tegula::tokenize::{Tokens, WordClass};
/// let words: Vec<&[u8]> = Tokens::new(WordClass::Alpha, b"To be, or").collect();
/// assert_eq!(words, [b"To".as_slice(), b"be", b"or"]);
/// ```
pub struct Tokens<'s> {
    /// The text from the base of the positions to its end.
    rest: &'s [u8],
    /// Bytes of `rest` that were scanned.
    scanned: usize,
    /// The number of words in `positions`, and the number of those that were returned.
    words: usize,
    next: usize,
    class: WordClass,
    /// A level that this machine has.
    simd: Simd,
    positions: Positions,
}

impl<'s> Tokens<'s> {
    /// Iterates the words of `text` at the best level of the machine.
    #[must_use]
    #[inline]
    pub fn new(class: WordClass, text: &'s [u8]) -> Self {
        Self::at(Simd::detect(), class, text)
    }

    /// Iterates the words of `text` at the level `simd`, or at [`Simd::Portable`] if the machine lacks it.
    /// The words are the same at every level.
    #[must_use]
    pub fn with(simd: Simd, class: WordClass, text: &'s [u8]) -> Self {
        Self::at(simd.or_portable(), class, text)
    }

    /// Takes a level that this machine has.
    #[inline]
    fn at(simd: Simd, class: WordClass, text: &'s [u8]) -> Self {
        Self { rest: text, scanned: 0, words: 0, next: 0, class, simd, positions: Positions::new() }
    }

    /// Returns a word of the window.
    ///
    /// # Safety
    /// `word` is less than `self.words`.
    #[inline(always)]
    unsafe fn word(&self, word: usize) -> &'s [u8] {
        // SAFETY: the positions come from a scan of a part of `rest`: they are ascending and less than its
        // length, and `self.words` is their number.
        unsafe {
            let (start, end) = self.positions.word(word);
            self.rest.get_unchecked(start..end)
        }
    }

    /// Scans until there is a word, and returns it.
    #[inline(never)]
    fn refill(&mut self) -> Option<&'s [u8]> {
        loop {
            let open = self.positions.open();
            let base = open.unwrap_or(self.scanned);
            self.rest = &self.rest[base..];
            self.scanned -= base;
            self.positions.restart(open.is_some());
            (self.words, self.next) = (0, 0);
            if self.scanned == self.rest.len() {
                return self.last();
            }
            let stop = self.rest.len().min(self.scanned + WINDOW);
            // SAFETY: `self.simd` is a level of this machine.
            unsafe {
                self.positions.scan(self.simd, self.class, &self.rest[..stop], self.scanned);
            }
            self.scanned = stop;
            self.words = self.positions.words();
            if self.words > 0 {
                self.next = 1;
                // SAFETY: there is a first word.
                return Some(unsafe { self.word(0) });
            }
            if open.is_some() {
                return Some(self.long());
            }
        }
    }

    /// Returns the word that reaches the end of the text, which is the only one left, if there is one.
    fn last(&mut self) -> Option<&'s [u8]> {
        self.positions.restart(false);
        self.scanned = 0;
        let word = std::mem::take(&mut self.rest);
        (!word.is_empty()).then_some(word)
    }

    /// Finds the end of a word that began at the base and has no end after a whole window. Searches the end
    /// alone, window by window, because positions this far from the base would not fit.
    #[cold]
    fn long(&mut self) -> &'s [u8] {
        let mut end = self.rest.len();
        while self.scanned < self.rest.len() {
            let stop = self.rest.len().min(self.scanned + WINDOW);
            self.positions.restart(true);
            // SAFETY: `self.simd` is a level of this machine.
            unsafe {
                let window = &self.rest[self.scanned..stop];
                self.positions.scan(self.simd, self.class, window, 0);
            }
            if self.positions.words() > 0 {
                // SAFETY: there is a first word: the one carried.
                end = self.scanned + unsafe { self.positions.word(0) }.1;
                break;
            }
            self.scanned = stop;
        }
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        self.scanned = 0;
        self.positions.restart(false);
        word
    }
}

impl<'s> Iterator for Tokens<'s> {
    type Item = &'s [u8];

    #[inline]
    fn next(&mut self) -> Option<&'s [u8]> {
        if self.next < self.words {
            // SAFETY: just compared.
            let word = unsafe { self.word(self.next) };
            self.next += 1;
            Some(word)
        } else {
            self.refill()
        }
    }

    /// Internal iteration keeps the counters in registers.
    #[inline]
    fn fold<B, F>(mut self, init: B, mut f: F) -> B
    where
        F: FnMut(B, &'s [u8]) -> B,
    {
        let mut folded = init;
        loop {
            for word in self.next..self.words {
                // SAFETY: the range ends at `self.words`.
                folded = f(folded, unsafe { self.word(word) });
            }
            match self.refill() {
                Some(word) => folded = f(folded, word),
                None => return folded,
            }
        }
    }
}

impl FusedIterator for Tokens<'_> {}

impl std::fmt::Debug for Tokens<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tokens")
            .field("class", &self.class)
            .field("simd", &self.simd)
            .field("bytes_left", &self.rest.len())
            .finish_non_exhaustive()
    }
}
