//! Sizes that follow from the machine's caches: how large a split, and how large a worker's table may
//! grow before it is handed over. Neither can change an answer, so both are free to change from run
//! to run; a tile's size is not, and is no business of this file.

use crate::topology::Topology;

/// A split leaves most of the second-level cache to the tables it is mapped into.
const SPLITS_PER_L2: u64 = 8;
const SPLIT_BYTES_LEAST: u64 = 64 << 10;
const SPLIT_BYTES_MOST: u64 = 512 << 10;

/// A table may outgrow the second-level cache fourfold: its misses are asked for ahead of time, and
/// keys that stay are combined instead of handed over.
const TABLE_PER_L2: u64 = 8;
const TABLE_BYTES_LEAST: u64 = 2 << 20;
const TABLE_BYTES_MOST: u64 = 16 << 20;

/// The size of a split that a run starts from, in bytes.
pub fn split_bytes(topology: &Topology) -> u64 {
    (topology.l2_bytes() / SPLITS_PER_L2).clamp(SPLIT_BYTES_LEAST, SPLIT_BYTES_MOST)
}

/// The most bytes that a worker's table of one size class takes.
pub(crate) fn table_bytes(topology: &Topology) -> usize {
    (topology.l2_bytes() * TABLE_PER_L2).clamp(TABLE_BYTES_LEAST, TABLE_BYTES_MOST) as usize
}
