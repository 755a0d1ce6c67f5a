//! The hand-out of a layout's splits to workers: each is given out once, several that follow each
//! other inside a tile at a time. Takes a layout; hands on numbers of splits.

use super::Cursor;
use crate::plan::Layout;
use std::ops::Range;

/// Splits that are still to be read.
pub(crate) struct HandOut<'p> {
    layout: &'p Layout,
    first: u64,
    cursor: Cursor,
}

impl<'p> HandOut<'p> {
    /// Splits of whole tiles.
    pub(crate) fn new(layout: &'p Layout, splits: Range<u64>) -> HandOut<'p> {
        HandOut { layout, first: splits.start, cursor: Cursor::new(splits.end - splits.start) }
    }

    /// The next splits for a worker, at most `most` (at least 1) and all of one tile; `None` when all
    /// are given out.
    pub(crate) fn take(&self, _worker: usize, most: u64) -> Option<Range<u64>> {
        let first = self.first;
        let end = |next| self.layout.tile_end(first + next).min(first + next + most) - first;
        self.cursor.take_some(end).map(|taken| first + taken.start..first + taken.end)
    }
}
