//! The end of a run with a state. Its result takes the place of all snapshots, unless they are kept. Where
//! tiles are found again, the snapshots stay, and the combined pairs of the whole are saved beside them for
//! the next run.

use super::folds::{Choice, Fold, forget, groups, tile_of};
use super::manifest::{Figures, Manifest, Piece, Snapshot, snapshot_name};
use super::saving::{Saving, lock};
use super::snapshot::{Keeps, SnapshotWriter, Written};
use super::stock::Stock;
use super::tiles::{EngineParts, TileTable};
use crate::aggregate::Aggregate;
use crate::bad::Found;
use crate::coverage::Coverage;
use crate::error::Result;
use crate::memory::ChunkPool;
use crate::partial::{Folder as Folding, PARTITIONS, Partial, Partition, Spill, Spiller};
use crate::plan::Plan;
use crate::schedule::{PerWorker, for_each};
use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const STAGE: &str = "saving the result";
/// Pairs below which folding the tiles again is as fast as reading their fold. With few keys there are many
/// groups of few tiles; tiles without a fold are read one by one for each larger group that they are in.
const FOLD_LEAST: u64 = 1 << 10;
/// A fold is kept if it has at most this part of the pairs of its tiles.
const FOLDED_PART: u64 = 2;
/// A fold of fewer pairs is made without partitions.
const FEW_FOLDED: u64 = 8 << 10;

/// A worker's tools for writing the result.
struct Finisher<C: Aggregate> {
    folder: Folding<C>,
    spiller: Option<Spiller<C>>,
    writer: Option<SnapshotWriter<C>>,
}

impl<C: Aggregate> Saving<C> {
    /// Makes the state that of a run that is done. All of the job's pairs are in `partial`.
    pub(crate) fn finish(
        &self,
        partial: &Partial<C::Accumulator>,
        chunks: &Arc<ChunkPool>,
        plan: &Plan,
        parts: EngineParts<'_>,
        (figures, bad): (Figures, Found),
    ) -> Result<()> {
        if let Some(tiles) = &self.tiles {
            return self.finish_tiles(tiles, partial, chunks, plan, parts);
        }
        if self.keeps_partials {
            return self.saver.change(Vec::new(), |manifest| manifest.done = true);
        }
        if self.was_done {
            return Ok(());
        }
        let mut written = self.write_result(Keeps::Apart, u64::MAX, partial, chunks, parts)?;
        let coverage = self.covered_now()?;
        let last = written.last_mut().and_then(|written| written.snapshot.pieces.last_mut());
        if let Some(last) = last {
            *last = Piece { coverage, figures, bad, ..std::mem::take(last) };
        }
        self.saver.change(written, |manifest| {
            manifest.done = true;
            manifest.snapshots.clear();
        })
    }

    /// Returns the part of the input that this run and earlier ones have mapped.
    fn covered_now(&self) -> Result<Coverage> {
        self.saver.wait()?;
        let mut all = Coverage::default();
        for piece in self.saver.manifest().pieces() {
            all.add_all(&piece.coverage);
        }
        for covering in &self.covering {
            all.add_all(&lock(covering).coverage);
        }
        Ok(all)
    }

    /// Folds all partitions and writes the result, if it has at most `most` pairs; otherwise returns nothing.
    fn write_result(
        &self,
        keeps: Keeps,
        most: u64,
        partial: &Partial<C::Accumulator>,
        chunks: &Arc<ChunkPool>,
        EngineParts { pool, failure, .. }: EngineParts<'_>,
    ) -> Result<Vec<Written>> {
        let spill = partial.spill().filter(|spill| spill.began());
        let workers = PerWorker::new(pool.workers());
        let make = || {
            let spiller = spill.map(|spill| spill.spiller(chunks)).transpose()?;
            Ok(Finisher { folder: Folding::new(chunks)?, spiller, writer: None })
        };
        let pairs = AtomicU64::new(0);
        for_each(pool, failure, STAGE, PARTITIONS, |index, number| {
            workers.with(index, make, |finisher| {
                pairs.fetch_add(finisher.fold(partial, spill, number)?, Ordering::Relaxed);
                Ok(())
            })
        })?;
        if pairs.into_inner() > most {
            return Ok(Vec::new());
        }
        for_each(pool, failure, STAGE, PARTITIONS, |index, number| {
            workers.with(index, make, |Finisher { spiller, writer, .. }| {
                let writer = match writer {
                    Some(writer) => writer,
                    none => none.insert(self.writer(keeps, chunks)?),
                };
                let mut partition = partial.partition(number);
                match spiller {
                    Some(spiller) => spiller.merge(partition.runs.runs_mut(), writer),
                    None => partition.pairs.iter().try_for_each(|pair| writer.push(pair)),
                }
            })
        })?;
        let mut written = Vec::new();
        for mut writer in workers.into_values().filter_map(|finisher| finisher.writer) {
            writer.end_piece(Piece::default())?;
            written.extend(writer.take_written());
        }
        Ok(written)
    }

    fn writer(&self, keeps: Keeps, chunks: &Arc<ChunkPool>) -> Result<SnapshotWriter<C>> {
        Ok(SnapshotWriter::new(&self.saver, chunks, self.block_bytes, keeps)?)
    }

    /// Keeps the prints of the tiles and the fold of all of them, and forgets tiles that are gone.
    fn finish_tiles(
        &self,
        tiles: &TileTable,
        partial: &Partial<C::Accumulator>,
        chunks: &Arc<ChunkPool>,
        plan: &Plan,
        parts: EngineParts<'_>,
    ) -> Result<()> {
        self.saver.wait()?;
        let found = self.saver.manifest();
        let mut prints = tiles.missing_prints(&found, plan, parts)?;
        let in_order = tiles.in_order();
        let there: HashSet<u64> = in_order.iter().copied().collect();
        let has_inverse = C::INVERSE.is_some();
        let (mut written, mut root) = (Vec::new(), None);
        let stock = Stock::of(&found);
        let is_known = Choice::of(&stock, &there, false).is_one_fold();
        // A fold of lists would hold all values once more.
        if !is_known && !C::KEEPS_VALUES && there.len() > 1 {
            let number = next_fold(&found);
            let most = stock.pairs_of_tiles(&there) / FOLDED_PART;
            written = self.write_result(Keeps::Fold(number), most, partial, chunks, parts)?;
            let mut tiles = in_order.clone();
            tiles.sort_unstable();
            root = (!written.is_empty()).then_some(Fold { number, tiles });
        }
        let groups = if has_inverse { Vec::new() } else { groups(&in_order) };
        let grouped: HashSet<&Vec<u64>> = groups.iter().flatten().collect();
        self.saver.change(written, |manifest| {
            manifest.done = true;
            if !is_known {
                manifest.folds.retain(|fold| grouped.contains(&fold.tiles));
                manifest.folds.extend(root);
            }
            forget(manifest, &there, false);
            let pieces = manifest.snapshots.iter_mut().flat_map(|snapshot| &mut snapshot.pieces);
            for piece in pieces.filter(|piece| piece.fold.is_none()) {
                let print = tile_of(piece).and_then(|tile| prints.remove(&tile));
                piece.print = piece.print.or(print);
            }
        })?;
        // They are made in memory, beside the result.
        if !has_inverse && !C::KEEPS_VALUES && partial.spill().is_none() {
            groups.iter().try_for_each(|level| self.write_folds(level, chunks, parts))?;
        }
        self.compact(chunks)
    }

    /// Writes the folds of those groups that have none yet and are worth one.
    fn write_folds(
        &self,
        groups: &[Vec<u64>],
        chunks: &Arc<ChunkPool>,
        EngineParts { pool, failure, .. }: EngineParts<'_>,
    ) -> Result<()> {
        let manifest = self.saver.manifest();
        let (stock, next) = (Stock::of(&manifest), next_fold(&manifest));
        let known: HashSet<&Vec<u64>> = stock.folds().map(|fold| &fold.tiles).collect();
        let mut folds = Vec::new();
        for tiles in groups.iter().filter(|tiles| tiles.len() > 1 && !known.contains(tiles)) {
            let choice = Choice::of(&stock, &tiles.iter().copied().collect(), false);
            if choice.pairs >= FOLD_LEAST {
                let fold = Fold { number: next + folds.len() as u64, tiles: tiles.clone() };
                folds.push((fold, choice.pairs / FOLDED_PART, choice.takings(&stock, |_| None)));
            }
        }
        if folds.is_empty() {
            return Ok(());
        }
        let workers = PerWorker::new(pool.workers());
        for_each(pool, failure, STAGE, folds.len(), |index, at| {
            let make = || Ok((Folding::<C>::new(chunks)?, self.writer(Keeps::Together, chunks)?));
            workers.with(index, make, |(folder, writer)| {
                let (fold, most, takings) = &folds[at];
                // Few pairs are folded in the cache as they are.
                let count = if *most < FEW_FOLDED { 1 } else { PARTITIONS };
                let mut partitions: Vec<_> = (0..count).map(|_| Partition::new(chunks)).collect();
                takings.iter().try_for_each(|taking| {
                    self.read(taking, chunks)?.restore_into::<C>(&mut partitions, chunks)
                })?;
                let mut pairs = 0;
                for partition in &mut partitions {
                    folder.compress(partition)?;
                    pairs += partition.pairs.len() as u64;
                }
                if pairs > *most {
                    return Ok(());
                }
                for partition in &partitions {
                    partition.pairs.iter().try_for_each(|pair| writer.push(pair))?;
                }
                writer.end_piece(Piece { fold: Some(fold.number), ..Piece::default() })
            })
        })?;
        let written: Vec<Written> =
            workers.into_values().flat_map(|(_, mut writer)| writer.take_written()).collect();
        let pieces = written.iter().flat_map(|written| &written.snapshot.pieces);
        let made: HashSet<u64> = pieces.filter_map(|piece| piece.fold).collect();
        let folds = folds.into_iter().map(|(fold, ..)| fold);
        let folds: Vec<Fold> = folds.filter(|fold| made.contains(&fold.number)).collect();
        self.saver.change(written, |manifest| manifest.folds.extend(folds))
    }

    /// Copies the rest of snapshots of which most is obsolete, so that the folder holds at most about twice
    /// the bytes that count.
    fn compact(&self, chunks: &Arc<ChunkPool>) -> Result<()> {
        let Manifest { snapshots, .. } = self.saver.manifest();
        let counts = |snapshot: &Snapshot| -> u64 {
            snapshot.pieces.iter().map(|piece| piece.blocks.end - piece.blocks.start).sum()
        };
        let thin = snapshots.into_iter().filter(|snapshot| counts(snapshot) < snapshot.bytes / 2);
        let thin: Vec<Snapshot> = thin.collect();
        if thin.is_empty() {
            return Ok(());
        }
        let mut writer = self.writer(Keeps::Together, chunks)?;
        for snapshot in &thin {
            let file = self.saver.storage().open(&snapshot_name(snapshot.number))?;
            snapshot.pieces.iter().try_for_each(|piece| writer.copy(&*file, piece))?;
        }
        self.saver.change(writer.take_written(), |manifest| {
            let is_thin =
                |snapshot: &Snapshot| thin.iter().any(|thin| thin.number == snapshot.number);
            manifest.snapshots.retain(|snapshot| !is_thin(snapshot));
        })
    }
}

impl<C: Aggregate> Finisher<C> {
    /// Folds a partition where it is; returns its pairs, or a bound of them.
    fn fold(
        &mut self,
        partial: &Partial<C::Accumulator>,
        spill: Option<&Spill>,
        number: usize,
    ) -> Result<u64> {
        if let Some((spill, spiller)) = spill.zip(self.spiller.as_mut()) {
            spill.spill(number, partial, &mut self.folder, spiller)?;
            let mut partition = partial.partition(number);
            return Ok(partition.runs.runs_mut().iter().map(|run| run.pairs).sum());
        }
        let mut partition = partial.partition(number);
        if partition.may_repeat() {
            self.folder.compress(&mut partition)?;
        }
        Ok(partition.pairs.len() as u64)
    }
}

fn next_fold(manifest: &Manifest) -> u64 {
    manifest.folds.iter().map(|fold| fold.number + 1).max().unwrap_or_default()
}
