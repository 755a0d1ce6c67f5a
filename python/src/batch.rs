//! Pairs in columns: what is read of an answer at a time.

use crate::dynamic::{Column, Columns};
use crate::memory::bring;

/// Pairs of a portion, in columns.
#[derive(Clone)]
pub(crate) struct Batch {
    /// Where each key ends.
    pub(crate) key_ends: Vec<usize>,
    pub(crate) keys: Vec<u8>,
    pub(crate) columns: Vec<Column>,
}

impl Batch {
    pub(crate) fn new(columns: Vec<Column>) -> Batch {
        Batch { key_ends: Vec::new(), keys: Vec::new(), columns }
    }

    /// Makes room for `pairs` pairs in all, whose keys are as long as those that are here.
    pub(crate) fn reserve(&mut self, pairs: usize) {
        let more = pairs.saturating_sub(self.len());
        let key_bytes = self.keys.len().div_ceil(self.len().max(1));
        // Arrow has one more offset than keys.
        reserve(&mut self.key_ends, more + 1);
        reserve(&mut self.keys, key_bytes * more);
        for column in &mut self.columns {
            match column {
                Column::Ints(ints) => reserve(ints, more),
                Column::Floats(floats) => reserve(floats, more),
                Column::Numbers(_) | Column::Lists { .. } | Column::Objects { .. } => {}
            }
        }
    }

    pub(crate) fn clear(&mut self) {
        self.key_ends.clear();
        self.keys.clear();
        self.columns.iter_mut().for_each(Column::clear);
    }

    pub(crate) fn add<C: Columns>(&mut self, key: &[u8], answer: C::Output<'_>) {
        self.keys.extend_from_slice(key);
        self.key_ends.push(self.keys.len());
        C::add(answer, &mut self.columns);
    }

    /// Adds the pairs of another batch, whose columns are of the same types.
    pub(crate) fn append(&mut self, other: &Batch) {
        let before = self.keys.len();
        self.keys.extend_from_slice(&other.keys);
        self.key_ends.extend(other.key_ends.iter().map(|end| before + end));
        self.columns.iter_mut().zip(&other.columns).for_each(|(to, from)| to.append(from));
    }

    /// Removes the byte of each key that says its type, without a copy of all.
    pub(crate) fn strip_tags(&mut self) {
        let (mut begin, mut to) = (0, 0);
        for end in &mut self.key_ends {
            let key = (begin + 1).min(*end)..*end;
            begin = *end;
            *end = to + key.len();
            self.keys.copy_within(key, to);
            to = *end;
        }
        self.keys.truncate(to);
    }

    /// Bytes of keys and of collected values.
    pub(crate) fn bytes(&self) -> usize {
        let columns = self.columns.iter().map(|column| match column {
            Column::Lists { bytes, ends, .. } => bytes.len() + 8 * ends.len(),
            _ => 0,
        });
        self.keys.len() + 8 * self.len() + columns.sum::<usize>()
    }

    pub(crate) fn len(&self) -> usize {
        self.key_ends.len()
    }

    pub(crate) fn key(&self, place: usize) -> &[u8] {
        let begin = place.checked_sub(1).map_or(0, |before| self.key_ends[before]);
        &self.keys[begin..self.key_ends[place]]
    }
}

/// Makes room for `more` items, and has the system bring all pages of that room at once, which costs a fraction of a
/// page fault for each.
fn reserve<T>(items: &mut Vec<T>, more: usize) {
    items.reserve(more);
    bring(items.spare_capacity_mut());
}
