//! One worker of the map stage: its reader, its mapper with its tables, its folder, and what it did.

use super::mapper::{Mapper, Part};
use super::{Before, MapStage, MapTotals, numbered};
use crate::aggregate::Aggregate;
use crate::bad::BadRecords;
use crate::codec::Unpacked;
use crate::container::{Container, Making};
use crate::device::ARGUMENTS;
use crate::error::Result;
use crate::ingest::{Block, Feed, Load, Reader, SplitBuffer, Waits};
use crate::memory::InputBuffer;
use crate::origin::{Origin, OriginKind};
use crate::partial::{Outlet, PARTITIONS, Partial, Upkeep};
use crate::plan::{self, Packed, Ranged};
use crate::reuse::Passing;
use crate::show::Seat;
use crate::sizing::TableLimits;
use crate::split::Split;
use crate::state::{ALL_FILES, Mapped, Saving, Taking};
use crate::timeline;
use std::ops::Range;
use std::path::Path;
use std::time::{Duration, Instant};

/// Partitions are looked at after so many pairs: a small part of what they hold before folding pays.
const PAIRS_PER_LOOK: u64 = 16 << 10;

/// Where more pairs than this rank high, samples do not pay.
const SAMPLE_MOST: usize = 64 << 10;

/// A worker's own things, kept over all splits of the stage.
pub(super) struct Worker<'r, C: Aggregate> {
    reader: Option<Reader>,
    waits: Option<Waits>,
    bench: Workbench<'r, C>,
    totals: MapTotals,
}

/// The part of a worker that maps bytes, wherever they were read.
struct Workbench<'r, C: Aggregate> {
    stage: &'r MapStage<'r, C>,
    index: usize,
    mapper: Box<dyn Mapper<'r, C> + 'r>,
    /// The tile that it maps, if what is saved of tiles is kept apart.
    tile: Option<(usize, usize)>,
    /// Takes its print.
    passing: Option<Passing>,
    /// What its maps refused since it was last asked.
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
    compress: Duration,
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
        let compress = Duration::ZERO;
        let bench = Workbench {
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
            compress,
        };
        Ok(Worker { reader: None, waits: None, bench, totals: MapTotals::default() })
    }

    pub(super) fn totals(&self) -> MapTotals {
        let handed_over = self.bench.mapper.handed_over();
        MapTotals {
            pairs: self.totals.pairs + self.bench.mapper.emitted(),
            pairs_handed_over: handed_over.pairs,
            hand_over: handed_over.busy,
            compress: self.bench.compress,
            ..self.totals
        }
    }

    /// Reads splits that follow each other in one tile, and maps them as one.
    pub(super) fn read_and_map(
        &mut self,
        ranged: &Ranged,
        feed: &Feed<'_>,
        splits: Range<u64>,
        before: Before,
    ) -> Result<()> {
        self.bench.enter_tile(ranged, splits.start)?;
        self.bench.take_seat(ranged.number, splits.start)?;
        let stage = self.bench.stage;
        let reader = match &mut self.reader {
            Some(reader) => reader,
            none => none.insert(Reader::new(stage.chunks.blocks(), stage.plan.unit_bytes)?),
        };
        let began = Instant::now();
        self.totals.ingest += feed.read_own(splits.clone(), reader, &mut self.waits)?;
        self.bench.map_splits(ranged, &splits, &mut reader.read, before)?;
        feed.units().add(self.bench.index, splits.end - splits.start, began.elapsed());
        self.finish_splits(ranged, splits)
    }

    /// Maps splits that were read ahead.
    pub(super) fn map_load(
        &mut self,
        ranged: &Ranged,
        load: &mut Load,
        before: Before,
    ) -> Result<()> {
        self.bench.enter_tile(ranged, load.splits.start)?;
        self.bench.take_seat(ranged.number, load.splits.start)?;
        self.bench.map_splits(ranged, &load.splits, &mut load.bytes, before)?;
        self.finish_splits(ranged, load.splits.clone())
    }

    fn finish_splits(&mut self, ranged: &Ranged, splits: Range<u64>) -> Result<()> {
        let count = splits.end - splits.start;
        let extents = ranged.layout.extents(splits.clone());
        let bytes = extents.map(|extent| extent.bytes.end - extent.bytes.start).sum();
        self.count(bytes, count);
        let (part, file, ranges) = (ranged.number, ALL_FILES, std::slice::from_ref(&splits));
        let mapped = Mapped { part, file, ranges, bytes, splits: count };
        self.bench.save(&mapped, Duration::ZERO)?;
        self.bench.finish(bytes, count)
    }

    /// Whether a device's partial is to be taken in as soon as can be, of about so many bytes: it is time to save
    /// it, or a show waits for it. A device that has anything is in an epoch, as a worker is.
    pub(super) fn is_due(&mut self, bytes: u64) -> Result<bool> {
        let Workbench { index, ref seat, stage, .. } = self.bench;
        let is_called_out = seat.as_ref().is_some_and(Seat::is_called_out);
        if bytes == 0 {
            return if is_called_out { self.hand_over() } else { Ok(()) }.map(|()| false);
        }
        self.bench.take_seat(0, 0)?;
        let is_shown = stage.epochs.is_some_and(|epochs| epochs.is_due_with(bytes));
        let is_saved = || stage.saving.is_some_and(|saving| saving.is_due(index, bytes));
        Ok(is_called_out || is_shown || is_saved())
    }

    /// Takes in a partial that a device made of what is `mapped`; to fetch it took so long.
    pub(super) fn unload(
        &mut self,
        partial: &[u64],
        mapped: &Mapped<'_>,
        took: Duration,
    ) -> Result<()> {
        let (bytes, splits) = (mapped.bytes, mapped.splits);
        self.bench.take_seat(0, 0)?;
        self.bench.mapper.unload(partial, &self.bench.bad)?;
        self.count(bytes, splits);
        self.bench.save(mapped, took)?;
        self.bench.finish(bytes, splits)?;
        // Nobody else would, before the next partial comes.
        if self.bench.seat.is_some() { self.hand_over() } else { Ok(()) }
    }

    /// The numbers with which a device is to be sent records of a file; `None` if only a worker can map
    /// them.
    pub(super) fn launch(
        &self,
        bytes: &[u8],
        origin: Origin<'_>,
        offset: u64,
        file: u32,
    ) -> Option<[u64; ARGUMENTS]> {
        let split = Split::new(bytes, origin, offset, file, &self.bench.bad);
        self.bench.mapper.launch(&split)
    }

    /// Takes in the pairs of a snapshot, or takes them out.
    pub(super) fn restore(&mut self, saving: &Saving<C>, taking: &Taking) -> Result<()> {
        let _restoring = timeline::begin(timeline::Kind::Read);
        self.bench.restore(saving, taking)
    }

    /// Maps a block of the stream that is that part of the plan.
    pub(super) fn map_block(
        &mut self,
        block: &mut Block,
        part: usize,
        name: &Path,
        before: Before,
    ) -> Result<()> {
        let kind = OriginKind::Stream { name, newlines: block.newlines };
        let (origin, file) = (Origin { part, kind }, numbered(before.files, 0)?);
        let records = Part { records: 0..block.len, origin, offset: block.offset, file };
        self.bench.take_seat(part, block.number)?;
        let number = numbered(before.splits, block.number)?;
        self.bench.map(&mut block.buffer, records, number)?;
        self.count(block.len as u64, 1);
        self.bench.finish(block.len as u64, 1)
    }

    /// Maps a block of a compressed file, which was waited for or decompressed for so long.
    pub(super) fn map_unpacked(
        &mut self,
        block: &mut Unpacked,
        packed: &Packed,
        before: Before,
        ingest: Duration,
    ) -> Result<()> {
        let origin = packed.origin(block.file, block.newlines);
        let file = numbered(before.files, block.file as u64)?;
        let number = numbered(before.splits, block.number)?;
        let all = block.offset..block.offset + block.records.len() as u64;
        self.bench.take_seat(packed.number, block.number)?;
        self.totals.ingest += ingest;
        self.bench.stage.progress.add_bytes(block.compressed);
        // What was mapped before this run began and ended at records' ends.
        for range in self.bench.uncovered(packed, block.file, all.clone()) {
            let skipped = (range.start - all.start) as usize;
            let bytes = range.end - range.start;
            let start = block.records.start + skipped;
            let records = start..start + bytes as usize;
            let part = Part { records, origin, offset: range.start, file };
            self.bench.map(&mut block.buffer, part, number)?;
            self.totals.bytes += bytes;
            self.totals.splits += 1;
            let (part, file) = (packed.number, block.file as u64);
            let mapped = Mapped { part, file, ranges: &[range], bytes, splits: 1 };
            self.bench.save(&mapped, Duration::ZERO)?;
        }
        self.bench.finish(block.compressed, 1)
    }

    /// Hands over what is left, and leaves the epoch if in one.
    pub(super) fn hand_over(&mut self) -> Result<()> {
        self.bench.hand_over()
    }

    /// Gives a show the sample that it asks for.
    pub(super) fn give_sample(&mut self) -> Result<()> {
        self.bench.give_sample();
        Ok(())
    }

    /// Hands over, at the end of the stage.
    pub(super) fn end(&mut self) -> Result<()> {
        self.hand_over()?;
        self.bench.end(false)
    }

    /// Hands over what a device did, at its end; where others go on, it is saved, for there will be no other turn
    /// at which it is.
    pub(super) fn end_of_device(&mut self, others_go_on: bool) -> Result<()> {
        self.hand_over()?;
        self.bench.end(others_go_on)
    }

    fn count(&mut self, bytes: u64, splits: u64) {
        self.totals.bytes += bytes;
        self.totals.splits += splits;
        let progress = self.bench.stage.progress;
        progress.add_bytes(bytes);
        progress.see_keys(self.bench.mapper.held());
    }
}

impl<'r, C: Aggregate> Workbench<'r, C> {
    /// Maps what was read of splits, which count as the first of them.
    fn map_splits(
        &mut self,
        ranged: &Ranged,
        splits: &Range<u64>,
        read: &mut SplitBuffer,
        before: Before,
    ) -> Result<()> {
        let number = numbered(before.splits, splits.start)?;
        let SplitBuffer { buffer, pieces, .. } = read;
        for piece in pieces {
            let origin = ranged.origin(piece.file);
            let file = numbered(before.files, piece.file as u64)?;
            let records = piece.records.clone();
            if let Some(passing) = &mut self.passing {
                let bytes = &buffer.bytes()[records.clone()];
                passing.see(&ranged.material, piece.file, piece.offset, bytes);
            }
            let part = Part { records, origin, offset: piece.offset, file };
            self.map(buffer, part, number)?;
        }
        Ok(())
    }

    fn map(&mut self, buffer: &mut InputBuffer, part: Part<'_>, number: u32) -> Result<()> {
        self.mapper.map(buffer, part, number, &self.bad)
    }

    /// What follows work on so many bytes and splits.
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

    /// Gives a sample of what it holds, if a show asks for one.
    fn give_sample(&mut self) {
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

    /// What of a decompressed file's bytes no run before this one has mapped.
    fn uncovered(&self, packed: &Packed, file: usize, bytes: Range<u64>) -> Vec<Range<u64>> {
        let saving = self.stage.saving;
        match saving.and_then(|saving| saving.found().coverage.of(packed.number, file as u64)) {
            Some(covered) => covered.gaps(bytes).collect(),
            None => vec![bytes],
        }
    }

    /// Notes what was mapped, and saves what this worker has if it is time; what there is to save took so long
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

    /// Begins with a split: if it is of another tile than the last, what there is of that is saved, where
    /// tiles are kept apart.
    fn enter_tile(&mut self, ranged: &Ranged, split: u64) -> Result<()> {
        let Some(saving) = self.stage.saving else { return Ok(()) };
        let Some(tiles) = saving.tiles() else { return Ok(()) };
        let tile = (ranged.number, ranged.layout.tile_of(split).0);
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

    /// Saves what was handed over, which is all there is.
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
    fn end(&mut self, saves: bool) -> Result<()> {
        match self.stage.saving.filter(|saving| saves || saving.keeps_partials()) {
            Some(saving) => self.save_now(saving, (Instant::now(), true)),
            None => {
                self.stage.bad.add(&self.bad.take());
                Ok(())
            }
        }
    }

    fn restore(&mut self, saving: &Saving<C>, taking: &Taking) -> Result<()> {
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
    fn hand_over(&mut self) -> Result<()> {
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
        self.compress += folding.end();
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
