//! Tokenize: where the words, or the records, of a text are. Takes a byte slice, hands on its words
//! ([`Tokens`]) or its lines by fields ([`Records`]) one by one in order, found 64 bytes at a time with the best instructions the machine has. It never allocates,
//! never copies text, never changes it (but for [`fold_ascii`], which is asked to), and never reads
//! outside the slice.
//!
//! A block of 64 bytes becomes a 64-bit mask of word bytes; the mask against itself shifted by one
//! has a bit wherever a word begins or ends (for records the mask of separators is taken as it is);
//! those bits become positions. Levels ([`Simd`]) differ only in how they make the mask and unpack the
//! bits, never in the words.

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
#[cfg(test)]
mod tests;
mod tokens;

pub use class::WordClass;
pub use fold::fold_ascii;
pub use records::Records;
pub use simd::Simd;
pub use tokens::Tokens;
