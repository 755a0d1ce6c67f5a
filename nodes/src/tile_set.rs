//! A set of tiles, as disjoint ranges in ascending order that do not touch.

use std::collections::BTreeMap;
use std::ops::Range;

/// A set of tiles by number. Its size is that of its ranges, not of its tiles.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TileSet {
    /// The end of each range by its start.
    ends: BTreeMap<u32, u32>,
    /// The number of tiles.
    count: u32,
}

impl TileSet {
    /// Adds a range; tiles that are in the set already stay in it.
    pub fn insert(&mut self, tiles: Range<u32>) {
        if tiles.is_empty() {
            return;
        }
        let Range { mut start, mut end } = tiles;
        // From the last range that begins at or before the end, down to the first that reaches the start.
        while let Some((&first, &last)) = self.ends.range(..=end).next_back() {
            if last < start {
                break;
            }
            self.ends.remove(&first);
            self.count -= last - first;
            (start, end) = (start.min(first), end.max(last));
        }
        self.ends.insert(start, end);
        self.count += end - start;
    }

    /// Removes a range; tiles that are not in the set are ignored.
    pub fn remove(&mut self, tiles: &Range<u32>) {
        if tiles.is_empty() {
            return;
        }
        while let Some((&first, &last)) = self.ends.range(..tiles.end).next_back() {
            if last <= tiles.start {
                break;
            }
            self.ends.remove(&first);
            self.count -= last.min(tiles.end) - first.max(tiles.start);
            if last > tiles.end {
                self.ends.insert(tiles.end, last);
            }
            if first < tiles.start {
                self.ends.insert(first, tiles.start);
            }
        }
    }

    /// Adds all tiles of another set.
    pub fn extend(&mut self, other: &TileSet) {
        other.ranges().for_each(|range| self.insert(range));
    }

    /// Removes all tiles of another set.
    pub fn subtract(&mut self, other: &TileSet) {
        other.ranges().for_each(|range| self.remove(&range));
    }

    /// Returns whether all tiles of a range are in the set.
    pub fn contains(&self, tiles: &Range<u32>) -> bool {
        tiles.is_empty()
            || self.ends.range(..=tiles.start).next_back().is_some_and(|(_, &end)| end >= tiles.end)
    }

    /// Returns whether all tiles of another set are in this one.
    pub fn contains_all(&self, other: &TileSet) -> bool {
        other.ranges().all(|range| self.contains(&range))
    }

    /// Returns the first range.
    pub fn first(&self) -> Option<Range<u32>> {
        self.ends.first_key_value().map(|(&start, &end)| start..end)
    }

    /// Returns the first range of tiles that are in another set, too.
    pub fn first_shared(&self, other: &TileSet) -> Option<Range<u32>> {
        self.ranges().find_map(|range| {
            let before = other.ends.range(..=range.start).next_back();
            let within = other.ends.range(range.clone()).next();
            let shared = |(&start, &end): (&u32, &u32)| start.max(range.start)..end.min(range.end);
            before.into_iter().chain(within).map(shared).find(|shared| !shared.is_empty())
        })
    }

    /// Returns the ranges in ascending order.
    pub fn ranges(&self) -> impl Iterator<Item = Range<u32>> {
        self.ends.iter().map(|(&start, &end)| start..end)
    }

    /// Returns the number of tiles. Constant time.
    pub fn len(&self) -> usize {
        self.count as usize
    }

    /// Returns whether no tile is in the set.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }
}

impl FromIterator<Range<u32>> for TileSet {
    fn from_iter<I: IntoIterator<Item = Range<u32>>>(ranges: I) -> TileSet {
        let mut set = TileSet::default();
        ranges.into_iter().for_each(|range| set.insert(range));
        set
    }
}
