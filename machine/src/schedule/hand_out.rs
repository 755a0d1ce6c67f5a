//! The hand-out of splits to workers. Each split is given out once, several consecutive ones of a tile at a
//! time. A group of workers has a queue, which at first is a range of consecutive tiles in proportion to its
//! workers. A group whose queue is empty steals a whole tile from another (Ostrich, section 5.2: a sub-job
//! runs inside one group, and groups that are done steal sub-jobs). Takes the ends of the tiles and the
//! groups of the workers; hands on numbers of splits, and counts per group.
//!
//! # Protocol
//! Every tile has a word: its next split, and its end. Splits are taken by advancing that word and in
//! no other way, so none is given out twice, whatever queues say.
//!
//! Every group has a word: its current tile, and the end of its queue. The word moves off a tile only
//! when that tile is used up. A thief first shows the tile in its own queue, which is empty then, and
//! only afterwards takes it off the end of the other; it never steals a current tile. So at any time
//! **a tile that is not used up is in some queue**, and the only cost of a race is that two groups work on
//! one tile.
//!
//! A worker that finds all queues empty, one after the other, may have missed a tile that was moved
//! meanwhile. Each move is counted between its two halves: if the count is the same before and after the
//! search, nothing moved, and nothing is left.
//!
//! Devices take from the other end: off the end of the last tile of the longest queue, by the same word of
//! the tile. A tile that they find used up there they take off the queue, which loses nothing.
//!
//! Every loop goes round again only because another worker got on, so workers never wait for each other.

use super::Placement;
use super::sync::{AtomicU64, Count, Ordering};
use crossbeam_utils::CachePadded;
use std::ops::Range;

/// A group divides its queue into this many pieces per worker at each take, so pieces become smaller towards
/// the end (guided self-scheduling, Polychronopoulos and Kuck, 1987).
const PIECES_PER_WORKER: u64 = 2;

/// Splits that are still to be read.
#[derive(Debug)]
pub struct HandOut<'p> {
    placement: &'p Placement,
    /// For each tile its next split and its end.
    tiles: Vec<AtomicU64>,
    queues: Vec<CachePadded<Queue>>,
    /// Tiles that went from one queue to another.
    moves: AtomicU64,
    taken: Vec<CachePadded<Taken>>,
    /// Splits that devices took, and all there were.
    taken_last: Count,
    splits: u64,
}

#[derive(Debug)]
struct Queue {
    /// Its current tile and its end.
    tiles: AtomicU64,
    /// The tiles it had at first.
    home: Range<u32>,
}

/// The counts of one worker. They influence nothing.
#[derive(Debug, Default)]
struct Taken {
    tiles: Count,
    tiles_stolen: Count,
    splits: Count,
    splits_remote: Count,
}

/// The counts of a group's workers, or of several jobs together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GroupShare {
    /// Workers of the group.
    pub workers: usize,
    /// Tiles whose last split they took.
    pub tiles: u64,
    /// Tiles that they stole from other groups.
    pub tiles_stolen: u64,
    /// Splits they took.
    pub splits: u64,
    /// Splits of tiles that were in another group's queue at first.
    pub splits_remote: u64,
}

/// Returns the two halves of a word.
fn halves(word: u64) -> (u32, u32) {
    ((word >> 32) as u32, word as u32)
}

fn word(first: u32, end: u32) -> u64 {
    u64::from(first) << 32 | u64::from(end)
}

impl<'p> HandOut<'p> {
    /// Hands out the splits of tiles, numbered consecutively: `tile_ends` gives for each tile the first split
    /// after it. At most 2^32 - 1 splits are given out.
    pub fn new(tile_ends: impl Iterator<Item = u64>, placement: &'p Placement) -> HandOut<'p> {
        let mut start = 0;
        HandOut::of(tile_ends.map(|end| std::mem::replace(&mut start, end)..end), placement)
    }

    /// As `new`, of tiles whose splits are ascending but not consecutive, because only a part of some tiles
    /// is read.
    pub fn of(tiles: impl Iterator<Item = Range<u64>>, placement: &'p Placement) -> HandOut<'p> {
        let split = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
        let tiles: Vec<Range<u32>> = tiles.map(|tile| split(tile.start)..split(tile.end)).collect();
        let mut splits = 0;
        let ends: Vec<u64> = tiles
            .iter()
            .map(|tile| {
                splits += u64::from(tile.end - tile.start);
                splits
            })
            .collect();
        // The first tile of the workers from `workers` on.
        let border = |workers: usize| {
            let split = splits * workers as u64 / placement.workers().max(1) as u64;
            ends.partition_point(|&end| end <= split) as u32
        };
        let queues = (0..placement.groups()).map(|group| {
            let workers = placement.workers_of(group);
            let home = border(workers.start)..border(workers.end);
            CachePadded::new(Queue { tiles: AtomicU64::new(word(home.start, home.end)), home })
        });
        HandOut {
            placement,
            tiles: tiles.iter().map(|tile| AtomicU64::new(word(tile.start, tile.end))).collect(),
            queues: queues.collect(),
            moves: AtomicU64::new(0),
            taken: (0..placement.workers()).map(|_| CachePadded::new(Taken::default())).collect(),
            taken_last: Count::new(0),
            splits,
        }
    }

    /// Returns the next splits for a worker, at most `most` (at least 1) and all of one tile; fewer towards
    /// the end. `None` when all are given out. Costs a few reads and one write of shared memory, and a search
    /// over all groups once its own has nothing left.
    ///
    /// # Panics
    /// If the placement has no such worker.
    pub fn take(&self, worker: usize, most: u64) -> Option<Range<u64>> {
        let group = self.placement.group_of(worker);
        loop {
            if let Some(splits) = self.take_from(group, worker, most) {
                return Some(splits);
            }
            let moves = self.moves.load(Ordering::Acquire);
            if self.steal(group, worker) {
                continue;
            }
            // No queue has a tile beyond its current one. All groups share the rest of those, unless each
            // tile belongs to one group.
            let queues = std::iter::once(&group).chain(self.placement.others(group));
            let queues = queues.take(if self.placement.shares() { usize::MAX } else { 1 });
            for &other in queues {
                if let Some(splits) = self.take_from(other, worker, 1) {
                    return Some(splits);
                }
            }
            if self.moves.load(Ordering::Acquire) == moves {
                return None;
            }
        }
    }

    /// Takes splits for a device: at most `most` (at least 1), consecutive, over several tiles if necessary,
    /// from the end that workers reach last. `None` when nothing was found; workers find any tile that moved
    /// between queues meanwhile. Costs a look at each queue.
    pub fn take_last(&self, most: u64) -> Option<Range<u64>> {
        loop {
            let queues = self.queues.iter().map(|queue| {
                let tiles = queue.tiles.load(Ordering::Acquire);
                let (current, end) = halves(tiles);
                (end - current, &queue.tiles, tiles)
            });
            let (tiles_left, queue, tiles) = queues.max_by_key(|&(left, ..)| left)?;
            if tiles_left == 0 {
                return None;
            }
            let (current, end) = halves(tiles);
            let mut tile = end - 1;
            if let Some(mut splits) = self.take_end_of_tile(tile, most, None) {
                while splits.end - splits.start < most && tile > current {
                    tile -= 1;
                    let rest = most - (splits.end - splits.start);
                    let Some(before) = self.take_end_of_tile(tile, rest, Some(splits.start)) else {
                        break;
                    };
                    splits.start = before.start;
                }
                return Some(splits);
            }
            // Used up. If the queue is another one by now, it is looked at again.
            let rest = word(current, end - 1);
            let _ = queue.compare_exchange(tiles, rest, Ordering::AcqRel, Ordering::Acquire);
        }
    }

    /// Returns the number of all splits.
    pub fn splits(&self) -> u64 {
        self.splits
    }

    /// Returns the number of splits still to be taken, about. Costs a read for each worker.
    pub fn left(&self) -> u64 {
        let taken = self.taken.iter().map(|taken| taken.splits.load(Ordering::Relaxed));
        let taken = taken.sum::<u64>() + self.taken_last.load(Ordering::Relaxed);
        self.splits.saturating_sub(taken)
    }

    /// Returns whether two workers are of one group.
    pub fn are_of_one_group(&self, worker: usize, other: usize) -> bool {
        self.placement.group_of(worker) == self.placement.group_of(other)
    }

    /// Returns the counts of each group until now.
    pub fn shares(&self) -> Vec<GroupShare> {
        let share = |group| {
            let workers = self.placement.workers_of(group);
            let mut share = GroupShare { workers: workers.len(), ..GroupShare::default() };
            self.taken[workers].iter().for_each(|taken| share.add(&taken.share()));
            share
        };
        (0..self.placement.groups()).map(share).collect()
    }

    /// Splits of the current tile of a queue.
    fn take_from(&self, group: usize, worker: usize, most: u64) -> Option<Range<u64>> {
        let queue = &self.queues[group].tiles;
        let mut tiles = queue.load(Ordering::Acquire);
        loop {
            let (current, end) = halves(tiles);
            if current == end {
                return None;
            }
            if let Some(splits) = self.take_of_tile(current, end, group, worker, most) {
                return Some(splits);
            }
            let next = word(current + 1, end);
            tiles = match queue.compare_exchange(tiles, next, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => next,
                Err(now) => now,
            };
        }
    }

    /// Splits of a tile in a queue that ends at `queue_end`.
    fn take_of_tile(
        &self,
        tile: u32,
        queue_end: u32,
        group: usize,
        worker: usize,
        most: u64,
    ) -> Option<Range<u64>> {
        let splits = &self.tiles[tile as usize];
        let mut now = splits.load(Ordering::Relaxed);
        loop {
            let (next, end) = halves(now);
            if next == end {
                return None;
            }
            let count = if most == 1 { 1 } else { self.piece(group, next, queue_end).min(most) };
            let to = u64::from(next).saturating_add(count).min(end.into()) as u32;
            let taken = word(to, end);
            // Relaxed, because only the numbers pass from one worker to another.
            match splits.compare_exchange_weak(now, taken, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => {
                    self.count(worker, tile, to - next, to == end);
                    return Some(next.into()..to.into());
                }
                Err(other) => now = other,
            }
        }
    }

    /// Returns the last splits of a tile, which must end there, if it is said.
    fn take_end_of_tile(&self, tile: u32, most: u64, at: Option<u64>) -> Option<Range<u64>> {
        let splits = &self.tiles[tile as usize];
        let mut now = splits.load(Ordering::Relaxed);
        loop {
            let (next, end) = halves(now);
            if next == end || at.is_some_and(|at| at != u64::from(end)) {
                return None;
            }
            let from = u64::from(end).saturating_sub(most).max(next.into()) as u32;
            let left = word(next, from);
            match splits.compare_exchange_weak(now, left, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => {
                    self.taken_last.fetch_add(u64::from(end - from), Ordering::Relaxed);
                    return Some(from.into()..end.into());
                }
                Err(other) => now = other,
            }
        }
    }

    /// Returns the number of splits that a worker of a group takes of those from `next` to the end of the
    /// queue, whose tiles are consecutive.
    fn piece(&self, group: usize, next: u32, queue_end: u32) -> u64 {
        let (_, end) = halves(self.tiles[queue_end as usize - 1].load(Ordering::Relaxed));
        let workers = self.placement.workers_of(group).len() as u64;
        (u64::from(end.saturating_sub(next)) / (PIECES_PER_WORKER * workers)).max(1)
    }

    /// Sees to it that a group whose queue was found empty has a tile, if another has one to spare.
    fn steal(&self, group: usize, worker: usize) -> bool {
        let own = &self.queues[group].tiles;
        for &other in self.placement.others(group) {
            let queue = &self.queues[other].tiles;
            let mut tiles = queue.load(Ordering::Acquire);
            let (current, end) = halves(tiles);
            if end - current < 2 {
                continue;
            }
            let empty = own.load(Ordering::Acquire);
            let shown = word(end - 1, end);
            let is_empty = halves(empty).0 == halves(empty).1;
            let (acq_rel, acquire) = (Ordering::AcqRel, Ordering::Acquire);
            if !is_empty || own.compare_exchange(empty, shown, acq_rel, acquire).is_err() {
                // Another worker of the group was faster.
                return true;
            }
            self.moves.fetch_add(1, Ordering::AcqRel);
            while halves(tiles).1 == end && halves(tiles).0 < end - 1 {
                let rest = word(halves(tiles).0, end - 1);
                match queue.compare_exchange(tiles, rest, acq_rel, acquire) {
                    Ok(_) => {
                        self.taken[worker].tiles_stolen.fetch_add(1, Ordering::Relaxed);
                        break;
                    }
                    Err(now) => tiles = now,
                }
            }
            return true;
        }
        false
    }

    fn count(&self, worker: usize, tile: u32, splits: u32, ends_tile: bool) {
        let taken = &self.taken[worker];
        let home = &self.queues[self.placement.group_of(worker)].home;
        taken.splits.fetch_add(splits.into(), Ordering::Relaxed);
        if !home.contains(&tile) {
            taken.splits_remote.fetch_add(splits.into(), Ordering::Relaxed);
        }
        if ends_tile {
            taken.tiles.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl Taken {
    fn share(&self) -> GroupShare {
        GroupShare {
            workers: 0,
            tiles: self.tiles.load(Ordering::Relaxed),
            tiles_stolen: self.tiles_stolen.load(Ordering::Relaxed),
            splits: self.splits.load(Ordering::Relaxed),
            splits_remote: self.splits_remote.load(Ordering::Relaxed),
        }
    }
}

impl GroupShare {
    /// Adds the counts of another time, or of others.
    pub fn add(&mut self, other: &GroupShare) {
        *self = GroupShare {
            workers: self.workers.max(other.workers),
            tiles: self.tiles + other.tiles,
            tiles_stolen: self.tiles_stolen + other.tiles_stolen,
            splits: self.splits + other.splits,
            splits_remote: self.splits_remote + other.splits_remote,
        };
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;
    use crate::topology::{Group, Topology};
    use loom::sync::Arc;

    /// Returns groups of `groups[i]` processors, with a worker for each processor.
    fn placement(groups: &[u32]) -> &'static Placement {
        let group = |(node, &count): (usize, &u32)| Group {
            node: node as u32,
            processors: (0..count).collect(),
            cores: count as usize,
            cache_bytes: None,
        };
        let groups: Vec<Group> = groups.iter().enumerate().map(group).collect();
        let workers = groups.iter().map(|group| group.cores).sum();
        let (processors, caches, nodes) = Default::default();
        let topology =
            Topology { processors, caches, nodes, groups, quota: None, unknown: Vec::new() };
        Box::leak(Box::new(Placement::new(&topology, workers)))
    }

    /// Takes all that a worker can get. When it gets nothing, nothing is left in any tile.
    fn take_all(hand_out: &HandOut<'_>, worker: usize) -> Vec<u64> {
        let taken = std::iter::from_fn(|| hand_out.take(worker, 1)).flatten().collect();
        for tile in &hand_out.tiles {
            let (next, end) = halves(tile.load(Ordering::Relaxed));
            assert_eq!(next, end, "a worker went home before the end");
        }
        taken
    }

    /// Checks tiles that end at `tile_ends`, of which group i has `tiles[i]` at first.
    fn check(tile_ends: &'static [u64], tiles: &'static [u32], placement: &'static Placement) {
        let mut model = loom::model::Builder::new();
        // Three workers that are interrupted a third time take hours.
        model.preemption_bound = Some(if placement.workers() > 2 { 2 } else { 3 });
        model.check(move || {
            let mut hand_out = HandOut::new(tile_ends.iter().copied(), placement);
            let mut first = 0;
            for (queue, tiles) in hand_out.queues.iter_mut().zip(tiles) {
                queue.tiles = AtomicU64::new(word(first, first + tiles));
                first += tiles;
            }
            let hand_out = Arc::new(hand_out);
            let others: Vec<_> = (1..placement.workers())
                .map(|worker| {
                    let hand_out = Arc::clone(&hand_out);
                    loom::thread::spawn(move || take_all(&hand_out, worker))
                })
                .collect();
            let mut taken = take_all(&hand_out, 0);
            others.into_iter().for_each(|other| taken.extend(other.join().unwrap()));
            taken.sort_unstable();
            assert!(taken.into_iter().eq(0..tile_ends[tile_ends.len() - 1]));
        });
    }

    /// Workers, and a device that takes from the other end.
    fn check_with_device(
        tile_ends: &'static [u64],
        placement: &'static Placement,
        interruptions: usize,
    ) {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(interruptions);
        model.check(move || {
            let hand_out = Arc::new(HandOut::new(tile_ends.iter().copied(), placement));
            let device = {
                let hand_out = Arc::clone(&hand_out);
                loom::thread::spawn(move || {
                    std::iter::from_fn(|| hand_out.take_last(2)).flatten().collect::<Vec<u64>>()
                })
            };
            let others: Vec<_> = (1..placement.workers())
                .map(|worker| {
                    let hand_out = Arc::clone(&hand_out);
                    loom::thread::spawn(move || take_all(&hand_out, worker))
                })
                .collect();
            let mut taken = take_all(&hand_out, 0);
            others.into_iter().for_each(|other| taken.extend(other.join().unwrap()));
            taken.extend(device.join().unwrap());
            taken.sort_unstable();
            assert!(taken.into_iter().eq(0..tile_ends[tile_ends.len() - 1]));
        });
    }

    #[test]
    fn a_device_at_the_other_end_takes_nothing_twice_and_loses_nothing() {
        check_with_device(&[1, 3], placement(&[1]), 3);
    }

    #[test]
    fn a_device_beside_groups_that_steal_loses_nothing() {
        check_with_device(&[1, 2], placement(&[1, 1]), 2);
    }

    #[test]
    fn a_group_that_steals_loses_nothing() {
        check(&[1, 2, 4], &[2, 1], placement(&[1, 1]));
    }

    #[test]
    fn two_groups_that_steal_of_a_third_lose_nothing() {
        check(&[1, 2], &[0, 0, 2], placement(&[1, 1, 1]));
    }

    #[test]
    fn workers_of_one_group_that_steal_at_once_lose_nothing() {
        check(&[1, 2], &[0, 2], placement(&[2, 1]));
    }
}
