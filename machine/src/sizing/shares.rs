//! Sizes that follow from the machine's caches and from the budget: the bytes that a worker takes at first,
//! the size of its table when it is handed over, the number of pairs before they go to disk.

use super::part;
use crate::topology::Topology;

/// The default size of a split, in bytes: the least that a worker takes at a time, and the unit in which
/// tiles are counted.
pub const SPLIT_BYTES: u64 = 64 << 10;
/// A unit leaves most of the second-level cache to the tables into which it is mapped.
const UNITS_PER_L2: u64 = 16;
const UNIT_BYTES_MOST: u64 = 512 << 10;

/// A table may outgrow the second-level cache by this much without a question.
const L2S_PER_CACHED_TABLE: usize = 2;
/// A table whose keys repeat may outgrow that cache by this much: misses are asked for ahead of
/// time, and a key that stays is combined instead of handed over.
const L2S_PER_TABLE: usize = 8;
const TABLE_BYTES_MOST: usize = 16 << 20;
/// A table beside another leaves most of that cache to it.
const STANDING_TABLES_PER_CACHED: usize = 8;
/// A table that holds all expected keys, so that none is handed over before the end.
const ALL_KEYS_BYTES_MOST: usize = 64 << 20;

/// Returns the bytes that a worker takes at a time when a run starts.
pub fn unit_bytes(topology: &Topology) -> u64 {
    (topology.l2_bytes() / UNITS_PER_L2).clamp(SPLIT_BYTES, UNIT_BYTES_MOST)
}

/// The limits of a worker's table of one size class, in bytes.
#[derive(Clone, Copy, Debug)]
pub struct TableLimits {
    /// While its keys hardly repeat.
    pub cached: usize,
    /// While it may have to grow again.
    pub most: usize,
    /// If it is to hold all keys there are.
    pub all: usize,
    /// For the pairs of saved pieces, if they are kept in a table beside; 0 if not.
    pub standing: usize,
    /// And for keys and values that it holds elsewhere: long keys, lists.
    pub beside: usize,
}

const BLOCK_BYTES_LEAST: usize = 4 << 10;
const BLOCK_BYTES_MOST: usize = 64 << 10;
/// A table must take one batch of pairs at least.
const TABLE_SLOTS_LEAST: usize = 1024;
/// A partition of a partial holds a chunk of pairs per size class, at least.
const PARTIAL_BYTES_LEAST: usize = 4 << 20;

/// The division of a run's budget, in bytes.
#[derive(Clone, Copy, Debug)]
pub struct Shares {
    #[doc(hidden)]
    pub tables: TableLimits,
    /// Pairs in partials before some go to disk.
    pub partial_bytes: usize,
    /// A block on its way to or from disk.
    pub block_bytes: usize,
    /// Blocks that a worker reads at once, together.
    pub merge_bytes: usize,
    /// Blocks that a worker fills at once, together.
    pub scatter_bytes: usize,
    /// A sample of the answer.
    pub sample_bytes: usize,
    /// For sorting a range of the answer.
    pub range_bytes: usize,
}

impl Shares {
    /// Returns the shares of a budget (`usize::MAX`: no limit) on a machine.
    pub fn new(topology: &Topology, budget_bytes: usize, workers: usize) -> Shares {
        let l2_bytes = topology.l2_bytes() as usize;
        let share = |parts: u64| budget_bytes / workers / parts as usize;
        let most = (l2_bytes * L2S_PER_TABLE).min(TABLE_BYTES_MOST).min(share(part::TABLE));
        let all = ALL_KEYS_BYTES_MOST.min(share(part::TABLE));
        let cached = (l2_bytes * L2S_PER_CACHED_TABLE).min(most);
        let standing = cached / STANDING_TABLES_PER_CACHED;
        Shares {
            tables: TableLimits { cached, most, all, standing, beside: share(part::BESIDE) },
            partial_bytes: budget_bytes / part::PARTIAL as usize,
            block_bytes: share(part::BLOCK).clamp(BLOCK_BYTES_LEAST, BLOCK_BYTES_MOST),
            merge_bytes: share(part::MERGE),
            scatter_bytes: share(part::SCATTER),
            sample_bytes: share(part::SAMPLE),
            range_bytes: share(part::RANGE),
        }
    }

    /// Returns the least budget with which a job can run: whose shares hold a batch of the largest of its
    /// slots, and a little of every partition.
    pub fn least_bytes(slot_bytes: usize, split_bytes: u64, workers: usize) -> usize {
        let tables = workers * part::TABLE as usize * TABLE_SLOTS_LEAST * slot_bytes;
        let partials = part::PARTIAL as usize * PARTIAL_BYTES_LEAST;
        tables.max(partials).saturating_add(4 * workers * (split_bytes.min(1 << 40) as usize))
    }
}
