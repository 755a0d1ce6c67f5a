//! AVX2: a block is two registers; their bits are unpacked by the routine shared with the portable
//! level.

use super::class::{ALPHA, NAME, SPACE_OF_LOW_HALF, WHITESPACE};
use super::flatten;
use super::positions::{BLOCK, Positions};
use std::arch::x86_64::*;

/// Like [`Positions::scan`], which checks the conditions below.
///
/// # Safety
/// The machine has the features; `positions` holds at most a start, `text[from..]` is within a window.
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
pub(super) unsafe fn scan<const CLASS: u8>(text: &[u8], from: usize, positions: &mut Positions) {
    // SAFETY: the caller's promise is passed on.
    unsafe { flatten::scan::<true>(text, from, positions, |block| word_bytes::<CLASS>(block)) }
}

/// Like [`Positions::find`], which checks the conditions below.
///
/// # Safety
/// The machine has the features; `positions` is empty, `text` is within a window.
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
pub(super) unsafe fn find(bytes: [u8; 2], text: &[u8], positions: &mut Positions) {
    let [a, b] = bytes.map(|byte| _mm256_set1_epi8(byte.cast_signed()));
    let found = |bytes| _mm256_or_si256(_mm256_cmpeq_epi8(bytes, a), _mm256_cmpeq_epi8(bytes, b));
    // SAFETY: the caller's promise is passed on.
    unsafe { flatten::scan::<false>(text, 0, positions, |block| gather(block, found)) }
}

/// Returns one bit per byte, set for word bytes.
#[inline]
#[target_feature(enable = "avx2")]
fn word_bytes<const CLASS: u8>(block: &[u8; BLOCK]) -> u64 {
    let set = gather(block, |bytes| marks::<CLASS>(bytes));
    if CLASS == WHITESPACE { !set } else { set }
}

/// Returns one bit per byte: the highest that `marks` leaves.
#[inline]
#[target_feature(enable = "avx2")]
fn gather(block: &[u8; BLOCK], marks: impl Fn(__m256i) -> __m256i) -> u64 {
    let (halves, _) = block.as_chunks::<32>();
    let half = |i: usize| {
        // SAFETY: half a block is as long as a register.
        let bytes = unsafe { _mm256_loadu_si256(halves[i].as_ptr().cast()) };
        u64::from(_mm256_movemask_epi8(marks(bytes)).cast_unsigned())
    };
    half(1) << 32 | half(0)
}

/// Sets the highest bit of each word byte; of `WHITESPACE`, of each byte that is none.
#[inline]
#[target_feature(enable = "avx2")]
fn marks<const CLASS: u8>(bytes: __m256i) -> __m256i {
    let within = |bytes, first: u8, count: i8| {
        // Shifted so that they are the lowest of the signed bytes.
        let rank = _mm256_add_epi8(bytes, _mm256_set1_epi8((0x80 - first).cast_signed()));
        _mm256_cmpgt_epi8(_mm256_set1_epi8(-128 + count), rank)
    };
    let letters = || within(_mm256_or_si256(bytes, _mm256_set1_epi8(0x20)), b'a', 26);
    match CLASS {
        ALPHA => letters(),
        NAME => {
            let underscores = _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(b'_'.cast_signed()));
            let named = _mm256_or_si256(within(bytes, b'0', 10), underscores);
            _mm256_or_si256(_mm256_or_si256(letters(), named), bytes)
        }
        _ => {
            // SAFETY: the table is as long as the load.
            let table = unsafe { _mm_loadu_si128(SPACE_OF_LOW_HALF.as_ptr().cast()) };
            // A byte from 0x80 looks up 0, so it never equals its entry.
            let space = _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(table), bytes);
            _mm256_cmpeq_epi8(bytes, space)
        }
    }
}
