//! Positions of words in one window of text, start and end alternating, or positions of certain bytes,
//! relative to the window's base. One `scan` or `find` fills them, the iterators read them. A fixed array,
//! never the heap.

use super::class::{ALPHA, NAME, WHITESPACE};
use super::{Simd, WordClass, portable};
#[cfg(target_arch = "x86_64")]
use super::{avx2, avx512};
use std::mem::MaybeUninit;

/// The most bytes of one scan: the positions of a window then stay in the first-level cache together with
/// its text. From 1 to 4 KiB, speed hardly depends on it. Miri is slow: there a window is small, so that
/// short texts have many.
pub(super) const WINDOW: usize = if cfg!(miri) { 128 } else { 2048 };

/// Positions that one block of 64 bytes may write, including ones that are not kept.
pub(super) const BLOCK: usize = 64;

/// A carried start, a change at every byte of a window, and room for a last block's whole store.
const CAPACITY: usize = 1 + WINDOW + BLOCK;

/// The positions where words begin (even indices) and end (odd indices), or of bytes; ascending.
pub(super) struct Positions {
    /// The first `len` are initialised.
    at: [MaybeUninit<u16>; CAPACITY],
    len: usize,
}

// A position is at most a carried word (shorter than a window) and a window away from the base.
const _: () = assert!(2 * WINDOW <= u16::MAX as usize);

impl Positions {
    pub(super) const fn new() -> Self {
        Self { at: [const { MaybeUninit::uninit() }; CAPACITY], len: 0 }
    }

    /// Removes all positions; with `open`, a word has begun at the base and not ended yet.
    pub(super) fn restart(&mut self, open: bool) {
        self.at[0].write(0);
        self.len = usize::from(open);
    }

    /// Returns the number of positions.
    #[inline(always)]
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Returns one position.
    ///
    /// # Safety
    /// `index` is less than [`len`](Self::len).
    #[inline(always)]
    pub(super) unsafe fn at(&self, index: usize) -> usize {
        debug_assert!(index < self.len);
        // SAFETY: inside the array by the caller's promise, and all below `len` is initialised.
        usize::from(unsafe { self.at.get_unchecked(index).assume_init() })
    }

    /// Returns the number of words that have both begun and ended.
    pub(super) fn words(&self) -> usize {
        self.len / 2
    }

    /// Returns the start of the word that has not ended, if there is one.
    pub(super) fn open(&self) -> Option<usize> {
        // SAFETY: an odd `len` is at least 1, and all below `len` is initialised.
        (self.len % 2 == 1).then(|| usize::from(unsafe { self.at[self.len - 1].assume_init() }))
    }

    /// Returns start and end of a word.
    ///
    /// # Safety
    /// `word` is less than [`words`](Self::words).
    #[inline]
    pub(super) unsafe fn word(&self, word: usize) -> (usize, usize) {
        // SAFETY: 2 * word + 1 < len by the caller's promise, and all below `len` is initialised.
        unsafe {
            let start = self.at.get_unchecked(2 * word).assume_init();
            let end = self.at.get_unchecked(2 * word + 1).assume_init();
            (usize::from(start), usize::from(end))
        }
    }

    /// Adds the starts and ends of words in `text[from..]`, relative to the start of `text`. An end is the
    /// position of the first byte after the word, so a word that reaches the end of `text` stays open. All
    /// are ascending and less than `text.len()`.
    ///
    /// # Safety
    /// The machine has the level `simd`.
    ///
    /// # Panics
    /// Panics if more than a carried start is held, or `text` is larger than the positions can represent.
    pub(super) unsafe fn scan(&mut self, simd: Simd, class: WordClass, text: &[u8], from: usize) {
        assert!(self.len <= 1 && from <= WINDOW && text.len() - from <= WINDOW);
        // SAFETY: the caller promises the level; the assertion covers the other condition.
        unsafe {
            match class {
                WordClass::Whitespace => self.scan_class::<WHITESPACE>(simd, text, from),
                WordClass::Alpha => self.scan_class::<ALPHA>(simd, text, from),
                WordClass::Name => self.scan_class::<NAME>(simd, text, from),
            }
        }
    }

    /// Like [`scan`](Self::scan), which checks the conditions below.
    ///
    /// # Safety
    /// The machine has the level; at most a start is held, `text[from..]` is within a window.
    unsafe fn scan_class<const CLASS: u8>(&mut self, simd: Simd, text: &[u8], from: usize) {
        // SAFETY: the caller's promise is passed on.
        unsafe {
            match simd {
                #[cfg(target_arch = "x86_64")]
                Simd::Avx512 => avx512::scan::<CLASS>(text, from, self),
                #[cfg(target_arch = "x86_64")]
                Simd::Avx2 => avx2::scan::<CLASS>(text, from, self),
                _ => portable::scan::<CLASS>(text, from, self),
            }
        }
    }

    /// Adds the positions of all bytes of `text` that equal one of two, ascending.
    ///
    /// # Safety
    /// The machine has the level `simd`.
    ///
    /// # Panics
    /// Panics if any position is held, or `text` is larger than a window.
    pub(super) unsafe fn find(&mut self, simd: Simd, bytes: [u8; 2], text: &[u8]) {
        assert!(self.len == 0 && text.len() <= WINDOW);
        // SAFETY: the caller promises the level; the assertion covers the other conditions of `find`.
        unsafe {
            match simd {
                #[cfg(target_arch = "x86_64")]
                Simd::Avx512 => avx512::find(bytes, text, self),
                #[cfg(target_arch = "x86_64")]
                Simd::Avx2 => avx2::find(bytes, text, self),
                _ => portable::find(bytes, text, self),
            }
        }
    }

    /// Returns where to write the next positions: room for [`BLOCK`] of them.
    ///
    /// # Safety
    /// Fewer than [`WINDOW`] positions were written since [`restart`](Self::restart).
    #[inline(always)]
    pub(super) unsafe fn tail(&mut self) -> *mut u16 {
        debug_assert!(self.len + BLOCK <= CAPACITY);
        // SAFETY: len <= 1 + WINDOW, so the pointer and BLOCK places from it are in the array.
        unsafe { self.at.as_mut_ptr().add(self.len).cast() }
    }

    /// Keeps the `count` positions just written at [`tail`](Self::tail).
    ///
    /// # Safety
    /// They were written, and `count` is at most [`BLOCK`].
    #[inline(always)]
    pub(super) unsafe fn keep(&mut self, count: usize) {
        self.len += count;
    }
}
