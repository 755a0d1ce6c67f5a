//! Finds the words or the records of a text. Takes a byte slice and returns its words ([`Tokens`]) or its
//! lines by fields ([`Records`]) in order, found 64 bytes at a time with the best instructions of the
//! machine. It never allocates, never copies or changes text (except for [`fold_ascii`]), and never reads
//! outside the slice.
//!
//! A block of 64 bytes becomes a 64-bit mask of word bytes. The mask xor itself shifted by one has a bit
//! wherever a word begins or ends; for records the mask of separators is used directly. Those bits become
//! positions. Levels ([`Simd`]) differ only in how they make the mask and unpack the bits, never in the
//! words.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod class;
mod flatten;
mod fold;
mod portable;
mod positions;
mod records;
mod simd;
mod tokens;

pub use class::WordClass;
pub use fold::{fold_ascii, fold_with};
pub use records::Records;
pub use simd::Simd;
pub use tokens::Tokens;
