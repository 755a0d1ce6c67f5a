//! Finds zstd frames by the lengths of their blocks (RFC 8878, section 3.1.1). `pzstd` and seekable
//! archives write many frames. A very long frame forms one unit with everything after it: a search for its
//! end would gain nothing, because most files are one such frame.

use super::FileBytes;
use super::cutter::{Fault, Unit, read_at};
use super::sniff::skippable;
use super::zstd::Fields;

/// The most bytes of a block.
const BLOCK_BYTES: u64 = 128 << 10;
/// The number of blocks that are examined to find a frame's end: 32 MiB.
const BLOCKS_PER_FRAME: usize = 256;
const HEADER_BYTES: usize = 18;

/// The frames of a file.
pub(super) struct Frames<'p> {
    file: FileBytes<'p>,
    at: u64,
    end: u64,
    unit_bytes: u64,
}

/// The end of a frame, and the most bytes that it can decompress to.
struct Frame {
    end: u64,
    bytes: u64,
}

impl<'p> Frames<'p> {
    pub(super) fn new(file: FileBytes<'p>, end: u64, unit_bytes: u64) -> Frames<'p> {
        Frames { file, at: 0, end, unit_bytes }
    }

    pub(super) fn is_done(&self) -> bool {
        self.at == self.end
    }

    pub(super) fn next(&mut self) -> Result<Option<Unit>, Fault> {
        let (start, mut bytes) = (self.at, 0);
        while self.at < self.end && bytes < self.unit_bytes {
            match self.frame(self.at)? {
                Some(frame) if frame.end <= self.end => {
                    self.at = frame.end;
                    bytes += frame.bytes;
                }
                // The decoder will report what it is.
                _ if start == self.at => self.at = self.end,
                _ => break,
            }
        }
        Ok((start < self.at).then_some(Unit::Range(start..self.at)))
    }

    /// Returns the frame at an offset, or `None` if there is none or it is too long.
    fn frame(&mut self, start: u64) -> Result<Option<Frame>, Fault> {
        let mut header = [0; HEADER_BYTES];
        let have = read_at(&mut self.file, start, self.end, &mut header)?;
        if let Some(length) = skippable(&header[..have]) {
            return Ok(Some(Frame { end: start + length as u64, bytes: 0 }));
        }
        let [0x28, 0xb5, 0x2f, 0xfd, descriptor, ..] = header[..have] else { return Ok(None) };
        let mut at = start + header_bytes(descriptor);
        for block in 1..=BLOCKS_PER_FRAME {
            let mut header = [0; 3];
            if read_at(&mut self.file, at, self.end, &mut header)? < header.len() {
                return Ok(None);
            }
            let header = u32::from_le_bytes([header[0], header[1], header[2], 0]);
            // A run is stored as one byte, whatever its length.
            let length = if header >> 1 & 3 == 1 { 1 } else { header >> 3 };
            at += 3 + u64::from(length);
            if header & 1 == 1 {
                let sum = if descriptor & 4 != 0 { 4 } else { 0 };
                return Ok(Some(Frame { end: at + sum, bytes: block as u64 * BLOCK_BYTES }));
            }
        }
        Ok(None)
    }
}

/// Returns the length of a frame's header from its descriptor.
fn header_bytes(descriptor: u8) -> u64 {
    let Fields { window_bytes, id_bytes, size_bytes } = Fields::of(descriptor);
    (5 + window_bytes + id_bytes + size_bytes) as u64
}
