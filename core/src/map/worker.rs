//! One worker of the map stage: the pairs that it holds, its attendants, and its counts.

use super::attendant::{Attendant, Mapped, Spot};
use super::holdings::Holdings;
use super::mapper::FileRecords;
use super::{Before, MapStage, MapTotals, numbered};
use crate::aggregate::Aggregate;
use crate::coverage::ALL_FILES;
use crate::device::ARGUMENTS;
use crate::error::Result;
use crate::origin::{self, Origin};
use crate::plan::Part;
use crate::split::Split;
use crate::unit::{Piece, Unit};
use std::ops::Range;
use std::time::{Duration, Instant};

/// The position of a device's partial in the input: it may be of any splits.
const ANYWHERE: Spot = (0, 0);

/// A worker's own things, kept over all splits of the stage.
pub(super) struct Worker<'r, C: Aggregate> {
    stage: &'r MapStage<'r, C>,
    holdings: Holdings<'r, C>,
    attendants: Vec<Box<dyn Attendant<'r, C> + 'r>>,
    totals: MapTotals,
}

impl<'r, C: Aggregate> Worker<'r, C> {
    pub(super) fn new(stage: &'r MapStage<'r, C>, index: usize) -> Result<Worker<'r, C>> {
        let mut holdings = Holdings::new(stage, index)?;
        let attendants = stage.attended_by.iter();
        let attendants = attendants.map(|attends| attends.attendant(index, &mut holdings));
        let attendants = attendants.collect();
        Ok(Worker { stage, holdings, attendants, totals: MapTotals::default() })
    }

    pub(super) fn totals(&self) -> MapTotals {
        let handed_over = self.holdings.mapper.handed_over();
        MapTotals {
            pairs: self.holdings.mapper.emitted(),
            pairs_handed_over: handed_over.pairs,
            hand_over: handed_over.busy,
            compress: self.holdings.compress,
            ..self.totals
        }
    }

    /// Maps a unit of a part of the plan, as one split.
    pub(super) fn map(&mut self, unit: &mut Unit, before: Before) -> Result<()> {
        let Unit { buffer, pieces, splits, .. } = unit;
        let Unit { newlines, stored_bytes, ingest, .. } = *unit;
        let (plan, part) = (self.stage.plan, before.parts);
        let number = numbered(before.splits, splits.start)?;
        self.attend(|attendant, holdings| attendant.begin((part, splits.start), holdings))?;
        self.totals.ingest += ingest;
        let began = Instant::now();
        let of = &plan.parts[part];
        let mut file = ALL_FILES;
        let first = pieces.first().map_or(0, |piece| piece.records.start);
        if matches!(of, Part::Packed(_)) {
            // Earlier runs mapped ranges that end at the ends of records.
            (file, *pieces) = (pieces[0].file as u64, self.unmapped(part, pieces));
        }
        for piece in &*pieces {
            let records = &buffer.bytes()[piece.records.clone()];
            let newlines = newlines.map(|before| {
                before + origin::newlines(&buffer.bytes()[first..piece.records.start])
            });
            self.attendants.iter_mut().for_each(|attendant| attendant.see(of, piece, records));
            let records = FileRecords {
                records: piece.records.clone(),
                origin: plan.origin(part, piece.file, newlines),
                offset: piece.offset,
                file: numbered(before.files, piece.file as u64)?,
            };
            let Holdings { mapper, bad, .. } = &mut self.holdings;
            mapper.map(buffer, records, number, bad)?;
        }
        let (mut bytes, mut count) = (stored_bytes, splits.end - splits.start);
        let ranges: Vec<Range<u64>> = match of {
            Part::Ranged(_) => vec![splits.clone()],
            Part::Packed(_) => pieces.iter().map(Piece::bytes).collect(),
            Part::Stream(_) => Vec::new(),
        };
        if matches!(of, Part::Packed(_)) {
            bytes = ranges.iter().map(|bytes| bytes.end - bytes.start).sum();
            count = ranges.len() as u64;
        }
        unit.mapping = began.elapsed();
        let (ranges, took) = (&ranges[..], Duration::ZERO);
        self.finish(&Mapped { part, file, ranges, bytes, splits: count, stored_bytes, took })
    }

    /// Returns whether a device's partial of about `bytes` should be taken in soon. A device with work is in an
    /// epoch, as a worker is.
    pub(super) fn is_due(&mut self, bytes: u64) -> Result<bool> {
        let mut is_due = false;
        self.attend(|attendant, holdings| {
            is_due |= attendant.is_due(bytes, holdings)?;
            Ok(())
        })?;
        Ok(is_due)
    }

    /// Takes in a partial that a device made of the `mapped` splits.
    pub(super) fn unload(&mut self, partial: &[u64], mapped: &Mapped<'_>) -> Result<()> {
        self.attend(|attendant, holdings| attendant.begin(ANYWHERE, holdings))?;
        let Holdings { mapper, bad, .. } = &mut self.holdings;
        mapper.unload(partial, bad)?;
        self.finish(mapped)
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
        let split = Split::new(bytes, origin, offset, file, &self.holdings.bad);
        self.holdings.mapper.launch(&split)
    }

    /// Called when there is no work.
    pub(super) fn idle(&mut self, is_done: bool) -> Result<()> {
        self.attend(|attendant, holdings| attendant.idle(is_done, holdings))
    }

    /// Hands over all there is.
    pub(super) fn hand_over(&mut self) -> Result<()> {
        self.holdings.hand_over()?;
        let Worker { holdings, attendants, .. } = self;
        attendants.iter_mut().for_each(|attendant| attendant.handed_over(holdings));
        Ok(())
    }

    /// Hands over at the end of the stage, or of a device's work on a part of the input.
    pub(super) fn end(&mut self, others_go_on: bool) -> Result<()> {
        self.attend(|attendant, holdings| attendant.end(others_go_on, holdings))?;
        self.holdings.hand_over()?;
        self.holdings.take_bad();
        Ok(())
    }

    /// Does the work that follows the mapping.
    fn finish(&mut self, mapped: &Mapped<'_>) -> Result<()> {
        self.totals.bytes += mapped.bytes;
        self.totals.splits += mapped.splits;
        let progress = self.stage.progress;
        progress.add_bytes(mapped.stored_bytes);
        progress.see_keys(self.holdings.mapper.held());
        self.holdings.keep_up()?;
        self.attend(|attendant, holdings| attendant.mapped(mapped, holdings))
    }

    /// Calls all attendants, in order.
    fn attend(
        &mut self,
        mut call: impl FnMut(&mut dyn Attendant<'r, C>, &mut Holdings<'r, C>) -> Result<()>,
    ) -> Result<()> {
        let Worker { holdings, attendants, .. } = self;
        attendants.iter_mut().try_for_each(|attendant| call(&mut **attendant, holdings))
    }

    /// Returns the records of a decompressed file that no run before this one has mapped.
    fn unmapped(&self, part: usize, pieces: &[Piece]) -> Vec<Piece> {
        let mut left = Vec::new();
        for piece in pieces {
            match self.stage.done.and_then(|done| done.of(part, piece.file as u64)) {
                Some(done) => left.extend(done.gaps(piece.bytes()).map(|gap| piece.part(gap))),
                None => left.push(piece.clone()),
            }
        }
        left
    }
}
