//! Bad records: those that a map refuses. The first one fails the run, with its place named; or, where
//! the caller says so, they are counted and passed over, and the earliest few are kept to be shown.

use crate::error::{Error, Place, Result};
use crate::origin::{OriginKind, newlines};
use crate::plan::Plan;
use crate::split::Split;
use std::mem;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A record that a map refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadRecord {
    /// Where it begins.
    pub place: Place,
    /// What the map said of it.
    pub cause: String,
}

/// How many of a run's bad records [`Stats`](crate::Stats) shows: the earliest ones of the input.
pub const BAD_RECORDS_SHOWN: usize = 5;

/// What the maps of one run refuse.
pub(crate) struct BadRecords {
    skip: bool,
    /// Whether records are lines, so that a line has a number.
    has_lines: bool,
    found: Mutex<Found>,
}

#[derive(Default)]
struct Found {
    count: u64,
    /// In the order of the input.
    first: Vec<Kept>,
}

struct Kept {
    /// Part of the plan, file of the part, offset in the file.
    at: (usize, usize, u64),
    /// As far as it is known without reading the file again.
    line: Option<u64>,
    cause: String,
}

type Cause = Box<dyn std::error::Error + Send + Sync>;

impl BadRecords {
    pub(crate) fn new(skip: bool, has_lines: bool) -> BadRecords {
        BadRecords { skip, has_lines, found: Mutex::default() }
    }

    /// Refuses the record that begins `inside` bytes from the start of a split.
    pub(crate) fn refuse(
        &self,
        split: &Split<'_>,
        inside: usize,
        cause: impl Into<Cause>,
    ) -> Result<()> {
        let (origin, offset) = (split.origin(), split.offset() + inside as u64);
        let known_line = || match origin.kind {
            OriginKind::Stream { newlines: Some(before), .. }
            | OriginKind::Packed { newlines: Some(before), .. } => {
                Some(before + newlines(&split.bytes()[..inside]) + 1)
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
        let mut found = self.found();
        found.count += 1;
        let rank = found.first.partition_point(|kept| kept.at <= at);
        if rank < BAD_RECORDS_SHOWN {
            let cause = cause.into().to_string();
            found.first.insert(rank, Kept { at, line: known_line(), cause });
            found.first.truncate(BAD_RECORDS_SHOWN);
        }
        Ok(())
    }

    /// How many there were, and the earliest of them. Reads each of their files once more, up to the
    /// last of these, if their lines are to be numbered.
    pub(crate) fn finish(&self, plan: &Plan) -> (u64, Vec<BadRecord>) {
        let Found { count, first } = mem::take(&mut *self.found());
        let mut before = ((usize::MAX, 0), 0, Some(0));
        let shown = first.into_iter().map(|Kept { at: (part, file, offset), line, cause }| {
            let origin = plan.origin(part, file);
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

    fn found(&self) -> MutexGuard<'_, Found> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
