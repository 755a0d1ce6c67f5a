//! The numbers of map tasks: those that Hadoop gives, the largest split first and splits of one size in the order of
//! the input. Tiles of jobs without reducers, whose part files have these numbers, are splits, so each file is cut at
//! multiples of a split. Pieces of streams and of compressed files are not known before they come, and get the numbers after.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// Numbers that tasks take.
pub(crate) struct Numbers {
    split_bytes: u64,
    left: Mutex<Left>,
}

/// Numbers that no task has taken.
struct Left {
    /// Of each file and each of its splits.
    of_splits: HashMap<(u32, u64), usize>,
    /// The first number of pieces that were not known before.
    next: usize,
}

impl Numbers {
    /// Numbers the splits of files with these lengths.
    pub(crate) fn new(files: &[Option<u64>], split_bytes: u64) -> Numbers {
        let mut splits = Vec::new();
        for (file, bytes) in (0..).zip(files) {
            let bytes = bytes.unwrap_or(0);
            for split in 0..bytes.div_ceil(split_bytes) {
                splits.push((file, split, split_bytes.min(bytes - split * split_bytes)));
            }
        }
        splits.sort_by_key(|(_, _, bytes)| u64::MAX - bytes);
        let next = splits.len();
        let numbered = splits.into_iter().zip(0..);
        let of_splits =
            numbered.map(|((file, split, _), number)| ((file, split), number)).collect();
        Numbers { split_bytes, left: Mutex::new(Left { of_splits, next }) }
    }

    /// Returns the number of the task whose input begins there. No two tasks get the same.
    pub(crate) fn take(&self, file: u32, offset: u64) -> usize {
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        let known = left.of_splits.remove(&(file, offset / self.split_bytes));
        known.unwrap_or_else(|| {
            left.next += 1;
            left.next - 1
        })
    }

    /// Returns the numbers of splits in which no record begins, so that they were no task.
    pub(crate) fn left(&self) -> Vec<usize> {
        let left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        left.of_splits.values().copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_split_is_first() {
        let numbers = Numbers::new(&[Some(5), Some(25), None], 10);
        let taken = [(1, 0), (1, 13), (1, 20), (0, 0), (2, 0), (2, 100)];
        let taken = taken.map(|(file, offset)| numbers.take(file, offset));
        assert_eq!(taken, [0, 1, 3, 2, 4, 5]);
        assert!(numbers.left().is_empty());
    }
}
