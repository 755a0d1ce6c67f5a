//! The places of tiles and splits. All files lie end to end in one line of bytes. A tile is a stretch of it:
//! either a piece of one file that is at least a tile long, counted from that file's start, or a pack of
//! consecutive whole smaller files. A tile's splits are equal stretches of it; a file no longer than a split
//! is read whole by the split in which it begins, if it is all in one tile.
//!
//! Cutting big files from their own start keeps their tiles where they are when another file changes.

use std::ops::Range;

/// Tiles and splits of a list of files.
pub struct Layout {
    /// Where each file begins in the line of bytes; one more entry for its end.
    starts: Vec<u64>,
    tiles: Vec<Tile>,
    splits: u64,
    split_bytes: u64,
    whole: bool,
}

struct Tile {
    bytes: Range<u64>,
    first_split: u64,
}

/// A nominal range of bytes of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extent {
    pub file: usize,
    pub bytes: Range<u64>,
}

/// What splits read beside their nominal bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fullest {
    /// The most files of which one split has bytes.
    pub files: u64,
    /// The bytes of the longest file that is read whole by the split in which it begins.
    pub whole_bytes: u64,
}

impl Layout {
    /// Lays out files of the given lengths. With `whole`, no file is cut. `split_bytes` is at most
    /// `tile_bytes`, and both are at least 1.
    pub fn new(
        lengths: impl Iterator<Item = u64>,
        tile_bytes: u64,
        split_bytes: u64,
        whole: bool,
    ) -> Layout {
        debug_assert!(0 < split_bytes && split_bytes <= tile_bytes);
        let mut layout =
            Layout { starts: vec![0], tiles: Vec::new(), splits: 0, split_bytes, whole };
        let (mut end, mut pack_start) = (0, 0);
        for length in lengths {
            let start = end;
            end += length;
            layout.starts.push(end);
            if length >= tile_bytes && !whole {
                layout.add_tile(pack_start..start);
                let cuts = (start..end).step_by(usize::try_from(tile_bytes).unwrap_or(usize::MAX));
                cuts.for_each(|cut| layout.add_tile(cut..end.min(cut + tile_bytes)));
                pack_start = end;
            } else if end - pack_start >= tile_bytes {
                layout.add_tile(pack_start..end);
                pack_start = end;
            }
        }
        layout.add_tile(pack_start..end);
        layout
    }

    /// Returns the tile that a split is of, by its place among them, and that tile's first split.
    pub fn tile_of(&self, split: u64) -> (usize, u64) {
        let tile = self.tiles.partition_point(|tile| tile.first_split <= split) - 1;
        (tile, self.tiles[tile].first_split)
    }

    /// Returns the first split after a tile.
    pub fn first_split_behind(&self, tile: usize) -> u64 {
        self.tiles.get(tile + 1).map_or(self.splits, |next| next.first_split)
    }

    /// Returns the file in which a tile begins, and the byte there.
    pub fn begin_of(&self, tile: usize) -> (usize, u64) {
        let from = self.tiles[tile].bytes.start;
        let file = self.starts.partition_point(|&start| start <= from) - 1;
        (file, from - self.starts[file])
    }

    /// Where a file begins in the line of bytes.
    pub fn start_of(&self, file: usize) -> u64 {
        self.starts[file]
    }

    /// Returns the same files in other tiles, which are stretches of the line of bytes, in order, and cover
    /// all of it.
    pub fn with_tiles(&self, tiles: impl Iterator<Item = Range<u64>>) -> Layout {
        let (starts, tiles_none) = (self.starts.clone(), Vec::new());
        let mut layout = Layout { starts, tiles: tiles_none, splits: 0, ..*self };
        tiles.for_each(|tile| layout.add_tile(tile));
        layout
    }

    fn add_tile(&mut self, bytes: Range<u64>) {
        if !bytes.is_empty() {
            let first_split = self.splits;
            self.splits += (bytes.end - bytes.start).div_ceil(self.split_bytes);
            self.tiles.push(Tile { bytes, first_split });
        }
    }

    pub fn tiles(&self) -> usize {
        self.tiles.len()
    }

    /// Splits in all. Splits are numbered through the tiles in order.
    pub fn splits(&self) -> u64 {
        self.splits
    }

    /// Nominal size of a split.
    pub fn split_bytes(&self) -> u64 {
        self.split_bytes
    }

    pub fn bytes(&self) -> u64 {
        self.starts[self.starts.len() - 1]
    }

    /// Returns what a split reads at most beside its nominal bytes. Linear in the files.
    pub fn fullest(&self) -> Fullest {
        let (mut fullest, mut number, mut begun, mut at) = (Fullest::default(), 0, 0, None);
        let files = self.starts.windows(2).map(|file| (file[0], file[1] - file[0]));
        for (start, length) in files.filter(|&(_, length)| length > 0) {
            let is_before = |tile: &Tile| tile.bytes.end <= start;
            number += self.tiles[number..].iter().take_while(|tile| is_before(tile)).count();
            let Some(tile) = self.tiles.get(number) else { break };
            let split = (number, start.saturating_sub(tile.bytes.start) / self.split_bytes);
            begun = if at == Some(split) { begun + 1 } else { 1 };
            at = Some(split);
            // Beside those that begin in a split, it may have bytes of one that began before.
            fullest.files = fullest.files.max(begun + 1);
            if self.whole || length <= self.split_bytes {
                fullest.whole_bytes = fullest.whole_bytes.max(length);
            }
        }
        fullest
    }

    /// Returns for each tile, in order, the first split after it.
    pub fn tile_ends(&self) -> impl Iterator<Item = u64> {
        let next = self.tiles.iter().skip(1).map(|tile| tile.first_split);
        next.chain((!self.tiles.is_empty()).then_some(self.splits))
    }

    /// Returns the bytes of each tile, in order, and the first split after it.
    pub fn tile_bytes(&self) -> impl Iterator<Item = (u64, u64)> {
        let bytes = self.tiles.iter().map(|tile| tile.bytes.end - tile.bytes.start);
        bytes.zip(self.tile_ends())
    }

    /// Returns the extents of splits that follow each other in one tile, in order. Costs a binary search and
    /// no memory.
    pub fn extents(&self, splits: Range<u64>) -> impl Iterator<Item = Extent> {
        let after = self.tiles.partition_point(|tile| tile.first_split <= splits.start);
        let tile = &self.tiles[after - 1];
        let from = tile.bytes.start + (splits.start - tile.first_split) * self.split_bytes;
        let to = tile.bytes.end.min(from + (splits.end - splits.start) * self.split_bytes);
        let first = self.starts.partition_point(|&start| start <= from) - 1;
        (first..self.starts.len() - 1)
            .take_while(move |&file| self.starts[file] < to)
            .filter_map(move |file| self.extent(file, &tile.bytes, from..to))
    }

    /// Returns the part of a file that belongs to a split of a tile.
    fn extent(&self, file: usize, tile: &Range<u64>, split: Range<u64>) -> Option<Extent> {
        let (start, end) = (self.starts[file], self.starts[file + 1]);
        let Range { start: from, end: to } = split;
        // Of a file as long as a tile, two tiles may have a part where tiles were found again.
        let is_inside = tile.start <= start && end <= tile.end;
        let bytes = if self.whole || is_inside && end - start <= self.split_bytes {
            if start < from { start..start } else { start..end }
        } else {
            start.max(from)..end.min(to)
        };
        (!bytes.is_empty()).then(|| Extent { file, bytes: bytes.start - start..bytes.end - start })
    }
}
