//! Borders: ascending keys at which an order is divided into ranges, and the search for a key among them. All
//! borders often begin alike, so the search compares the 8 bytes after their common beginning. Where these are
//! equal, it compares whole keys.

use super::{head, shared};
use std::cmp::Ordering;

/// The most ranges; beyond, they grow.
pub const RANGES_MOST: usize = 4096;

/// Distinct keys, ascending.
pub struct Borders {
    keys: Vec<Box<[u8]>>,
    /// Bytes that all of these keys begin with.
    shared: Box<[u8]>,
    /// Of each key, the 8 bytes after the shared ones.
    heads: Vec<u64>,
}

impl Borders {
    pub fn new(keys: Vec<Box<[u8]>>) -> Borders {
        let alike = match (keys.first(), keys.last()) {
            (Some(first), Some(last)) => shared(first, last),
            _ => 0,
        };
        let heads = keys.iter().map(|key| head(key, alike)).collect();
        let shared = keys.first().map_or(Box::default(), |first| first[..alike].into());
        Borders { keys, shared, heads }
    }

    pub fn keys(&self) -> &[Box<[u8]>] {
        &self.keys
    }

    pub fn heads(&self) -> &[u64] {
        &self.heads
    }

    /// Returns whether the borders begin alike, so that heads are taken after their common beginning.
    pub fn begin_alike(&self) -> bool {
        !self.shared.is_empty()
    }

    /// Finds a key; `own` returns its head after a number of bytes. Returns `Ok` with the number of the border
    /// that it equals, or `Err` with the number of borders before it.
    #[inline]
    pub fn find(&self, key: &[u8], own: impl FnOnce(usize) -> u64) -> Result<usize, usize> {
        if !self.shared.is_empty() {
            match key[..key.len().min(self.shared.len())].cmp(&self.shared) {
                Ordering::Less => return Err(0),
                Ordering::Greater => return Err(self.keys.len()),
                Ordering::Equal => {}
            }
        }
        let own = own(self.shared.len());
        let at = self.heads.partition_point(|&head| head < own);
        match self.heads.get(at) {
            Some(&head) if head == own => self.find_among_alike(at, key),
            _ => Err(at),
        }
    }

    /// Returns the range of a key: the number of borders at or before it. See `find`.
    #[inline]
    pub fn range_of(&self, key: &[u8], own: impl FnOnce(usize) -> u64) -> usize {
        self.find(key, own).map_or_else(|at| at, |at| at + 1)
    }

    /// Returns the number of bytes with which all keys of a range begin alike, as far as its borders tell.
    pub fn shared_prefix(&self, range: usize) -> usize {
        match (range.checked_sub(1).and_then(|first| self.keys.get(first)), self.keys.get(range)) {
            (Some(first), Some(last)) => shared(first, last),
            _ => 0,
        }
    }

    /// As `find`, of a key with the head of border `at`, the first that has it.
    #[inline(never)]
    pub fn find_among_alike(&self, at: usize, key: &[u8]) -> Result<usize, usize> {
        let Borders { keys, heads, .. } = self;
        let alike = heads[at..].iter().take_while(|&&head| head == heads[at]).count();
        let at = at + keys[at..at + alike].partition_point(|border| **border < *key);
        match keys.get(at) {
            Some(border) if **border == *key => Ok(at),
            _ => Err(at),
        }
    }
}

/// `parts - 1` of the sorted items, equally far apart.
pub fn every_nth<T>(items: Vec<T>, parts: usize) -> Vec<T> {
    let count = items.len();
    let mut wanted = (1..parts).map(|part| part * count / parts).peekable();
    let keep = |(at, item)| {
        let mut chosen = false;
        while wanted.next_if_eq(&at).is_some() {
            chosen = true;
        }
        chosen.then_some(item)
    };
    items.into_iter().enumerate().filter_map(keep).collect()
}
