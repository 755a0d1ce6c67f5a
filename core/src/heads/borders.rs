//! Borders: ascending keys at which an order is divided into ranges, and the search for a key among them.
//!
//! The search compares 8 bytes of keys, their heads, as one number. All borders often begin alike, so it takes the
//! heads after their common beginning. Borders with equal heads are divided again by the heads that follow: the
//! borders are a trie of heads, whose levels skip what all below them begin with. So a text whose lines begin with the
//! same few words costs some numbers more, and whole keys are compared only where a key or a border ends.

use super::{head, shared};
use std::cmp::Ordering;
use std::ops::Range;

/// The most ranges; beyond, they grow.
pub const RANGES_MOST: usize = 4096;

/// Bytes of a head.
const HEAD_BYTES: usize = 8;
/// The most levels, so that the stack is bounded; below, whole keys are compared.
const LEVELS_MOST: u32 = 64;

/// Distinct keys, ascending.
pub struct Borders {
    keys: Vec<Box<[u8]>>,
    root: Level,
}

/// Neighbouring borders that have the same bytes up to where the level begins.
struct Level {
    /// The number of its first border.
    first: usize,
    /// From where its level begins, the bytes that all of its borders have.
    shared: Box<[u8]>,
    /// Where its heads begin.
    depth: usize,
    /// Of each border, the 8 bytes from `depth` on.
    heads: Vec<u64>,
    /// Of the first border of each group that has the same head, the level in which it is divided; `None` for a group of
    /// one border, and where one ends within the head.
    below: Vec<Option<Box<Level>>>,
}

impl Level {
    /// Returns the level of the borders in `group`, which are alike in their first `begin` bytes, below `above` others.
    fn new(keys: &[Box<[u8]>], group: Range<usize>, begin: usize, above: u32) -> Level {
        let first = group.start;
        let keys_of_level = &keys[group];
        let (shared_bytes, depth) = match (keys_of_level.first(), keys_of_level.last()) {
            (Some(a), Some(b)) => {
                let depth = begin + shared(&a[begin..], &b[begin..]);
                (a[begin..depth].into(), depth)
            }
            _ => (Box::default(), begin),
        };
        let heads: Vec<u64> = keys_of_level.iter().map(|key| head(key, depth)).collect();
        let mut below = Vec::with_capacity(heads.len());
        for alike in heads.chunk_by(|a, b| a == b) {
            let from = first + below.len();
            let group = from..from + alike.len();
            let begin = depth + HEAD_BYTES;
            let is_divided = group.len() > 1
                && above < LEVELS_MOST
                && keys[group.clone()].iter().all(|key| key.len() >= begin);
            let level = is_divided.then(|| Level::new(keys, group.clone(), begin, above + 1));
            below.push(level.map(Box::new));
            below.extend(group.skip(1).map(|_| None));
        }
        Level { first, shared: shared_bytes, depth, heads, below }
    }

    /// Compares a key, from where the level begins, with the bytes that all of its borders have. Returns `Err` with the
    /// number of borders before the key if that is known then.
    #[inline(always)]
    fn find_shared(&self, key: &[u8]) -> Result<(), usize> {
        let Level { first, shared, heads, .. } = self;
        if shared.is_empty() {
            return Ok(());
        }
        match key[..key.len().min(shared.len())].cmp(shared) {
            Ordering::Less => Err(*first),
            Ordering::Equal => Ok(()),
            Ordering::Greater => Err(first + heads.len()),
        }
    }
}

impl Borders {
    pub fn new(keys: Vec<Box<[u8]>>) -> Borders {
        let root = Level::new(&keys, 0..keys.len(), 0, 0);
        Borders { keys, root }
    }

    pub fn keys(&self) -> &[Box<[u8]>] {
        &self.keys
    }

    /// Returns the bytes that all borders begin with.
    pub fn shared(&self) -> &[u8] {
        &self.root.shared
    }

    /// Returns the head of each border after the bytes that all begin with.
    pub fn heads(&self) -> &[u64] {
        &self.root.heads
    }

    /// Finds a key; `own` returns its head after a number of bytes. Returns `Ok` with the number of the border
    /// that it equals, or `Err` with the number of borders before it.
    #[inline]
    pub fn find(&self, key: &[u8], own: impl FnOnce(usize) -> u64) -> Result<usize, usize> {
        self.root.find_shared(key)?;
        let Level { depth, heads, .. } = &self.root;
        let own = own(*depth);
        let at = heads.partition_point(|&head| head < own);
        match heads.get(at) {
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
        let (mut level, mut at) = (&self.root, at);
        while let Some(below) = level.below[at].as_deref() {
            let begin = level.depth + HEAD_BYTES;
            // It ends within the head, and before all of these.
            let Some(rest) = key.get(begin..) else { return Err(below.first) };
            below.find_shared(rest)?;
            level = below;
            let own = head(key, level.depth);
            at = level.heads.partition_point(|&head| head < own);
            if level.heads.get(at) != Some(&own) {
                return Err(level.first + at);
            }
        }
        let Level { first, heads, .. } = level;
        let alike = heads[at..].iter().take_while(|&&head| head == heads[at]).count();
        let at = first + at;
        let at = at + self.keys[at..at + alike].partition_point(|border| **border < *key);
        match self.keys.get(at) {
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
