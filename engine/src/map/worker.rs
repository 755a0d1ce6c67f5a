//! One worker of the map stage: its reader, its emitter with its tables, its folder, and what it did.

use super::{Before, MapStage, MapTotals, numbered};
use crate::codec::Unpacked;
use crate::container::{Inlet, Kind, Making};
use crate::error::Result;
use crate::failure::guard;
use crate::ingest::{Block, Buffer, Feed, Load, Reader, SplitBuffer, Waits};
use crate::job::Job;
use crate::origin::{Origin, OriginKind};
use crate::partial::{Folder, PARTITIONS, Spiller};
use crate::plan::{Packed, Ranged};
use crate::split::Split;
use crate::timeline;
use crate::tokenize::fold_ascii;
use std::ops::Range;
use std::path::Path;
use std::time::{Duration, Instant};

/// Partitions are looked at after so many pairs: a small part of what they hold before folding pays.
const PAIRS_PER_LOOK: u64 = 16 << 10;

/// Records of one file that lie in a buffer.
struct Part<'a> {
    records: Range<usize>,
    origin: Origin<'a>,
    /// Where they begin in the file.
    offset: u64,
    file: u32,
}

/// A worker's own things, kept over all splits of the stage.
pub(super) struct Worker<'r, J: Job, K: Kind> {
    reader: Option<Reader>,
    waits: Option<Waits>,
    mapper: Mapper<'r, J, K>,
    totals: MapTotals,
}

/// The part of a worker that maps bytes, wherever they were read.
struct Mapper<'r, J: Job, K: Kind> {
    stage: &'r MapStage<'r, J, K>,
    index: usize,
    emitter: K::Inlet<'r, J>,
    /// Pairs handed over when partitions were last looked at.
    handed_over_seen: u64,
    folder: Option<Folder<J::Combine>>,
    /// What spills.
    spiller: Option<Spiller<J::Combine>>,
    compress: Duration,
}

impl<'r, J: Job, K: Kind> Worker<'r, J, K> {
    pub(super) fn new(stage: &'r MapStage<'r, J, K>, index: usize) -> Result<Worker<'r, J, K>> {
        let making = Making {
            chunks: stage.chunks,
            partial: stage.partial,
            limits: stage.table_limits,
            range: stage.key_range,
            share_bytes: stage.plan.likely_bytes() / stage.pool.workers() as u64,
        };
        let emitter = K::Inlet::new(&making)?;
        let compress = Duration::ZERO;
        let mapper = Mapper {
            stage,
            index,
            emitter,
            handed_over_seen: 0,
            folder: None,
            spiller: None,
            compress,
        };
        Ok(Worker { reader: None, waits: None, mapper, totals: MapTotals::default() })
    }

    pub(super) fn totals(&self) -> MapTotals {
        let handed_over = self.mapper.emitter.handed_over();
        MapTotals {
            pairs: self.mapper.emitter.emitted(),
            pairs_handed_over: handed_over.pairs,
            hand_over: handed_over.busy,
            compress: self.mapper.compress,
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
        let stage = self.mapper.stage;
        let reader = match &mut self.reader {
            Some(reader) => reader,
            none => none.insert(Reader::new(stage.chunks.blocks(), stage.plan.unit_bytes)?),
        };
        let began = Instant::now();
        self.totals.ingest += feed.read_own(splits.clone(), reader, &mut self.waits)?;
        self.mapper.map_splits(ranged, &splits, &mut reader.read, before)?;
        feed.units().add(splits.end - splits.start, began.elapsed());
        self.finish_splits(ranged, splits)
    }

    /// Maps splits that were read ahead.
    pub(super) fn map_load(
        &mut self,
        ranged: &Ranged,
        load: &mut Load,
        before: Before,
    ) -> Result<()> {
        self.mapper.map_splits(ranged, &load.splits, &mut load.bytes, before)?;
        self.finish_splits(ranged, load.splits.clone())
    }

    fn finish_splits(&mut self, ranged: &Ranged, splits: Range<u64>) -> Result<()> {
        let count = splits.end - splits.start;
        let extents = ranged.layout.extents(splits);
        self.count(extents.map(|extent| extent.bytes.end - extent.bytes.start).sum(), count);
        self.mapper.compress()?;
        self.mapper.spill()
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
        let part = Part { records: 0..block.len, origin, offset: block.offset, file };
        self.mapper.map(&mut block.buffer, part, numbered(before.splits, block.number)?)?;
        self.count(block.len as u64, 1);
        self.mapper.compress()?;
        self.mapper.spill()
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
        let records = block.records.clone();
        let bytes = records.len() as u64;
        let part = Part { records, origin, offset: block.offset, file };
        self.mapper.map(&mut block.buffer, part, numbered(before.splits, block.number)?)?;
        self.totals.ingest += ingest;
        self.totals.bytes += bytes;
        self.totals.splits += 1;
        self.mapper.stage.progress.add_bytes(block.compressed);
        self.mapper.compress()?;
        self.mapper.spill()
    }

    /// Hands over what is left, at the end of the stage.
    pub(super) fn hand_over(&mut self) -> Result<()> {
        self.mapper.emitter.hand_over()?;
        self.mapper.spill()
    }

    fn count(&mut self, bytes: u64, splits: u64) {
        self.totals.bytes += bytes;
        self.totals.splits += splits;
        let progress = self.mapper.stage.progress;
        progress.add_bytes(bytes);
        progress.see_keys(self.mapper.emitter.held());
    }
}

impl<J: Job, K: Kind> Mapper<'_, J, K> {
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
            let part = Part { records, origin, offset: piece.offset, file };
            self.map(buffer, part, number)?;
        }
        Ok(())
    }

    /// Maps the records in a part of `buffer`, which belong to split `number`, and takes in all of
    /// their pairs.
    fn map(&mut self, buffer: &mut Buffer, part: Part<'_>, number: u32) -> Result<()> {
        let Part { records, origin, offset, file } = part;
        let (job, emitter) = (self.stage.job, &mut self.emitter);
        if job.folds_ascii() {
            fold_ascii(&mut buffer.bytes_mut()[records.clone()]);
        }
        let bytes = &buffer.bytes()[records.clone()];
        let split = Split::new(bytes, origin, offset, file, self.stage.bad);
        let mapped = guard(
            || origin.place(None, offset),
            || {
                // SAFETY: the records lie in the buffer, which has OVERREAD_BYTES initialised bytes
                // behind its capacity; it stays borrowed, hence unchanged, until the split is finished
                // or abandoned below.
                let mut emit = unsafe {
                    let start = buffer.start().add(records.start);
                    emitter.begin_split(start, bytes.len(), number)
                };
                job.map(split, &mut emit)?;
                drop(emit);
                emitter.finish_split(&split)
            },
        );
        mapped.inspect_err(|_| self.emitter.abandon_split())
    }

    /// Folds the partitions that have doubled since they were last folded, if enough was handed over
    /// since the last look.
    fn compress(&mut self) -> Result<()> {
        let handed_over = self.emitter.handed_over().pairs;
        if handed_over - self.handed_over_seen < PAIRS_PER_LOOK {
            return Ok(());
        }
        self.handed_over_seen = handed_over;
        let folding = timeline::begin(timeline::Kind::Compress);
        let (partial, workers) = (self.stage.partial, self.stage.pool.workers());
        let first = self.index * PARTITIONS / workers;
        let mut held = 0;
        for number in 0..PARTITIONS {
            let mut partition = partial.partition((first + number) % PARTITIONS);
            if partition.fold_is_due() {
                let folder = match &mut self.folder {
                    Some(folder) => folder,
                    none => none.insert(Folder::new(self.stage.chunks)?),
                };
                folder.compress(&mut partition)?;
            }
            held += partition.pairs.len() as u64;
        }
        self.stage.progress.set_keys_held(held);
        self.compress += folding.end();
        Ok(())
    }

    /// Spills if pairs have passed their share of memory.
    fn spill(&mut self) -> Result<()> {
        let (partial, chunks) = (self.stage.partial, self.stage.chunks);
        let Some(spill) = partial.spill().filter(|spill| spill.is_due(chunks)) else {
            return Ok(());
        };
        let _spilling = timeline::begin(timeline::Kind::Spill);
        let folder = match &mut self.folder {
            Some(folder) => folder,
            none => none.insert(Folder::new(chunks)?),
        };
        let spiller = match &mut self.spiller {
            Some(spiller) => spiller,
            none => none.insert(spill.spiller(chunks)?),
        };
        spill.relieve(partial, chunks, folder, spiller)
    }
}
