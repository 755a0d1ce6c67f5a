//! Figures of several runs are one run's.

use std::time::Duration;
use tegula_core::{StageTime, Stats};
use tegula_machine::progress::Stage;

#[test]
fn figures_of_runs_add_up() {
    let time = |stage, seconds| {
        let time = Duration::from_secs(seconds);
        StageTime { stage, wall: time, cpu: 2 * time }
    };
    let run = |stages, bytes, keys, tile_bytes| {
        let mut stats = Stats::default();
        (stats.stages, stats.bytes) = (stages, bytes);
        (stats.keys, stats.tile_bytes) = (keys, tile_bytes);
        stats
    };
    let mut sum = run(vec![time(Stage::Plan, 1), time(Stage::Map, 2)], 10, 7, 64);
    sum.add(&run(vec![time(Stage::Map, 3), time(Stage::Reduce, 4)], 20, 5, 32));
    let stages = sum.stages.iter().map(|time| (time.stage, time.wall.as_secs()));
    let expected = [(Stage::Plan, 1), (Stage::Map, 5), (Stage::Reduce, 4)];
    assert!(stages.eq(expected) && sum.stages[1].cpu.as_secs() == 10);
    assert_eq!((sum.bytes, sum.keys, sum.tile_bytes), (30, 5, 64));
}
