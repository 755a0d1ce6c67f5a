//! The records of a range where they lie, and their keys.

use super::records::Form;
use crate::heads::Keyed;

/// The records of a range, by their place.
pub(super) trait Located {
    fn record(&self, place: usize) -> &[u8];
}

pub(super) struct Fixed<'b> {
    pub(super) bytes: &'b [u8],
    pub(super) size: usize,
}

/// Lines or pairs, with the places where they begin and the end of the last.
pub(super) struct Lines<'b> {
    pub(super) bytes: &'b [u8],
    pub(super) starts: &'b [u32],
}

impl Located for Fixed<'_> {
    #[inline(always)]
    fn record(&self, place: usize) -> &[u8] {
        &self.bytes[place * self.size..(place + 1) * self.size]
    }
}

impl Located for Lines<'_> {
    #[inline(always)]
    fn record(&self, place: usize) -> &[u8] {
        &self.bytes[self.starts[place] as usize..self.starts[place + 1] as usize]
    }
}

pub(super) struct ByKey<'r, L> {
    pub(super) form: &'r Form,
    pub(super) records: &'r L,
}

impl<L: Located> Keyed for ByKey<'_, L> {
    #[inline(always)]
    fn key(&self, place: usize) -> &[u8] {
        self.form.key(self.records.record(place))
    }

    fn is_reversed(&self) -> bool {
        self.form.reverse
    }
}
