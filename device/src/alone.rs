//! Jobs that run on devices alone, where no core can replace the device. The run refuses unsuitable input
//! before it begins, and a lost device gives its work to the other devices.

use super::Piece;

/// Marks a job that runs on devices alone (`Offloadable::alone`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Alone {
    /// Bytes of a unit after its first split: at least those of the longest record.
    pub longest_bytes: u64,
}

impl Default for Alone {
    /// Records of up to a mebibyte.
    fn default() -> Alone {
        Alone { longest_bytes: 1 << 20 }
    }
}

/// The most files of a split; each begins aligned in its slot.
const FILES_IN_A_SPLIT: u64 = 64;

impl Alone {
    /// Returns the bytes of a slot beside its splits.
    pub(super) fn margin_bytes(self) -> u64 {
        self.longest_bytes.saturating_add(FILES_IN_A_SPLIT * Piece::ALIGNMENT as u64)
    }
}
