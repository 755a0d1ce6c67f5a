//! The byte form of a partial: blocks of pairs, each of one partition, versioned and checksummed,
//! drawn byte by byte in `docs/partial-format.md`. A partial is any sequence of blocks; a reader can
//! take one partition of many partials and stream. Whatever is kept or sent of a partial has this form.

use super::compress::Compressor;
use crate::aggregate::Aggregate;
use crate::encoding::{checksum, put_bytes, take_number};
use crate::error::{MemoryError, Result};
use crate::memory::{BlockPool, Buffer, ByteArena, ValueStore};
use crate::slots::PairRef;
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

/// The first bytes of every block; the last one is the version.
const MAGIC: [u8; 4] = *b"TgB\x01";
/// Bytes before a block's payload.
pub const HEADER_BYTES: usize = 40;
/// Bytes of the header that its checksum is of, with the payload as stored.
const SUMMED_BYTES: usize = 32;
/// The number of a block whose pairs are of any partitions.
pub const MIXED: usize = 0xffff;
/// The flag of a payload that is compressed with LZ4.
const COMPRESSED: u16 = 1;
const PURPOSE: &str = "blocks on their way to and from disk";

/// The values that blocks hold beside keys, and their byte form.
pub trait Form: 'static {
    /// A value.
    type Value: Copy + Send + Sync + 'static;
    /// Whether values point at memory of a store.
    const POINTS: bool;

    /// Bytes that `encode` appends, where they may be many.
    fn bytes(value: &Self::Value) -> usize;
    fn encode(value: &Self::Value, out: &mut Vec<u8>);
    fn decode(bytes: &mut &[u8], store: &mut ValueStore) -> Option<Self::Value>;
}

/// The accumulators of a partial.
pub struct Accumulators<C>(PhantomData<fn() -> C>);

/// The values of complete keys, after reducing.
pub struct Answers<C>(PhantomData<fn() -> C>);

impl<C: Aggregate> Form for Accumulators<C> {
    type Value = C::Accumulator;
    const POINTS: bool = C::KEEPS_VALUES;

    fn bytes(value: &C::Accumulator) -> usize {
        C::form_bytes(value)
    }

    fn encode(value: &C::Accumulator, out: &mut Vec<u8>) {
        C::encode(value, out);
    }

    fn decode(bytes: &mut &[u8], store: &mut ValueStore) -> Option<C::Accumulator> {
        C::decode(bytes, store)
    }
}

impl<C: Aggregate> Form for Answers<C> {
    type Value = C::Reduced;
    const POINTS: bool = C::KEEPS_VALUES && !C::REDUCES;

    fn bytes(value: &C::Reduced) -> usize {
        C::reduced_form_bytes(value)
    }

    fn encode(value: &C::Reduced, out: &mut Vec<u8>) {
        C::encode_reduced(value, out);
    }

    fn decode(bytes: &mut &[u8], store: &mut ValueStore) -> Option<C::Reduced> {
        C::decode_reduced(bytes, store)
    }
}

/// Why bytes are not the block that was written.
pub(crate) type Damage = &'static str;

/// The header before a block's payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Header {
    flags: u16,
    /// The partition (or range) of the pairs.
    number: u16,
    pairs: u64,
    /// Bytes of the payload as stored, and before compression.
    stored_bytes: u64,
    payload_bytes: u64,
}

impl Header {
    /// Returns the block's header, with the checksum over it and the payload as stored.
    fn bytes(&self, stored: &[u8]) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[..4].copy_from_slice(&MAGIC);
        bytes[4..6].copy_from_slice(&self.flags.to_le_bytes());
        bytes[6..8].copy_from_slice(&self.number.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.pairs.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.stored_bytes.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.payload_bytes.to_le_bytes());
        let sum = checksum(&bytes[..SUMMED_BYTES], stored);
        bytes[32..].copy_from_slice(&sum.to_le_bytes());
        bytes
    }

    /// Reads a header. Its fields are certain only after the checksum was compared.
    fn read(bytes: &[u8; HEADER_BYTES]) -> Result<Header, Damage> {
        let short = |at: usize| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
        let word = |at: usize| u64::from_le_bytes(std::array::from_fn(|i| bytes[at + i]));
        if bytes[..3] != MAGIC[..3] {
            return Err("no block of a partial begins there");
        }
        if bytes[3] != MAGIC[3] {
            return Err("the block is of another version");
        }
        if short(4) & !COMPRESSED != 0 {
            return Err("the block's header is damaged");
        }
        Ok(Header {
            flags: short(4),
            number: short(6),
            pairs: word(8),
            stored_bytes: word(16),
            payload_bytes: word(24),
        })
    }
}

/// Returns the number of the block at the front of some bytes, and its length as its header has it, which is not
/// certain before the block was opened. `None` if no header is there, or more bytes are said than there are.
pub fn front_block(bytes: &[u8]) -> Option<(usize, usize)> {
    let header = Header::read(bytes.first_chunk()?).ok()?;
    let length = usize::try_from(header.stored_bytes).ok()?.checked_add(HEADER_BYTES)?;
    (length <= bytes.len()).then_some((usize::from(header.number), length))
}

/// A block while it is filled.
pub struct OpenBlock {
    payload: Buffer,
    full_bytes: usize,
    pairs: u64,
    /// Bytes that an arena with its keys leaves unused.
    arena_waste: u64,
}

/// The size of some pairs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Contents {
    pub count: u64,
    /// Bytes of their keys and values in memory, but for the entries.
    pub held_bytes: u64,
}

impl OpenBlock {
    /// Makes an empty block for about `full_bytes`.
    pub fn new(blocks: &Arc<BlockPool>, full_bytes: usize) -> Result<OpenBlock, MemoryError> {
        // Room for a last pair, so that most blocks never grow.
        let payload = Buffer::new(blocks, full_bytes + full_bytes / 8, PURPOSE)?;
        Ok(OpenBlock { payload, full_bytes, pairs: 0, arena_waste: 0 })
    }

    pub fn pairs(&self) -> u64 {
        self.pairs
    }

    pub fn contents(&self) -> Contents {
        let held_bytes = self.payload.len() as u64 + self.arena_waste;
        Contents { count: self.pairs, held_bytes }
    }

    pub fn is_empty(&self) -> bool {
        self.pairs == 0
    }

    /// Adds a pair; says whether the block is full and should be sealed now.
    pub fn push<F: Form>(&mut self, pair: PairRef<'_, F::Value>) -> Result<bool, MemoryError> {
        const LEN_BYTES_MOST: usize = 10;
        self.payload.make_room(LEN_BYTES_MOST + pair.key.len() + F::bytes(pair.value))?;
        push_pair::<F>(pair, &mut self.payload);
        self.pairs += 1;
        self.arena_waste += ByteArena::waste(pair.key.len()) as u64;
        self.payload.count_growth()?;
        Ok(self.payload.len() >= self.full_bytes)
    }
}

/// Makes stored bytes of blocks.
pub struct Sealer {
    sealed: Buffer,
    compressor: Compressor,
}

impl Sealer {
    /// For blocks of about `full_bytes`.
    pub fn new(blocks: &Arc<BlockPool>, full_bytes: usize) -> Result<Sealer, MemoryError> {
        let usual = Compressor::most_bytes(full_bytes + full_bytes / 8) + HEADER_BYTES;
        let sealed = Buffer::new(blocks, usual, PURPOSE)?;
        Ok(Sealer { sealed, compressor: Compressor::default() })
    }

    /// Returns the stored bytes of a block of the given partition (or range), which is empty then.
    pub fn seal(&mut self, block: &mut OpenBlock, number: usize) -> Result<&[u8], MemoryError> {
        let payload = &block.payload;
        self.sealed.clear_for(Compressor::most_bytes(payload.len()) + HEADER_BYTES)?;
        self.sealed.resize(HEADER_BYTES, 0);
        let compressed = self.compressor.compress(payload, &mut self.sealed);
        if !compressed {
            self.sealed.extend_from_slice(payload);
        }
        let (header, stored) = self.sealed.split_at_mut(HEADER_BYTES);
        let fields = Header {
            flags: if compressed { COMPRESSED } else { 0 },
            number: number as u16,
            pairs: std::mem::take(&mut block.pairs),
            stored_bytes: stored.len() as u64,
            payload_bytes: payload.len() as u64,
        };
        header.copy_from_slice(&fields.bytes(stored));
        block.arena_waste = 0;
        block.payload.clear_for(0)?;
        Ok(&self.sealed)
    }

    /// Notes the time that it took to write the block sealed last.
    pub fn wrote(&mut self, took: Duration) {
        self.compressor.wrote(self.sealed.len(), took);
    }
}

/// Appends a pair's bytes: the key's length (LEB128), the key, the value as its form encodes it.
pub(crate) fn push_pair<F: Form>(pair: PairRef<'_, F::Value>, out: &mut Vec<u8>) {
    put_bytes(pair.key, out);
    F::encode(pair.value, out);
}

/// A block while it is read, pair by pair.
pub struct BlockReader {
    payload: Buffer,
    stored: Buffer,
    at: usize,
    pairs_left: u64,
}

impl BlockReader {
    /// Returns a reader of blocks of about `block_bytes`.
    pub fn new(blocks: &Arc<BlockPool>, block_bytes: usize) -> Result<BlockReader, MemoryError> {
        let usual = block_bytes + block_bytes / 8;
        Ok(BlockReader {
            payload: Buffer::new(blocks, usual, PURPOSE)?,
            stored: Buffer::new(blocks, usual, PURPOSE)?,
            at: 0,
            pairs_left: 0,
        })
    }

    /// Opens the block of a partition (or range) at the front of `room` bytes, whose bytes `read`
    /// gives: `read(from, into)`. Returns the block's length.
    pub fn open(
        &mut self,
        number: usize,
        room: u64,
        read: &mut dyn FnMut(u64, &mut [u8]) -> Result<()>,
    ) -> Result<Result<u64, Damage>> {
        let mut header = [0; HEADER_BYTES];
        if room < HEADER_BYTES as u64 {
            return Ok(Err("the block is cut short"));
        }
        read(0, &mut header)?;
        let parsed = match Header::read(&header) {
            Ok(parsed) => parsed,
            Err(damage) => return Ok(Err(damage)),
        };
        if parsed.stored_bytes > room - HEADER_BYTES as u64 {
            return Ok(Err("the block is cut short"));
        }
        let stored_bytes = parsed.stored_bytes as usize;
        self.stored.clear_for(stored_bytes)?;
        self.stored.resize(stored_bytes, 0);
        read(HEADER_BYTES as u64, &mut self.stored)?;
        let said = u64::from_le_bytes(std::array::from_fn(|i| header[32 + i]));
        if checksum(&header[..SUMMED_BYTES], &self.stored) != said {
            return Ok(Err("the block's checksum is another"));
        }
        if usize::from(parsed.number) != number {
            return Ok(Err("the block is of another partition"));
        }
        if parsed.flags & COMPRESSED != 0 {
            let payload_bytes = parsed.payload_bytes as usize;
            self.payload.clear_for(payload_bytes)?;
            self.payload.resize(payload_bytes, 0);
            let count = lz4_flex::block::decompress_into(&self.stored, &mut self.payload);
            if !count.is_ok_and(|count| count == payload_bytes) {
                return Ok(Err("the block cannot be decompressed"));
            }
        } else {
            std::mem::swap(&mut self.payload, &mut self.stored);
        }
        (self.at, self.pairs_left) = (0, parsed.pairs);
        Ok(Ok(HEADER_BYTES as u64 + parsed.stored_bytes))
    }

    pub fn clear(&mut self) {
        (self.at, self.pairs_left) = (0, 0);
        self.payload.clear();
    }

    /// Returns the next pair of the block; the key is where it says, in [`bytes`](BlockReader::bytes).
    pub fn next<F: Form>(&mut self, store: &mut ValueStore) -> Result<Option<ReadPair<F>>, Damage> {
        const DAMAGE: Damage = "the block holds other pairs than it says";
        if self.pairs_left == 0 {
            return if self.at == self.payload.len() { Ok(None) } else { Err(DAMAGE) };
        }
        self.pairs_left -= 1;
        let mut rest = &self.payload[self.at..];
        let len = take_number(&mut rest).and_then(|len| usize::try_from(len).ok());
        let len = len.filter(|&len| len <= rest.len()).ok_or(DAMAGE)?;
        let start = self.payload.len() - rest.len();
        rest = &rest[len..];
        let value = F::decode(&mut rest, store).ok_or(DAMAGE)?;
        self.at = self.payload.len() - rest.len();
        Ok(Some(ReadPair { key: start..start + len, value }))
    }

    pub fn bytes(&self) -> &[u8] {
        &self.payload
    }
}

/// A pair that was read.
pub struct ReadPair<F: Form> {
    pub key: Range<usize>,
    pub value: F::Value,
}
