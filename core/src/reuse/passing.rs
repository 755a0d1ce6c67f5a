//! The print of a tile while it is mapped. Its bytes are hashed in the cache of the worker that maps them, so
//! hashing reads no memory again.

use super::{Hashing, Place, Print, TilePrint};
use crate::input::Material;

/// Takes prints, one tile after the other.
pub struct Passing {
    hashing: Hashing,
    print: TilePrint,
    /// The tile, with files as its part of the plan numbers them; none if its bytes did not all come in order.
    tile: Option<Place>,
    /// Where the next bytes are to come from.
    file: usize,
    offset: u64,
}

impl Passing {
    pub fn new(hashing: Hashing) -> Passing {
        Passing { hashing, print: TilePrint::new(hashing), tile: None, file: 0, offset: 0 }
    }

    /// Begins with a tile, whose files are numbered within their part.
    pub fn begin(&mut self, tile: Place) {
        self.give_up();
        self.file = tile.files().start;
        self.offset = match &tile {
            Place::Stretch { bytes, .. } => bytes.start,
            Place::Pack { .. } => 0,
        };
        self.tile = Some(tile);
    }

    /// Sees bytes of a file before they are mapped.
    pub fn see(&mut self, material: &Material, file: usize, offset: u64, bytes: &[u8]) {
        if self.tile.is_none() {
            return;
        }
        self.end_files(material, file);
        if (self.file, self.offset) == (file, offset) {
            self.print.update(bytes);
            self.offset += bytes.len() as u64;
        } else {
            self.give_up();
        }
    }

    /// Returns the print, if all of the tile's bytes came by and in order.
    pub fn finish(&mut self, material: &Material) -> Option<Print> {
        let is_whole = match self.tile.clone()? {
            Place::Stretch { bytes, .. } => self.offset == bytes.end,
            Place::Pack { files, .. } => {
                self.end_files(material, files.end);
                self.file == files.end
            }
        };
        if !is_whole {
            self.give_up();
            return None;
        }
        self.tile = None;
        Some(self.print.finish())
    }

    /// Ends the files of a pack before `file` whose bytes have all come by.
    fn end_files(&mut self, material: &Material, file: usize) {
        let is_pack = matches!(self.tile, Some(Place::Pack { .. }));
        while is_pack && self.file < file && self.offset == material.bytes(self.file) {
            // Files that are read by ranges are plain.
            self.print.end_file(0);
            (self.file, self.offset) = (self.file + 1, 0);
        }
    }

    fn give_up(&mut self) {
        if self.tile.take().is_some() {
            self.print = TilePrint::new(self.hashing);
        }
    }
}
