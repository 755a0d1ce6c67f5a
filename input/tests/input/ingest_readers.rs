//! The number of readers follows the source and the workers.

use std::time::Duration;
use tegula_input::ingest::{Readers, Seen};

const TICK: Duration = Duration::from_millis(10);
const LOAD_BYTES: f64 = 4096.0;

/// Ticks of a source of which each reader gets `each` bytes a second, and all together `all`, for workers
/// that map at `map`.
fn ticks(readers: &mut Readers, count: usize, each: f64, all: f64, map: f64) {
    for _ in 0..count {
        let source = if readers.now() == 0 { f64::MAX } else { each * readers.now() as f64 };
        let rate = source.min(all).min(map);
        let threads = readers.now().max(2) as u32;
        let seen = Seen {
            time: TICK,
            reading: TICK * threads,
            waited: TICK * threads,
            loads: (rate * TICK.as_secs_f64() / LOAD_BYTES) as u64,
            starved: rate < map,
        };
        readers.tick(seen);
    }
}

#[test]
fn reads_that_never_wait_are_left_to_the_workers() {
    let mut readers = Readers::new(2, 32, false);
    let seen = Seen { time: TICK, reading: TICK / 4, loads: 1, ..Seen::default() };
    assert!((0..100).all(|_| readers.tick(seen) == 0));
}

#[test]
fn there_are_as_many_as_a_slow_source_is_worth() {
    // Each connection gives 10 MB/s, the workers take 200.
    let mut readers = Readers::new(2, 64, false);
    ticks(&mut readers, 100, 10e6, 1e12, 200e6);
    assert_eq!(readers.now(), 32);
    // A disk that gives 100 MB/s to two readers gives no more to four.
    let mut readers = Readers::new(2, 64, false);
    ticks(&mut readers, 100, 50e6, 100e6, 200e6);
    assert_eq!(readers.now(), 2);
}

#[test]
fn they_become_fewer_when_fewer_do() {
    // The workers take 200 MB/s: at first of a source that gives 10 to each reader, then 500.
    let mut readers = Readers::new(2, 64, true);
    ticks(&mut readers, 200, 10e6, 1e12, 200e6);
    assert!(readers.now() >= 16);
    ticks(&mut readers, 200, 500e6, 1e12, 200e6);
    assert_eq!(readers.now(), 1);
}

#[test]
fn workers_read_again_when_reads_wait_no_more() {
    let mut readers = Readers::new(2, 32, false);
    ticks(&mut readers, 5, 10e6, 1e12, 200e6);
    assert!(readers.now() >= 2);
    let seen = Seen { time: TICK, reading: TICK, loads: 1, ..Seen::default() };
    assert_eq!(readers.tick(seen), 0);
    let mut always = Readers::new(2, 32, true);
    assert!(always.tick(seen) > 0);
}
