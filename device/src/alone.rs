//! Jobs that run on devices alone, where no core can replace the device. The run refuses unsuitable input
//! before it begins, and a lost device gives its work to the other devices.

/// Marks a job that runs on devices alone (`Offloadable::alone`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Alone {
    /// Bytes of the longest record. A unit has room for that many after its splits.
    pub longest_bytes: u64,
}

impl Default for Alone {
    /// Records of up to a mebibyte.
    fn default() -> Alone {
        Alone { longest_bytes: 1 << 20 }
    }
}
