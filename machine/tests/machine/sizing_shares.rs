//! The shares of a budget that are in use at the same time amount to less than the whole.

use tegula_machine::sizing::Shares;
use tegula_machine::sizing::part::{
    BESIDE, BLOCK, DECODED_AHEAD, ESTIMATES, MERGE, PARTIAL, RANGE, RANGES_AHEAD, READ_AHEAD,
    SAMPLE, SCATTER, SLOTS, SORT_AHEAD, SORT_OUT, SORT_RANGE, SORT_SPOOLED, SORT_UNIT, TABLE, UNIT,
};
use tegula_machine::topology::Topology;

fn sum(shares: &[(f64, u64)]) -> f64 {
    shares.iter().map(|&(count, parts)| count / parts as f64).sum()
}

#[test]
fn what_is_held_at_once_is_less_than_the_budget() {
    // Three tables beside others, each at most an eighth of a full one.
    let held = [(4.5 + 3.0 / 8.0, TABLE), (7.0, BESIDE), (1.0, PARTIAL), (1.0, BLOCK)];
    let beside = [(1.0, UNIT), (1.0, SLOTS), (1.0, ESTIMATES)];
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
    let buffers = sum(&[(1.0, SORT_AHEAD), (1.0, SORT_UNIT), (1.0, SORT_OUT)]);
    let spooled = sum(&[(1.0, SORT_SPOOLED)]);
    let range = (1.0 - buffers - spooled) * sum(&[(1.0, SORT_RANGE)]);
    // Streams in memory are records, too.
    assert!(buffers + range < 0.5, "{buffers} and {range} of the budget while a sort runs");
}

#[test]
fn shares_together_are_no_more_than_the_budget() {
    let topology = Topology::detect();
    for (mib, workers) in [(16, 1), (32, 2), (100, 7), (4096, 2), (1 << 20, 64)] {
        let budget = mib << 20;
        let shares = Shares::new(&topology, budget, workers);
        let mapping = shares.partial_bytes
            + workers * (shares.tables.most * 9 / 2 + shares.tables.standing * 3);
        let reducing = shares.partial_bytes
            + workers * (shares.merge_bytes + shares.scatter_bytes + shares.block_bytes);
        assert!(mapping < budget && reducing < budget, "{mib} MiB: {shares:?}");
        assert!(shares.tables.cached <= shares.tables.most);
    }
}
