//! Finds the blocks of bzip2. The format does not record where a block ends, and a block may begin at any
//! bit. But each begins with 48 bits that hardly occur anywhere else, so these are searched for, as
//! bzip2recover and lbzip2 do. Each block is turned into a stream of its own. The decoder checks each
//! block's checksum; this module checks that they combine to the checksum of the stream.
//!
//! The 48 bits may occur inside a block by chance, at each of the 2^33 bits of a gigabyte with probability 2^-48. So more
//! bits are compared. Of a block's start, one more is fixed and 24 more are below 900,000 (2^-4.2), which leaves 2^-20: one
//! file of a gigabyte in a million is reported as damaged; it can still be read as a stream. After a stream's end
//! are the 32 bits of its checksum, or, where this is damaged, the file's end or the 28 bits of another stream's header,
//! which leaves 2^-43.

use super::FileBytes;
use super::bzip2::{BLOCK_MAGIC, END_MAGIC};
use super::cutter::{Fault, Unit, read_at};
use std::ops::Range;
use std::sync::Arc;

/// Bytes per read.
const READ_BYTES: usize = 128 << 10;
/// The longest compressed block: a little more than its decompressed size, doubled for safety.
const BLOCK_BYTES_MOST: usize = 2 << 20;
const MAGIC_MASK: u64 = (1 << 48) - 1;

/// The blocks of a file.
pub(super) struct Blocks<'p> {
    file: FileBytes<'p>,
    end: u64,
    /// Bytes of the file from `start` on.
    bytes: Vec<u8>,
    start: u64,
    state: State,
}

/// The structure at a bit of `bytes`.
#[derive(Clone, Copy)]
enum State {
    /// A stream's header, aligned to a byte; `first` if it is the file's first.
    Header {
        bit: usize,
        first: bool,
    },
    /// A block or the stream's end. `sum` is the combined checksum of the blocks before it.
    Inside {
        bit: usize,
        level: u8,
        sum: u32,
    },
    Ended,
}

impl<'p> Blocks<'p> {
    pub(super) fn new(file: FileBytes<'p>, end: u64) -> Blocks<'p> {
        let state = State::Header { bit: 0, first: true };
        Blocks { file, end, bytes: Vec::new(), start: 0, state }
    }

    pub(super) fn next(&mut self) -> Result<Option<Unit>, Fault> {
        loop {
            match self.state {
                State::Ended => return Ok(None),
                State::Header { bit, first } => self.header(bit, first)?,
                State::Inside { bit, level, sum } => {
                    self.need(bit, 80)?;
                    match self.bits(bit, 48) {
                        BLOCK_MAGIC => return self.block(bit, level, sum).map(Some),
                        END_MAGIC if self.bits(bit + 48, 32) as u32 != sum => {
                            let cause = "the checksum of a stream is not that of its blocks";
                            return Err(Fault::Damaged(self.place(bit), cause));
                        }
                        END_MAGIC => {
                            let bit = (bit + 80).next_multiple_of(8);
                            self.state = State::Header { bit, first: false };
                        }
                        _ => return Err(Fault::Damaged(self.place(bit), "no block begins here")),
                    }
                }
            }
        }
    }

    /// Skips a stream's header, or recognises the end of the file.
    fn header(&mut self, bit: usize, first: bool) -> Result<(), Fault> {
        let at = bit / 8;
        while self.bytes.len() < at + 4 && self.read_more()? {}
        self.state = match self.bytes[at.min(self.bytes.len())..] {
            [] if !first => State::Ended,
            [b'B', b'Z', b'h', level @ b'1'..=b'9', ..] => {
                State::Inside { bit: bit + 32, level, sum: 0 }
            }
            [] | [b'B'] | [b'B', b'Z'] | [b'B', b'Z', b'h'] => {
                return Err(Fault::Truncated(self.end));
            }
            _ => return Err(Fault::Damaged(self.place(bit), "no stream begins here")),
        };
        Ok(())
    }

    /// Returns the block that begins at a bit, as a stream of its own.
    fn block(&mut self, bit: usize, level: u8, sum: u32) -> Result<Unit, Fault> {
        let block_sum = self.bits(bit + 48, 32) as u32;
        let sum = sum.rotate_left(1) ^ block_sum;
        let mut from = bit + 48;
        let end = loop {
            let known = self.bytes.len() * 8;
            if let Some(end) = self.find_border(from, known, sum) {
                break end;
            }
            // The last bits were too few for a border.
            from = from.max(known.saturating_sub(BORDER_BITS - 1));
            if self.bytes.len() - bit / 8 > BLOCK_BYTES_MOST {
                return Err(Fault::Damaged(self.place(bit), "a block without an end"));
            }
            if !self.read_more()? {
                // The end of the last stream may be nearer to the end of the file than a border is long.
                match self.find_end(from, sum) {
                    Some(end) => break end,
                    None => return Err(Fault::Truncated(self.end)),
                }
            }
        };
        let bytes = Arc::new(self.stream(bit..end, level, block_sum));
        let at = self.place(bit);
        self.state = State::Inside { bit: end, level, sum };
        self.forget(end / 8);
        Ok(Unit::Made { bytes, at })
    }

    /// Builds a stream with one block: a header, the block's bits from a byte border on, and an end.
    fn stream(&self, bits: Range<usize>, level: u8, sum: u32) -> Vec<u8> {
        let mut stream = Vec::with_capacity(bits.len() / 8 + 16);
        stream.extend([b'B', b'Z', b'h', level]);
        let (shift, whole) = (bits.start % 8, bits.len() / 8);
        let first = bits.start / 8;
        if shift == 0 {
            stream.extend_from_slice(&self.bytes[first..first + whole]);
        } else {
            let pairs = self.bytes[first..].windows(2).take(whole);
            stream.extend(pairs.map(|pair| pair[0] << shift | pair[1] >> (8 - shift)));
        }
        let rest = bits.len() % 8;
        let last = if rest > 0 { self.bits(bits.end - rest, rest) } else { 0 };
        let mut tail = u128::from(last) << 48 | u128::from(END_MAGIC);
        tail = tail << 32 | u128::from(sum);
        // Pads the last byte: `rest` bits and 80 are used.
        tail <<= (8 - rest) % 8;
        let tail_bytes = (rest + 80).div_ceil(8);
        stream.extend_from_slice(&tail.to_be_bytes()[16 - tail_bytes..]);
        stream
    }

    /// Returns the first bit from `from` on, before `known`, at which a block begins or the stream ends whose blocks have
    /// this checksum.
    fn find_border(&self, from: usize, known: usize, sum: u32) -> Option<usize> {
        let last = known.checked_sub(BORDER_BITS)?;
        self.find(from, last, sum, |bit| {
            // After the checksum: the obsolete bit for randomising is 0, and the origin is inside the
            // largest block.
            self.bits(bit + 80, 1) == 0 && self.bits(bit + 81, 24) < 900_000
        })
    }

    /// Returns the end of the last stream, if the rest of the file is in memory.
    fn find_end(&self, from: usize, sum: u32) -> Option<usize> {
        let last = (self.bytes.len() * 8).checked_sub(80)?;
        self.find(from, last, sum, |_| false)
    }

    /// Returns whether the stream ends at a bit that has its end's magic number. A stream with a damaged checksum is one if
    /// another stream or the file's end follows.
    fn is_end(&self, bit: usize, sum: u32) -> bool {
        let next = (bit + 80).div_ceil(8).min(self.bytes.len());
        self.bits(bit + 48, 32) as u32 == sum
            || matches!(self.bytes[next..], [] | [b'B', b'Z', b'h', b'1'..=b'9', ..])
    }

    fn find(
        &self,
        from: usize,
        last: usize,
        sum: u32,
        is_block: impl Fn(usize) -> bool,
    ) -> Option<usize> {
        for byte in from / 8..=last / 8 {
            // The second byte excludes most places.
            if !self.bytes.get(byte + 1).is_some_and(|&second| SECOND[usize::from(second)]) {
                continue;
            }
            let window = self.bits(byte * 8, 56);
            for shift in 0..8 {
                let bit = byte * 8 + shift;
                let found = match window >> (8 - shift) & MAGIC_MASK {
                    BLOCK_MAGIC => is_block(bit),
                    END_MAGIC => self.is_end(bit, sum),
                    _ => false,
                };
                if found && (from..=last).contains(&bit) {
                    return Some(bit);
                }
            }
        }
        None
    }

    /// Returns `count` bits, at most 56, from a bit on, with zeros after the last byte.
    fn bits(&self, bit: usize, count: usize) -> u64 {
        let mut word = [0; 8];
        let from = (bit / 8).min(self.bytes.len());
        let bytes = &self.bytes[from..self.bytes.len().min(from + 8)];
        word[..bytes.len()].copy_from_slice(bytes);
        u64::from_be_bytes(word) << (bit % 8) >> (64 - count)
    }

    /// Reads until `count` bits from `bit` on are in memory.
    fn need(&mut self, bit: usize, count: usize) -> Result<(), Fault> {
        while self.bytes.len() * 8 < bit + count {
            if !self.read_more()? {
                return Err(Fault::Truncated(self.end));
            }
        }
        Ok(())
    }

    fn read_more(&mut self) -> Result<bool, Fault> {
        let have = self.bytes.len();
        self.bytes.resize(have + READ_BYTES, 0);
        let at = self.start + have as u64;
        let count = read_at(&mut self.file, at, self.end, &mut self.bytes[have..])?;
        self.bytes.truncate(have + count);
        Ok(count > 0)
    }

    fn forget(&mut self, bytes: usize) {
        self.bytes.drain(..bytes);
        self.start += bytes as u64;
        if let State::Inside { bit, .. } = &mut self.state {
            *bit -= bytes * 8;
        }
    }

    /// Returns the offset in the file, in bytes, of a bit.
    fn place(&self, bit: usize) -> u64 {
        self.start + bit as u64 / 8
    }
}

/// Bits that are compared to recognise a border: the magic number, a checksum, and what follows. The first fields of a
/// block are 25 bits, fewer than those up to the next byte and of a stream's header.
const BORDER_BITS: usize = 48 + 32 + 7 + 32;

/// The possible values of the second byte of the 8 in which a magic number begins at any bit.
const SECOND: [bool; 256] = {
    let mut may = [false; 256];
    let mut shift = 0;
    while shift < 8 {
        may[(BLOCK_MAGIC >> (32 + shift) & 0xff) as usize] = true;
        may[(END_MAGIC >> (32 + shift) & 0xff) as usize] = true;
        shift += 1;
    }
    may
};
