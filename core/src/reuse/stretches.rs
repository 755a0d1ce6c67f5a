//! The last run's tiles found again in files that are cut inside. A file is looked through in stretches
//! that follow from its length alone, each by itself, so workers share a big file and their number changes
//! nothing. Within a stretch it goes from left to right:
//!
//! 1. After a tile that was found, its old successor is expected. It is the same if a record begins and ends
//!    there and the hash of all its bytes is that of the last run.
//! 2. If it is not, but *its* successor is about where it would be if the bytes between were only changed in
//!    place, the search continues there: a small edit costs one tile, which is hashed and not looked through.
//! 3. Otherwise every place at which a record begins is looked at, as `rsync` looks at every byte, until the
//!    bytes there begin like an old tile of any file. So inserted, deleted or moved bytes and renamed files
//!    cost the tiles that they touch.
//!
//! Bytes after the end of the file's likely old version were most likely appended. Only a part of their
//! places is looked at, because the search must not cost more than mapping: old bytes that were appended
//! again are found a few tiles late.
//!
//! A place that only looks like a tile costs reading one in vain. That must be paid for by bytes that were
//! looked through before, so data that repeats costs twice the reading and not its square.

use super::borders::Look;
use super::fingerprint::{Fingerprint, HEAD_BYTES};
use super::index::Index;
use super::matching::Reuse;
use super::record::Remembered;
use super::{Anchor, Place, Print};
use crate::error::Result;
use std::ops::Range;

/// The length of a stretch, in tiles.
pub(super) const TILES_PER_STRETCH: u64 = 16;
/// The part of a tile by which bytes are likely to have moved at most: most insertions are small.
const REACHES_PER_TILE: u64 = 64;
/// Tiles that may be read in vain before anything was looked through.
const TILES_IN_VAIN: u64 = 4;
/// Tiles that begin alike and are tried at one place.
const CLASSES_PER_PLACE: usize = 8;
/// Of appended bytes, one piece in this number is looked at.
const APPENDED_PIECES: u64 = 4;

/// An old tile that was found again, at an offset of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) offset: u64,
    pub(super) tile: usize,
}

/// The data that all stretches share.
#[derive(Clone, Copy)]
pub(super) struct Old<'s> {
    pub(super) reuse: &'s Reuse<'s>,
    pub(super) remembered: &'s Remembered,
    pub(super) index: &'s Index,
}

/// Looks for old tiles.
pub(super) struct Finder<'s> {
    old: Old<'s>,
    pub(super) look: Look<'s>,
    print: Fingerprint,
}

/// The state of a stretch's search.
struct Search {
    file: usize,
    end: u64,
    /// The end of the file's likely old version.
    appended: u64,
    found: Vec<Found>,
    /// Bytes that may be read in vain.
    credit: i64,
}

impl<'s> Finder<'s> {
    pub(super) fn new(old: Old<'s>) -> Result<Finder<'s>> {
        let Reuse { sources, cut, hashing, tile_bytes, blocks, .. } = *old.reuse;
        let look = Look::new(sources, cut, tile_bytes, blocks)?;
        Ok(Finder { old, look, print: Fingerprint::new(hashing) })
    }

    /// Returns the old tiles that begin in a stretch of a file, without overlap. `twin` is the file's likely
    /// old version.
    pub(super) fn find(
        &mut self,
        file: usize,
        stretch: &Range<u64>,
        twin: Option<usize>,
    ) -> Result<Vec<Found>> {
        let credit = (TILES_IN_VAIN * self.old.reuse.tile_bytes).cast_signed();
        let appended = twin.map_or(u64::MAX, |twin| self.old.remembered.bytes(twin));
        let mut search = Search { file, end: stretch.end, appended, found: Vec::new(), credit };
        let mut expected = match twin {
            Some(twin) => self.guess(file, stretch, twin)?,
            None => None,
        };
        let mut from = stretch.start;
        // The place that was tried last, and the class that was not there.
        let mut refused = None;
        while !self.old.reuse.failure.stops() {
            if let Some(guess) = expected.take() {
                if guess.offset >= stretch.end {
                    break;
                }
                if self.try_at(&mut search, guess)? {
                    (from, expected) = self.after(guess);
                    continue;
                }
                refused = Some((guess.offset, self.old.index.class_of(guess.tile)));
                from = from.max(guess.offset);
                expected = self.leap(&mut search, guess)?;
                if let Some(Found { offset, .. }) = expected {
                    search.credit += (offset - from).cast_signed();
                    from = offset;
                    continue;
                }
            }
            if from >= stretch.end {
                break;
            }
            let Some((place, classes)) = self.scan(&mut search, from, refused)? else { break };
            from = place + 1;
            // If it is none of them, the bytes after the place are read again.
            search.credit -= self.look.piece_bytes(file).cast_signed();
            for class in classes {
                let guess =
                    Found { offset: place, tile: self.old.index.members(class)[0] as usize };
                if self.try_at(&mut search, guess)? {
                    (from, expected) = self.after(guess);
                    break;
                }
            }
        }
        Ok(search.found)
    }

    /// Returns where a tile of the twin is if little changed before the stretch, or little after it: the
    /// first that begins in the stretch.
    fn guess(&mut self, file: usize, stretch: &Range<u64>, twin: usize) -> Result<Option<Found>> {
        let remembered = self.old.remembered;
        let grown = self.old.reuse.sources.bytes(file).wrapping_sub(remembered.bytes(twin));
        let tiles = remembered.tiles_of(twin);
        for shift in [0, grown] {
            let offset = |tile: usize| match &remembered.tiles()[tile].place {
                // A place before the shift does not exist any more.
                Place::Stretch { bytes, .. } => bytes.start.checked_add_signed(shift.cast_signed()),
                Place::Pack { .. } => None,
            };
            let first = tiles.clone().find_map(|tile| {
                let offset = offset(tile).filter(|&offset| offset >= stretch.start)?;
                Some(Found { offset, tile })
            });
            let near = match first.filter(|found| found.offset < stretch.end) {
                Some(found) => self.near(file, stretch.start, found)?,
                None => None,
            };
            if near.is_some() {
                return Ok(near);
            }
        }
        Ok(None)
    }

    /// Returns the place after a tile that was found, and the tile expected there.
    fn after(&self, found: Found) -> (u64, Option<Found>) {
        let offset = found.offset + self.bytes(found.tile);
        (offset, self.next(found.tile).map(|tile| Found { offset, tile }))
    }

    /// Returns the successor of a missed tile, if it is about where it would be if the missed tile had only
    /// been changed in place.
    fn leap(&mut self, search: &mut Search, missed: Found) -> Result<Option<Found>> {
        match self.after(missed).1 {
            Some(guess) => {
                search.credit -= self.reach().cast_signed();
                self.near(search.file, missed.offset + 1, guess)
            }
            None => Ok(None),
        }
    }

    /// Returns the distance from its expected place within which a tile is looked for first.
    fn reach(&self) -> u64 {
        (self.old.reuse.tile_bytes / REACHES_PER_TILE).max(HEAD_BYTES as u64)
    }

    /// Returns the place, at or around the guessed one but not before `floor`, at which bytes begin as a tile
    /// does.
    fn near(&mut self, file: usize, floor: u64, guess: Found) -> Result<Option<Found>> {
        if self.begins(file, guess)? {
            return Ok(Some(guess));
        }
        let Old { index, reuse: &Reuse { sources, .. }, .. } = self.old;
        let reach = self.reach();
        let least = guess.offset.saturating_sub(reach).max(floor).max(1);
        let room = (sources.bytes(file) + 1).saturating_sub(HEAD_BYTES as u64);
        let places = least..guess.offset.saturating_add(reach).min(room);
        let class = index.class_of(guess.tile);
        let mut found = None;
        self.look.borders(file, &places, |offset, after| {
            if index.stretches(after).contains(&class) {
                found = Some(Found { offset, tile: guess.tile });
            }
            found.is_none()
        })?;
        Ok(found)
    }

    fn bytes(&self, tile: usize) -> u64 {
        self.old.remembered.tiles()[tile].place.bytes()
    }

    fn print(&self, tile: usize) -> &'s Print {
        &self.old.remembered.tiles()[tile].print
    }

    /// Returns the tile that followed in the same file.
    fn next(&self, tile: usize) -> Option<usize> {
        let tiles = self.old.remembered.tiles();
        let (this, next) = (&tiles[tile].place, &tiles.get(tile + 1)?.place);
        match (this, next) {
            (Place::Stretch { file, bytes }, Place::Stretch { file: of, bytes: next }) => {
                (file == of && bytes.end == next.start).then_some(tile + 1)
            }
            _ => None,
        }
    }

    /// Returns whether the bytes at a place begin as a tile does, and a record begins there.
    pub(super) fn begins(&mut self, file: usize, found: Found) -> Result<bool> {
        let bytes = self.bytes(found.tile);
        let fits = self.old.reuse.sources.bytes(file).checked_sub(found.offset);
        if fits.is_none_or(|room| room < bytes) {
            return Ok(false);
        }
        let head = found.offset..found.offset + bytes.min(HEAD_BYTES as u64);
        Ok(Anchor::of(self.look.bytes(file, head)?) == self.print(found.tile).anchor
            && self.look.is_border(file, found.offset)?)
    }

    /// Returns whether a whole tile lies at a place, between borders; if so, it is added to the found ones.
    fn try_at(&mut self, search: &mut Search, guess: Found) -> Result<bool> {
        if search.credit <= 0 || !self.begins(search.file, guess)? {
            return Ok(false);
        }
        let bytes = self.bytes(guess.tile);
        if !self.look.is_border(search.file, guess.offset + bytes)? {
            return Ok(false);
        }
        if !self.has_bytes(search.file, guess)? {
            search.credit -= bytes.cast_signed();
            return Ok(false);
        }
        search.credit += bytes.cast_signed();
        search.found.push(guess);
        Ok(true)
    }

    /// Returns whether the bytes at a place have a tile's hash.
    pub(super) fn has_bytes(&mut self, file: usize, guess: Found) -> Result<bool> {
        let end = guess.offset + self.bytes(guess.tile);
        Ok(self.hash(file, guess.offset..end)? == self.print(guess.tile).hash)
    }

    /// Returns the hash of bytes of a file.
    pub(super) fn hash(&mut self, file: usize, bytes: Range<u64>) -> Result<u128> {
        let piece = self.old.reuse.sources.piece_bytes(file) as u64;
        let mut from = bytes.start;
        while from < bytes.end && !self.old.reuse.failure.stops() {
            let to = bytes.end.min(from + piece);
            self.print.update(self.look.bytes(file, from..to)?);
            from = to;
        }
        Ok(self.print.finish())
    }

    /// Returns the next place from `from` on at which a record begins as some old tiles do, and their
    /// classes. The class `refused` at a place is left out.
    fn scan(
        &mut self,
        search: &mut Search,
        from: u64,
        refused: Option<(u64, u32)>,
    ) -> Result<Option<(u64, Vec<u32>)>> {
        let Old { index, remembered, reuse: &Reuse { failure, .. } } = self.old;
        let length = self.old.reuse.sources.bytes(search.file);
        let to = search.end.min(length.saturating_sub(HEAD_BYTES as u64 - 1));
        if !index.has_stretches() || from >= to {
            return Ok(None);
        }
        let start_credit = search.credit;
        let mut hit = None;
        let mut see = |place: u64, after: &[u8]| {
            let alike = index.stretches(after);
            if alike.is_empty() {
                return true;
            }
            if start_credit + (place - from).cast_signed() <= 0 {
                return !failure.stops();
            }
            let fits = |&class: &u32| {
                let bytes = remembered.tiles()[index.members(class)[0] as usize].place.bytes();
                bytes <= length - place && refused != Some((place, class))
            };
            let classes: Vec<u32> = alike.filter(fits).take(CLASSES_PER_PLACE).collect();
            if classes.is_empty() {
                return !failure.stops();
            }
            hit = Some((place, classes));
            false
        };
        let mut inside = from;
        if from == 0 {
            // The file's begin is a border that needs no looking for.
            inside = 1;
            let head = 0..length.min(HEAD_BYTES as u64);
            if !see(0, self.look.bytes(search.file, head)?) {
                return Ok(hit);
            }
        }
        for places in looks(inside..to, search.appended, self.look.piece_bytes(search.file)) {
            if !self.look.coarse_borders(search.file, &places, &mut see)? {
                break;
            }
        }
        let reached = hit.as_ref().map_or(to, |(place, _)| *place);
        search.credit += (reached - from).cast_signed();
        Ok(hit)
    }
}

/// Returns the places to look at: all before the end of the old file, and some pieces of the `appended`
/// bytes.
fn looks(places: Range<u64>, appended: u64, piece_bytes: u64) -> impl Iterator<Item = Range<u64>> {
    let Range { start, end } = places;
    let all = start..end.min(appended);
    let step = piece_bytes * APPENDED_PIECES;
    let from = start.max(appended.min(end));
    let pieces = (from / step * step..end).step_by(usize::try_from(step).unwrap_or(usize::MAX));
    let pieces = pieces.map(move |at| at.max(from)..end.min(at + piece_bytes));
    std::iter::once(all).chain(pieces).filter(|places| !places.is_empty())
}
