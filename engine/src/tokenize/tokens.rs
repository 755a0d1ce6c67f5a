//! Tokens: the words of a text, one by one. Finds the positions of a window's words at once, then
//! hands them out; a word may be of any length.

use super::positions::{Positions, WINDOW};
use super::{Simd, WordClass};
use std::iter::FusedIterator;

/// The words of a text, in order: an iterator of slices of it.
///
/// Making one costs nothing to speak of, and it holds some 4 KiB, so it serves lines as well as
/// splits. Time is linear in the text, words of many gigabytes included; there is no heap memory.
///
/// ```
/// use tegula::tokenize::{Tokens, WordClass};
/// let words: Vec<&[u8]> = Tokens::new(WordClass::Alpha, b"To be, or").collect();
/// assert_eq!(words, [b"To".as_slice(), b"be", b"or"]);
/// ```
pub struct Tokens<'s> {
    /// From the base of the positions to the end of the text.
    rest: &'s [u8],
    /// Bytes of `rest` that were looked at.
    scanned: usize,
    /// Words in `positions`, and those of them that were handed out.
    words: usize,
    next: usize,
    class: WordClass,
    /// A level that this machine has.
    simd: Simd,
    positions: Positions,
}

impl<'s> Tokens<'s> {
    /// The words of `text`, found at the best level of the machine.
    #[must_use]
    #[inline]
    pub fn new(class: WordClass, text: &'s [u8]) -> Self {
        Self::at(Simd::detect(), class, text)
    }

    /// The words of `text`, found at the level `simd`; at [`Simd::Portable`] if the machine lacks it.
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

    /// A word of the window.
    ///
    /// # Safety
    /// `word` is less than `self.words`.
    #[inline(always)]
    unsafe fn word(&self, word: usize) -> &'s [u8] {
        // SAFETY: the positions are those of a scan of a part of `rest`: ascending, and less than its
        // length; `self.words` is how many they are.
        unsafe {
            let (start, end) = self.positions.word(word);
            self.rest.get_unchecked(start..end)
        }
    }

    /// Scans on until there is a word, and hands it out.
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

    /// At the end of the text: the word that reaches it, which is all that is left, if there is one.
    fn last(&mut self) -> Option<&'s [u8]> {
        self.positions.restart(false);
        self.scanned = 0;
        let word = std::mem::take(&mut self.rest);
        (!word.is_empty()).then_some(word)
    }

    /// A word that began at the base and has no end yet after a whole window: looks for its end alone,
    /// window by window, for positions this far from the base would not fit.
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
