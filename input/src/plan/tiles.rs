//! The tiles of all parts of a plan under one numbering, so that a range of them can be named to another
//! machine that has the same plan. A file that is decompressed has no tiles of its own and counts as one.

use super::{Part, Plan};
use std::ops::Range;
use std::path::Path;

impl Plan {
    /// Returns the bytes of each tile, in the order of the input, as files hold them.
    ///
    /// # Errors
    /// The name of a stream: it has no tiles that could be read by another machine.
    pub fn tile_sizes(&self) -> Result<Vec<u64>, &Path> {
        let mut sizes = Vec::new();
        for part in &self.parts {
            match part {
                Part::Ranged(ranged) => {
                    sizes.extend(ranged.layout.tile_bytes().map(|(bytes, _)| bytes));
                }
                Part::Packed(packed) => {
                    sizes.extend((0..packed.files()).map(|file| packed.bytes(file)));
                }
                Part::Stream(stream) => return Err(&stream.name),
            }
        }
        Ok(sizes)
    }

    /// Returns those tiles of a part, by their place in it, that are among the tiles `wanted` of the whole plan.
    pub fn tiles_within(&self, part: usize, wanted: &Range<u32>) -> Range<usize> {
        let before: usize = self.parts[..part].iter().map(Part::tiles).sum();
        let count = self.parts[part].tiles();
        let place = |tile: u32| (tile as usize).clamp(before, before + count) - before;
        place(wanted.start)..place(wanted.end)
    }
}

impl Part {
    /// Returns the number of its tiles: of files that are decompressed, one each; of a stream, one.
    pub fn tiles(&self) -> usize {
        match self {
            Part::Ranged(ranged) => ranged.layout.tiles(),
            Part::Packed(packed) => packed.files(),
            Part::Stream(_) => 1,
        }
    }
}
