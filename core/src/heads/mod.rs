//! Sorting and dividing keys by their heads: 8 bytes of each, as a number that orders as the bytes do. A whole key
//! is compared only where heads do not decide. Reduce and merge use this for the pairs of an answer, sort for
//! records.

mod borders;
mod order;
mod radix;

pub(crate) use borders::{Borders, RANGES_MOST, every_nth};
pub(crate) use order::{Keyed, Sorter};

/// Returns the first 8 bytes of `key` after `skip`, such that their order as a number is the order of the
/// bytes; a shorter key is filled up with zeros.
#[inline(always)]
pub(crate) fn head(key: &[u8], skip: usize) -> u64 {
    let rest = key.get(skip..).unwrap_or(&[]);
    match rest.first_chunk::<8>() {
        Some(bytes) => u64::from_be_bytes(*bytes),
        None => rest.iter().rev().fold(0, |head, &byte| head >> 8 | u64::from(byte) << 56),
    }
}

/// Returns how many bytes `a` and `b` begin with alike.
pub(crate) fn shared(a: &[u8], b: &[u8]) -> usize {
    let (words_a, words_b) = (a.chunks_exact(8), b.chunks_exact(8));
    let words = words_a.zip(words_b).take_while(|(a, b)| a == b).count();
    let rest = a[8 * words..].iter().zip(&b[8 * words..]);
    8 * words + rest.take_while(|(a, b)| a == b).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_are_ordered_as_keys_are() {
        assert_eq!(head(b"abcdefghi", 0), u64::from_be_bytes(*b"abcdefgh"));
        assert_eq!(head(b"abc", 1), u64::from_be_bytes(*b"bc\0\0\0\0\0\0"));
        assert_eq!(head(b"abc", 7), 0);
        assert!(head(b"ab", 0) < head(b"ab\x01", 0));
    }

    #[test]
    fn shared_bytes_are_counted_to_the_last() {
        assert_eq!(shared(b"", b"a"), 0);
        assert_eq!(shared(b"abcdefghijk", b"abcdefghijx"), 10);
        assert_eq!(shared(b"abcdefgh", b"abcdefghijx"), 8);
        assert_eq!(shared(b"abc", b"xbc"), 0);
    }
}
