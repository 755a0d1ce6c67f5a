//! Sizes of one sort: the division of memory between piles and sorting, and the number of ranges. They follow
//! from the input's size, the memory that may be used and the caches, and change no byte of the output.

use super::originals::PLACE_BYTES;
use super::records::Form;
use super::store::PileSize;
use crate::heads::RANGES_MOST;
use crate::sizing::part;

/// A range and the memory for sorting it should fill this part of the second-level cache.
const RANGES_PER_L2: u64 = 2;
/// A larger range is divided again before it is sorted: it left the caches long ago.
const WORK_BYTES_MOST: u64 = 64 << 20;
/// Chunks that stay in memory should be small to waste little; those that go to disk should be large.
const CHUNK_BYTES_KEPT: u64 = 16 << 10;
/// The same of chunks of places, which are a small part of the records' bytes.
const CHUNK_BYTES_OF_PLACES: u64 = 4 << 10;
const CHUNK_BYTES_MOST: u64 = 64 << 10;
const CHUNK_BYTES_LEAST: u64 = 4 << 10;
/// Chunks that go to disk are smaller where the ranges would be larger than wanted by more than this: beyond, sorting
/// one misses the caches more than large chunks save.
const RANGES_LARGER_MOST: u64 = 8;
/// Where little memory is left, a small chunk is better than none.
const CHUNK_BYTES_LEAST_AGAIN: u64 = 1 << 10;
pub(super) const SPLIT_BYTES_LEAST: u64 = 16 << 10;
/// A worker reads four splits at a time at first, and finds out whether more or fewer are better.
pub(super) const SPLITS_PER_UNIT: u64 = 4;
const UNIT_BYTES_MOST: u64 = 4 << 20;
const OUT_BYTES_MOST: u64 = 256 << 10;
/// The most memory for reading ahead, for each worker.
const AHEAD_BYTES_MOST: u64 = 16 << 20;
/// The least memory of a worker.
pub(super) const WORKER_BYTES_LEAST: u64 = 3 << 19;
/// The bytes that a group of ranges should have in a pile, because it wastes half a slab.
const GROUP_BYTES: u64 = 32 << 20;
const GROUPS_MOST: u64 = 64;
/// Memory comes in multiples of this.
const GRAIN_BYTES: u64 = 64 << 10;

/// The facts about a sort beforehand.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known {
    /// All of the input.
    pub(super) bytes: u64,
    /// Of a record, on average.
    pub(super) record_bytes: u64,
    pub(super) workers: u64,
    /// Rows of a range that are read side by side.
    pub(super) rows: u64,
    /// Memory that may be used.
    pub(super) usable_bytes: u64,
    pub(super) l2_bytes: u64,
    /// Whether piles keep places of records.
    pub(super) are_placed: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sizes {
    pub(super) ranges: usize,
    /// Of a worker's pile.
    pub(super) pile: PileSize,
    /// The most that sorting a range may take of a worker's memory.
    pub(super) work_bytes: u64,
    pub(super) out_bytes: usize,
    /// For reading ahead of the workers.
    pub(super) ahead_bytes: u64,
    /// Whether a pile goes to disk whole when its range is divided, so that its memory is free again.
    pub(super) is_spilled: bool,
    /// What the range took that was divided last.
    divided_bytes: u64,
}

/// Returns the bytes that a worker reads at a time at first, for this amount of usable memory.
pub(super) fn unit_bytes(workers: u64, usable_bytes: u64, l2_bytes: u64) -> u64 {
    let most = (l2_bytes / 4).clamp(GRAIN_BYTES, 1 << 20);
    unit_bytes_most(workers, usable_bytes).min(most)
}

/// Returns the most bytes that a worker may come to read at a time.
pub(super) fn unit_bytes_most(workers: u64, usable_bytes: u64) -> u64 {
    (usable_bytes / workers / part::SORT_UNIT).clamp(SPLIT_BYTES_LEAST, UNIT_BYTES_MOST)
}

impl Sizes {
    pub(super) fn new(known: Known, form: &Form) -> Sizes {
        let Known { bytes, record_bytes, workers, rows, usable_bytes, l2_bytes, are_placed } =
            known;
        let records = bytes / record_bytes.max(1);
        let (piled, small_chunk) = if are_placed {
            (records * PLACE_BYTES as u64, CHUNK_BYTES_OF_PLACES)
        } else {
            (bytes, CHUNK_BYTES_KEPT)
        };
        let unit = unit_bytes_most(workers, usable_bytes);
        let out = (usable_bytes / workers / part::SORT_OUT).clamp(GRAIN_BYTES, OUT_BYTES_MOST);
        let ahead = (usable_bytes / part::SORT_AHEAD).min(workers * AHEAD_BYTES_MOST);
        // The reader's lookahead and the rounding of both cost a grain each.
        let fixed = ahead + workers * (unit + out + 2 * GRAIN_BYTES);
        let free = usable_bytes.saturating_sub(fixed);
        let work = (free / workers / part::SORT_RANGE).min(WORK_BYTES_MOST);
        let pile = (free - work * workers) / workers;
        // Reading back takes a chunk for each row, of each worker.
        let without_reads =
            |chunk: u64| pile.saturating_sub((rows * chunk).next_multiple_of(GRAIN_BYTES));
        let need = bytes + records * form.upkeep_bytes();
        let most = RANGES_MOST as u64;
        let wanted = need.div_ceil(l2_bytes / RANGES_PER_L2).clamp(1, most);
        let kept = piled / 20 * 21 + (wanted + 8) * workers * small_chunk;
        let chunk = if kept <= without_reads(small_chunk) * workers {
            small_chunk
        } else {
            let for_ranges = (pile * RANGES_LARGER_MOST / (2 * wanted)).max(CHUNK_BYTES_KEPT);
            let most = (pile / 128).min(free / (8 * workers * rows)).min(for_ranges);
            previous_power_of_two(most).clamp(CHUNK_BYTES_LEAST, CHUNK_BYTES_MOST)
        };
        let pile = without_reads(chunk);
        let ranges = wanted.min(pile / (2 * chunk)).max(1);
        let chunks = (pile / chunk).min(u64::from(u32::MAX)) as usize;
        let groups = (piled.min(pile * workers) / workers / GROUP_BYTES).min(GROUPS_MOST) as usize;
        Sizes {
            ranges: ranges as usize,
            pile: PileSize { chunk_bytes: chunk as usize, chunks, groups },
            // Its three pieces are rounded up.
            work_bytes: work.saturating_sub(3 * GRAIN_BYTES).max(GRAIN_BYTES),
            out_bytes: out as usize,
            ahead_bytes: ahead,
            is_spilled: false,
            divided_bytes: u64::MAX,
        }
    }

    /// Returns the same with this number of ranges, which another run has chosen, and chunks that are as much smaller as
    /// there are more.
    pub(super) fn with_ranges(mut self, ranges: usize) -> Sizes {
        let PileSize { chunk_bytes, chunks, .. } = &mut self.pile;
        while *chunks < 2 * ranges && *chunk_bytes as u64 > CHUNK_BYTES_LEAST_AGAIN {
            (*chunk_bytes, *chunks) = (*chunk_bytes / 2, *chunks * 2);
        }
        self.ranges = ranges;
        self
    }

    /// Returns the bytes that the three pieces of memory for sorting a range may have, rounded up.
    pub(super) fn rooms_bytes(&self) -> u64 {
        self.work_bytes + 3 * GRAIN_BYTES
    }

    /// Returns the sizes for dividing a range of `bytes` again, within the memory for sorting one: half of it for the
    /// pile, or all of it, by turns, where half is too little. Returns `None` if that did not help last time.
    ///
    /// The depth is bounded. Half of the memory is taken until that is less than [`GRAIN_BYTES`], 10 times at most. After
    /// that, a range is divided again only if it has at most three quarters of the bytes of the one that it came from:
    /// 2.4 times for each halving from the first range to the memory for sorting one. A record is moved once each time.
    pub(super) fn again(&self, bytes: u64) -> Option<Sizes> {
        let half = self.work_bytes / 2;
        let is_spilled = half < GRAIN_BYTES.max(64 * CHUNK_BYTES_LEAST_AGAIN);
        if is_spilled && bytes > self.divided_bytes / 4 * 3 {
            return None;
        }
        let pile = if is_spilled { self.work_bytes } else { half };
        let work_bytes = pile;
        let chunk = previous_power_of_two(pile / 64).min(CHUNK_BYTES_MOST);
        let ranges =
            (bytes / work_bytes * 4).clamp(4, pile / (2 * chunk)).min(RANGES_MOST as u64) as usize;
        let pile =
            PileSize { chunk_bytes: chunk as usize, chunks: (pile / chunk) as usize, groups: 1 };
        Some(Sizes { ranges, pile, work_bytes, is_spilled, divided_bytes: bytes, ..*self })
    }
}

fn previous_power_of_two(number: u64) -> u64 {
    match number {
        0 => 0,
        _ => 1 << number.ilog2(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::records::Sort;
    use super::*;

    #[test]
    fn all_sizes_fit_in_what_may_be_used() {
        let form = Sort::lines().form().unwrap();
        for workers in [1, 2, 3, 8, 64] {
            for usable_bytes in
                [WORKER_BYTES_LEAST, 4 << 20, 64 << 20, 1 << 30].map(|b| b * workers)
            {
                for (bytes, record_bytes) in
                    [(0, 1), (1 << 20, 1), (1 << 30, 100), (1 << 40, 1 << 20)]
                {
                    let l2_bytes = 2 << 20;
                    let rows = workers + 2;
                    let are_placed = workers % 2 == 0;
                    let known = Known {
                        bytes,
                        record_bytes,
                        workers,
                        rows,
                        usable_bytes,
                        l2_bytes,
                        are_placed,
                    };
                    let sizes = Sizes::new(known, &form);
                    assert!(sizes.pile.chunks > sizes.ranges, "{known:?}: {sizes:?}");
                    let chunk = sizes.pile.chunk_bytes as u64;
                    let reads = (rows * chunk).next_multiple_of(GRAIN_BYTES);
                    let worker = sizes.pile.chunks as u64 * chunk
                        + sizes.work_bytes
                        + 3 * GRAIN_BYTES
                        + sizes.out_bytes as u64
                        + reads;
                    assert!(
                        sizes.ahead_bytes + worker * workers <= usable_bytes,
                        "{known:?}: {sizes:?}"
                    );
                }
            }
        }
    }

    /// Returns how often a range is divided, one in the other, where `largest` comes out of each division.
    fn depth(mut sizes: Sizes, mut bytes: u64, largest: impl Fn(u64) -> u64) -> u32 {
        let mut depth = 0;
        while bytes > sizes.work_bytes {
            let Some(again) = sizes.again(bytes) else { break };
            (sizes, bytes, depth) = (again, largest(bytes), depth + 1);
        }
        depth
    }

    #[test]
    fn ranges_are_divided_a_bounded_number_of_times() {
        let form = Sort::lines().form().unwrap();
        for usable_bytes in [WORKER_BYTES_LEAST, 3 << 20, 64 << 20, 1 << 30, 1 << 40] {
            let bytes = 1_u64 << 40;
            let (workers, rows, record_bytes, l2_bytes) = (1, 3, 20, 1 << 20);
            let are_placed = false;
            let known =
                Known { bytes, record_bytes, workers, rows, usable_bytes, l2_bytes, are_placed };
            let sizes = Sizes::new(known, &form);
            // One record, or keys of which a sample says nothing.
            assert!(depth(sizes, bytes, |bytes| bytes) <= 11, "{sizes:?}");
            // The largest that are divided again: from 2^40 bytes to 2^16 these are 24 halvings.
            assert!(depth(sizes, bytes, |bytes| bytes / 4 * 3) <= 10 + 58, "{sizes:?}");
            // As a good sample has it.
            assert!(depth(sizes, bytes, |bytes| bytes / 8) <= 10, "{sizes:?}");
        }
    }
}
