//! A parallel loop over numbered pieces of work, which the first failure ends.

use super::{Cursor, Pool, Step};
use crate::error::Result;
use crate::failure::Failure;

/// Does numbered pieces of work on all workers of the run's share: `work(worker, number)` for each number below
/// `count`.
pub fn for_each(
    pool: &Pool,
    failure: &Failure,
    stage: &str,
    count: usize,
    work: impl Fn(usize, usize) -> Result<()> + Sync,
) -> Result<()> {
    for_each_any(pool, failure, stage, count, &work)
}

/// As [`for_each`], compiled once for all kinds of work.
fn for_each_any(
    pool: &Pool,
    failure: &Failure,
    stage: &str,
    count: usize,
    work: &(dyn Fn(usize, usize) -> Result<()> + Sync),
) -> Result<()> {
    let cursor = Cursor::new(count as u64);
    let step = |index| {
        let Some(number) = (!failure.stops()).then(|| cursor.take()).flatten() else {
            return Step::Done;
        };
        match failure.attempt(number, stage, || work(index, number as usize)) {
            Some(()) => Step::More,
            None => Step::Done,
        }
    };
    pool.run_within(step);
    failure.check()
}
