//! Relocation: values that hold the offsets of their records are moved with the records, as a linker moves
//! addresses. So a kept partial stays valid for a tile that has moved.

/// The distance that records have moved since their values were made; `Fixed::relocate` is given it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Relocation {
    // The fields wrap: a move towards the front is a large number.
    splits: u32,
    files: u32,
    bytes: u64,
}

/// The position of a tile: the numbers of its first split and file in the whole input, and the offset in that
/// file at which it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    #[doc(hidden)]
    pub split: u64,
    #[doc(hidden)]
    pub file: u64,
    #[doc(hidden)]
    pub offset: u64,
}

impl Standing {
    /// Returns the relocation from this position, where the tile's values were made, to `now`.
    pub fn relocation(&self, now: &Standing) -> Relocation {
        Relocation {
            splits: now.split.wrapping_sub(self.split) as u32,
            files: now.file.wrapping_sub(self.file) as u32,
            bytes: now.offset.wrapping_sub(self.offset),
        }
    }
}

impl Relocation {
    /// Returns the number that a file has now (`Split::file`).
    #[inline(always)]
    pub fn file(self, number: u32) -> u32 {
        number.wrapping_add(self.files)
    }

    /// Where in its file a record lies now that lay at this offset, in bytes
    /// (`Split::offset_of`).
    #[inline(always)]
    pub fn offset(self, offset: u64) -> u64 {
        offset.wrapping_add(self.bytes)
    }

    #[inline(always)]
    #[doc(hidden)]
    pub fn split(self, number: u32) -> u32 {
        number.wrapping_add(self.splits)
    }
}
