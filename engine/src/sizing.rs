//! Sizes that follow from the machine's caches: how large a split, and how large a worker's table may
//! grow before it is handed over. Neither can change an answer, so both are free to change from run
//! to run; a tile's size is not, and is no business of this file.

use crate::topology::Topology;

/// A split leaves most of the second-level cache to the tables it is mapped into.
const SPLITS_PER_L2: u64 = 16;
const SPLIT_BYTES_LEAST: u64 = 64 << 10;
const SPLIT_BYTES_MOST: u64 = 512 << 10;

/// A table may outgrow the second-level cache by this much without a question.
const L2S_PER_CACHED_TABLE: u64 = 2;
/// A table whose keys repeat may outgrow that cache by this much: misses are asked for ahead of
/// time, and a key that stays is combined instead of handed over.
const L2S_PER_TABLE: u64 = 8;
const TABLE_BYTES_MOST: u64 = 16 << 20;

/// The size of a split that a run starts from, in bytes.
pub fn split_bytes(topology: &Topology) -> u64 {
    (topology.l2_bytes() / SPLITS_PER_L2).clamp(SPLIT_BYTES_LEAST, SPLIT_BYTES_MOST)
}

/// How large a worker's table of one size class may grow, in bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TableLimits {
    /// While its keys hardly repeat.
    pub(crate) cached: usize,
    /// In any case.
    pub(crate) most: usize,
}

/// The limits for a machine's tables.
pub(crate) fn table_limits(topology: &Topology) -> TableLimits {
    let l2_bytes = topology.l2_bytes();
    let most = (l2_bytes * L2S_PER_TABLE).min(TABLE_BYTES_MOST);
    TableLimits { cached: (l2_bytes * L2S_PER_CACHED_TABLE) as usize, most: most as usize }
}
