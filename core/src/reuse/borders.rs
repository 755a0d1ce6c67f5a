//! Chooses where new tiles end: near a nominal place, by the bytes there. Of the record borders in a small
//! window before the place, the tile ends at one whose next bytes follow no other border there; of several,
//! the one whose next bytes have the least hash. The next run looks for a tile by its first bytes, so they
//! must occur in few other places, even where most records are alike. Windows are all that is read.

use super::Sources;
use super::fingerprint::{HEAD_BYTES, start};
use super::sources::{PIECE_BYTES_MOST, SourceReader};
use crate::error::Result;
use crate::input::Cut;
use crate::memory::BlockPool;
use crate::memory::InputBuffer;
use std::ops::Range;
use std::sync::Arc;

/// Bytes before a nominal place in which a tile may end; a part of small tiles.
const WINDOW_BYTES: u64 = 16 << 10;
const WINDOWS_PER_TILE: u64 = 4;
/// In how many pieces a tile is looked through.
const PIECES_PER_TILE: u64 = 16;
const PIECE_BYTES_LEAST: u64 = 4 << 10;
/// The weight of a file beside its bytes: opening it costs about as much as mapping this many.
const FILE_WEIGHT: u64 = 1 << 10;

/// Returns the nominal places at which a stretch that is new is cut: every `tile_bytes` from its begin, such
/// that the last tile is no smaller than half of that.
pub(super) fn places(stretch: &Range<u64>, tile_bytes: u64) -> impl Iterator<Item = u64> + use<> {
    let Range { start, end } = *stretch;
    let count = (end - start + tile_bytes / 2) / tile_bytes;
    (1..count).map(move |number| start + number * tile_bytes)
}

/// Returns the share of a file in a pack's size.
pub(super) fn weight(bytes: u64) -> u64 {
    bytes + FILE_WEIGHT
}

/// Cuts files that are new into packs: each ends with the file by which it has the weight of a tile.
pub(super) fn packs(
    files: Range<usize>,
    tile_bytes: u64,
    bytes: impl Fn(usize) -> u64,
) -> impl Iterator<Item = Range<usize>> {
    let mut next = files.start;
    std::iter::from_fn(move || {
        let first = next;
        let mut sum = 0;
        while next < files.end && sum < tile_bytes {
            sum += weight(bytes(next));
            next += 1;
        }
        (first < next).then_some(first..next)
    })
}

/// Returns a border of the least hash of its next bytes that is unique; if none is unique, one of the least.
/// A window has up to some thousand borders, and the chosen one is nearly always among the first few, so only
/// those are sorted.
pub fn least_unlike(borders: &mut [(u64, u64)]) -> Option<u64> {
    const FEW: usize = 16;
    let alone = |borders: &[(u64, u64)], most: Option<u64>| {
        let mut alike = borders.chunk_by(|a, b| a.0 == b.0);
        let found = alike.find(|alike| alike.len() == 1 && Some(alike[0].0) != most);
        found.map(|alike| alike[0].1)
    };
    if borders.len() > FEW {
        let (few, next, _) = borders.select_nth_unstable(FEW);
        few.sort_unstable();
        if let Some(border) = alone(few, Some(next.0)) {
            return Some(border);
        }
    }
    borders.sort_unstable();
    alone(borders, None).or(borders.first().map(|&(_, border)| border))
}

/// Looks at the bytes around borders.
pub(super) struct Look<'s> {
    pub(super) reader: SourceReader<'s>,
    cut: &'s Cut,
    sources: &'s Sources<'s>,
    tile_bytes: u64,
    buffer: InputBuffer,
}

/// Bytes of a file that were read to find borders in.
struct Window<'b> {
    bytes: &'b [u8],
    /// Where in them borders are looked for.
    places: Range<usize>,
}

impl<'s> Look<'s> {
    pub(super) fn new(
        sources: &'s Sources<'s>,
        cut: &'s Cut,
        tile_bytes: u64,
        blocks: &Arc<BlockPool>,
    ) -> Result<Look<'s>> {
        let slack = cut.bytes_before() + cut.bytes_behind() + 2 * HEAD_BYTES;
        let buffer = InputBuffer::new(blocks, PIECE_BYTES_MOST + slack)?;
        Ok(Look { reader: SourceReader::new(sources), cut, sources, tile_bytes, buffer })
    }

    /// Bytes at a place of a file.
    pub(super) fn bytes(&mut self, file: usize, bytes: Range<u64>) -> Result<&[u8]> {
        let length = (bytes.end - bytes.start) as usize;
        self.buffer.reserve(length, 0)?;
        self.reader.read(file, bytes.start, &mut self.buffer.bytes_mut()[..length])?;
        Ok(&self.buffer.bytes()[..length])
    }

    /// Reads the bytes that show the borders at `places`, none of which is 0, and `after` bytes from each on.
    fn window(&mut self, file: usize, places: &Range<u64>, after: usize) -> Result<Window<'_>> {
        let before = (self.cut.bytes_before() as u64).min(places.start);
        let after = (self.cut.bytes_behind() + 1).max(after) as u64;
        let from = places.start - before;
        let to = self.sources.bytes(file).min(places.end.saturating_add(after));
        let places = before as usize..(places.end - from) as usize;
        Ok(Window { bytes: self.bytes(file, from..to)?, places })
    }

    /// Returns whether a record begins at a place of a file, or the file ends there.
    pub(super) fn is_border(&mut self, file: usize, place: u64) -> Result<bool> {
        if place == 0 || place == self.sources.bytes(file) {
            return Ok(true);
        }
        let cut = self.cut;
        if let Cut::Fixed(record) = cut {
            return Ok(place.is_multiple_of(*record));
        }
        let Window { bytes, places } = self.window(file, &(place..place + 1), 0)?;
        Ok(cut.find_border(bytes, places.start, places.end).is_some())
    }

    /// Bytes that are read at a time to look through a file: more would often be read in vain.
    pub(super) fn piece_bytes(&self, file: usize) -> u64 {
        let most = self.sources.piece_bytes(file) as u64;
        (self.tile_bytes / PIECES_PER_TILE).clamp(PIECE_BYTES_LEAST, most)
    }

    /// Calls `see` with each border among `places` of a file and the bytes after it, until `see` returns
    /// `false`; returns whether it never did. No place is 0 or beyond the file.
    pub(super) fn borders(
        &mut self,
        file: usize,
        places: &Range<u64>,
        see: impl FnMut(u64, &[u8]) -> bool,
    ) -> Result<bool> {
        let cut = self.cut;
        self.borders_of(|_| cut, file, places, see)
    }

    /// As `borders`, of the borders at which new tiles may end: where records are words, borders of lines, if
    /// there are any near. They are a tenth as many, and found faster.
    pub(super) fn coarse_borders(
        &mut self,
        file: usize,
        places: &Range<u64>,
        see: impl FnMut(u64, &[u8]) -> bool,
    ) -> Result<bool> {
        let fine = self.cut;
        let ends_lines = matches!(fine, Cut::After(set) if set.contains(b'\n'));
        let of = |bytes: &[u8]| match ends_lines && memchr::memchr(b'\n', bytes).is_some() {
            true => &Cut::Lines,
            false => fine,
        };
        self.borders_of(of, file, places, see)
    }

    fn borders_of<'c>(
        &mut self,
        cut_of: impl Fn(&[u8]) -> &'c Cut,
        file: usize,
        places: &Range<u64>,
        mut see: impl FnMut(u64, &[u8]) -> bool,
    ) -> Result<bool> {
        let mut from = places.start;
        while from < places.end {
            let to = places.end.min(from + self.piece_bytes(file));
            let Window { bytes, places: inside } = self.window(file, &(from..to), HEAD_BYTES)?;
            let base = from - inside.start as u64;
            let cut = cut_of(&bytes[..inside.end]);
            let mut see = |border: usize| see(base + border as u64, &bytes[border..]);
            let goes_on = match cut {
                // Lines may be short: to begin a search for each costs more than to search.
                Cut::Lines => {
                    let before = &bytes[inside.start - 1..inside.end - 1];
                    memchr::memchr_iter(b'\n', before).all(|at| see(inside.start + at))
                }
                Cut::Fixed(record) => {
                    let first = (base + inside.start as u64).next_multiple_of(*record) - base;
                    let step = usize::try_from(*record).unwrap_or(usize::MAX);
                    (first as usize..inside.end).step_by(step).all(see)
                }
                _ => {
                    let mut next = inside.start;
                    std::iter::from_fn(|| {
                        let border = cut.find_border(bytes, next, inside.end)?;
                        next = border + 1;
                        Some(border)
                    })
                    .all(see)
                }
            };
            if !goes_on {
                return Ok(false);
            }
            from = to;
        }
        Ok(true)
    }

    /// Returns the border that ends a tile near a nominal `place` inside a new stretch: in the window before
    /// it, or else the first after it that is not in the next place's window. `None` if a record is so long
    /// that there is none.
    pub(super) fn choose(
        &mut self,
        file: usize,
        place: u64,
        stretch: &Range<u64>,
    ) -> Result<Option<u64>> {
        let tile_bytes = self.tile_bytes;
        let window = WINDOW_BYTES.min(tile_bytes / WINDOWS_PER_TILE);
        let mut borders = Vec::new();
        let before = (place - window).max(stretch.start + 1)..place + 1;
        self.coarse_borders(file, &before, |border, after| {
            borders.push((after.first_chunk().map_or(u64::MAX, start), border));
            true
        })?;
        if let Some(border) = least_unlike(&mut borders) {
            return Ok(Some(border));
        }
        let mut first = None;
        let end = stretch.end.min(place + tile_bytes - window);
        self.borders(file, &(place + 1..end), |border, _| {
            first = Some(border);
            false
        })?;
        Ok(first)
    }
}
