//! The numbers of map tasks: those that Hadoop gives, the largest split first and splits of one size in the order of
//! the input. Tiles of jobs without reducers, whose part files have these numbers, are splits, so each file is cut at
//! multiples of a split. Pieces of streams, of compressed files and of plain files that are read with those are not known
//! before they come, and take what number is left. Their part files are put in order when all of them are there, so that
//! the numbers are those of the input alone.

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
    /// The first number of pieces that were not known before, and the next one of them.
    first_late: usize,
    next: usize,
    /// The files of tasks, where in them each begins, and its number.
    taken: Vec<(u32, u64, usize)>,
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
        let first_late = splits.len();
        let numbered = splits.into_iter().zip(0..);
        let of_splits =
            numbered.map(|((file, split, _), number)| ((file, split), number)).collect();
        let left = Left { of_splits, first_late, next: first_late, taken: Vec::new() };
        Numbers { split_bytes, left: Mutex::new(left) }
    }

    /// Returns the number of the task whose input begins there. No two tasks get the same.
    pub(crate) fn take(&self, file: u32, offset: u64) -> usize {
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        let known = left.of_splits.remove(&(file, offset / self.split_bytes));
        let number = known.unwrap_or(left.next);
        left.next += usize::from(known.is_none());
        left.taken.push((file, offset, number));
        number
    }

    /// Returns the numbers of tasks whose part files are out of order, each with the one that is wanted: the part files of
    /// a file have numbers in the order of its pieces, and those of pieces that were not known before are in the order of
    /// the files.
    pub(crate) fn out_of_order(&self) -> Vec<(usize, usize)> {
        let left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        let mut pieces = left.taken.clone();
        pieces.sort_unstable();
        let mut late = left.first_late..;
        // How many of a file's pieces were not known is not a matter of which came first.
        let mut numbers: Vec<(u32, usize)> = pieces
            .iter()
            .map(|&(file, _, number)| match number < left.first_late {
                true => (file, number),
                false => (file, late.next().unwrap_or(number)),
            })
            .collect();
        numbers.sort_unstable();
        let both = pieces.iter().zip(&numbers).map(|((.., taken), (_, wanted))| (*taken, *wanted));
        both.filter(|(taken, wanted)| taken != wanted).collect()
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
        assert!(numbers.left().is_empty() && numbers.out_of_order().is_empty());
    }

    #[test]
    fn pieces_that_came_in_another_order_are_put_in_order() {
        let numbers = Numbers::new(&[Some(20), Some(10)], 10);
        for (file, offset) in [(0, 30), (1, 0), (0, 0), (0, 20), (0, 10)] {
            numbers.take(file, offset);
        }
        // File 0 took 3, 0, 4 and 1 for its pieces from 30, 0, 20 and 10 on, and file 1 took 2.
        assert_eq!(numbers.out_of_order(), [(4, 3), (3, 4)]);
    }

    #[test]
    fn numbers_are_the_same_in_whichever_order_the_pieces_of_all_files_came() {
        // Two pieces of file 0 begin in its first split, and one of file 1 after its last.
        let pieces = [(0, 0), (0, 9), (0, 18), (0, 27), (1, 0), (1, 7), (1, 14)];
        let numbers_of = |order: &[usize]| {
            let numbers = Numbers::new(&[Some(20), Some(5)], 10);
            let taken: HashMap<usize, usize> =
                order.iter().map(|&at| (numbers.take(pieces[at].0, pieces[at].1), at)).collect();
            let moved: HashMap<usize, usize> = numbers.out_of_order().into_iter().collect();
            let mut all: Vec<(usize, usize)> =
                taken.iter().map(|(taken, &at)| (at, *moved.get(taken).unwrap_or(taken))).collect();
            all.sort_unstable();
            all.into_iter().map(|(_, number)| number).collect::<Vec<_>>()
        };
        for order in [[0, 1, 2, 3, 4, 5, 6], [6, 5, 4, 3, 2, 1, 0], [4, 3, 6, 1, 0, 5, 2]] {
            assert_eq!(numbers_of(&order), [0, 1, 3, 4, 2, 5, 6], "{order:?}");
        }
    }
}
