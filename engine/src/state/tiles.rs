//! Tiles that are found again: with `--incremental` the plan's tiles are those of the last run wherever the
//! bytes are the same (`reuse/`), and each piece of a snapshot is of one tile, which it names by a number that
//! stays. So the pieces of tiles that are there again count, wherever those lie now, and all else is mapped.

use super::coverage::{ALL_FILES, Coverage, Ranges};
use super::manifest::{Manifest, tiles_name};
use crate::aggregate::Aggregate;
use crate::error::{Result, StateError, StorageError};
use crate::failure::Failure;
use crate::job::{Job, Sees};
use crate::memory::BlockPool;
use crate::plan::{Part, Plan};
use crate::reduce::for_each;
use crate::reuse::{
    Hashing, KeptTile, Place, Print, Remembered, Reuse, Sources, Stamps, Tile, Trust, print_of,
};
use crate::schedule::Pool;
use crate::storage::Storage;
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

/// How the tiles of the last run are looked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Incremental {
    /// How bytes are hashed.
    pub hashing: Hashing,
    /// Files only grow: what a file was is checked by its length and at its ends, and not read again.
    pub append_only: bool,
    /// Files of the same path, length and time of change are the same, and not read again.
    pub trust_mtime: bool,
}

/// The part of a coverage that stands for tiles: its files are their numbers, its ranges splits that count
/// from the tile's first.
const TILES: usize = 0;

/// Where each tile lies in the plan of this run.
pub(super) struct TileTable {
    /// For each part of the plan: the first split of each tile, and its number.
    parts: Vec<Vec<(u64, u64)>>,
    /// The part of the plan and the first split of each.
    places: HashMap<u64, (usize, u64)>,
}

/// What finding tiles takes of the engine.
#[derive(Clone, Copy)]
pub(crate) struct Means<'r> {
    pub(crate) pool: &'r Pool,
    pub(crate) blocks: &'r Arc<BlockPool>,
    pub(crate) failure: &'r Failure,
}

impl TileTable {
    /// Finds the tiles of a plan, which is cut into them then, and writes their list. Of `manifest` only
    /// what is of these tiles is left.
    pub(super) fn find<J: Job>(
        job: &J,
        plan: &mut Plan,
        incremental: Incremental,
        manifest: &mut Manifest,
        storage: &dyn Storage,
        means: Means<'_>,
    ) -> Result<TileTable> {
        for part in &plan.parts {
            match part {
                Part::Ranged(_) => {}
                Part::Packed(_) => return Err(StateError::Packed.into()),
                Part::Stream(stream) => {
                    return Err(StateError::Stream { name: stream.name.clone() }.into());
                }
            }
        }
        let Means { pool, blocks, failure } = means;
        let hashing = incremental.hashing;
        let remembered = match manifest.tiles {
            Some(number) => read(storage, number, hashing)?,
            None => Remembered::default(),
        };
        let sources = Sources::of(plan);
        let stamps = Stamps::look(&sources, pool, failure)?;
        let trust = Trust { appends: incremental.append_only, times: incremental.trust_mtime };
        let (cut, tile_bytes) = (&plan.cut, plan.tile_bytes);
        let reuse =
            Reuse { sources: &sources, cut, hashing, tile_bytes, trust, pool, blocks, failure };
        let tiling = reuse.tiles(&remembered, &stamps)?;
        let numbered = number(job, &sources, plan.split_bytes, &remembered, &tiling.tiles);
        let prints = prints(&sources, hashing, &remembered, &tiling.tiles, means)?;

        let mut lines: Vec<Vec<Range<u64>>> = plan.parts.iter().map(|_| Vec::new()).collect();
        let mut numbers: Vec<Vec<u64>> = plan.parts.iter().map(|_| Vec::new()).collect();
        for (tile, &(number, _)) in tiling.tiles.iter().zip(&numbered) {
            let (part, file) = sources.place(tile.place.files().start);
            if let Part::Ranged(ranged) = &plan.parts[part] {
                let start = ranged.layout.start_of(file);
                lines[part].push(match &tile.place {
                    Place::Stretch { bytes, .. } => start + bytes.start..start + bytes.end,
                    Place::Pack { bytes, .. } => start..start + bytes,
                });
                numbers[part].push(number);
            }
        }
        let next = manifest.tiles.map_or(0, |number| number + 1);
        let tiles = tiling.tiles.iter().cloned().zip(prints);
        let tiles = tiles.zip(&numbered).map(|((tile, print), (number, _))| (tile, print, *number));
        write(&Remembered::of(&sources, &stamps, tiles), hashing, storage, next)?;
        drop(sources);
        manifest.tiles = Some(next);

        let kept: HashSet<u64> =
            numbered.iter().filter(|(_, is_old)| *is_old).map(|(number, _)| *number).collect();
        for snapshot in &mut manifest.snapshots {
            snapshot
                .pieces
                .retain(|piece| piece.coverage.files(TILES).all(|number| kept.contains(&number)));
        }
        manifest.snapshots.retain(|snapshot| !snapshot.pieces.is_empty());

        let (mut parts, mut places) = (Vec::new(), HashMap::new());
        for (at, part) in plan.parts.iter_mut().enumerate() {
            let mut tiles = Vec::new();
            if let Part::Ranged(ranged) = part {
                ranged.layout = ranged.layout.with_tiles(lines[at].iter().cloned());
                let ends = ranged.layout.tile_ends();
                let mut first = 0;
                // Empty files have no tile in the layout.
                let filled =
                    lines[at].iter().zip(&numbers[at]).filter(|(line, _)| !line.is_empty());
                for (end, (_, &number)) in ends.zip(filled) {
                    places.insert(number, (at, first));
                    tiles.push((first, number));
                    first = end;
                }
            }
            parts.push(tiles);
        }
        Ok(TileTable { parts, places })
    }

    /// What a coverage by tiles is in the plan of this run.
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

    /// What a coverage of this plan is by tiles; each range of it lies in one tile.
    pub(super) fn by_tiles(&self, in_plan: &Coverage) -> Coverage {
        let mut coverage = Coverage::default();
        for (part, tiles) in self.parts.iter().enumerate() {
            for Range { start, end } in
                in_plan.of(part, ALL_FILES).into_iter().flat_map(Ranges::iter)
            {
                let after = tiles.partition_point(|(first, _)| *first <= start);
                let (first, number) = tiles[after - 1];
                coverage.add(TILES, number, start - first..end - first);
            }
        }
        coverage
    }
}

/// The number of each tile, and whether it is one of the last run's, whose pieces count. A tile is only taken
/// for an old one if the job cannot see the difference.
fn number<J: Job>(
    job: &J,
    sources: &Sources<'_>,
    split_bytes: u64,
    remembered: &Remembered,
    tiles: &[Tile],
) -> Vec<(u64, bool)> {
    let splits = |place: &Place| place.bytes().div_ceil(split_bytes);
    let mut behind = 0;
    let old_firsts: Vec<u64> = remembered
        .tiles()
        .iter()
        .map(|tile| {
            behind += splits(&tile.place);
            behind - splits(&tile.place)
        })
        .collect();
    let mut next = remembered.tiles().iter().map(|tile| tile.number + 1).max().unwrap_or(0);
    let (mut taken, mut behind) = (HashSet::new(), 0);
    let sees = job.sees();
    tiles
        .iter()
        .map(|tile| {
            let here = behind;
            behind += splits(&tile.place);
            let same = tile.same_as.filter(|&old| {
                let KeptTile { place, .. } = &remembered.tiles()[old];
                let is_in_order = !J::Combine::KEEPS_VALUES || here == old_firsts[old];
                is_in_order && looks_alike(sees, sources, remembered, &tile.place, place)
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

/// Whether a tile of the same bytes is the same to a job that sees so much of where it is.
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
        Sees::Records => true,
        Sees::Paths => same_paths(),
        Sees::Places => now == then && same_paths(),
    }
}

/// What there is to know each tile by: of an old one it is known.
fn prints(
    sources: &Sources<'_>,
    hashing: Hashing,
    remembered: &Remembered,
    tiles: &[Tile],
    Means { pool, failure, .. }: Means<'_>,
) -> Result<Vec<Print>> {
    let found: Vec<Mutex<Option<Print>>> = tiles.iter().map(|_| Mutex::new(None)).collect();
    for_each(pool, failure, "the plan stage", tiles.len(), |_, number| {
        let tile = &tiles[number];
        let print = match tile.same_as {
            Some(old) => remembered.tiles()[old].print,
            None => print_of(sources, &tile.place, hashing)?,
        };
        *found[number].lock().unwrap_or_else(PoisonError::into_inner) = Some(print);
        Ok(())
    })?;
    let found = found.into_iter().map(Mutex::into_inner);
    Ok(found.filter_map(|print| print.unwrap_or_else(PoisonError::into_inner)).collect())
}

fn read(storage: &dyn Storage, number: u64, hashing: Hashing) -> Result<Remembered> {
    let file = storage.open(&tiles_name(number))?;
    let mut bytes = vec![0; usize::try_from(file.bytes()?).unwrap_or(usize::MAX)];
    file.read_exact_at(&mut bytes, 0)?;
    Remembered::decode(&bytes, hashing).map_err(|cause| {
        StorageError::Damaged { path: file.path().to_path_buf(), offset: 0, cause }.into()
    })
}

fn write(
    remembered: &Remembered,
    hashing: Hashing,
    storage: &dyn Storage,
    number: u64,
) -> Result<()> {
    let file = storage.create(&tiles_name(number))?;
    file.write_all_at(&remembered.encode(hashing), 0)?;
    Ok(file.sync()?)
}
