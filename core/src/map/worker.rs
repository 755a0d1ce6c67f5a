//! One worker of the map stage: its mapper with its tables, its folder, and its counts.

use super::mapper::{Mapper, Part};
use super::{Before, MapStage, MapTotals, numbered};
use crate::aggregate::Aggregate;
use crate::bad::BadRecords;
use crate::container::{Container, Making};
use crate::device::ARGUMENTS;
use crate::error::Result;
use crate::memory::InputBuffer;
use crate::origin::Origin;
use crate::partial::{Outlet, PARTITIONS, Partial, Upkeep};
use crate::plan;
use crate::reuse::Passing;
use crate::show::Seat;
use crate::sizing::TableLimits;
use crate::split::Split;
use crate::state::{ALL_FILES, Mapped, Saving, Taking};
use crate::timeline;
use crate::unit::{Piece, Unit};
use std::time::{Duration, Instant};

/// Partitions are checked after this number of pairs: a small part of the pairs with which folding pays.
const PAIRS_PER_LOOK: u64 = 16 << 10;

/// Where more pairs than this rank high, samples do not pay.
const SAMPLE_MOST: usize = 64 << 10;

/// A worker's own things, kept over all splits of the stage.
pub(super) struct Worker<'r, C: Aggregate> {
    stage: &'r MapStage<'r, C>,
    index: usize,
    mapper: Box<dyn Mapper<'r, C> + 'r>,
    /// The tile that it maps, if tiles are saved by themselves.
    tile: Option<(usize, usize)>,
    /// Takes its print.
    passing: Option<Passing>,
    /// The records that its maps refused since the last save.
    bad: BadRecords,
    /// Pairs that went into the partial from snapshots.
    restored: u64,
    /// Its place in the epochs, if shows are made.
    seat: Option<Seat<'r, C::Accumulator>>,
    /// Pairs handed over when it took that place.
    handed_over_before: u64,
    /// Pairs handed over when partitions were last looked at.
    handed_over_seen: u64,
    upkeep: Upkeep<C>,
    totals: MapTotals,
}

impl<'r, C: Aggregate> Worker<'r, C> {
    pub(super) fn new(stage: &'r MapStage<'r, C>, index: usize) -> Result<Worker<'r, C>> {
        let mut outlet = Outlet::new(stage.partial);
        if let Some(saving) = stage.saving {
            outlet = saving.watch(index, outlet);
        }
        // Shows look at all that a worker has, and take samples of it.
        let stands = stage.saving.is_some() && stage.epochs.is_none();
        let standing = if stands { stage.table_limits.standing } else { 0 };
        let limits = TableLimits { standing, ..stage.table_limits };
        let making = Making {
            chunks: stage.chunks,
            outlet,
            limits,
            range: stage.facts.key_range,
            share_bytes: stage.plan.likely_bytes() / stage.pool.workers() as u64,
            container: stage.container,
            tables: Container::tables,
        };
        let mapper = stage.mappers.mapper(&making)?;
        Ok(Worker {
            stage,
            index,
            mapper,
            tile: None,
            passing: None,
            bad: stage.bad.alike(),
            restored: 0,
            seat: stage.epochs.map(|epochs| Seat::new(epochs, index)),
            handed_over_before: 0,
            handed_over_seen: 0,
            upkeep: Upkeep::new(stage.chunks),
            totals: MapTotals::default(),
        })
    }

    pub(super) fn totals(&self) -> MapTotals {
        let handed_over = self.mapper.handed_over();
        MapTotals {
            pairs: self.totals.pairs + self.mapper.emitted(),
            pairs_handed_over: handed_over.pairs,
            hand_over: handed_over.busy,
            ..self.totals
        }
    }

    /// Maps a unit of a part of the plan, as one split.
    pub(super) fn map(&mut self, unit: &mut Unit, before: Before) -> Result<()> {
        let Unit { buffer, pieces, splits, .. } = unit;
        let Unit { newlines, stored_bytes, ingest, .. } = *unit;
        let (plan, count) = (self.stage.plan, splits.end - splits.start);
        let (part, number) = (before.parts, numbered(before.splits, splits.start)?);
        self.enter_tile(part, splits.start)?;
        self.take_seat(part, splits.start)?;
        self.totals.ingest += ingest;
        let began = Instant::now();
        let is_packed = matches!(plan.parts[part], plan::Part::Packed(_));
        let (mut file, mut ranges) = (ALL_FILES, vec![splits.clone()]);
        if is_packed {
            // Earlier runs mapped ranges that end at the ends of records.
            let left = self.uncovered(part, pieces);
            (file, ranges) = (pieces[0].file as u64, left.iter().map(Piece::bytes).collect());
            *pieces = left;
        }
        for piece in &*pieces {
            self.see(part, piece, buffer);
            let records = Part {
                records: piece.records.clone(),
                origin: plan.origin(part, piece.file, newlines),
                offset: piece.offset,
                file: numbered(before.files, piece.file as u64)?,
            };
            self.mapper.map(buffer, records, number, &self.bad)?;
        }
        let (bytes, splits) = match is_packed {
            true => (ranges.iter().map(|bytes| bytes.end - bytes.start).sum(), ranges.len() as u64),
            false => (stored_bytes, count),
        };
        unit.mapping = began.elapsed();
        self.count(bytes, splits, stored_bytes);
        if !matches!(plan.parts[part], plan::Part::Stream(_)) && !ranges.is_empty() {
            let mapped = Mapped { part, file, ranges: &ranges, bytes, splits };
            self.save(&mapped, Duration::ZERO)?;
        }
        self.finish(stored_bytes, count)
    }

    /// Returns whether a device's partial of about `bytes` should be taken in soon: it is time to save it, or
    /// a show waits for it. A device with work is in an epoch, as a worker is.
    pub(super) fn is_due(&mut self, bytes: u64) -> Result<bool> {
        let Worker { index, ref seat, stage, .. } = *self;
        let is_called_out = seat.as_ref().is_some_and(Seat::is_called_out);
        if bytes == 0 {
            return if is_called_out { self.hand_over() } else { Ok(()) }.map(|()| false);
        }
        self.take_seat(0, 0)?;
        let is_shown = stage.epochs.is_some_and(|epochs| epochs.is_due_with(bytes));
        let is_saved = || stage.saving.is_some_and(|saving| saving.is_due(index, bytes));
        Ok(is_called_out || is_shown || is_saved())
    }

    /// Takes in a partial that a device made of the `mapped` splits; fetching it `took` that long.
    pub(super) fn unload(
        &mut self,
        partial: &[u64],
        mapped: &Mapped<'_>,
        took: Duration,
    ) -> Result<()> {
        let (bytes, splits) = (mapped.bytes, mapped.splits);
        self.take_seat(0, 0)?;
        self.mapper.unload(partial, &self.bad)?;
        self.count(bytes, splits, bytes);
        self.save(mapped, took)?;
        self.finish(bytes, splits)?;
        // Nobody else would, before the next partial comes.
        if self.seat.is_some() { self.hand_over() } else { Ok(()) }
    }

    /// Returns the numbers with which a device is sent records of a file; `None` if only a worker can map
    /// them.
    pub(super) fn launch(
        &self,
        bytes: &[u8],
        origin: Origin<'_>,
        offset: u64,
        file: u32,
    ) -> Option<[u64; ARGUMENTS]> {
        let split = Split::new(bytes, origin, offset, file, &self.bad);
        self.mapper.launch(&split)
    }

    /// Hands over, at the end of the stage.
    pub(super) fn end(&mut self) -> Result<()> {
        self.hand_over()?;
        self.save_rest(false)
    }

    /// Hands over the pairs of a device, at its end. If others continue, saves them, because no later turn
    /// would.
    pub(super) fn end_of_device(&mut self, others_go_on: bool) -> Result<()> {
        self.hand_over()?;
        self.save_rest(others_go_on)
    }

    fn count(&mut self, bytes: u64, splits: u64, stored_bytes: u64) {
        self.totals.bytes += bytes;
        self.totals.splits += splits;
        let progress = self.stage.progress;
        progress.add_bytes(stored_bytes);
        progress.see_keys(self.mapper.held());
    }
    /// Takes the print of records before they are mapped, where tiles are kept apart.
    fn see(&mut self, part: usize, piece: &Piece, buffer: &InputBuffer) {
        let plan::Part::Ranged(ranged) = &self.stage.plan.parts[part] else { return };
        if let Some(passing) = &mut self.passing {
            let bytes = &buffer.bytes()[piece.records.clone()];
            passing.see(&ranged.material, piece.file, piece.offset, bytes);
        }
    }

    /// Does the work that follows the mapping of `bytes` and `splits`.
    fn finish(&mut self, bytes: u64, splits: u64) -> Result<()> {
        self.compress()?;
        self.spill()?;
        let Some(seat) = &mut self.seat else { return Ok(()) };
        if seat.mapped(bytes, splits) {
            self.stage.pool.wake();
        }
        if seat.is_called_out() {
            return self.hand_over();
        }
        self.give_sample();
        Ok(())
    }

    /// Gives a sample of its pairs, if a show asks for one.
    pub(super) fn give_sample(&mut self) {
        let Some(seat) = self.seat.as_ref().filter(|seat| seat.is_asked()) else { return };
        let Some((least, base)) = seat.asked::<C>() else {
            return seat.give(None, Vec::new(), false);
        };
        let _combining = timeline::begin(timeline::Kind::Combine);
        let reduced = |value: &_| C::reduce(&[], value);
        let bar = reduced(&least);
        let mut pairs = Vec::new();
        let holds_all = self.mapper.handed_over().pairs == self.handed_over_before;
        let is_whole = holds_all
            && self.mapper.each(&|value| C::rank(&reduced(value), &bar).is_ge(), &mut |pair| {
                if pairs.len() < SAMPLE_MOST {
                    pairs.push((pair.key.into(), *pair.value));
                }
            });
        let is_whole = is_whole && pairs.len() < SAMPLE_MOST;
        for (key, _) in &base.pairs {
            let value = self.mapper.get(key).filter(|_| is_whole);
            let lower = value.filter(|value| C::rank(&reduced(value), &bar).is_lt());
            pairs.extend(lower.map(|value| (key.clone(), *value)));
        }
        seat.give(Some(least), pairs, is_whole);
    }

    /// Before a split is mapped: enters its epoch, if shows are made.
    fn take_seat(&mut self, part: usize, split: u64) -> Result<()> {
        if self.seat.as_ref().is_some_and(|seat| seat.ends_before((part, split))) {
            self.hand_over()?;
        }
        if let Some(seat) = &mut self.seat
            && let Some(partial) = seat.enter((part, split))
        {
            self.mapper.redirect(partial);
            self.handed_over_before = self.mapper.handed_over().pairs;
        }
        Ok(())
    }

    /// Returns the records of a decompressed file that no run before this one has mapped.
    fn uncovered(&self, part: usize, pieces: &[Piece]) -> Vec<Piece> {
        let coverage = self.stage.saving.map(|saving| &saving.found().coverage);
        let mut left = Vec::new();
        for piece in pieces {
            let Some(covered) = coverage.and_then(|of| of.of(part, piece.file as u64)) else {
                left.push(piece.clone());
                continue;
            };
            left.extend(covered.gaps(piece.bytes()).map(|gap| piece.part(gap)));
        }
        left
    }

    /// Notes the mapped splits, and saves this worker's pairs if it is time; making them `took` that long
    /// already.
    fn save(&mut self, mapped: &Mapped<'_>, took: Duration) -> Result<()> {
        match self.stage.saving {
            Some(saving) if saving.mapped(self.index, mapped)? => {
                let now = Instant::now();
                let began = now.checked_sub(took).unwrap_or(now);
                self.mapper.end_piece()?;
                self.save_now(saving, (began, false))
            }
            _ => Ok(()),
        }
    }

    /// Begins with a split. If it is of another tile than the last, and tiles are kept apart, saves the pairs
    /// of that tile.
    fn enter_tile(&mut self, part: usize, split: u64) -> Result<()> {
        let Some(saving) = self.stage.saving else { return Ok(()) };
        let Some(tiles) = saving.tiles() else { return Ok(()) };
        let plan::Part::Ranged(ranged) = &self.stage.plan.parts[part] else { return Ok(()) };
        let tile = (part, ranged.layout.tile_of(split).0);
        if self.tile == Some(tile) {
            return Ok(());
        }
        if self.tile.is_some() {
            let began = Instant::now();
            self.mapper.end_piece()?;
            self.save_now(saving, (began, false))?;
        }
        self.tile = Some(tile);
        let passing = self.passing.get_or_insert_with(|| tiles.passing());
        passing.begin(tiles.place(tile.0, tile.1));
        Ok(())
    }

    /// Saves all pairs, which were handed over.
    fn save_now(&mut self, saving: &Saving<C>, when: (Instant, bool)) -> Result<()> {
        let bad = self.bad.take();
        self.stage.bad.add(&bad);
        let print = self.tile.and_then(|(part, _)| match &self.stage.plan.parts[part] {
            plan::Part::Ranged(ranged) => self.passing.as_mut()?.finish(&ranged.material),
            _ => None,
        });
        saving.save(self.index, self.mapper.emitted(), bad, print, when)
    }

    /// At the stage's end, or that of a device: all was handed over.
    fn save_rest(&mut self, saves: bool) -> Result<()> {
        match self.stage.saving.filter(|saving| saves || saving.keeps_partials()) {
            Some(saving) => self.save_now(saving, (Instant::now(), true)),
            None => {
                self.stage.bad.add(&self.bad.take());
                Ok(())
            }
        }
    }

    /// Takes in the pairs of a snapshot, or takes them out.
    pub(super) fn restore(&mut self, saving: &Saving<C>, taking: &Taking) -> Result<()> {
        let (partial, chunks) = (self.stage.partial, self.stage.chunks);
        let mut reader = saving.read(taking, chunks)?;
        reader.restore::<C>(partial, chunks, |pairs| {
            self.restored += pairs;
            self.compress()?;
            self.spill()
        })
    }

    /// Where pairs are handed over to.
    fn partial(&self) -> &'r Partial<C::Accumulator> {
        self.seat.as_ref().and_then(Seat::partial).unwrap_or(self.stage.partial)
    }

    /// Hands over all there is, and leaves the epoch if shows are made.
    pub(super) fn hand_over(&mut self) -> Result<()> {
        if self.seat.as_ref().is_some_and(|seat| seat.partial().is_none()) {
            return Ok(());
        }
        self.mapper.hand_over()?;
        self.spill()?;
        self.seat.iter_mut().for_each(Seat::leave);
        Ok(())
    }

    /// Folds the partitions that have doubled since they were last folded, if enough was handed over
    /// since the last look.
    fn compress(&mut self) -> Result<()> {
        let handed_over = self.mapper.handed_over().pairs + self.restored;
        if handed_over - self.handed_over_seen < PAIRS_PER_LOOK {
            return Ok(());
        }
        self.handed_over_seen = handed_over;
        let folding = timeline::begin(timeline::Kind::Compress);
        let (partial, workers) = (self.partial(), self.stage.pool.workers());
        let held = self.upkeep.fold(partial, self.index * PARTITIONS / workers)?;
        let kept = self.seat.as_ref().map_or(0, Seat::kept_pairs);
        self.stage.progress.set_keys_held(held + kept);
        self.totals.compress += folding.end();
        Ok(())
    }

    /// Spills if pairs have passed their share of memory.
    fn spill(&mut self) -> Result<()> {
        let partial = self.partial();
        if !self.upkeep.is_full(partial) {
            return Ok(());
        }
        let _spilling = timeline::begin(timeline::Kind::Spill);
        self.upkeep.relieve(partial)
    }
}
