//! When files were last changed: for a run that trusts these times, and for the next run.

use super::Sources;
use crate::error::{InputError, Result};
use crate::failure::Failure;
use crate::schedule::{Pool, for_each};
use std::ops::Range;
use std::os::unix::fs::MetadataExt;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// Of each file, nanoseconds from 1970 to its last change.
pub struct Stamps(Vec<i64>);

/// Not known, or not to be relied on.
const UNKNOWN: i64 = i64::MIN;

/// A file that was changed less than this before it was looked at may be changed again without its time
/// becoming another: clocks of file systems are coarse.
const SETTLED_AFTER_NS: i64 = 2_000_000_000;

/// Files looked at by a worker at a time.
const FILES_PER_STEP: usize = 128;

impl Stamps {
    /// Returns the stamps of files, in order, whose times are known otherwise.
    pub fn new(changed: impl IntoIterator<Item = Option<i64>>) -> Stamps {
        Stamps(changed.into_iter().map(|changed| changed.unwrap_or(UNKNOWN)).collect())
    }

    /// Reads the times of all files before any content is read, so that a later change shows as another time.
    pub fn look(sources: &Sources<'_>, pool: &Pool, failure: &Failure) -> Result<Stamps> {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        let now = since.map_or(0, |since| i64::try_from(since.as_nanos()).unwrap_or(i64::MAX));
        let found: Vec<AtomicI64> = (0..sources.files()).map(|_| AtomicI64::new(UNKNOWN)).collect();
        let steps = sources.files().div_ceil(FILES_PER_STEP);
        for_each(pool, failure, "the plan stage", steps, |_, number| {
            let first = number * FILES_PER_STEP;
            for (stamp, file) in found[first..].iter().take(FILES_PER_STEP).zip(first..) {
                if sources.is_local(file) {
                    stamp.store(changed(sources, file, now)?, Ordering::Relaxed);
                }
            }
            Ok(())
        })?;
        Ok(Stamps(found.into_iter().map(AtomicI64::into_inner).collect()))
    }

    /// Returns whether files that have stamps are unchanged since the stamps were read. A file that changed
    /// just before that is uncertain, and counts as changed; files that are elsewhere count as unchanged.
    pub fn hold(&self, sources: &Sources<'_>, files: Range<usize>) -> Result<bool> {
        for file in files.filter(|&file| sources.is_local(file)) {
            let then = self.0[file];
            if then == UNKNOWN || changed(sources, file, i64::MAX)? != then {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// When a file was last changed, if that is known and long enough ago.
    pub fn get(&self, file: usize) -> Option<i64> {
        Some(self.0[file]).filter(|&stamp| stamp != UNKNOWN)
    }
}

fn changed(sources: &Sources<'_>, file: usize, now: i64) -> Result<i64, InputError> {
    let path = sources.path(file);
    let found = std::fs::metadata(&path).map_err(|cause| InputError::of_listed(path, cause))?;
    let stamp = found.mtime().checked_mul(1_000_000_000);
    let stamp = stamp.and_then(|stamp| stamp.checked_add(found.mtime_nsec()));
    Ok(stamp.filter(|stamp| stamp.saturating_add(SETTLED_AFTER_NS) < now).unwrap_or(UNKNOWN))
}
