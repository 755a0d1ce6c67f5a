//! The length and checksum that a file records for content that several units hold together. The checksum
//! covers their bytes in order, so it is verified where they are stitched.

use std::hash::Hasher;
use twox_hash::XxHash32;

/// The share of a unit in such content.
#[derive(Clone, Copy)]
pub(super) struct Part {
    /// Whether the content has a checksum.
    pub(super) summed: bool,
    /// The recorded length and checksum, if the unit is the last.
    pub(super) seal: Option<Seal>,
}

/// The recorded length and checksum of the content.
#[derive(Clone, Copy)]
pub(super) struct Seal {
    pub(super) sum: Option<u32>,
    pub(super) bytes: Option<u64>,
    /// The offset of the record in the file.
    pub(super) at: u64,
}

/// The length and checksum of the bytes so far.
pub(super) struct Whole {
    sum: XxHash32,
    bytes: u64,
}

impl Whole {
    pub(super) fn new() -> Whole {
        Whole { sum: XxHash32::with_seed(0), bytes: 0 }
    }

    /// Takes the next bytes; `part` has a seal if they are the last. Returns the offset and cause of a
    /// fault.
    pub(super) fn take_in(&mut self, bytes: &[u8], part: Part) -> Result<(), (u64, &'static str)> {
        if part.summed {
            self.sum.write(bytes);
        }
        self.bytes += bytes.len() as u64;
        let Some(Seal { sum, bytes, at }) = part.seal else { return Ok(()) };
        let seen = std::mem::replace(self, Whole::new());
        if bytes.is_some_and(|bytes| bytes != seen.bytes) {
            return Err((at, "a frame is not as long as its header says"));
        }
        if sum.is_some_and(|sum| sum != seen.sum.finish_32()) {
            return Err((at, "the checksum of a frame is not that of its content"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_is_what_its_parts_are_together() {
        let inner = Part { summed: true, seal: None };
        let last = |sum, bytes| Part {
            summed: true,
            seal: Some(Seal { sum: Some(sum), bytes: Some(bytes), at: 9 }),
        };
        let mut whole = Whole::new();
        for (sum, bytes, sound) in [
            (XxHash32::oneshot(0, b"abcd"), 4, true),
            (XxHash32::oneshot(0, b"abcd"), 5, false),
            (7, 4, false),
        ] {
            whole.take_in(b"ab", inner).unwrap();
            assert_eq!(whole.take_in(b"cd", last(sum, bytes)).is_ok(), sound);
        }
    }
}
