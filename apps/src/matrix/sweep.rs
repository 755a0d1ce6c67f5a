//! Scans all numbers of a matrix on all workers, before jobs that rely on the result.

use super::{Element, Matrix, Number, fault};
use crate::Runs;
use std::sync::atomic::{AtomicU64, Ordering};
use tegula::Result;

/// Approximate bytes that a worker scans at a time: enough to make the cost of a task negligible.
const BLOCK_BYTES: usize = 1 << 20;

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
        let least = [const { AtomicU64::new(u64::MAX) }; N];
        runs.tasks(count, |block| {
            let start = block * block_bytes;
            let end = self.bytes.len().min(start + block_bytes);
            let found = look(start / self.element.bytes(), &self.bytes[start..end]);
            for (least, found) in least.iter().zip(found) {
                least.fetch_min(found, Ordering::Relaxed);
            }
            Ok(())
        })?;
        Ok(least.map(AtomicU64::into_inner))
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

    /// Returns a number that is the less, the larger the largest magnitude of a block is.
    pub(crate) fn nearness(&self, bytes: &[u8]) -> u64 {
        match self.element {
            // Squares of all of them are finite.
            Element::F32 => u64::MAX,
            // Bits are in the order of magnitudes.
            Element::F64 => {
                u64::MAX - f64::read(bytes).fold(0, |most, n| most.max(n.abs().to_bits()))
            }
        }
    }

    /// Fails if the sum of the squares of all distances between rows may be infinite, by the least
    /// [nearness](Matrix::nearness) of their blocks.
    pub(crate) fn refuse_far(&self, nearness: u64) -> Result<()> {
        let apart = 2.0 * f64::from_bits(u64::MAX - nearness);
        if (apart * apart * (self.rows * self.columns) as f64).is_finite() {
            return Ok(());
        }
        Err(fault("the matrix", "squares beyond the largest number; scale the points down"))
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
