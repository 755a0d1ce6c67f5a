//! The tiles of a run as its grid shows them. Takes the units that workers and devices map, what the state had before,
//! and what is saved meanwhile; tells the grid of the tiles that these are of. It changes nothing of the run.

use super::attendant::{Attendance, Attendant, Mapped, Spot};
use super::holdings::Holdings;
use crate::aggregate::Aggregate;
use crate::coverage::{ALL_FILES, Coverage, Ranges};
use crate::error::Result;
use crate::plan::{Part, Plan};
use crate::progress::{CELLS_MOST, CellPlace, GridPlaces, TileGrid, TileState, Tiles};
use std::ops::Range;
use std::sync::Arc;

/// The tiles of a run, by the splits of its plan.
pub(crate) struct Tiling {
    tiles: Arc<Tiles>,
    /// For each part of the plan the number of tiles before it, and the ends of its own in splits; none for parts that
    /// are read in order.
    parts: Vec<(usize, Vec<u64>)>,
    /// Devices are numbered after the workers.
    workers: usize,
}

/// Tells the grid what one worker, or one device, does.
struct Teller<'r> {
    tiling: &'r Tiling,
    is_device: bool,
}

impl Tiling {
    /// Begins the grid of a run over `plan`.
    pub(crate) fn begin(grid: &TileGrid, plan: &Plan, workers: usize) -> Tiling {
        let mut before = 0;
        let parts = plan.parts.iter().map(|part| {
            let ends: Vec<u64> = match part {
                Part::Ranged(ranged) => ranged.layout.tile_ends().collect(),
                Part::Packed(_) | Part::Stream(_) => Vec::new(),
            };
            let first = before;
            before += ends.len();
            (first, ends)
        });
        let parts: Vec<(usize, Vec<u64>)> = parts.collect();
        let splits = parts.iter().flat_map(|(_, ends)| {
            let mut start = 0;
            ends.iter().map(move |&end| end - std::mem::replace(&mut start, end))
        });
        Tiling { tiles: grid.begin(splits, places(plan)), parts, workers }
    }

    /// The run need not map this.
    pub(crate) fn found(&self, coverage: &Coverage) {
        self.each_of(coverage, |tile, splits| self.tiles.found(tile, splits));
    }

    /// This is saved now.
    pub(crate) fn saved(&self, coverage: &Coverage) {
        self.each_of(coverage, |tile, splits| self.tiles.saved(tile, splits));
    }

    /// All of the answer is saved.
    pub(crate) fn saved_all(&self) {
        self.tiles.saved_all();
    }

    /// Of tiles by their numbers in `plan`, where a compressed file is a tile, these are in a state.
    pub(crate) fn set(&self, plan: &Plan, numbers: Range<u32>, state: TileState) {
        for (part, (first, ends)) in self.parts.iter().enumerate() {
            let tiles = plan.tiles_within(part, &numbers);
            tiles.filter(|&tile| tile < ends.len()).for_each(|tile| {
                self.tiles.set(first + tile, state);
            });
        }
    }

    fn each_of(&self, coverage: &Coverage, tell: impl Fn(usize, u64)) {
        for part in 0..self.parts.len() {
            let ranges = coverage.of(part, ALL_FILES).into_iter().flat_map(Ranges::iter);
            ranges.for_each(|splits| self.each_tile(part, splits, &tell));
        }
    }

    /// Calls `tell` with each tile that has some of these splits, and how many.
    fn each_tile(&self, part: usize, splits: Range<u64>, tell: impl Fn(usize, u64)) {
        let Some((first, ends)) = self.parts.get(part) else { return };
        let mut start = splits.start;
        let mut tile = ends.partition_point(|&end| end <= start);
        while start < splits.end && tile < ends.len() {
            let end = ends[tile].min(splits.end);
            tell(first + tile, end - start);
            (start, tile) = (end, tile + 1);
        }
    }
}

/// Returns where each cell of the grid begins.
fn places(plan: &Plan) -> GridPlaces {
    let tiles = usize::try_from(plan.tiles()).unwrap_or(usize::MAX);
    let per_cell = tiles.div_ceil(CELLS_MOST).max(1);
    let mut places = GridPlaces { bytes: plan.bytes, ..GridPlaces::default() };
    // Of the next cell the first tile, counted in the part; of the part the files before it; the last file.
    let (mut tile, mut files, mut last) = (0, 0, None);
    for part in &plan.parts {
        if let Part::Ranged(ranged) = part {
            while tile < ranged.layout.tiles() {
                let (number, byte) = ranged.layout.begin_of(tile);
                let file = (files + number) as u64;
                if last.replace(file) != Some(file) {
                    places.paths.push(ranged.material.path(number));
                }
                places.cells.push(CellPlace { path: places.paths.len() - 1, byte, file });
                tile += per_cell;
            }
            tile -= ranged.layout.tiles();
        }
        files += part.files();
    }
    places
}

impl<C: Aggregate> Attendance<C> for Tiling {
    fn attendant<'r>(
        &'r self,
        worker: usize,
        _: &mut Holdings<'r, C>,
    ) -> Box<dyn Attendant<'r, C> + 'r> {
        Box::new(Teller { tiling: self, is_device: worker >= self.workers })
    }
}

impl<'r, C: Aggregate> Attendant<'r, C> for Teller<'r> {
    fn begin(&mut self, (part, split): Spot, _: &mut Holdings<'r, C>) -> Result<()> {
        // The spot of a device's partial is anywhere.
        if !self.is_device {
            let tiles = &self.tiling.tiles;
            self.tiling.each_tile(part, split..split + 1, |tile, _| tiles.run(tile));
        }
        Ok(())
    }

    fn mapped(&mut self, mapped: &Mapped<'_>, _: &mut Holdings<'r, C>) -> Result<()> {
        let tiles = &self.tiling.tiles;
        for splits in mapped.ranges {
            self.tiling.each_tile(mapped.part, splits.clone(), |tile, splits| {
                tiles.mapped(tile, splits, self.is_device);
            });
        }
        Ok(())
    }
}
