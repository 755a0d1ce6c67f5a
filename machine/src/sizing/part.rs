//! The table that divides a memory budget. Each share is one part of this number: of the whole budget, or,
//! "per worker", of the budget divided by the workers. The shares in use at the same time amount to less than
//! the whole; the rest is for memory that is counted as it comes, such as a record that is longer than a
//! buffer.

/// Per worker: a table of one size class. There are three, and growing takes one and a half.
pub const TABLE: u64 = 16;
/// Per worker: the keys or values of one table that are held elsewhere. There may be seven of them.
pub const BESIDE: u64 = 48;
/// Pairs in partials.
pub const PARTIAL: u64 = 3;
/// Per worker: the bytes that it reads and maps at a time.
pub const UNIT: u64 = 32;
/// Buffers for reading ahead of the workers.
pub const READ_AHEAD: u64 = 8;
/// Buffers for decompressing ahead of the workers, instead of the former.
pub const DECODED_AHEAD: u64 = 16;
/// Ranges of one compressed file that are read ahead of its decoder.
pub const RANGES_AHEAD: u64 = 32;
/// The slots of one device.
pub const SLOTS: u64 = 20;
/// Keys whose final figures shows estimate.
pub const ESTIMATES: u64 = 128;
/// Per worker: a block on its way to or from disk.
pub const BLOCK: u64 = 1024;
/// Per worker: the blocks of the runs that are merged.
pub const MERGE: u64 = 12;
/// Per worker: the blocks of the ranges that are filled.
pub const SCATTER: u64 = 8;
/// Per worker: a sample of the answer.
pub const SAMPLE: u64 = 64;
/// Per worker: a range that is sorted.
pub const RANGE: u64 = 3;
/// Of a sort: blocks of streams that stay in memory.
pub const SORT_SPOOLED: u64 = 4;
/// Of a sort: the input's files in memory.
pub const SORT_MAPPED: u64 = 2;
/// Of a sort: buffers for reading ahead of the workers.
pub const SORT_AHEAD: u64 = 16;
/// Of a sort, per worker: the split that it reads.
pub const SORT_UNIT: u64 = 16;
/// Of a sort, per worker: sorted records on their way to the output.
pub const SORT_OUT: u64 = 32;
/// Of a sort, per worker: the range that it sorts, of what the former leave. Records have the rest.
pub const SORT_RANGE: u64 = 4;
