//! Scans all numbers of a matrix on all workers, before jobs that rely on the result.

use super::{Element, Matrix, Number, fault};
use crate::{Runs, TASK_BYTES, task_numbers};
use tegula::{Cut, Emit, Job, Min, Result, Split};

/// Approximate bytes that a worker scans at a time: enough to make the cost of a task negligible.
const BLOCK_BYTES: usize = 1 << 20;

/// The least results of each block.
struct Sweep<'m, F> {
    matrix: &'m Matrix,
    block_bytes: usize,
    look: F,
}

impl<const N: usize, F: Fn(usize, &[u8]) -> [u64; N] + Sync> Job for Sweep<'_, F> {
    type Key = u64;
    type Combine = Min<u64>;

    fn cut(&self) -> Cut {
        Cut::Fixed(TASK_BYTES as u64)
    }

    fn map<'s>(&self, split: Split<'s>, emit: &mut impl Emit<'s, Self>) -> Result<()> {
        for block in task_numbers(split.bytes()) {
            let start = block * self.block_bytes;
            let end = self.matrix.bytes.len().min(start + self.block_bytes);
            let first = start / self.matrix.element.bytes();
            let found = (self.look)(first, &self.matrix.bytes[start..end]);
            (0..).zip(found).for_each(|(key, found)| emit.emit(key, found));
        }
        Ok(())
    }
}

impl Matrix {
    /// Returns the least results of `look` over all blocks, each of its numbers separately. `look` gets the
    /// index of a block's first number and the block's bytes. Linear, on all workers.
    pub(crate) fn least<const N: usize>(
        &self,
        runs: &mut Runs<'_>,
        look: impl Fn(usize, &[u8]) -> [u64; N] + Sync,
    ) -> Result<[u64; N]> {
        let block_bytes = BLOCK_BYTES / self.element.bytes() * self.element.bytes();
        let count = self.bytes.len().div_ceil(block_bytes);
        let sweep = Sweep { matrix: self, block_bytes, look };
        let output = runs.on_cores(|runs| runs.tasks(&sweep, count))?;
        let mut least = [u64::MAX; N];
        output.for_each(|key, found| least[key as usize] = found)?;
        Ok(least)
    }

    /// Checks that all numbers are finite. Linear, on all workers.
    ///
    /// # Errors
    /// Returns [`Error::Record`](tegula::Error::Record) with row and column of a number that is not finite;
    /// and errors of running.
    pub fn check_finite(&self, runs: &mut Runs<'_>) -> Result<()> {
        let [bad] = self.least(runs, |first, bytes| [self.first_bad(first, bytes)])?;
        self.refuse(bad)
    }

    /// Returns the index of the first number of a block that is not finite; `u64::MAX` if there is none.
    pub(crate) fn first_bad(&self, first: usize, bytes: &[u8]) -> u64 {
        match self.element {
            Element::F32 => first_bad::<f32>(first, bytes),
            Element::F64 => first_bad::<f64>(first, bytes),
        }
    }

    /// Fails if there is a [bad](Matrix::first_bad) number.
    pub(crate) fn refuse(&self, bad: u64) -> Result<()> {
        if bad == u64::MAX {
            return Ok(());
        }
        let (row, column) = (bad / self.columns as u64 + 1, bad % self.columns as u64 + 1);
        let cause = format!("not a finite number in row {row}, column {column}; mend it");
        Err(fault("the matrix", cause))
    }
}

fn first_bad<T: Number>(first: usize, bytes: &[u8]) -> u64 {
    let is_bad = |number: T| !number.wide().is_finite();
    // Mostly there is none, and this test takes no branch per number.
    if !T::read(bytes).fold(false, |found, number| found | is_bad(number)) {
        return u64::MAX;
    }
    T::read(bytes).position(is_bad).map_or(u64::MAX, |place| (first + place) as u64)
}
