//! Tiles: their places, and the tiles of the last run that they equal.

use super::Print;
use crate::relocation::Standing;
use std::ops::Range;

/// Where a tile lies among the files of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// Records of one file that is cut inside: it begins and ends where records do.
    Stretch { file: usize, bytes: Range<u64> },
    /// Files that follow each other, each from begin to end; `bytes` of all of them.
    Pack { files: Range<usize>, bytes: u64 },
}

impl Place {
    /// Bytes of the tile as they are stored.
    pub fn bytes(&self) -> u64 {
        match self {
            Place::Stretch { bytes, .. } => bytes.end - bytes.start,
            Place::Pack { bytes, .. } => *bytes,
        }
    }

    /// Where it begins in its first file, in bytes.
    pub fn offset(&self) -> u64 {
        match self {
            Place::Stretch { bytes, .. } => bytes.start,
            Place::Pack { .. } => 0,
        }
    }

    /// Returns where a tile at this place is; `split` is the number of its first split.
    pub fn standing(&self, split: u64) -> Standing {
        Standing { split, file: self.files().start as u64, offset: self.offset() }
    }

    /// Returns the files that it is of.
    pub fn files(&self) -> Range<usize> {
        match self {
            Place::Stretch { file, .. } => *file..*file + 1,
            Place::Pack { files, .. } => files.clone(),
        }
    }
}

/// A tile of this run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tile {
    pub place: Place,
    /// Its index among the [remembered](super::Remembered) tiles of the last run, if it is one of them. Equal
    /// tiles get different ones of the last run as long as there are enough; the rest share one.
    pub same_as: Option<usize>,
}

/// A tile of the last run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptTile {
    pub place: Place,
    pub print: Print,
    /// The number by which the state knows it.
    pub number: u64,
}
