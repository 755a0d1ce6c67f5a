//! The number of threads that fill slots comes near the best for cores and device together.

use proptest::prelude::*;
use std::time::Duration;
use tegula_device::feeders::{Done, Feeders};

const UNIT_SPLITS: u64 = 64;

/// Simulates work for a number of seconds. Each number of threads has a rate of the device and of the
/// others, in splits per second, with up to a tenth of noise. Returns the loss against the best number.
fn work(
    feeders: &mut Feeders,
    seconds: f64,
    seed: u64,
    rates: impl Fn(usize) -> (f64, f64),
) -> f64 {
    let (mut now, mut others, mut units, mut done) = (0.0, 0.0, 0_u64, 0.0);
    while now < seconds {
        let (device, cores) = rates(feeders.now());
        let drawn = (units ^ seed).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
        let noise = 0.9 + 0.2 * drawn as f64 / f64::from(1 << 24);
        let took = UNIT_SPLITS as f64 / device * noise;
        now += took;
        others += cores * took;
        units += 1;
        done = others + (units * UNIT_SPLITS) as f64;
        feeders.add(&Done {
            now: Duration::from_secs_f64(now),
            others_splits: others as u64,
            others_at_a_time: 1,
            device_splits: units * UNIT_SPLITS,
            units,
            in_flight: 2,
        });
    }
    done / now
}

/// Returns a link with a rate in splits per second, threads that each copy at one rate, and cores that
/// each map at another.
fn machine(link: f64, copy: f64, map: f64, cores: usize) -> impl Fn(usize) -> (f64, f64) {
    move |feeders| (link.min(copy * feeders as f64), map * (cores + 1 - feeders) as f64)
}

#[test]
fn a_fast_link_has_as_many_threads_as_it_takes() {
    for seed in 0..20 {
        let mut feeders = Feeders::new(1, 16);
        let rates = machine(800_000.0, 160_000.0, 16_000.0, 16);
        work(&mut feeders, 4.0, seed, &rates);
        assert_eq!(feeders.best(), 5, "seed {seed}");
        // Trials cost little.
        let reached = work(&mut feeders, 8.0, seed, &rates);
        let (device, cores) = rates(5);
        assert!(reached > 0.95 * (device + cores), "{reached}");
    }
}

#[test]
fn a_slow_link_has_one() {
    for seed in 0..20 {
        for start in [1, 6] {
            let mut feeders = Feeders::new(start, 16);
            work(&mut feeders, 4.0, seed, machine(80_000.0, 160_000.0, 16_000.0, 16));
            assert_eq!(feeders.best(), 1, "seed {seed} from {start}");
        }
    }
}

/// One thread more than six adds three hundredths to the sum; six more add a fifth.
#[test]
fn many_that_bring_little_each_are_found() {
    for seed in 0..20 {
        let mut feeders = Feeders::new(6, 20);
        let rates = machine(700_000.0, 37_000.0, 20_500.0, 20);
        work(&mut feeders, 20.0, seed, &rates);
        assert!(feeders.best() >= 15, "seed {seed}: {}", feeders.best());
    }
}

/// No other thread is available, which shows when one is requested.
#[test]
fn a_limit_that_is_found_late_is_kept() {
    for seed in 0..20 {
        let mut feeders = Feeders::new(1, 16);
        let rates = machine(800_000.0, 160_000.0, 16_000.0, 16);
        work(&mut feeders, 4.0, seed, &rates);
        feeders.limit(3);
        work(&mut feeders, 8.0, seed, |threads| {
            assert!(threads <= 3, "seed {seed}: {threads}");
            rates(threads)
        });
        assert_eq!(feeders.best(), 3, "seed {seed}");
    }
}

proptest! {
    /// For any rates, the number ends near the best for all together.
    #[test]
    fn the_sum_of_all_is_near_the_best(
        link in 10_000.0..1e6_f64,
        copy in 10_000.0..1e6_f64,
        map in 1_000.0..1e5_f64,
        cores in 1..32_usize,
        start in 1..32_usize,
        seed: u64,
    ) {
        let rates = machine(link, copy, map, cores);
        let total = |feeders| {
            let (device, cores) = rates(feeders);
            device + cores
        };
        let mut feeders = Feeders::new(start, cores);
        work(&mut feeders, 20.0, seed, &rates);
        let best = (1..=cores).map(total).fold(0.0, f64::max);
        prop_assert!(feeders.best() <= cores);
        let reached = total(feeders.best());
        prop_assert!(reached > 0.8 * best, "{reached} of {best} with {}", feeders.best());
    }
}
