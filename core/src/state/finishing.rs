//! The end of a run with a state. Its result takes the place of all snapshots, unless they are kept. Where
//! tiles are found again, the snapshots stay, and the combined pairs of the whole are saved beside them for
//! the next run.

use super::Keep;
use super::folds::{Choice, Fold, Group, Taking, forget, groups, tile_of};
use super::manifest::{Figures, Manifest, Piece, Snapshot, snapshot_name};
use super::saver::Saver;
use super::saving::{Covering, Saving, lock};
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
use crate::reuse::Print;
use crate::schedule::{PerWorker, for_each};
use crate::sync::Mutex;
use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

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
        ended: (Figures, Found),
    ) -> Result<()> {
        match &self.tiles {
            Some(tiles) => self.finish_tiles(tiles, partial, chunks, plan, parts)?,
            None => self.finish_parts(partial, chunks, parts, ended)?,
        }
        // Where nothing is added at the end, a save may be left that was not named any more.
        if self.keep != Keep::Nothing {
            self.folder.end();
        }
        Ok(())
    }

    /// As `finish`, where tiles are known by their places.
    fn finish_parts(
        &self,
        partial: &Partial<C::Accumulator>,
        chunks: &Arc<ChunkPool>,
        parts: EngineParts<'_>,
        (figures, bad): (Figures, Found),
    ) -> Result<()> {
        if self.was_done || self.keep == Keep::Nothing {
            return Ok(());
        }
        if self.keep == Keep::Partials {
            return self.saver.change(Vec::new(), &mut |manifest| manifest.done = true);
        }
        let mut written = self.write_result(Keeps::Apart, u64::MAX, partial, chunks, parts)?;
        let coverage = covered_now(&self.saver, &self.covering)?;
        let last = written.last_mut().and_then(|written| written.snapshot.pieces.last_mut());
        if let Some(last) = last {
            *last = Piece { coverage, figures, bad, ..std::mem::take(last) };
        }
        self.saver.change(written, &mut |manifest| {
            manifest.done = true;
            manifest.snapshots.clear();
        })
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
                    None => writer.push_all(&partition.pairs),
                }
            })
        })?;
        let mut written = Vec::new();
        for mut writer in workers.into_values().into_iter().filter_map(|finisher| finisher.writer) {
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
        let has_inverse = C::INVERSE.is_some();
        // A fold of lists would hold all values once more.
        let mut end = EndOfTiles::of(&self.saver, tiles, plan, !C::KEEPS_VALUES, parts)?;
        let written = match end.root {
            Some(RootFold { number, most }) => {
                self.write_result(Keeps::Fold(number), most, partial, chunks, parts)?
            }
            None => Vec::new(),
        };
        let groups = if has_inverse { Vec::new() } else { groups(&end.in_order) };
        end.note(&self.saver, written, &groups)?;
        // They are made in memory, beside the result.
        let are_wanted = !has_inverse && !C::KEEPS_VALUES && tiles.may_change_inside();
        if are_wanted && partial.spill().is_none() {
            let write = |level: &Vec<Group>| self.write_folds(tiles, level, chunks, parts);
            groups.iter().try_for_each(write)?;
        }
        compact(&self.saver, &mut |thin| {
            let mut writer = self.writer(Keeps::Together, chunks)?;
            for snapshot in thin {
                let file = self.saver.storage().open(&snapshot_name(snapshot.number))?;
                snapshot.pieces.iter().try_for_each(|piece| writer.copy(&*file, piece))?;
            }
            Ok(writer.take_written())
        })
    }

    /// Writes the folds of those groups of a level that have none yet and are worth one.
    fn write_folds(
        &self,
        tiles: &TileTable,
        groups: &[Group],
        chunks: &Arc<ChunkPool>,
        EngineParts { pool, failure, .. }: EngineParts<'_>,
    ) -> Result<()> {
        let folds = folds_to_make(&self.saver.manifest(), tiles, groups);
        if folds.is_empty() {
            return Ok(());
        }
        // The list descends by pairs: if a fold is refused, so would be those after it.
        let is_refused: Vec<AtomicBool> = folds.iter().map(|_| AtomicBool::new(false)).collect();
        let workers = PerWorker::new(pool.workers());
        for_each(pool, failure, STAGE, folds.len(), |index, at| {
            let make = || Ok((Folding::<C>::new(chunks)?, self.writer(Keeps::Together, chunks)?));
            workers.with(index, make, |(folder, writer)| {
                if is_refused[..at].iter().any(|refused| refused.load(Ordering::Relaxed)) {
                    return Ok(());
                }
                let FoldToMake { fold, most, takings } = &folds[at];
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
                    is_refused[at].store(true, Ordering::Relaxed);
                    return Ok(());
                }
                for partition in &partitions {
                    writer.push_all(&partition.pairs)?;
                }
                writer.end_piece(Piece { fold: Some(fold.number), ..Piece::default() })
            })
        })?;
        let mut written = Vec::new();
        for (_, mut writer) in workers.into_values() {
            written.extend(writer.take_written());
        }
        let tried = folds.into_iter().zip(is_refused.into_iter().map(AtomicBool::into_inner));
        note_folds(&self.saver, tried, written)
    }
}

/// Returns the part of the input that this run and earlier ones have mapped.
fn covered_now(saver: &Saver, covering: &[Mutex<Covering>]) -> Result<Coverage> {
    saver.wait()?;
    let mut all = Coverage::default();
    for piece in saver.manifest().pieces() {
        all.add_all(&piece.coverage);
    }
    for covering in covering {
        all.add_all(&lock(covering).coverage);
    }
    Ok(all)
}

/// What is known of the tiles when all of them are mapped.
struct EndOfTiles {
    in_order: Vec<u64>,
    there: HashSet<u64>,
    prints: HashMap<u64, Print>,
    /// Whether one fold has the pairs of all tiles.
    is_known: bool,
    /// The fold of all tiles, if it is to be made.
    root: Option<RootFold>,
}

/// A fold of all tiles: its number, and the pairs that it may have at most.
#[derive(Clone, Copy)]
struct RootFold {
    number: u64,
    most: u64,
}

impl EndOfTiles {
    fn of(
        saver: &Saver,
        tiles: &TileTable,
        plan: &Plan,
        may_fold: bool,
        parts: EngineParts<'_>,
    ) -> Result<EndOfTiles> {
        saver.wait()?;
        let found = saver.manifest();
        let prints = tiles.missing_prints(&found, plan, parts)?;
        let in_order = tiles.in_order();
        let there: HashSet<u64> = in_order.iter().copied().collect();
        let stock = Stock::of(&found);
        let is_known = Choice::of(&stock, &there, false).is_one_fold();
        let root = (!is_known && may_fold && there.len() > 1).then(|| RootFold {
            number: next_fold(&found),
            most: stock.pairs_of_tiles(&there) / FOLDED_PART,
        });
        Ok(EndOfTiles { in_order, there, prints, is_known, root })
    }

    /// Names what was `written` of the fold of all tiles, and forgets tiles that are gone, and folds that are of none
    /// of the `groups`.
    fn note(&mut self, saver: &Saver, written: Vec<Written>, groups: &[Vec<Group>]) -> Result<()> {
        let grouped: HashSet<&Vec<u64>> =
            groups.iter().flatten().map(|group| &group.tiles).collect();
        let made = self.root.filter(|_| !written.is_empty());
        let mut tiles = self.in_order.clone();
        tiles.sort_unstable();
        let mut root = made.map(|RootFold { number, .. }| Fold { number, tiles });
        saver.change(written, &mut |manifest| {
            manifest.done = true;
            if !self.is_known {
                manifest.folds.retain(|fold| grouped.contains(&fold.tiles));
                manifest.folds.extend(root.take());
            }
            forget(manifest, &self.there, false);
            let pieces = manifest.snapshots.iter_mut().flat_map(|snapshot| &mut snapshot.pieces);
            for piece in pieces.filter(|piece| piece.fold.is_none()) {
                let print = tile_of(piece).and_then(|tile| self.prints.remove(&tile));
                piece.print = piece.print.or(print);
            }
        })
    }
}

/// A fold that is worth making: the pairs that it may have at most, and where those of its tiles are.
struct FoldToMake {
    fold: Fold,
    most: u64,
    takings: Vec<Taking>,
}

/// Returns the folds of those groups of a level that have none yet and may be worth one, those of most pairs first.
///
/// The more pairs, the more keys occur in several tiles. So a group is not tried if one of its level with at least as
/// many pairs was not worth a fold. And a group that ends with the input changes when tiles are appended: its fold is
/// made only if most of its pairs are new. So a run over a log that has grown pays for the tiles that were appended.
fn folds_to_make(manifest: &Manifest, tiles: &TileTable, groups: &[Group]) -> Vec<FoldToMake> {
    let (stock, next) = (Stock::of(manifest), next_fold(manifest));
    let tried: HashSet<&Vec<u64>> = manifest.folds.iter().map(|fold| &fold.tiles).collect();
    let kept: HashSet<&Vec<u64>> = stock.folds().map(|fold| &fold.tiles).collect();
    let tiles_of = groups.iter().map(|group| &group.tiles);
    let refused = tiles_of.filter(|tiles| tried.contains(tiles) && !kept.contains(tiles));
    let most_refused = refused.map(|tiles| stock.pairs_of_tiles(tiles)).max().unwrap_or(0);
    let may_be_worth_one = |Group { tiles: of, is_closed }: &&Group| {
        let pairs = stock.pairs_of_tiles(of);
        let new = || stock.pairs_of_tiles(of.iter().filter(|&&tile| tiles.is_new(tile)));
        of.len() > 1
            && !tried.contains(of)
            && pairs > most_refused
            && (*is_closed || new() >= pairs / 2)
    };
    let mut folds = Vec::new();
    for Group { tiles, .. } in groups.iter().filter(may_be_worth_one) {
        let choice = Choice::of(&stock, &tiles.iter().copied().collect(), false);
        if choice.pairs >= FOLD_LEAST {
            let fold = Fold { number: next + folds.len() as u64, tiles: tiles.clone() };
            let (most, takings) = (choice.pairs / FOLDED_PART, choice.takings(&stock, |_| None));
            folds.push(FoldToMake { fold, most, takings });
        }
    }
    folds.sort_by_key(|made| Reverse(stock.pairs_of_tiles(&made.fold.tiles)));
    folds
}

/// Names the folds that were written, and those that were `tried` and refused.
fn note_folds(
    saver: &Saver,
    tried: impl Iterator<Item = (FoldToMake, bool)>,
    written: Vec<Written>,
) -> Result<()> {
    let pieces = written.iter().flat_map(|written| &written.snapshot.pieces);
    let made: HashSet<u64> = pieces.filter_map(|piece| piece.fold).collect();
    let noted =
        tried.filter(|(FoldToMake { fold, .. }, refused)| *refused || made.contains(&fold.number));
    let mut folds: Vec<Fold> = noted.map(|(FoldToMake { fold, .. }, _)| fold).collect();
    saver.change(written, &mut |manifest| manifest.folds.append(&mut folds))
}

/// Copies the rest of snapshots of which most is obsolete, so that the folder holds at most about twice
/// the bytes that count. `copy` copies what counts of some.
fn compact(saver: &Saver, copy: &mut dyn FnMut(&[Snapshot]) -> Result<Vec<Written>>) -> Result<()> {
    let Manifest { snapshots, .. } = saver.manifest();
    let counts = |snapshot: &Snapshot| -> u64 {
        snapshot.pieces.iter().map(|piece| piece.blocks.end - piece.blocks.start).sum()
    };
    let thin = snapshots.into_iter().filter(|snapshot| counts(snapshot) < snapshot.bytes / 2);
    let thin: Vec<Snapshot> = thin.collect();
    if thin.is_empty() {
        return Ok(());
    }
    saver.change(copy(&thin)?, &mut |manifest| {
        let is_thin = |snapshot: &Snapshot| thin.iter().any(|thin| thin.number == snapshot.number);
        manifest.snapshots.retain(|snapshot| !is_thin(snapshot));
    })
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
