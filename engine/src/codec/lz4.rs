//! LZ4: one frame after the other. The library's decoder takes a frame that is cut off behind a block
//! for a whole one; here it is noticed by what the decoder asked for last.

use super::{Decoder, Source, ended_early};
use crate::error::{Error, Result};
use crate::memory::{BlockPool, Reserved};
use lz4_flex::frame::FrameDecoder;
use std::io::{self, BufRead, Read};
use std::sync::Arc;

/// What a linked block may look back to.
const WINDOW_BYTES: usize = 64 << 10;
/// Frames that hold no data, which any format in this family passes over.
const SKIPPABLE: std::ops::RangeInclusive<u32> = 0x184d_2a50..=0x184d_2a5f;
const LEGACY: u32 = 0x184c_2102;

/// Decompresses frames.
pub(super) struct Lz4<'p> {
    decoder: FrameDecoder<Source<'p>>,
    open: bool,
    /// Whether the frame is of the form before the frame format, which has no mark at its end.
    legacy: bool,
    frames: u64,
    memory: Reserved,
}

impl<'p> Lz4<'p> {
    pub(super) fn new(mut source: Source<'p>, blocks: &Arc<BlockPool>) -> Result<Lz4<'p>> {
        let mut memory = Reserved::none(blocks, "the blocks of an lz4 file");
        match source.peek(6).map(buffer_bytes) {
            Ok(bytes) => memory.cover(bytes)?,
            Err(_) => return Err(source.take_fault().unwrap_or(Error::Cancelled)),
        }
        let decoder = FrameDecoder::new(source);
        Ok(Lz4 { decoder, open: false, legacy: false, frames: 0, memory })
    }

    /// Between frames: whether another one begins. Passes over what holds no data.
    fn begins(&mut self) -> io::Result<bool> {
        loop {
            let source = self.decoder.get_mut();
            let header = source.peek(8)?;
            if header.is_empty() {
                return Ok(self.frames == 0);
            }
            match header.first_chunk().map(|magic| u32::from_le_bytes(*magic)) {
                Some(magic) if SKIPPABLE.contains(&magic) => {
                    let length = header.get(4..8).and_then(|rest| rest.first_chunk());
                    let length = length.map(|length| u32::from_le_bytes(*length));
                    let length = length.ok_or_else(ended_early)?;
                    skip(source, 8 + u64::from(length))?;
                    self.frames += 1;
                }
                magic => {
                    let bytes = buffer_bytes(header);
                    self.legacy = magic == Some(LEGACY);
                    self.memory.cover(bytes).map_err(|refused| source.fail(refused))?;
                    return Ok(true);
                }
            }
        }
    }
}

fn skip(source: &mut Source<'_>, mut bytes: u64) -> io::Result<()> {
    while bytes > 0 {
        let have = source.fill_buf()?.len();
        if have == 0 {
            return Err(ended_early());
        }
        let count = bytes.min(have as u64);
        source.consume(count as usize);
        bytes -= count;
    }
    Ok(())
}

impl<'p> Decoder<'p> for Lz4<'p> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            if !self.open {
                if !self.begins()? {
                    return Ok(0);
                }
                (self.open, self.frames) = (true, self.frames + 1);
            }
            match self.decoder.read(into) {
                Ok(0) if self.decoder.get_ref().is_starved() && self.legacy => return Ok(0),
                Ok(0) if self.decoder.get_ref().is_starved() => return Err(ended_early()),
                Ok(0) => self.open = false,
                Err(_) if self.decoder.get_ref().is_starved() => return Err(ended_early()),
                result => return result,
            }
        }
    }

    fn source(&mut self) -> &mut Source<'p> {
        self.decoder.get_mut()
    }
}

/// The memory for a frame's blocks: one compressed, and one decompressed or, where blocks are linked,
/// two and a window. By the frame format's description, section "Frame Descriptor".
fn buffer_bytes(header: &[u8]) -> usize {
    match header.first_chunk().map(|magic| u32::from_le_bytes(*magic)) {
        Some(LEGACY) => 2 * (8 << 20),
        _ => {
            let (flags, sizes) = (header.get(4).copied(), header.get(5).copied());
            let block = 1_usize << (8 + 2 * (sizes.unwrap_or(0x70) >> 4 & 7));
            if flags.unwrap_or(0) & 0x20 == 0 { 3 * block + WINDOW_BYTES } else { 2 * block }
        }
    }
}
