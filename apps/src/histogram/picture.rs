//! The layout of pixels in a picture's file, from the headers of 24-bit BMP files (BITMAPCOREHEADER, and
//! BITMAPINFOHEADER with its successors) and of binary PPM files (`P6`, up to 255 levels). Takes a file;
//! hands on a layout that gives the pixels of any stretch of the file. Never reads pixels.

use crate::headers::{at, head};
use tegula::device::ARGUMENTS;
use tegula::{InputFile, Result};

/// Bytes of a file that are read for its header.
const HEAD_BYTES: usize = 4096;

/// The layout of a picture's file: rows of three bytes per pixel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Picture {
    /// The offset of the first row.
    start: u64,
    /// Bytes of a row's pixels.
    row: u64,
    /// Bytes from one row to the next.
    stride: u64,
    rows: u64,
    order: [Channel; 3],
}

/// A colour channel, with its number in the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Channel {
    Red,
    Green,
    Blue,
}

use Channel::{Blue, Green, Red};

impl Picture {
    /// Reads the header of the file.
    pub(super) fn read(file: &InputFile<'_>) -> Result<Picture> {
        let fault = |cause: String| at(file.name(), Some(0), cause);
        let Some(length) = file.bytes() else {
            let cause = "not a file, and pictures are read from files; save it to one";
            return Err(at(file.name(), None, cause));
        };
        let head = head(file, HEAD_BYTES)?;
        let picture = match &head[..] {
            [b'B', b'M', ..] => bmp(&head),
            [b'P', b'6', ..] => ppm(&head),
            _ => Err("not a BMP or binary PPM (P6) picture".to_owned()),
        };
        let picture = picture.map_err(fault)?;
        // Some programs omit the padding of the last row.
        let end = (picture.rows - 1)
            .checked_mul(picture.stride)
            .and_then(|before| before.checked_add(picture.start + picture.row));
        match end {
            Some(end) if end <= length => {}
            _ => {
                let cause = format!(
                    "the picture is cut short: {} rows of {} pixels do not fit in {length} bytes",
                    picture.rows,
                    picture.row / 3
                );
                return Err(fault(cause));
            }
        }
        if picture.order[0] == Red && end != Some(length) {
            let cause = "more bytes than the header's picture has; give one picture a file";
            return Err(fault(cause.to_owned()));
        }
        Ok(picture)
    }

    /// Returns the channels of a pixel's three bytes.
    pub(super) fn channels(&self) -> [Channel; 3] {
        self.order
    }

    /// Returns a device's arguments for bytes at `offset` of the file; `histogram.c` documents them.
    pub(super) fn arguments(&self, offset: u64) -> [u64; ARGUMENTS] {
        let first = offset.wrapping_sub(self.start);
        let channels = self.order.iter().rev().fold(0, |all, &channel| all << 2 | channel as u64);
        [first, self.row, self.stride, self.rows, channels, 0]
    }

    /// Returns a picture with these arguments, as far as its pixels are concerned.
    pub(super) fn of_arguments([_, row, stride, rows, channels, _]: [u64; ARGUMENTS]) -> Picture {
        let channel = |place: u32| match channels >> (2 * place) & 3 {
            0 => Red,
            1 => Green,
            _ => Blue,
        };
        Picture { start: 0, row, stride, rows, order: [0, 1, 2].map(channel) }
    }

    /// Returns the pixel bytes among those at `offset` of the file, as stretches with the channel index of
    /// their first byte.
    pub(super) fn pixels<'s>(
        &self,
        offset: u64,
        bytes: &'s [u8],
    ) -> impl Iterator<Item = (&'s [u8], usize)> {
        // Rows without padding are treated as one row.
        let whole = self.stride == self.row;
        let rows = if whole { 1 } else { self.rows };
        let row = if whole { self.row * self.rows } else { self.row };
        let (start, stride, end) = (self.start, self.stride, offset + bytes.len() as u64);
        let first = offset.saturating_sub(start) / if whole { row } else { stride };
        (first..rows)
            .map(move |number| start + number * stride)
            .take_while(move |&begin| begin < end)
            .filter_map(move |begin| {
                let (from, to) = (begin.max(offset), (begin + row).min(end));
                let phase = ((from - begin) % 3) as usize;
                let inside = (from - offset) as usize..to.checked_sub(offset)? as usize;
                Some((bytes.get(inside)?, phase))
            })
    }
}

fn bmp(head: &[u8]) -> Result<Picture, String> {
    let short = || "the BMP header is cut short".to_owned();
    let field = |at: usize| head.get(at..)?.first_chunk().map(|&bytes| u32::from_le_bytes(bytes));
    let start = field(10).ok_or_else(short)?;
    let size = field(14).ok_or_else(short)?;
    let (width, height, bits, compression) = match size {
        12 => {
            let (sides, kind) = (field(18).ok_or_else(short)?, field(22).ok_or_else(short)?);
            (i64::from(sides & 0xffff), i64::from(sides >> 16), kind >> 16, 0)
        }
        40.. => {
            let side = |at| field(at).ok_or_else(short).map(|side| i64::from(side.cast_signed()));
            let kind = field(26).ok_or_else(short)?;
            (side(18)?, side(22)?, kind >> 16, field(30).ok_or_else(short)?)
        }
        _ => return Err(format!("a BMP header of {size} bytes, which is no known one")),
    };
    if bits != 24 {
        return Err(format!("a BMP of {bits} bits a pixel; save it with 24"));
    }
    if compression != 0 {
        return Err(format!("a compressed BMP (method {compression}); save it uncompressed"));
    }
    if width < 1 || height == 0 || u64::from(start) < 14 + u64::from(size) {
        return Err(format!("a damaged BMP header: {width} x {height}, pixels at {start}"));
    }
    let row = 3 * width.unsigned_abs();
    Ok(Picture {
        start: start.into(),
        row,
        stride: row.next_multiple_of(4),
        // Negative: rows are stored from the top down, which makes no difference here.
        rows: height.unsigned_abs(),
        order: [Blue, Green, Red],
    })
}

fn ppm(head: &[u8]) -> Result<Picture, String> {
    let mut at = 2;
    let mut number = || -> Option<u64> {
        loop {
            match head.get(at)? {
                b'#' => at += head[at..].iter().position(|&byte| byte == b'\n')?,
                byte if byte.is_ascii_whitespace() => at += 1,
                _ => break,
            }
        }
        let digits = head[at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let text = std::str::from_utf8(&head[at..at + digits]).ok()?;
        at += digits;
        head.get(at)?.is_ascii_whitespace().then_some(())?;
        text.parse().ok().filter(|&number| number > 0)
    };
    let (Some(width), Some(height), Some(levels)) = (number(), number(), number()) else {
        return Err("a damaged PPM header: width, height and levels were expected".to_owned());
    };
    if levels > 255 {
        return Err(format!("a PPM of {levels} levels, two bytes each; save it with 255"));
    }
    let row = width.checked_mul(3).ok_or("a PPM wider than any file")?;
    // One white space character ends the header.
    let start = at as u64 + 1;
    Ok(Picture { start, row, stride: row, rows: height, order: [Red, Green, Blue] })
}
