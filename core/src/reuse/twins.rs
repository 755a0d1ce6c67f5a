//! Which file of the last run a file is likely to have been: the one of its path, or, if that begins in
//! another way, one of its length that begins and ends as it does. It is only a hint where to look first.

use super::record::Remembered;
use super::stretches::{Finder, Found};
use super::{Place, Sources, Stamps};
use crate::error::Result;
use std::collections::HashMap;
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;

/// Files of one length that are looked at.
const FILES_PER_LENGTH: usize = 64;

/// The last run's files by path and by length.
pub(super) struct Twins<'r> {
    remembered: &'r Remembered,
    paths: HashMap<&'r [u8], usize>,
    lengths: HashMap<u64, Vec<usize>>,
}

impl<'r> Twins<'r> {
    pub(super) fn new(remembered: &'r Remembered) -> Twins<'r> {
        let mut twins = Twins { remembered, paths: HashMap::new(), lengths: HashMap::new() };
        for file in 0..remembered.files() {
            twins.paths.entry(remembered.path(file)).or_insert(file);
            if twins.whole(file).is_some() {
                let alike = twins.lengths.entry(remembered.bytes(file)).or_default();
                if alike.len() < FILES_PER_LENGTH {
                    alike.push(file);
                }
            }
        }
        twins
    }

    /// Returns the memory for a list of `files` files, in bytes.
    pub(super) fn memory_bytes(files: usize) -> usize {
        let (path, length) = (size_of::<(&[u8], usize)>(), size_of::<(u64, Vec<usize>)>());
        2 * files * (path + length + size_of::<usize>())
    }

    /// Returns the old file of a file's path.
    pub(super) fn by_path(&self, sources: &Sources<'_>, file: usize) -> Option<usize> {
        self.paths.get(sources.path(file).as_os_str().as_bytes()).copied()
    }

    /// Returns the tiles of an old file that was cut inside, if they are all of it.
    pub(super) fn whole(&self, file: usize) -> Option<Range<usize>> {
        let tiles = self.remembered.tiles_of(file);
        let end =
            self.remembered.tiles()[tiles.clone()].iter().try_fold(0, |end, tile| {
                match &tile.place {
                    Place::Stretch { bytes, .. } if bytes.start == end => Some(bytes.end),
                    _ => None,
                }
            });
        (end == Some(self.remembered.bytes(file)) && !tiles.is_empty()).then_some(tiles)
    }

    /// Returns the old file that a file is likely to have been; `named` is that of its path.
    pub(super) fn likely(
        &self,
        finder: &mut Finder<'_>,
        (file, bytes): (usize, u64),
        named: Option<usize>,
    ) -> Result<Option<usize>> {
        let mut begins = |tile: usize| {
            let Place::Stretch { bytes, .. } = &self.remembered.tiles()[tile].place else {
                return Ok(false);
            };
            finder.begins(file, Found { offset: bytes.start, tile })
        };
        if let Some(twin) = named
            && let Some(first) = self.remembered.tiles_of(twin).next()
            && begins(first)?
        {
            return Ok(named);
        }
        for &twin in self.lengths.get(&bytes).into_iter().flatten() {
            if let Some(tiles) = self.whole(twin)
                && begins(tiles.start)?
                && begins(tiles.end - 1)?
            {
                return Ok(Some(twin));
            }
        }
        Ok(named)
    }

    /// Returns the tiles of a file that the last run knew by this path, this length and this time of change.
    pub(super) fn unchanged(
        &self,
        (file, bytes): (usize, u64),
        stamps: &Stamps,
        twin: usize,
    ) -> Option<Range<usize>> {
        let same = bytes == self.remembered.bytes(twin) && self.has_stamp(file, stamps, twin);
        self.whole(twin).filter(|_| same)
    }

    fn has_stamp(&self, file: usize, stamps: &Stamps, twin: usize) -> bool {
        stamps.get(file).is_some_and(|stamp| self.remembered.changed(twin) == Some(stamp))
    }

    /// Returns the old tiles of a file to which bytes were appended, or none. The old part is checked at its
    /// ends.
    pub(super) fn appended(
        &self,
        finder: &mut Finder<'_>,
        (file, bytes): (usize, u64),
        twin: usize,
    ) -> Result<Option<Vec<Found>>> {
        let before = self.remembered.bytes(twin);
        let Some(tiles) = self.whole(twin).filter(|_| before <= bytes) else { return Ok(None) };
        for tile in [tiles.start, tiles.end - 1] {
            let Place::Stretch { bytes, .. } = &self.remembered.tiles()[tile].place else {
                return Ok(None);
            };
            let found = Found { offset: bytes.start, tile };
            if !finder.begins(file, found)? || !finder.has_bytes(file, found)? {
                return Ok(None);
            }
        }
        let mut found = self.found(tiles);
        if !finder.look.is_border(file, before)? {
            // The last record went on.
            found.pop();
        }
        Ok(Some(found))
    }

    /// Returns tiles at the offsets that they had.
    pub(super) fn found(&self, tiles: Range<usize>) -> Vec<Found> {
        let found =
            |tile: usize| Found { offset: self.remembered.tiles()[tile].place.offset(), tile };
        tiles.map(found).collect()
    }

    /// Returns the old pack that begins with a file, and how many it has, if all files that follow are called
    /// as its files were and are as long; and were not changed, if `stamps` are given.
    pub(super) fn pack(
        &self,
        sources: &Sources<'_>,
        files: Range<usize>,
        stamps: Option<&Stamps>,
    ) -> Option<(usize, usize)> {
        let twin = self.by_path(sources, files.start)?;
        let tiles = self.remembered.tiles_of(twin);
        let Place::Pack { files: old, .. } = &self.remembered.tiles().get(tiles.start)?.place
        else {
            return None;
        };
        let is_same = |(file, twin): (usize, usize)| {
            sources.bytes(file) == self.remembered.bytes(twin)
                && sources.path(file).as_os_str().as_bytes() == self.remembered.path(twin)
                && stamps.is_none_or(|stamps| self.has_stamp(file, stamps, twin))
        };
        let fits = old.start == twin && old.len() <= files.len();
        let same = fits && files.zip(old.clone()).all(is_same);
        same.then_some((tiles.start, old.len()))
    }
}
