//! LZ4: a sequence of frames. The library's decoder accepts a frame that is cut off after a block. Here
//! such a frame is detected by the last bytes that the decoder requested.

use super::sniff::skippable;
use super::{Decoder, Source, ended_early};
use crate::error::{Error, Result};
use crate::memory::{BlockPool, Reserved};
use lz4_flex::frame::FrameDecoder;
use std::io::{self, BufRead, Read};
use std::sync::Arc;

/// The distance to which a linked block may refer back.
const WINDOW_BYTES: usize = 64 << 10;
const LEGACY: u32 = 0x184c_2102;

/// Decompresses frames.
pub(super) struct Lz4<'p> {
    decoder: FrameDecoder<Source<'p>>,
    open: bool,
    /// Whether the frame has the legacy form, which has no end mark.
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

    /// Returns whether another frame begins. Called between frames; skips frames without data.
    fn begins(&mut self) -> io::Result<bool> {
        loop {
            let source = self.decoder.get_mut();
            let header = source.peek(8)?;
            if header.is_empty() {
                return Ok(self.frames == 0);
            }
            if let [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] = header {
                let bytes = skippable(header).ok_or_else(ended_early)?;
                skip(source, bytes as u64)?;
                self.frames += 1;
                continue;
            }
            let bytes = buffer_bytes(header);
            self.legacy = magic_of(header) == Some(LEGACY);
            self.memory.cover(bytes).map_err(|refused| source.fail(refused))?;
            return Ok(true);
        }
    }
}

fn magic_of(header: &[u8]) -> Option<u32> {
    header.first_chunk().map(|magic| u32::from_le_bytes(*magic))
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

/// Returns the memory for a frame's blocks: a compressed and a decompressed block, or two and a window if
/// blocks are linked. From the frame format's description, section "Frame Descriptor".
fn buffer_bytes(header: &[u8]) -> usize {
    match magic_of(header) {
        Some(LEGACY) => 2 * (8 << 20),
        _ => {
            let (flags, sizes) = (header.get(4).copied(), header.get(5).copied());
            let block = 1_usize << (8 + 2 * (sizes.unwrap_or(0x70) >> 4 & 7));
            if flags.unwrap_or(0) & 0x20 == 0 { 3 * block + WINDOW_BYTES } else { 2 * block }
        }
    }
}
