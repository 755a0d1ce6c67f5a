//! Sorting and dividing keys by their heads: 8 bytes of each, as a number that orders as the bytes do. A whole key
//! is compared only where heads do not decide. Reduce and merge use this for the pairs of an answer, sort for
//! records.

mod borders;
mod numbers;
mod order;
pub mod radix;

pub use borders::{Borders, RANGES_MOST, every_nth};
pub use numbers::{select_numbers, sort_distinct, sort_numbers};
pub use order::{Keyed, Sorter};

/// Returns the first 8 bytes of `key` after `skip`, such that their order as a number is the order of the
/// bytes; a shorter key is filled up with zeros.
#[inline(always)]
pub fn head(key: &[u8], skip: usize) -> u64 {
    let rest = key.get(skip..).unwrap_or(&[]);
    match rest.first_chunk::<8>() {
        Some(bytes) => u64::from_be_bytes(*bytes),
        None => rest.iter().rev().fold(0, |head, &byte| head >> 8 | u64::from(byte) << 56),
    }
}

/// Returns how many bytes `a` and `b` begin with alike.
pub fn shared(a: &[u8], b: &[u8]) -> usize {
    let (words_a, words_b) = (a.chunks_exact(8), b.chunks_exact(8));
    let words = words_a.zip(words_b).take_while(|(a, b)| a == b).count();
    let rest = a[8 * words..].iter().zip(&b[8 * words..]);
    8 * words + rest.take_while(|(a, b)| a == b).count()
}
