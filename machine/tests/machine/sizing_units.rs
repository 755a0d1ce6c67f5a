//! The number of splits that a worker takes at a time.

use std::time::Duration;
use tegula_machine::sizing::Units;

/// Two workers read data that differs by half in speed, and one size is as good as another. The
/// comparison is of one of them, so the larger size wins, and wins again.
#[test]
fn what_another_worker_reads_is_not_compared() {
    let units = Units::searched(64 << 10, 64 << 10, u64::MAX, 2);
    for turn in 0..4000_u64 {
        let (worker, splits) = ((turn % 2) as usize, units.now());
        let rate = if worker == 0 { 1e9 } else { 0.5e9 };
        let seconds = (splits * (64 << 10)) as f64 / rate;
        units.add(worker, splits, Duration::from_secs_f64(seconds));
    }
    assert_eq!(units.best_bytes(), 4 << 20);
}
