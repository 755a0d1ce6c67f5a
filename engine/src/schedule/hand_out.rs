//! The hand-out of a layout's splits to workers: each is given out once, several that follow each
//! other inside a tile at a time. Takes a layout; hands on numbers of splits.

use super::Cursor;
use crate::plan::Layout;
use std::ops::Range;

/// Splits that are still to be read.
pub(crate) struct HandOut<'p> {
    layout: &'p Layout,
    cursor: Cursor,
}

impl<'p> HandOut<'p> {
    pub(crate) fn new(layout: &'p Layout) -> HandOut<'p> {
        HandOut { layout, cursor: Cursor::new(layout.splits()) }
    }

    /// The next splits for a worker, at most `most` (at least 1) and all of one tile; `None` when all
    /// are given out.
    pub(crate) fn take(&self, _worker: usize, most: u64) -> Option<Range<u64>> {
        self.cursor.take_some(|next| self.layout.tile_end(next).min(next + most))
    }
}
