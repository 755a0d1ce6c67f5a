//! Bad records: those that a map refuses. The first one fails the run, with its place named; or, if the
//! caller allows it, they are counted and skipped, and the earliest few are kept to be shown.

use crate::encoding::{Reading, put_bytes, put_number};
use crate::error::{Error, Place, Result};
use crate::origin::{Origin, OriginKind, newlines};
use crate::sync::Mutex;
use std::mem;

/// A record that a map refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadRecord {
    /// Where it begins.
    pub place: Place,
    /// The reason that the map gave.
    pub cause: String,
}

/// How many of a run's bad records `Stats` shows: the earliest ones of the input.
pub const BAD_RECORDS_SHOWN: usize = 5;

/// The bad records of one run.
#[derive(Debug)]
pub struct BadRecords {
    skip: bool,
    /// Whether records are lines, so that a line has a number.
    has_lines: bool,
    found: Mutex<Found>,
}

/// The records that were refused and skipped.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    count: u64,
    /// In the order of the input.
    first: Vec<Kept>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Kept {
    /// Part of the plan, file of the part, offset in the file.
    at: (usize, usize, u64),
    /// The line, as far as it is known without reading the file again.
    line: Option<u64>,
    cause: String,
}

impl Found {
    /// Returns whether a record at that place would be one of the earliest.
    fn wants(&self, at: (usize, usize, u64)) -> bool {
        self.first.len() < BAD_RECORDS_SHOWN || self.first.last().is_some_and(|last| at < last.at)
    }

    fn keep(&mut self, kept: Kept) {
        let rank = self.first.partition_point(|before| before.at <= kept.at);
        self.first.insert(rank, kept);
        self.first.truncate(BAD_RECORDS_SHOWN);
    }

    #[doc(hidden)]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Returns the same records at other places: `place` is given the part of the plan, the file of the part, and the offset
    /// in the file. Records for which it has none are counted, and not shown.
    #[doc(hidden)]
    pub fn placed(
        &self,
        place: impl Fn(usize, usize, u64) -> Option<(usize, usize, u64)>,
    ) -> Found {
        let mut placed = Found { count: self.count, first: Vec::new() };
        for Kept { at: (part, file, offset), line, cause } in &self.first {
            if let Some(at) = place(*part, *file, *offset) {
                placed.keep(Kept { at, line: *line, cause: cause.clone() });
            }
        }
        placed
    }

    #[doc(hidden)]
    pub fn add(&mut self, other: &Found) {
        self.count += other.count;
        other.first.iter().for_each(|kept| self.keep(kept.clone()));
    }

    #[doc(hidden)]
    pub fn encode(&self, out: &mut Vec<u8>) {
        put_number(self.count, out);
        put_number(self.first.len() as u64, out);
        for Kept { at: (part, file, offset), line, cause } in &self.first {
            [*part as u64, *file as u64, *offset].into_iter().for_each(|at| put_number(at, out));
            // Lines are counted from 1.
            put_number(line.unwrap_or(0), out);
            put_bytes(cause.as_bytes(), out);
        }
    }

    #[doc(hidden)]
    pub fn decode(from: &mut Reading<'_>) -> Option<Found> {
        let (count, kept) = (from.number()?, from.number()?);
        let kept = (0..kept).map(|_| {
            let at = (from.number()? as usize, from.number()? as usize, from.number()?);
            let line = Some(from.number()?).filter(|&line| line > 0);
            Some(Kept { at, line, cause: from.text()? })
        });
        Some(Found { count, first: kept.collect::<Option<_>>()? })
    }
}

type Cause = Box<dyn std::error::Error + Send + Sync>;

impl BadRecords {
    #[doc(hidden)]
    pub fn new(skip: bool, has_lines: bool) -> BadRecords {
        BadRecords { skip, has_lines, found: Mutex::default() }
    }

    /// Returns an empty one of the same kind.
    pub fn alike(&self) -> BadRecords {
        BadRecords::new(self.skip, self.has_lines)
    }

    /// Refuses a record of a split that begins at `start` in its file; `before` are the split's bytes
    /// before the record.
    pub fn refuse(
        &self,
        origin: &Origin<'_>,
        start: u64,
        before: &[u8],
        cause: impl Into<Cause>,
    ) -> Result<()> {
        let (bytes_before, offset) = (before, start + before.len() as u64);
        let known_line = || match origin.kind {
            OriginKind::Stream { newlines: Some(before), .. }
            | OriginKind::Packed { newlines: Some(before), .. } => {
                Some(before + newlines(bytes_before) + 1)
            }
            _ => None,
        };
        if !self.skip {
            let line = known_line().or_else(|| {
                let before = self.has_lines.then(|| origin.newlines(0..offset));
                before.flatten().map(|before| before + 1)
            });
            return Err(Error::Record { place: origin.place(line, offset), cause: cause.into() });
        }
        let at = (origin.part, origin.file(), offset);
        self.keep(at, known_line, || cause.into().to_string());
        Ok(())
    }

    /// Counts a record as skipped that no map was given: `at` are the part of the plan, its file, and the offset there.
    pub(crate) fn skip(&self, at: (usize, usize, u64), cause: String) {
        self.keep(at, || None, || cause);
    }

    fn keep(
        &self,
        at: (usize, usize, u64),
        line: impl FnOnce() -> Option<u64>,
        cause: impl FnOnce() -> String,
    ) {
        let mut found = self.found.lock();
        found.count += 1;
        if found.wants(at) {
            found.keep(Kept { at, line: line(), cause: cause() });
        }
    }

    /// Takes the records found until now.
    pub fn take(&self) -> Found {
        mem::take(&mut *self.found.lock())
    }

    /// Returns the records found until now, which stay.
    pub fn so_far(&self) -> Found {
        self.found.lock().clone()
    }

    /// Adds records that were found elsewhere.
    pub fn add(&self, other: &Found) {
        self.found.lock().add(other);
    }

    /// Returns their number, and the earliest of them; `origin` gives the origin of a file of a part. If lines are
    /// numbered, reads the file of each of these again, up to the last of them.
    pub(crate) fn finish<'p>(
        &self,
        origin: impl Fn(usize, usize) -> Origin<'p>,
    ) -> (u64, Vec<BadRecord>) {
        let Found { count, first } = self.take();
        let mut before = ((usize::MAX, 0), 0, Some(0));
        let shown = first.into_iter().map(|Kept { at: (part, file, offset), line, cause }| {
            let origin = origin(part, file);
            if before.0 != (part, file) {
                before = ((part, file), 0, self.has_lines.then_some(0));
            }
            let more = before.2.and_then(|_| origin.newlines(before.1..offset));
            before.2 = before.2.zip(more).map(|(before, more)| before + more);
            before.1 = offset;
            let line = line.or(before.2.map(|before| before + 1));
            BadRecord { place: origin.place(line, offset), cause }
        });
        (count, shown.collect())
    }
}
