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
/// Of a sort: buffers for reading ahead of the workers.
pub const SORT_AHEAD: u64 = 16;
/// Of a sort, per worker: the split that it reads.
pub const SORT_SPLIT: u64 = 16;
/// Of a sort, per worker: sorted records on their way to the output.
pub const SORT_OUT: u64 = 32;
/// Of a sort, per worker: the range that it sorts, of what the former leave. Records have the rest.
pub const SORT_RANGE: u64 = 4;

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(shares: &[(f64, u64)]) -> f64 {
        shares.iter().map(|&(count, parts)| count / parts as f64).sum()
    }

    #[test]
    fn what_is_held_at_once_is_less_than_the_budget() {
        // Three tables beside others, each at most an eighth of a full one.
        let held = [(4.5 + 3.0 / 8.0, TABLE), (7.0, BESIDE), (1.0, PARTIAL), (1.0, BLOCK)];
        let beside = [(1.0, UNIT), (1.0, SLOTS)];
        for ahead in [&[(1.0, READ_AHEAD)][..], &[(1.0, DECODED_AHEAD), (1.0, RANGES_AHEAD)]] {
            let mapping = sum(&held) + sum(&beside) + sum(ahead);
            assert!(mapping < 1.0, "{mapping} of the budget while maps run");
        }
        let reducing = sum(&[(1.0, PARTIAL), (1.0, MERGE), (1.0, SCATTER), (1.0, BLOCK)]);
        let sorting = sum(&[(1.0, RANGE), (1.0, SCATTER), (1.0, SAMPLE), (1.0, BLOCK)]);
        assert!(reducing < 1.0 && sorting < 1.0, "{reducing} and {sorting} after the maps");
    }

    #[test]
    fn a_sort_leaves_half_of_its_budget_to_records() {
        let buffers = sum(&[(1.0, SORT_AHEAD), (1.0, SORT_SPLIT), (1.0, SORT_OUT)]);
        let spooled = sum(&[(1.0, SORT_SPOOLED)]);
        let range = (1.0 - buffers - spooled) * sum(&[(1.0, SORT_RANGE)]);
        // Streams in memory are records, too.
        assert!(buffers + range < 0.5, "{buffers} and {range} of the budget while a sort runs");
    }
}
