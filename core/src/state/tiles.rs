//! Tiles that are found again: in an incremental run the plan's tiles are those of the last run wherever the
//! bytes are the same (`reuse/`), and each piece of a snapshot is of one tile, which it names by a number that
//! stays. So the pieces of tiles that are there again count, wherever those lie now, and all else is mapped.

use super::answer::Note;
use super::folder::read_all;
use super::folds::{forget, tile_of};
use super::manifest::{Manifest, Piece, tiles_name};
use crate::bad::Found;
use crate::coverage::{ALL_FILES, Coverage, Ranges};
use crate::encoding::Digest;
use crate::error::{Result, StorageError};
use crate::facts::JobFacts;
use crate::failure::Failure;
use crate::job::Sees;
use crate::memory::BlockPool;
use crate::plan::{Part, Plan};
use crate::relocation::Standing;
use crate::reuse::{
    Hashing, KeptTile, Passing, Place, Print, Remembered, Reuse, Sources, Stamps, Tile, Tiling,
    Trust, print_of,
};
use crate::schedule::{Pool, for_each};
use crate::storage::Storage;
use crate::sync::Mutex;
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

/// The options for finding the tiles of the last run again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Incremental {
    /// The hash of the tiles' bytes.
    pub hashing: Hashing,
    /// Files only grow: the old part of a file is checked by its length and at its ends, and not read again.
    pub append_only: bool,
    /// Files of the same path, length and time of change are the same, and not read again.
    pub trust_mtime: bool,
}

/// The part number of a coverage by tiles: its file numbers are numbers of tiles, its ranges are splits
/// counted from the tile's first.
pub const TILES: usize = 0;

/// By which an identity names the size of splits.
pub(super) const SPLIT_BYTES: &str = "split bytes";

/// Where each tile lies in the plan of this run.
pub(crate) struct TileTable {
    hashing: Hashing,
    /// The tiles of each part of the plan.
    parts: Vec<PartTiles>,
    /// The part of the plan and the first split of each.
    places: HashMap<u64, (usize, u64)>,
    /// The number of the first tile that is new.
    first_new: u64,
    /// Whether tiles are not expected to go.
    append_only: bool,
    /// The times at which files had been changed last when tiles were looked for.
    stamps: Stamps,
    /// The digest of the list that was written, if one was.
    list: u128,
}

/// The tiles of a plan beside those of the last run.
pub(super) enum Tiles {
    /// They may differ: where each is.
    Placed(TileTable),
    /// They are the same, this many, and the answer of the last run stands.
    Same(TileTable, u64),
}

/// The tiles of a part of the plan, in order.
struct PartTiles {
    /// The number of its first file among those of all parts.
    first_file: usize,
    /// Splits of the parts before it.
    splits_before: u64,
    tiles: Vec<Placed>,
}

/// A tile where it is.
struct Placed {
    first_split: u64,
    number: u64,
    place: Place,
}

/// A tile of a part of the plan, and its bytes in the line of all files of the part.
struct Line {
    number: u64,
    place: Place,
    bytes: Range<u64>,
}

/// The parts of the engine that a state needs.
#[derive(Clone, Copy)]
pub(crate) struct EngineParts<'r> {
    pub(crate) pool: &'r Pool,
    pub(crate) blocks: &'r Arc<BlockPool>,
    pub(crate) failure: &'r Failure,
}

/// Returns the tiles of the last run, with the prints that its pieces have, and whether a note is of that run.
fn remembered(
    manifest: &Manifest,
    storage: &dyn Storage,
    hashing: Hashing,
    note: Option<&Note>,
) -> Result<(Remembered, bool)> {
    let Some(number) = manifest.tiles else { return Ok((Remembered::default(), false)) };
    let mut remembered = read(storage, number, hashing)?;
    let list = || Digest::of(&remembered.encode(hashing));
    let is_noted = note.is_some_and(|note| note.is_of(manifest, list()));
    let prints = manifest.pieces().filter_map(|piece| tile_of(piece).zip(piece.print));
    let prints: HashMap<u64, Print> = prints.collect();
    remembered.learn(|number| prints.get(&number).copied());
    Ok((remembered, is_noted))
}

/// Returns the tiles of each part of the plan.
fn tiles_of_parts(
    plan: &Plan,
    sources: &Sources<'_>,
    tiles: &[Tile],
    numbered: &[(u64, bool)],
) -> Vec<Vec<Line>> {
    let mut tiles_of: Vec<Vec<Line>> = plan.parts.iter().map(|_| Vec::new()).collect();
    for (tile, &(number, _)) in tiles.iter().zip(numbered) {
        let (part, file) = sources.place(tile.place.files().start);
        if let Part::Ranged(ranged) = &plan.parts[part] {
            let start = ranged.layout.start_of(file);
            let bytes = match &tile.place {
                Place::Stretch { bytes, .. } => start + bytes.start..start + bytes.end,
                Place::Pack { bytes, .. } => start..start + bytes,
            };
            tiles_of[part].push(Line { number, place: tile.place.clone(), bytes });
        }
    }
    tiles_of
}

impl TileTable {
    /// Finds the tiles of a plan, cuts the plan into them, and writes their list. Only the pieces of these
    /// tiles stay in `manifest`. If the tiles are those of the run that the note is of, nothing is written.
    pub(super) fn find(
        facts: &JobFacts,
        plan: &mut Plan,
        incremental: Incremental,
        manifest: &mut Manifest,
        (storage, note): (&dyn Storage, Option<&Note>),
        parts: EngineParts<'_>,
    ) -> Result<Tiles> {
        let EngineParts { pool, blocks, failure } = parts;
        let hashing = incremental.hashing;
        let (remembered, is_noted) = remembered(manifest, storage, hashing, note)?;
        let sources = Sources::of(plan);
        let stamps = Stamps::look(&sources, pool, failure)?;
        let trust = Trust { appends: incremental.append_only, times: incremental.trust_mtime };
        let (cut, tile_bytes) = (&plan.cut, plan.tile_bytes);
        let reuse =
            Reuse { sources: &sources, cut, hashing, tile_bytes, trust, pool, blocks, failure };
        let tiling = reuse.tiles(&remembered, &stamps)?;
        let Tiling { bytes, same_bytes, read_bytes, .. } = tiling;
        tracing::debug!(target: "tegula::tiles", bytes, same_bytes, read_bytes);
        let old = manifest.pieces().filter_map(tile_of);
        let folded = manifest.folds.iter().flat_map(|fold| fold.tiles.iter().copied());
        let next = old.chain(folded).map(|number| number + 1).max().unwrap_or_default();
        let old = remembered.tiles().iter().map(|tile| tile.number + 1);
        let first_new = old.max().unwrap_or_default().max(next);
        let numbered = number(facts.sees, &sources, (&remembered, first_new), &tiling.tiles);

        let tiles_of = tiles_of_parts(plan, &sources, &tiling.tiles, &numbered);
        let next = storage.first_number(manifest.tiles.map_or(0, |number| number + 1));
        // The prints of the others come with their pieces.
        let print = |tile: &Tile| match tile.same_as {
            Some(old) => remembered.tiles()[old].print,
            None => Print::UNKNOWN,
        };
        let tiles = tiling.tiles.iter().zip(&numbered);
        let tiles = tiles.map(|(tile, (number, _))| (tile.clone(), print(tile), *number));
        let now = Remembered::of(&sources, &stamps, tiles);
        let stands = is_noted && now.is_alike(&remembered);
        let list = if stands { 0 } else { write(&now, hashing, storage, next)? };
        let first_files: Vec<usize> =
            (0..plan.parts.len()).map(|part| sources.first_file(part)).collect();
        drop(sources);

        let (parts, places) = (Vec::new(), HashMap::new());
        let append_only = incremental.append_only;
        let mut table = TileTable { hashing, parts, places, first_new, append_only, stamps, list };
        table.place_all(plan, tiles_of, &first_files);
        if stands {
            return Ok(Tiles::Same(table, numbered.len() as u64));
        }
        manifest.tiles = Some(next);
        let kept = numbered.iter().filter(|(_, is_old)| *is_old);
        let kept: HashSet<u64> = kept.map(|(number, _)| *number).collect();
        forget(manifest, &kept, facts.has_inverse);
        Ok(Tiles::Placed(table))
    }

    /// Cuts each part of the plan into its tiles, and notes where each of them is.
    fn place_all(&mut self, plan: &mut Plan, tiles_of: Vec<Vec<Line>>, first_files: &[usize]) {
        let mut splits_before = 0;
        let parts = plan.parts.iter_mut().zip(tiles_of).zip(first_files);
        for (at, ((part, tiles), &first_file)) in parts.enumerate() {
            let (mut placed, mut splits) = (Vec::new(), 0);
            if let Part::Ranged(ranged) = part {
                let lines = tiles.iter().map(|line| line.bytes.clone());
                ranged.layout = ranged.layout.with_tiles(lines);
                let ends = ranged.layout.tile_ends();
                // Empty files have no tile in the layout.
                let filled = tiles.into_iter().filter(|line| !line.bytes.is_empty());
                for (end, Line { number, place, .. }) in ends.zip(filled) {
                    self.places.insert(number, (at, splits));
                    placed.push(Placed { first_split: splits, number, place });
                    splits = end;
                }
            }
            self.parts.push(PartTiles { first_file, splits_before, tiles: placed });
            splits_before += splits;
        }
    }

    /// Returns the numbers of all tiles, in the order of the input.
    pub(super) fn in_order(&self) -> Vec<u64> {
        let tiles = self.parts.iter().flat_map(|part| &part.tiles);
        tiles.map(|tile| tile.number).collect()
    }

    /// Returns the digest of their list.
    pub(super) fn list(&self) -> u128 {
        self.list
    }

    /// Returns whether a tile is one that this run maps.
    pub(super) fn is_new(&self, number: u64) -> bool {
        number >= self.first_new
    }

    /// Returns whether the next run is likely to want the folds of some groups of tiles: if tiles are gone or new among
    /// the others, and not only appended.
    pub(super) fn may_change_inside(&self) -> bool {
        !self.append_only
    }

    /// Returns whether a tile is there.
    pub(super) fn has(&self, number: u64) -> bool {
        self.places.contains_key(&number)
    }

    /// Returns the position of a tile.
    pub(super) fn standing(&self, number: u64) -> Option<Standing> {
        let (placed, splits_before) = self.placed(number)?;
        Some(placed.place.standing(splits_before + placed.first_split))
    }

    /// Returns a tile, and the splits of the parts before its own.
    fn placed(&self, number: u64) -> Option<(&Placed, u64)> {
        let &(part, first) = self.places.get(&number)?;
        let PartTiles { splits_before, tiles, .. } = &self.parts[part];
        let at = tiles.binary_search_by_key(&first, |tile| tile.first_split).ok()?;
        Some((&tiles[at], *splits_before))
    }

    /// Returns the refused records of this plan at their places among the files of all parts, for a piece that is saved.
    pub(super) fn bad_to_save(&self, bad: &Found) -> Found {
        bad.placed(|part, file, offset| Some((0, self.parts[part].first_file + file, offset)))
    }

    /// Returns the refused records of a piece where its tile is now.
    pub(super) fn bad_of(&self, piece: &Piece) -> Found {
        let tile = tile_of(piece).and_then(|number| self.placed(number).zip(self.standing(number)));
        piece.bad.placed(|_, file, offset| {
            let ((Placed { place, .. }, _), now) = tile.as_ref()?;
            let relocation = piece.stood?.relocation(now);
            let file = relocation.file(file as u32) as usize;
            let offset = relocation.offset(offset);
            let is_there = match place {
                Place::Stretch { file: of, bytes } => *of == file && bytes.contains(&offset),
                Place::Pack { files, .. } => files.contains(&file),
            };
            if !is_there {
                return None;
            }
            let part = self.parts.iter().rposition(|part| part.first_file <= file)?;
            Some((part, file - self.parts[part].first_file, offset))
        })
    }

    /// Returns the recorder of prints of tiles that are being mapped.
    pub(crate) fn passing(&self) -> Passing {
        Passing::new(self.hashing)
    }

    /// Where a tile of a part lies, whose files are numbered within the part.
    pub(crate) fn place(&self, part: usize, tile: usize) -> Place {
        let PartTiles { first_file, tiles, .. } = &self.parts[part];
        match tiles[tile].place.clone() {
            Place::Stretch { file, bytes } => Place::Stretch { file: file - first_file, bytes },
            Place::Pack { files, bytes } => {
                Place::Pack { files: files.start - first_file..files.end - first_file, bytes }
            }
        }
    }

    /// The prints of tiles that were mapped by several workers, or out of order, so that none was taken: they
    /// are read again, unless their files might have been changed since.
    pub(super) fn missing_prints(
        &self,
        manifest: &Manifest,
        plan: &Plan,
        EngineParts { pool, failure, .. }: EngineParts<'_>,
    ) -> Result<HashMap<u64, Print>> {
        let pieces = manifest.pieces().filter(|piece| piece.print.is_none());
        let unknown: HashSet<u64> = pieces.filter_map(tile_of).collect();
        let pieces = manifest.pieces().filter(|piece| piece.print.is_some());
        let known: HashSet<u64> = pieces.filter_map(tile_of).collect();
        let tiles = self.parts.iter().flat_map(|part| &part.tiles);
        let is_missing =
            |tile: &&Placed| unknown.contains(&tile.number) && !known.contains(&tile.number);
        let missing: Vec<&Placed> = tiles.filter(is_missing).collect();
        let found: Vec<Mutex<Option<Print>>> = missing.iter().map(|_| Mutex::new(None)).collect();
        let sources = Sources::of(plan);
        for_each(pool, failure, "saving the result", missing.len(), |_, at| {
            let place = &missing[at].place;
            let print = print_of(&sources, place, self.hashing)?;
            if self.stamps.hold(&sources, place.files())? {
                *found[at].lock() = Some(print);
            }
            Ok(())
        })?;
        let found = found.into_iter().map(Mutex::into_inner);
        let numbered = missing.iter().map(|tile| tile.number).zip(found);
        Ok(numbered.filter_map(|(number, print)| Some((number, print?))).collect())
    }

    /// Returns a coverage by tiles as a coverage of this run's plan.
    pub(super) fn in_plan(&self, by_tiles: &Coverage) -> Coverage {
        let mut coverage = Coverage::default();
        for number in by_tiles.files(TILES) {
            let Some((&(part, first), ranges)) =
                self.places.get(&number).zip(by_tiles.of(TILES, number))
            else {
                continue;
            };
            for Range { start, end } in ranges.iter() {
                coverage.add(part, ALL_FILES, first + start..first + end);
            }
        }
        coverage
    }

    /// Returns a coverage of this plan by tiles; each range of it lies in one tile.
    pub(super) fn by_tiles(&self, in_plan: &Coverage) -> Coverage {
        let mut coverage = Coverage::default();
        for (part, PartTiles { tiles, .. }) in self.parts.iter().enumerate() {
            for Range { start, end } in
                in_plan.of(part, ALL_FILES).into_iter().flat_map(Ranges::iter)
            {
                let after = tiles.partition_point(|tile| tile.first_split <= start);
                let Placed { first_split: first, number, .. } = tiles[after - 1];
                coverage.add(TILES, number, start - first..end - first);
            }
        }
        coverage
    }
}

/// Returns the number of each tile, and whether it is one of the last run's, whose pieces count. A tile is
/// only taken for an old one if the job cannot see the difference. New ones are numbered from `next` on.
fn number(
    sees: Sees,
    sources: &Sources<'_>,
    (remembered, mut next): (&Remembered, u64),
    tiles: &[Tile],
) -> Vec<(u64, bool)> {
    let mut taken = HashSet::new();
    tiles
        .iter()
        .map(|tile| {
            let same = tile.same_as.filter(|&old| {
                let KeptTile { place, .. } = &remembered.tiles()[old];
                looks_alike(sees, sources, remembered, &tile.place, place)
            });
            match same.filter(|&old| taken.insert(old)) {
                Some(old) => (remembered.tiles()[old].number, true),
                None => {
                    next += 1;
                    (next - 1, false)
                }
            }
        })
        .collect()
}

/// Returns whether a tile of the same bytes gives the same pairs for a job that `sees` that much of its
/// place.
fn looks_alike(
    sees: Sees,
    sources: &Sources<'_>,
    remembered: &Remembered,
    now: &Place,
    then: &Place,
) -> bool {
    let same_paths = || {
        let mut files = now.files().zip(then.files());
        files.all(|(now, then)| sources.is_called(now, remembered.path(then)))
    };
    match sees {
        Sees::Records | Sees::Relocatable => true,
        Sees::Paths => same_paths(),
        Sees::Places => now == then && same_paths(),
    }
}

/// Returns the positions of an input's tiles, given all of them in order, with splits of `split_bytes`.
pub(super) fn standings<'p>(
    tiles: impl Iterator<Item = (u64, &'p Place)>,
    split_bytes: u64,
) -> HashMap<u64, Standing> {
    let mut split = 0;
    let standing = |(number, place): (u64, &Place)| {
        let standing = place.standing(split);
        split += place.bytes().div_ceil(split_bytes);
        (number, standing)
    };
    tiles.map(standing).collect()
}

/// Returns the hash of tiles in the words of an identity.
pub(super) fn said(hashing: Hashing) -> String {
    format!("by content, {hashing:?}")
}

/// Returns the hash of a manifest's tiles, if it has some.
pub(super) fn hashing_of(manifest: &Manifest) -> Option<Hashing> {
    let [.., (_, found)] = &*manifest.identity.fields().collect::<Vec<_>>() else { return None };
    [Hashing::Xxh3, Hashing::Blake3].into_iter().find(|&hashing| said(hashing) == *found)
}

/// Returns the size of the splits of a manifest's run.
pub(super) fn split_bytes_of(manifest: &Manifest) -> Option<u64> {
    let fields: Vec<_> = manifest.identity.fields().collect();
    let (_, found) = fields.iter().rfind(|(name, _)| *name == SPLIT_BYTES)?;
    found.parse().ok().filter(|&bytes| bytes > 0)
}

pub(super) fn read(storage: &dyn Storage, number: u64, hashing: Hashing) -> Result<Remembered> {
    let file = storage.open(&tiles_name(number))?;
    Remembered::decode(&read_all(&*file)?, hashing).map_err(|cause| {
        StorageError::Damaged { path: file.path().to_path_buf(), offset: 0, cause }.into()
    })
}

/// Writes a list of tiles, and returns its digest.
fn write(
    remembered: &Remembered,
    hashing: Hashing,
    storage: &dyn Storage,
    number: u64,
) -> Result<u128> {
    let file = storage.create(&tiles_name(number))?;
    let bytes = remembered.encode(hashing);
    file.write_all_at(&bytes, 0)?;
    file.sync()?;
    Ok(Digest::of(&bytes))
}
