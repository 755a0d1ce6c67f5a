//! Saving as the map stage sees it: an attendant for each worker, which notes the units that it maps and saves their
//! pairs when it is time. Where tiles are found again, it saves tile by tile, and hashes the bytes of each while
//! they are in the worker's cache: the hash is a part of what is saved, so hashing is no attendant of its own.

use super::Keep;
use super::saving::{Saving, lock};
use super::tiles::TileTable;
use crate::aggregate::Aggregate;
use crate::error::Result;
use crate::map::{Attendance, Attendant, Holdings, Mapped, Spot};
use crate::partial::Outlet;
use crate::plan::Part;
use crate::reuse::Passing;
use crate::unit::Piece;
use std::time::Instant;

/// Saves the work of one worker.
struct Keeper<'r, C: Aggregate> {
    saving: &'r Saving<C>,
    worker: usize,
    /// The tile that it maps, by its part of the plan and its number there, if tiles are saved by themselves.
    tile: Option<(usize, usize)>,
    /// Takes its print.
    passing: Option<Passing>,
}

impl<C: Aggregate> Attendance<C> for Saving<C> {
    fn outlet<'r>(
        &'r self,
        worker: usize,
        outlet: Outlet<'r, C::Accumulator>,
    ) -> Outlet<'r, C::Accumulator> {
        outlet.seen_by(&self.writers[worker])
    }

    fn attendant<'r>(
        &'r self,
        worker: usize,
        _: &mut Holdings<'r, C>,
    ) -> Box<dyn Attendant<'r, C> + 'r> {
        let passing = self.tiles().map(TileTable::passing);
        Box::new(Keeper { saving: self, worker, tile: None, passing })
    }

    /// Ends saving by workers, unless their last pairs are kept, too; otherwise the result replaces them.
    fn end_of_input(&self) -> Result<()> {
        if self.keep != Keep::Partials {
            self.writers.iter().try_for_each(|writer| lock(writer).stop())?;
        }
        self.saver.check()
    }
}

impl<'r, C: Aggregate> Keeper<'r, C> {
    /// Saves all pairs, which were handed over, beginning at `began`.
    fn save(
        &mut self,
        holdings: &mut Holdings<'r, C>,
        began: Instant,
        is_last: bool,
    ) -> Result<()> {
        let bad = holdings.take_bad();
        let print = self.tile.and_then(|(part, _)| match &holdings.plan().parts[part] {
            Part::Ranged(ranged) => self.passing.as_mut()?.finish(&ranged.material),
            _ => None,
        });
        let emitted = holdings.pairs().emitted();
        self.saving.save(self.worker, emitted, bad, print, (began, is_last))
    }
}

impl<'r, C: Aggregate> Attendant<'r, C> for Keeper<'r, C> {
    /// If the unit is of another tile than the last, and tiles are kept apart, saves the pairs of that tile.
    fn begin(&mut self, (part, split): Spot, holdings: &mut Holdings<'r, C>) -> Result<()> {
        let Some(tiles) = self.saving.tiles() else { return Ok(()) };
        let Part::Ranged(ranged) = &holdings.plan().parts[part] else { return Ok(()) };
        let tile = (part, ranged.layout.tile_of(split).0);
        if self.tile == Some(tile) {
            return Ok(());
        }
        if self.tile.is_some() {
            let began = Instant::now();
            holdings.end_piece()?;
            self.save(holdings, began, false)?;
        }
        self.tile = Some(tile);
        self.passing.iter_mut().for_each(|passing| passing.begin(tiles.place(part, tile.1)));
        Ok(())
    }

    fn see(&mut self, part: &Part, piece: &Piece, records: &[u8]) {
        if let (Part::Ranged(ranged), Some(passing)) = (part, &mut self.passing) {
            passing.see(&ranged.material, piece.file, piece.offset, records);
        }
    }

    fn mapped(&mut self, mapped: &Mapped<'_>, holdings: &mut Holdings<'r, C>) -> Result<()> {
        if mapped.ranges.is_empty() || !self.saving.mapped(self.worker, mapped)? {
            return Ok(());
        }
        let now = Instant::now();
        let began = now.checked_sub(mapped.took).unwrap_or(now);
        holdings.end_piece()?;
        self.save(holdings, began, false)
    }

    fn is_due(&mut self, bytes: u64, _: &mut Holdings<'r, C>) -> Result<bool> {
        Ok(bytes > 0 && self.saving.is_due(self.worker, bytes))
    }

    /// Saves the last pairs if others go on, because no later turn of a device would.
    fn end(&mut self, others_go_on: bool, holdings: &mut Holdings<'r, C>) -> Result<()> {
        holdings.hand_over()?;
        match others_go_on || self.saving.keep == Keep::Partials {
            true => self.save(holdings, Instant::now(), true),
            false => Ok(()),
        }
    }
}
