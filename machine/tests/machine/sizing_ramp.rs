//! A ramp reaches the best size from far below, and spends no more than it may.

use std::time::Duration;
use tegula_machine::sizing::Ramp;

/// Works until the ramp has settled, three pieces being on their way at a time.
fn climb(mut ramp: Ramp, seconds: impl Fn(f64) -> f64) -> (Ramp, u64) {
    let (mut spent, mut on_the_way) = (0, std::collections::VecDeque::new());
    while !ramp.is_settled() {
        let size = ramp.size();
        ramp.begun(size);
        on_the_way.push_back(size);
        spent += size;
        if on_the_way.len() == 3 {
            let done = on_the_way.pop_front().unwrap_or(0);
            ramp.add(done, Duration::from_secs_f64(seconds(done as f64)));
        }
    }
    (ramp, spent)
}

const LEAST: u64 = 64 << 10;

#[test]
fn the_size_doubles_while_that_pays() {
    for (fixed_s, bytes_s) in [(30e-6, 50e9), (1e-3, 10e9), (100e-6, 0.3e9)] {
        let ramp = Ramp::new(LEAST, LEAST, 1 << 30, 1 << 40);
        let (ramp, _) = climb(ramp, |bytes| fixed_s + bytes / bytes_s);
        let best = ramp.best() as f64;
        let reached = best / (fixed_s + best / bytes_s) / bytes_s;
        assert!(reached > 0.9, "{best} bytes reach {reached} of {bytes_s}");
        assert!(best < 128.0 * fixed_s * bytes_s + 1e6, "{best} is more than it takes");
    }
}

#[test]
fn it_spends_about_what_it_is_allowed() {
    let ramp = Ramp::new(LEAST, LEAST, 1 << 30, 10 << 20);
    let (ramp, spent) = climb(ramp, |bytes| 1e-3 + bytes / 50e9);
    let best = ramp.best();
    // The few that are on their way when it stops to double are of the best size, too.
    assert!(spent <= (10 << 20) + 3 * best && best >= 1 << 20, "{spent} for {best}");
}

#[test]
fn it_passes_no_limit_and_a_smaller_size_can_win() {
    let ramp = Ramp::new(LEAST, LEAST, 1 << 20, 1 << 40);
    let (ramp, _) = climb(ramp, |bytes| 1e-3 + bytes / 50e9);
    assert_eq!(ramp.best(), 1 << 20);
    // Beyond a mebibyte each piece takes twice as long.
    let slow = |bytes: f64| if bytes > f64::from(1 << 20) { 2.0 } else { 1.0 };
    let ramp = Ramp::new(LEAST, LEAST, 1 << 30, 1 << 40);
    let (ramp, _) = climb(ramp, |bytes| slow(bytes) * (50e-6 + bytes / 1e10));
    assert_eq!(ramp.best(), 1 << 20);
}
