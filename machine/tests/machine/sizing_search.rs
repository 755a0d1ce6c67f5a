//! The best size is found, and found again when the work changes.

use proptest::prelude::*;
use std::time::Duration;
use tegula_machine::sizing::TimedSearch;

/// Works until `millis` milliseconds are spent, at the rate of each size; returns the loss against
/// working with the best size all along.
fn work(search: &mut TimedSearch, millis: u64, rate: impl Fn(u64, u64) -> f64) -> f64 {
    let (mut spent, mut done, mut pieces) = (0.0, 0.0, 0);
    while spent < millis as f64 / 1e3 {
        let size = search.size();
        let seconds = size as f64 / rate(size, pieces);
        search.add(size, Duration::from_secs_f64(seconds));
        (spent, done, pieces) = (spent + seconds, done + size as f64, pieces + 1);
    }
    done / spent
}

/// Best at `peak`, a tenth less for each doubling away from it.
fn hill(peak: u64) -> impl Fn(u64) -> f64 {
    move |size| {
        let away = (size as f64 / peak as f64).log2().abs();
        1e9 * 0.9_f64.powf(away)
    }
}

proptest! {
    #[test]
    fn the_best_is_found_from_anywhere(start in 0..7_u32, peak in 0..7_u32, seed: u64) {
        let size = |power: u32| (64 << 10) << power;
        let mut search = TimedSearch::new(size(start), size(0), size(6));
        let rate = hill(size(peak));
        // Two parts in a hundred come and go.
        let noise = |piece: u64| {
            let drawn = (piece ^ seed).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
            1.0 + 0.02 * (drawn as f64 / (1 << 24) as f64 - 0.5)
        };
        work(&mut search, 600, |size, piece| rate(size) * noise(piece));
        prop_assert_eq!(search.best(), size(peak));
        // Looking again now and then costs little.
        let reached = work(&mut search, 2000, |size, piece| rate(size) * noise(piece));
        prop_assert!(reached > 0.99e9, "{reached}");
    }
}

#[test]
fn of_equal_sizes_the_largest_wins() {
    let mut search = TimedSearch::new(1 << 16, 1 << 14, 1 << 20);
    work(&mut search, 500, |_, _| 1e9);
    assert_eq!(search.best(), 1 << 20);
}

#[test]
fn a_hiccup_changes_nothing() {
    let mut search = TimedSearch::new(1 << 18, 1 << 14, 1 << 22);
    let rate = hill(1 << 18);
    // One piece in fifty takes ten times as long: another program ran.
    work(&mut search, 1000, |size, piece| rate(size) / if piece % 50 == 7 { 10.0 } else { 1.0 });
    assert_eq!(search.best(), 1 << 18);
}

#[test]
fn what_is_best_is_found_again_when_it_changes() {
    let mut search = TimedSearch::new(1 << 16, 1 << 14, 1 << 22);
    work(&mut search, 500, |size, _| hill(1 << 15)(size));
    assert_eq!(search.best(), 1 << 15);
    work(&mut search, 20_000, |size, _| hill(1 << 19)(size));
    assert_eq!(search.best(), 1 << 19);
}
