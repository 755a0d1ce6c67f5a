//! The print of a tile, by which it is found again: a hash of 128 bits over its bytes, taken as they pass,
//! and its first bytes, by which a later run looks for it.

use crate::encoding::Digest;
use twox_hash::XxHash3_64;

/// The hash by which tiles are known again; part of the identity of a job that is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Hashing {
    /// XXH3 with 128 bits: faster than memory can be read. Two different tiles of the same hash can be
    /// made on purpose, and meet by chance once in 2^64 pairs of tiles and more.
    #[default]
    Xxh3,
    /// BLAKE3, its first 128 bits: for input that somebody may have crafted to be taken for another.
    Blake3,
}

/// Bytes that [`Anchor::start`] is the hash of.
pub(super) const START_BYTES: usize = 32;
/// The bytes that [`Anchor::head`] hashes, in tiles that are that long.
pub(super) const HEAD_BYTES: usize = 1 << 10;

/// The first bytes of a tile, in two hashes: one that is cheap to take at every record, and one that
/// distinguishes records that begin alike. For a pack, the two halves of its first file's hash.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Anchor {
    pub start: u64,
    pub(super) head: u64,
}

impl Anchor {
    /// Returns the anchor of a tile that begins with these bytes, or is them.
    pub fn of(bytes: &[u8]) -> Anchor {
        let bytes = &bytes[..bytes.len().min(HEAD_BYTES)];
        let mut padded = [0; START_BYTES];
        let length = bytes.len().min(START_BYTES);
        padded[..length].copy_from_slice(&bytes[..length]);
        Anchor { start: start(&padded), head: XxHash3_64::oneshot(bytes) }
    }

    /// Returns the anchor of a pack whose first file has this hash.
    pub(super) fn of_pack(first: u128) -> Anchor {
        Anchor { start: first as u64, head: (first >> 64) as u64 }
    }
}

/// Hashes a few bytes as wyhash does: two multiplications, because it is taken at every record.
#[inline(always)]
pub(super) fn start(bytes: &[u8; START_BYTES]) -> u64 {
    let words = bytes.as_chunks().0;
    let word = |number: usize| u64::from_le_bytes(words[number]);
    let fold = |a: u64, b: u64| {
        let product = u128::from(a) * u128::from(b);
        product as u64 ^ (product >> 64) as u64
    };
    let first = fold(word(0) ^ 0xa076_1d64_78bd_642f, word(1) ^ 0xe703_7ed1_a0b4_28db);
    let last = fold(word(2) ^ 0x8ebc_6af0_9c88_c6e3, word(3) ^ 0x5899_65cc_7537_4cc3);
    first ^ last.rotate_left(32)
}

/// The print of a tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Print {
    /// For a stretch, the hash of its bytes; for a pack, of each file's length, format and hash.
    pub hash: u128,
    pub anchor: Anchor,
}

impl Print {
    /// Of a tile that was not read yet.
    pub const UNKNOWN: Print = Print { hash: 0, anchor: Anchor { start: 0, head: 0 } };
    /// Length of the byte form.
    pub const BYTES: usize = 32;

    /// Returns the byte form, drawn in `docs/state-format.md`.
    pub fn to_bytes(self) -> [u8; Print::BYTES] {
        let mut bytes = [0; Print::BYTES];
        bytes[..16].copy_from_slice(&self.hash.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.anchor.start.to_le_bytes());
        bytes[24..].copy_from_slice(&self.anchor.head.to_le_bytes());
        bytes
    }

    pub fn from_bytes(bytes: [u8; Print::BYTES]) -> Print {
        let word = |at: usize| u64::from_le_bytes(std::array::from_fn(|i| bytes[at + i]));
        let hash = u128::from_le_bytes(std::array::from_fn(|i| bytes[i]));
        Print { hash, anchor: Anchor { start: word(16), head: word(24) } }
    }
}

/// A hash over bytes that come in pieces.
pub(super) struct Fingerprint(Hasher);

enum Hasher {
    Xxh3(Box<Digest>),
    Blake3(Box<blake3::Hasher>),
}

impl Fingerprint {
    pub(super) fn new(hashing: Hashing) -> Fingerprint {
        Fingerprint(match hashing {
            Hashing::Xxh3 => Hasher::Xxh3(Box::default()),
            Hashing::Blake3 => Hasher::Blake3(Box::new(blake3::Hasher::new())),
        })
    }

    pub(super) fn update(&mut self, bytes: &[u8]) {
        match &mut self.0 {
            Hasher::Xxh3(state) => state.add(bytes),
            Hasher::Blake3(state) => {
                state.update(bytes);
            }
        }
    }

    /// Returns the hash of all bytes since the last one.
    pub(super) fn finish(&mut self) -> u128 {
        match &mut self.0 {
            Hasher::Xxh3(state) => {
                let hash = state.sum();
                **state = Digest::default();
                hash
            }
            Hasher::Blake3(state) => {
                let hash = state.finalize();
                state.reset();
                u128::from_le_bytes(std::array::from_fn(|i| hash.as_bytes()[i]))
            }
        }
    }
}

/// The print of a pack of consecutive files.
pub(super) struct PackPrint {
    state: Fingerprint,
    first: Option<u128>,
}

impl PackPrint {
    pub(super) fn new(hashing: Hashing) -> PackPrint {
        PackPrint { state: Fingerprint::new(hashing), first: None }
    }

    /// Adds a file: its length, its format's number, the hash of its bytes as they are stored.
    pub(super) fn add(&mut self, bytes: u64, format: u8, hash: u128) {
        self.first.get_or_insert(hash);
        self.state.update(&bytes.to_le_bytes());
        self.state.update(&[format]);
        self.state.update(&hash.to_le_bytes());
    }

    /// Returns the print of the files added since the last one.
    pub(super) fn finish(&mut self) -> Print {
        let anchor = Anchor::of_pack(self.first.take().unwrap_or_default());
        Print { hash: self.state.finish(), anchor }
    }
}

/// Takes a tile's print while the tile is read to be mapped: [`update`](TilePrint::update) with all of its
/// bytes in order, as they are stored; in a pack, [`end_file`](TilePrint::end_file) after each file, an empty
/// one too; [`finish`](TilePrint::finish) at its end. Then it is ready for the next tile.
pub struct TilePrint {
    bytes: Fingerprint,
    pack: PackPrint,
    /// The tile's first bytes.
    head: Vec<u8>,
    /// Bytes of the pack's present file so far.
    file_bytes: u64,
}

impl TilePrint {
    pub fn new(hashing: Hashing) -> TilePrint {
        let (bytes, pack) = (Fingerprint::new(hashing), PackPrint::new(hashing));
        TilePrint { bytes, pack, head: Vec::with_capacity(HEAD_BYTES), file_bytes: 0 }
    }

    pub fn update(&mut self, bytes: &[u8]) {
        let missing = HEAD_BYTES - self.head.len();
        self.head.extend_from_slice(&bytes[..missing.min(bytes.len())]);
        self.file_bytes += bytes.len() as u64;
        self.bytes.update(bytes);
    }

    /// Ends a file of a pack; `format` is the value of [`Sources::format`](super::Sources::format).
    pub fn end_file(&mut self, format: u8) {
        let hash = self.bytes.finish();
        self.pack.add(std::mem::take(&mut self.file_bytes), format, hash);
    }

    pub fn finish(&mut self) -> Print {
        let anchor = Anchor::of(&self.head);
        self.head.clear();
        self.file_bytes = 0;
        match self.pack.first {
            Some(_) => self.pack.finish(),
            None => Print { hash: self.bytes.finish(), anchor },
        }
    }
}
