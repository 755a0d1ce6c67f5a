//! Finds LZ4 frames by the lengths of their blocks (LZ4 frame format description, version 1.6). In a long
//! frame with independent blocks, runs of blocks are units; each is read as a frame of its own with a
//! generated header. The length and checksum of the whole content are handed on with the frame's last unit.

use super::FileBytes;
use super::cutter::{Fault, Unit, read_at};
use super::sniff::skippable;
use super::whole::{Part, Seal};
use twox_hash::XxHash32;

/// The longest header of a frame, with its magic number.
const HEADER_BYTES: usize = 19;
const MAGIC: [u8; 4] = [0x04, 0x22, 0x4d, 0x18];
/// In a frame that cannot be cut, the number of blocks that are examined to find its end.
const BLOCKS_PER_FRAME: usize = 256;
/// The end mark of a frame, and the bit of a block's length that marks an uncompressed block.
const END_MARK: [u8; 4] = [0; 4];
const STORED: u32 = 1 << 31;

/// Flags of a frame.
const INDEPENDENT: u8 = 0x20;
const BLOCK_SUMS: u8 = 0x10;
const SIZE: u8 = 0x08;
const SUM: u8 = 0x04;
const DICTIONARY: u8 = 0x01;

/// The frames of a file.
pub(super) struct Lz4Frames<'p> {
    file: FileBytes<'p>,
    at: u64,
    end: u64,
    unit_bytes: u64,
    /// The frame that is being cut.
    inside: Option<Header>,
}

/// The fields of a frame's header.
#[derive(Clone, Copy)]
pub(super) struct Header {
    bytes: u64,
    flags: u8,
    sizes: u8,
    content_bytes: Option<u64>,
}

/// Consecutive blocks.
struct Stretch {
    end: u64,
    /// The most bytes that they can decompress to.
    bytes: u64,
    /// The offset after the frame, if these are its last blocks.
    frame_end: Option<u64>,
}

/// The structure at an offset.
enum Frame {
    /// A whole frame: its end, and the most bytes that it can decompress to.
    Whole { end: u64, bytes: u64 },
    /// A frame that continues after this unit and can be cut.
    Long(Header),
    /// Not recognised, or without a near end.
    Unknown,
}

impl Header {
    /// Parses the header at the start of `bytes`, if there is one.
    pub(super) fn of(bytes: &[u8]) -> Option<Header> {
        let [flags, sizes, rest @ ..] = bytes.strip_prefix(&MAGIC)? else { return None };
        let field_bytes = |flag, bytes| if flags & flag == 0 { 0 } else { bytes };
        let (size, dictionary) = (field_bytes(SIZE, 8), field_bytes(DICTIONARY, 4));
        let fields = 2 + size + dictionary;
        let sum = *bytes.get(4 + fields)?;
        let is_sound = (XxHash32::oneshot(0, &bytes[4..4 + fields]) >> 8) as u8 == sum;
        let is_known = flags & 0xc2 == 0x40 && sizes & 0x8f == 0 && sizes >> 4 >= 4;
        let content_bytes = rest.first_chunk().filter(|_| size > 0).copied();
        (is_sound && is_known).then_some(Header {
            bytes: (4 + fields + 1) as u64,
            flags: *flags,
            sizes: *sizes,
            content_bytes: content_bytes.map(u64::from_le_bytes),
        })
    }

    fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    fn is_divisible(&self) -> bool {
        self.has(INDEPENDENT) && !self.has(DICTIONARY)
    }

    /// Returns the most bytes that a block can decompress to.
    fn block_bytes(&self) -> u64 {
        1 << (8 + 2 * (self.sizes >> 4))
    }

    /// Returns the header of a frame for some of the blocks, without the fields about the whole content.
    fn of_part(&self) -> Vec<u8> {
        let fields = [self.flags & !(SIZE | SUM), self.sizes];
        [&MAGIC[..], &fields, &[(XxHash32::oneshot(0, &fields) >> 8) as u8]].concat()
    }
}

impl<'p> Lz4Frames<'p> {
    pub(super) fn new(file: FileBytes<'p>, end: u64, unit_bytes: u64) -> Lz4Frames<'p> {
        Lz4Frames { file, at: 0, end, unit_bytes, inside: None }
    }

    pub(super) fn is_done(&self) -> bool {
        self.at == self.end && self.inside.is_none()
    }

    pub(super) fn next(&mut self) -> Result<Option<Unit>, Fault> {
        if let Some(header) = self.inside {
            return self.part(header).map(Some);
        }
        let (start, mut bytes) = (self.at, 0);
        while self.at < self.end && bytes < self.unit_bytes {
            match self.frame(self.at)? {
                Frame::Whole { end, bytes: more } => {
                    self.at = end;
                    bytes += more;
                }
                Frame::Long(header) if start == self.at => {
                    self.at += header.bytes;
                    self.inside = Some(header);
                    return self.part(header).map(Some);
                }
                // The decoder will report what it is.
                Frame::Unknown if start == self.at => self.at = self.end,
                Frame::Long(_) | Frame::Unknown => break,
            }
        }
        Ok((start < self.at).then_some(Unit::Range(start..self.at)))
    }

    /// Returns the next blocks of the frame that is being cut.
    fn part(&mut self, header: Header) -> Result<Unit, Fault> {
        let (start, summed) = (self.at, header.has(SUM));
        let before = header.of_part();
        let Some(stretch) = self.stretch(start, &header, usize::MAX)? else {
            // The decoder will report that the frame is cut short, or where it is damaged.
            (self.at, self.inside) = (self.end, None);
            let part = Part { summed, seal: None };
            return Ok(Unit::Framed { before, range: start..self.end, after: &[], part });
        };
        let seal = match stretch.frame_end {
            Some(_) => Some(self.seal(stretch.end, &header)?),
            None => None,
        };
        self.at = stretch.frame_end.unwrap_or(stretch.end);
        self.inside = stretch.frame_end.is_none().then_some(header);
        let (range, part) = (start..stretch.end, Part { summed, seal });
        Ok(Unit::Framed { before, range, after: &END_MARK, part })
    }

    /// Reads the length and checksum of the frame's content after its end mark at offset `mark`.
    fn seal(&mut self, mark: u64, header: &Header) -> Result<Seal, Fault> {
        let mut sum = [0; 4];
        let has_sum = header.has(SUM);
        if has_sum {
            read_at(&mut self.file, mark + 4, self.end, &mut sum)?;
        }
        let sum = has_sum.then_some(u32::from_le_bytes(sum));
        Ok(Seal { sum, bytes: header.content_bytes, at: mark + 4 })
    }

    fn frame(&mut self, start: u64) -> Result<Frame, Fault> {
        let mut header = [0; HEADER_BYTES];
        let have = read_at(&mut self.file, start, self.end, &mut header)?;
        if let Some(bytes) = skippable(&header[..have]) {
            let end = start + bytes as u64;
            return Ok(if end <= self.end {
                Frame::Whole { end, bytes: 0 }
            } else {
                Frame::Unknown
            });
        }
        let Some(header) = Header::of(&header[..have]) else { return Ok(Frame::Unknown) };
        let most = if header.is_divisible() { usize::MAX } else { BLOCKS_PER_FRAME };
        Ok(match self.stretch(start + header.bytes, &header, most)? {
            Some(Stretch { frame_end: Some(end), bytes, .. }) => Frame::Whole { end, bytes },
            _ if header.is_divisible() => Frame::Long(header),
            _ => Frame::Unknown,
        })
    }

    /// Returns the blocks from an offset on: enough for a unit, or all of a frame that cannot be cut.
    /// Returns `None` if the file ends first, or a block is longer than allowed.
    fn stretch(
        &mut self,
        start: u64,
        header: &Header,
        blocks_most: usize,
    ) -> Result<Option<Stretch>, Fault> {
        let block_bytes = header.block_bytes();
        let (mut at, mut blocks) = (start, 0);
        while blocks < blocks_most {
            let mut length = [0; 4];
            if read_at(&mut self.file, at, self.end, &mut length)? < length.len() {
                return Ok(None);
            }
            let bytes = blocks as u64 * block_bytes;
            if length == END_MARK {
                let frame_end = at + if header.has(SUM) { 8 } else { 4 };
                if frame_end > self.end {
                    return Err(Fault::Truncated(self.end));
                }
                return Ok(Some(Stretch { end: at, bytes, frame_end: Some(frame_end) }));
            }
            if header.is_divisible() && bytes >= self.unit_bytes && blocks > 0 {
                return Ok(Some(Stretch { end: at, bytes, frame_end: None }));
            }
            let length = u64::from(u32::from_le_bytes(length) & !STORED);
            at += 4 + length + if header.has(BLOCK_SUMS) { 4 } else { 0 };
            if length > block_bytes || at > self.end {
                return Ok(None);
            }
            blocks += 1;
        }
        Ok(None)
    }
}
