//! Saving a sort: the records of its ranges, as workers pile them up, in the pieces of a state. A run that resumes takes
//! the pieces as rows of their ranges, and puts only the other splits into ranges. What is saved is not written to the
//! scratch storage besides: a worker's pile goes to the state when it is half full, or when it is time.
//!
//! All pieces are by the same ranges, so these are kept, too. A piece is a range of stretches that ascend, and has an
//! index at its end: for each range the lengths of its chunks and their checksums.

use super::records::{Records, Sort};
use super::splitters::Splitters;
use super::store::{Held, Pile, RangeRows, SavedRow};
use crate::coverage::Coverage;
use crate::encoding::{Reading, checksum_of, put_number};
use crate::error::{Error, Result, StorageError};
use crate::identity::Identity;
use crate::options::Options;
use crate::plan::Plan;
use crate::state::{Figures, GrowingPiece, Keep, Pace, PieceState, Terms, WrittenPiece};
use crate::storage::Stored;
use std::array;
use std::ops::Range;
use std::time::Instant;

/// The identity of the form of records in a state; others are not read.
const VERSION: u32 = 3;
/// Bytes after an index: its length, and its checksum.
const TAIL_BYTES: usize = 16;

/// The state of a sort.
pub(super) struct Saving {
    state: PieceState,
    tile_bytes: u64,
}

/// The work of one worker since its last save.
pub(super) struct Keeper<'r> {
    saving: &'r Saving,
    pace: Pace,
    coverage: Coverage,
    figures: Figures,
    /// The first and the last stretch.
    stretches: Option<(u32, u32)>,
}

/// A piece that was found.
struct Found {
    stretches: (u32, u32),
    rows: Vec<(SavedRow, Vec<Held>)>,
}

impl Saving {
    /// Opens the state that the options name, if they do.
    pub(super) fn open(sort: &Sort, plan: &Plan, options: &Options) -> Result<Option<Saving>> {
        let Some(state) = &options.state else { return Ok(None) };
        if state.is_incremental() {
            let cause = "a sort finds no tiles again; leave it out".to_owned();
            return Err(Error::Option { option: "incremental", cause });
        }
        let Options { skip_bad, plain, .. } = *options;
        let terms = Terms { skip_bad, plain, devices: 0 };
        let state = PieceState::open(state, &identity(sort), plan, terms)?;
        Ok(Some(Saving { state, tile_bytes: plan.tile_bytes }))
    }

    pub(super) fn coverage(&self) -> &Coverage {
        self.state.coverage()
    }

    /// Returns whether a piece has the records of a split of a compressed file.
    pub(super) fn has(&self, part: usize, file: u64, split: u64) -> bool {
        let found = self.coverage().of(part, file);
        found.is_some_and(|found| found.first_gap(split..split + 1).is_none())
    }

    pub(super) fn figures(&self) -> Figures {
        self.state.figures()
    }

    /// Returns the bytes of a record that was found, on average; `None` if none was.
    pub(super) fn record_bytes(&self) -> Option<u64> {
        let Figures { bytes, emitted, .. } = self.figures();
        bytes.checked_div(emitted)
    }

    pub(super) fn saved_bytes(&self) -> u64 {
        self.state.saved_bytes()
    }

    /// Returns the ranges of the pieces; those of `choose`, which are kept from then on, if there are none yet.
    pub(super) fn splitters(&self, choose: impl FnOnce() -> Splitters) -> Result<Splitters> {
        let Some(own) = self.state.own()? else {
            let (chosen, mut body) = (choose(), Vec::new());
            chosen.encode(&mut body);
            self.state.set_own(&body)?;
            return Ok(chosen);
        };
        let from = &mut Reading::new(&own);
        let found = Splitters::decode(from).filter(|_| from.is_at_end());
        found.ok_or_else(|| Error::Storage(self.damaged("its ranges are inconsistent")))
    }

    /// Adds the pieces that were found to the ranges. Pieces that follow each other are one row.
    pub(super) fn restore(&self, ranges: &mut [RangeRows]) -> Result<()> {
        let mut found = Vec::new();
        self.state.each_found(|piece| {
            found.push(self.decoded(&piece, ranges.len())?);
            Ok(())
        })?;
        found.sort_by_key(|piece| piece.stretches.0);
        // The last stretch of each row, and the row's place in each range, if it is there.
        let mut chains: Vec<(u32, Vec<Option<usize>>)> = Vec::new();
        for Found { stretches: (first, last), rows } in found {
            let open = chains.iter().enumerate().filter(|(_, (end, _))| *end < first);
            let chain = match open.max_by_key(|(_, (end, _))| *end) {
                Some((chain, _)) => chain,
                None => {
                    chains.push((0, vec![None; ranges.len()]));
                    chains.len() - 1
                }
            };
            let (end, places) = &mut chains[chain];
            *end = last;
            for (SavedRow { range, bytes, records, .. }, held) in rows {
                let range_rows = &mut ranges[range as usize];
                range_rows.bytes += bytes;
                range_rows.records += records;
                let place = &mut places[range as usize];
                let at = *place.get_or_insert_with(|| {
                    range_rows.rows.push(Vec::new());
                    range_rows.rows.len() - 1
                });
                range_rows.rows[at].extend(held);
            }
        }
        Ok(())
    }

    fn decoded(&self, piece: &WrittenPiece, ranges: usize) -> Result<Found> {
        let damaged = || Error::Storage(self.damaged("the index of a piece is inconsistent"));
        let WrittenPiece { file, bytes: Range { start, end } } = piece;
        let at = end.checked_sub(TAIL_BYTES as u64).ok_or_else(damaged)?;
        let mut tail = [0; TAIL_BYTES];
        file.read_exact_at(&mut tail, at)?;
        let [length, sum] = [0, 8].map(|at| u64::from_le_bytes(array::from_fn(|i| tail[at + i])));
        let index_at = at.checked_sub(length).filter(|index| index >= start);
        let index_at = index_at.ok_or_else(damaged)?;
        let mut index = vec![0; (at - index_at) as usize];
        Stored { offset: index_at, bytes: index.len(), sum }.read(&**file, &mut index)?;
        let (stretches, rows) = decode(&index).ok_or_else(damaged)?;
        let mut offset = *start;
        let mut held_of = |row: &SavedRow| -> Vec<Held> {
            let held = row.chunks.iter().map(|&(used, sum)| {
                let at = Stored { offset, bytes: used as usize, sum };
                offset += u64::from(used);
                Held::Saved { file: file.clone(), at }
            });
            held.collect()
        };
        let rows: Vec<_> = rows
            .into_iter()
            .map(|row| {
                let held = held_of(&row);
                (row, held)
            })
            .collect();
        let is_whole = offset == index_at;
        let are_ranges = rows.iter().all(|(row, _)| (row.range as usize) < ranges);
        (is_whole && are_ranges).then_some(Found { stretches, rows }).ok_or_else(damaged)
    }

    fn damaged(&self, cause: &'static str) -> StorageError {
        StorageError::Damaged { path: self.state.path().to_path_buf(), offset: 0, cause }
    }

    /// Opens a worker's account.
    pub(super) fn keeper(&self) -> Keeper<'_> {
        Keeper {
            saving: self,
            pace: Pace::new(self.state.save_every, self.tile_bytes, Instant::now()),
            coverage: Coverage::default(),
            figures: Figures::default(),
            stretches: None,
        }
    }

    /// Ends the state when all records are written.
    pub(super) fn finish(&self) -> Result<()> {
        self.state.finish()
    }
}

impl Keeper<'_> {
    /// Notes that splits of a part, or of one of its files, were put into ranges, as of a stretch.
    pub(super) fn mapped(
        &mut self,
        (part, file, splits): (usize, u64, Range<u64>),
        stretch: u32,
        bytes: u64,
    ) {
        let figures = Figures { bytes, splits: splits.end - splits.start, emitted: 0 };
        self.figures.add(figures);
        self.coverage.add(part, file, splits);
        let (first, _) = self.stretches.unwrap_or((stretch, stretch));
        self.stretches = Some((first, stretch));
    }

    /// Returns whether something was put into ranges since the last save.
    pub(super) fn holds_records(&self) -> bool {
        self.stretches.is_some()
    }

    /// Saves the pile if it is time, or the memory of the pile is needed.
    pub(super) fn save_if_due(&mut self, pile: &mut Pile, bytes: u64) -> Result<()> {
        self.saving.state.check()?;
        let is_due = self.pace.mapped(bytes, Instant::now()) && self.saving.state.has_room();
        if is_due || pile.is_half_full() { self.save(pile) } else { Ok(()) }
    }

    /// Saves what is left when all is put into ranges, if all is to be kept.
    pub(super) fn end(&mut self, pile: &mut Pile) -> Result<()> {
        match self.saving.state.keep {
            Keep::Partials => self.save(pile),
            Keep::Result | Keep::Nothing => Ok(()),
        }
    }

    /// Saves all that was put into ranges since the last save.
    pub(super) fn save(&mut self, pile: &mut Pile) -> Result<()> {
        let Some(stretches) = self.stretches.take() else { return Ok(()) };
        let began = Instant::now();
        let state = &self.saving.state;
        let mut piece = state.begin()?;
        let rows = match write(pile, stretches, &mut piece) {
            Ok(rows) => rows,
            Err(fault) => {
                state.abandon(&piece);
                return Err(fault);
            }
        };
        let records = rows.iter().map(|row| row.records).sum();
        let figures = Figures { emitted: records, ..std::mem::take(&mut self.figures) };
        state.end(piece, std::mem::take(&mut self.coverage), records, figures);
        let now = Instant::now();
        self.pace.saved(now - began, now);
        Ok(())
    }
}

/// Writes what a pile has since the last save, and its index.
fn write(
    pile: &mut Pile,
    stretches: (u32, u32),
    piece: &mut GrowingPiece,
) -> Result<Vec<SavedRow>> {
    let file = piece.file.clone();
    let rows = pile.save(&file, |bytes| piece.write(bytes))?;
    let mut index = encode(stretches, &rows);
    let tail = [index.len() as u64, checksum_of([&index])];
    tail.iter().for_each(|number| index.extend_from_slice(&number.to_le_bytes()));
    piece.write(&index)?;
    Ok(rows)
}

fn identity(sort: &Sort) -> Identity {
    let Sort { records, key, reverse, unique } = sort;
    let records = match records {
        Records::Lines => "lines".to_owned(),
        Records::Fixed(bytes) => format!("of {bytes} bytes"),
    };
    let key = key.as_ref().map_or("all".to_owned(), |key| format!("{}..{}", key.start, key.end));
    Identity::new("sort", VERSION)
        .with("records", records)
        .with("key", key)
        .with("reverse", reverse)
        .with("unique", unique)
}

fn encode((first, last): (u32, u32), rows: &[SavedRow]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut put = |numbers: &[u64]| numbers.iter().for_each(|&number| put_number(number, &mut out));
    put(&[first.into(), last.into(), rows.len() as u64]);
    for SavedRow { range, bytes, records, chunks } in rows {
        put(&[u64::from(*range), *bytes, *records, chunks.len() as u64]);
        chunks.iter().for_each(|&(used, sum)| put(&[used.into(), sum]));
    }
    out
}

fn decode(index: &[u8]) -> Option<((u32, u32), Vec<SavedRow>)> {
    let from = &mut Reading::new(index);
    let small = |from: &mut Reading<'_>| u32::try_from(from.number()?).ok();
    let stretches = (small(from)?, small(from)?);
    let mut rows = Vec::new();
    for _ in 0..from.number()? {
        let (range, bytes, records) = (small(from)?, from.number()?, from.number()?);
        let chunk = |from: &mut Reading<'_>| Some((small(from)?, from.number()?));
        let chunks = (0..from.number()?).map(|_| chunk(from)).collect::<Option<_>>()?;
        rows.push(SavedRow { range, bytes, records, chunks });
    }
    from.is_at_end().then_some((stretches, rows))
}
