//! That devices do all of a job: what is different where no core can take a unit's place. The job says so;
//! the run refuses what devices cannot be given before it begins, and a device that is lost gives its
//! work to the other devices.

use super::Piece;

/// That devices do all of a job ([`Job::alone`](crate::Job::alone)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Alone {
    /// Bytes that a unit has room for behind its first split: those of the longest record, at least.
    pub longest_bytes: u64,
}

impl Default for Alone {
    /// Records of up to a mebibyte.
    fn default() -> Alone {
        Alone { longest_bytes: 1 << 20 }
    }
}

/// A split may be of so many files, each of which begins anew in its slot.
const FILES_IN_A_SPLIT: u64 = 64;

impl Alone {
    /// What a slot must have beside its splits.
    pub(super) fn margin_bytes(self) -> u64 {
        self.longest_bytes.saturating_add(FILES_IN_A_SPLIT * Piece::ALIGNMENT as u64)
    }
}
