//! Keys as slots hold them, in three size classes: up to 15 bytes and up to 31 bytes inside the
//! slot, longer ones as hash, address and length. Most keys of most jobs are short, and a short key
//! is compared in one step without following a pointer.
//!
//! An inline key is its bytes, zeros, and in the last byte its length plus one. So `"a"` and
//! `"a\0"` differ, an all-zero slot is a vacant one, and comparing two inline keys of one class byte
//! by byte is comparing the keys themselves.

use super::PairRef;
use crate::error::MemoryError;
use crate::memory::ByteArena;
use std::ptr::NonNull;

/// Keys of at least this length do not fit in a slot.
pub const LONG_KEY_BYTES: usize = 32;

/// A key and its accumulator, in a table's slot or in a list of pairs.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Entry<K, V> {
    pub key: K,
    pub value: V,
}

/// The operations that a table needs of a key.
pub trait SlotKey: Copy {
    fn hash(&self) -> u64;
    fn same(&self, other: &Self) -> bool;
    /// True for a slot of zeros.
    fn is_vacant(&self) -> bool;
    fn bytes(&self) -> &[u8];
    /// Returns 16 bytes of the key from the `skip`-th on, padded with zeros, as a number of the same order.
    #[inline]
    fn head(&self, skip: usize) -> u128 {
        head(self.bytes().get(skip..).unwrap_or_default())
    }
    fn class<V>(entry: &Entry<Self, V>) -> ClassEntry<'_, V>;
}

/// An entry of one of the three classes.
pub enum ClassEntry<'e, V> {
    Short(&'e Entry<ShortKey, V>),
    Medium(&'e Entry<MediumKey, V>),
    Long(&'e Entry<LongKey, V>),
}

impl<'e, V> ClassEntry<'e, V> {
    /// Returns the entry as a pair.
    #[inline]
    pub fn pair(self) -> PairRef<'e, V> {
        match self {
            ClassEntry::Short(entry) => PairRef::of(entry),
            ClassEntry::Medium(entry) => PairRef::of(entry),
            ClassEntry::Long(entry) => PairRef::of(entry),
        }
    }
}

/// A key in the slot of its class, which is decided by its length. Classes order as the variants do.
pub enum ClassKey {
    Short(ShortKey),
    Medium(MediumKey),
    Long(LongKey),
}

impl ClassKey {
    /// Returns the key of `bytes`; a long one points at them, as for [`LongKey::new`].
    #[inline]
    pub fn of(bytes: &[u8]) -> ClassKey {
        ClassKey::hashed(bytes, hash_bytes)
    }

    /// As `of`, with a function that returns the hash if the key is long.
    #[inline]
    pub fn hashed(bytes: &[u8], hash: impl FnOnce(&[u8]) -> u64) -> ClassKey {
        if bytes.len() <= ShortKey::MOST {
            ClassKey::Short(ShortKey::new(bytes))
        } else if bytes.len() < LONG_KEY_BYTES {
            ClassKey::Medium(MediumKey::new(bytes))
        } else {
            let start = NonNull::from(bytes).cast();
            ClassKey::Long(LongKey::new(hash(bytes), start, bytes.len()))
        }
    }

    /// Returns the number of the class, and the hash.
    #[inline]
    pub fn class_and_hash(&self) -> (u8, u64) {
        match self {
            ClassKey::Short(key) => (0, key.hash()),
            ClassKey::Medium(key) => (1, key.hash()),
            ClassKey::Long(key) => (2, key.hash()),
        }
    }
}

/// Returns the first 16 bytes, padded with zeros, as a number of the same order.
pub fn head(bytes: &[u8]) -> u128 {
    if let Some(head) = bytes.first_chunk() {
        return u128::from_be_bytes(*head);
    }
    let (mut head, len) = ([0; 16], bytes.len().min(16));
    head[..len].copy_from_slice(&bytes[..len]);
    u128::from_be_bytes(head)
}

/// A key inside the slot: `N - 1` bytes at most. It orders as its bytes do: it is padded with zeros, and the
/// last byte, its length, decides between a key and the same key with zeros after it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(C, align(8))]
pub struct InlineKey<const N: usize> {
    bytes: [u8; N],
}

/// Up to 15 bytes.
pub type ShortKey = InlineKey<16>;
/// Up to 31 bytes.
pub type MediumKey = InlineKey<32>;

/// A key elsewhere. `bytes` is `None` in a vacant slot.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct LongKey {
    hash: u64,
    bytes: Option<NonNull<u8>>,
    len: usize,
}

// SAFETY: a LongKey points at bytes of an arena that nobody writes to again; code that moves the key to
// another thread keeps the arena alive (tables and lists of pairs own theirs).
unsafe impl Send for LongKey {}
// SAFETY: as above: shared reads of bytes that no longer change.
unsafe impl Sync for LongKey {}

/// `KEEP[len]` keeps the first `len` bytes of a 16-byte key.
static KEEP: [[u64; 2]; 16] = {
    let mut keep = [[0, 0]; 16];
    let mut len = 0;
    while len < 16 {
        keep[len][0] = if len >= 8 { u64::MAX } else { (1 << (8 * len)) - 1 };
        keep[len][1] = if len <= 8 { 0 } else { (1 << (8 * (len - 8))) - 1 };
        len += 1;
    }
    keep
};

impl ShortKey {
    pub const MOST: usize = 15;

    /// Returns the key of the first `len` bytes of `padded`, whose rest is ignored. No branch.
    #[inline(always)]
    pub fn from_padded(padded: [u8; 16], len: usize) -> ShortKey {
        let padded = u128::from_le_bytes(padded);
        let len = len.min(Self::MOST);
        let low = padded as u64 & KEEP[len][0];
        let high = (padded >> 64) as u64 & KEEP[len][1] | ((len as u64 + 1) << 56);
        ShortKey { bytes: (u128::from(high) << 64 | u128::from(low)).to_le_bytes() }
    }
}

impl MediumKey {
    /// Returns the key of the first `len` bytes of `padded`, 16 to 31 of them. No branch.
    #[inline(always)]
    pub fn from_padded(padded: [u8; 32], len: usize) -> MediumKey {
        debug_assert!((16..=31).contains(&len));
        let mut key = MediumKey { bytes: padded };
        let tail = len & 15;
        let high = key.word(3) & KEEP[tail][1] | ((len as u64 + 1) << 56);
        let low = key.word(2) & KEEP[tail][0];
        let words = key.bytes.as_chunks_mut().0;
        (words[2], words[3]) = (low.to_le_bytes(), high.to_le_bytes());
        key
    }
}

impl<const N: usize> InlineKey<N> {
    /// Returns the key of `bytes`, which must be at most `N - 1` long.
    #[inline]
    pub fn new(bytes: &[u8]) -> InlineKey<N> {
        let mut key = [0; N];
        key[..bytes.len()].copy_from_slice(bytes);
        key[N - 1] = bytes.len() as u8 + 1;
        InlineKey { bytes: key }
    }

    #[inline(always)]
    fn word(&self, index: usize) -> u64 {
        // As an array: a copy between slices would be a call.
        u64::from_le_bytes(self.bytes.as_chunks().0[index])
    }
}

impl LongKey {
    /// Returns a key that points at bytes elsewhere, which the caller keeps alive and unchanged for as long
    /// as the key is used.
    pub fn new(hash: u64, bytes: NonNull<u8>, len: usize) -> LongKey {
        LongKey { hash, bytes: Some(bytes), len }
    }

    /// Returns the same key, its bytes copied into `arena`.
    pub fn copied(&self, arena: &mut ByteArena) -> Result<LongKey, MemoryError> {
        Ok(LongKey::new(self.hash, arena.push(self.bytes())?, self.len))
    }
}

// Folded multiplication (as in wyhash and foldhash): two independent halves into a 128-bit product
// whose halves are folded. Fixed for ever: partitions of saved partials must line up with new ones.
const K0: u64 = 0x9e37_79b9_7f4a_7c15;
const K1: u64 = 0xd6e8_feb8_6659_fd93;
const K2: u64 = 0xa076_1d64_78bd_642f;
const K3: u64 = 0xe703_7ed1_a0b4_28db;

#[inline(always)]
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a).wrapping_mul(u128::from(b));
    product as u64 ^ (product >> 64) as u64
}

/// Returns the hash of a long key, 16 bytes a step.
pub fn hash_bytes(bytes: &[u8]) -> u64 {
    let mut hash = bytes.len() as u64 ^ K2;
    let mut step = |piece: [u8; 16]| {
        let piece = u128::from_le_bytes(piece);
        hash = fold(piece as u64 ^ K0 ^ hash, (piece >> 64) as u64 ^ K1);
    };
    let (pieces, rest) = bytes.as_chunks::<16>();
    pieces.iter().for_each(|piece| step(*piece));
    let mut last = [0; 16];
    last[..rest.len()].copy_from_slice(rest);
    step(last);
    fold(hash ^ K3, K0)
}

impl<const N: usize> SlotKey for InlineKey<N>
where
    InlineKey<N>: InlineClass,
{
    #[inline(always)]
    fn hash(&self) -> u64 {
        let first = fold(self.word(0) ^ K0, self.word(1) ^ K1);
        if N == 16 { first } else { fold(first ^ self.word(2) ^ K2, self.word(3) ^ K3) }
    }

    #[inline(always)]
    fn same(&self, other: &Self) -> bool {
        (0..N / 8).fold(0, |differ, i| differ | (self.word(i) ^ other.word(i))) == 0
    }

    #[inline(always)]
    fn is_vacant(&self) -> bool {
        // The last word holds the length plus one in its top byte; a word is loaded anyway.
        self.word(N / 8 - 1) == 0
    }

    #[inline]
    fn bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.bytes[N - 1].max(1)) - 1]
    }

    #[inline]
    fn head(&self, skip: usize) -> u128 {
        // The bytes after the key are zeros, except for the length in the last byte.
        let start = skip.min(N - 16);
        let bytes = self.bytes[start..].first_chunk().copied().unwrap_or_default();
        let from_start = u128::from_be_bytes(bytes);
        let key = if start == N - 16 { from_start & !0xff } else { from_start };
        key.checked_shl(8 * (skip - start) as u32).unwrap_or(0)
    }

    #[inline]
    fn class<V>(entry: &Entry<Self, V>) -> ClassEntry<'_, V> {
        <Self as InlineClass>::class(entry)
    }
}

/// Which class an inline key is of.
pub trait InlineClass: Sized {
    fn class<V>(entry: &Entry<Self, V>) -> ClassEntry<'_, V>;
}

impl InlineClass for ShortKey {
    #[inline]
    fn class<V>(entry: &Entry<Self, V>) -> ClassEntry<'_, V> {
        ClassEntry::Short(entry)
    }
}

impl InlineClass for MediumKey {
    #[inline]
    fn class<V>(entry: &Entry<Self, V>) -> ClassEntry<'_, V> {
        ClassEntry::Medium(entry)
    }
}

impl PartialEq for LongKey {
    fn eq(&self, other: &LongKey) -> bool {
        self.same(other)
    }
}

impl Eq for LongKey {}

impl SlotKey for LongKey {
    #[inline]
    fn hash(&self) -> u64 {
        self.hash
    }

    #[inline]
    fn same(&self, other: &Self) -> bool {
        self.hash == other.hash && self.bytes() == other.bytes()
    }

    #[inline]
    fn is_vacant(&self) -> bool {
        self.bytes.is_none()
    }

    #[inline]
    fn bytes(&self) -> &[u8] {
        match self.bytes {
            // SAFETY: `new` was given `len` readable bytes that outlive every use of the key.
            Some(start) => unsafe { std::slice::from_raw_parts(start.as_ptr(), self.len) },
            None => &[],
        }
    }

    #[inline]
    fn class<V>(entry: &Entry<Self, V>) -> ClassEntry<'_, V> {
        ClassEntry::Long(entry)
    }
}
