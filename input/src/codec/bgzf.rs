//! Members of gzip whose headers contain their length, as `bgzip` writes them (SAM/BAM format
//! specification, section 4.1): at most 64 KiB of data each. From the first member without a length on, the
//! rest of the file is one unit.

use super::FileBytes;
use super::cutter::{Fault, Unit, read_at};

/// Members per unit: at most 512 KiB decompressed.
const MEMBERS_PER_UNIT: usize = 8;
/// A header whose only extra field is the length.
const HEADER_BYTES: usize = 18;

/// The members of a file.
pub(super) struct Members<'p> {
    file: FileBytes<'p>,
    at: u64,
    end: u64,
}

impl<'p> Members<'p> {
    pub(super) fn new(file: FileBytes<'p>, end: u64) -> Members<'p> {
        Members { file, at: 0, end }
    }

    pub(super) fn is_done(&self) -> bool {
        self.at == self.end
    }

    pub(super) fn next(&mut self) -> Result<Option<Unit>, Fault> {
        let start = self.at;
        for _ in 0..MEMBERS_PER_UNIT {
            let mut header = [0; HEADER_BYTES];
            let have = read_at(&mut self.file, self.at, self.end, &mut header)?;
            match member_bytes(&header[..have]) {
                Some(bytes) if self.at + bytes <= self.end => self.at += bytes,
                // The decoder will report what it is.
                _ => self.at = self.end,
            }
            if self.at == self.end {
                break;
            }
        }
        Ok((start < self.at).then_some(Unit::Range(start..self.at)))
    }
}

/// Returns the length of the member that starts with `header`, if the header contains it.
fn member_bytes(header: &[u8]) -> Option<u64> {
    match header {
        [0x1f, 0x8b, 8, 4, _, _, _, _, _, _, 6, 0, b'B', b'C', 2, 0, low, high] => {
            let bytes = u64::from(u16::from_le_bytes([*low, *high])) + 1;
            (bytes > HEADER_BYTES as u64).then_some(bytes)
        }
        _ => None,
    }
}
