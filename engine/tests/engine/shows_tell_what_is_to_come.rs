//! A show reports since when its first keys have been the same, and the likely final counts.

use crate::jobs::Words;
use crate::reference;
use crate::support::{engines, sample_text};
use tegula::{Estimate, Estimates, Every, Input, Options, Order, Show, WordClass};

const JOB: Words = Words(WordClass::Whitespace);

#[test]
fn first_keys_are_stable_since_the_show_that_had_them_first() {
    // The first half counts b before a, the second a before b; c is third all along.
    let text =
        ["b b b c ", "b a b c ", "a a a c ", "a a a c "].map(|part| part.repeat(500)).concat();
    let options = Options { tile_bytes: Some(4000), split_bytes: Some(500), ..Options::default() };
    for engine in engines() {
        let mut since = Vec::new();
        let show = Show::new(Every::Part(0.25), |shown| {
            since.push([1, 2, 3, 4].map(|count| shown.stable_since(count)));
            Ok(())
        });
        let show = show.in_order(true).order(Order::Value);
        engine.job(&JOB).options(&options).show(show).run(Input::bytes(text.clone())).unwrap();
        let some = |since: [u64; 3]| [Some(since[0]), Some(since[1]), Some(since[2]), None];
        // b 1500, c 500; b 2500, c 1000, a 500; b 2500, a 2000, c 1500; a 3500, b 2500, c 2000.
        let expected = [
            [Some(4000), Some(4000), None, None],
            some([4000, 4000, 8000]),
            some([4000, 12_000, 8000]),
            some([16_000, 12_000, 8000]),
        ];
        assert_eq!(since, expected);
    }
}

#[test]
fn what_counts_will_come_to_is_told_with_an_interval() {
    let text = sample_text(200_000);
    let all = reference::count([&text[..]], WordClass::Whitespace);
    let options = Options { split_bytes: Some(4096), ..Options::default() };
    for engine in engines() {
        let (mut estimates, mut figures) = (Estimates::new(), Vec::new());
        let show = Show::new(Every::Part(0.1), |shown| {
            estimates.begin(shown.bytes, shown.bytes_planned.unwrap());
            for (key, count) in shown.answers().iter()? {
                let estimate = estimates.estimate(key, count as f64);
                if let (Some(within), true) = (estimate.within, shown.number > 3) {
                    figures.push((estimate.total, within, all[key] as f64));
                }
                if shown.is_last {
                    assert_eq!((estimate.total, estimate.within), (count as f64, Some(0.0)));
                }
            }
            Ok(())
        });
        let show = show.top(20).order(Order::Value);
        engine.job(&JOB).options(&options).show(show).run(Input::bytes(text.clone())).unwrap();
        let inside =
            figures.iter().filter(|(total, within, truth)| (total - truth).abs() <= *within);
        let (inside, of) = (inside.count(), figures.len());
        assert!(inside * 10 >= of * 7, "{inside} of {of}");
    }
}

#[test]
fn what_is_even_is_known_at_once_and_what_is_complete_for_sure() {
    let mut estimates = Estimates::new();
    estimates.begin(100, 1000);
    assert_eq!(estimates.estimate(b"a", 7.0), Estimate { total: 70.0, within: None });
    estimates.begin(300, 1000);
    assert_eq!(estimates.estimate(b"a", 21.0), Estimate { total: 70.0, within: Some(0.0) });
    let new = estimates.estimate(b"b", 3.0);
    assert_eq!(new, Estimate { total: 10.0, within: None });
    estimates.begin(1000, 1000);
    assert_eq!(estimates.estimate(b"a", 60.0), Estimate { total: 60.0, within: Some(0.0) });
}

/// About 95 % of random populations are within the interval that half of them gives.
#[test]
fn intervals_hold_as_often_as_they_say() {
    let mut state = 7_u64;
    let mut random = || {
        state = state.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(1).rotate_left(29);
        (state >> 40) as f64 / f64::from(1 << 24)
    };
    let (mut inside, trials) = (0, 2000);
    for _ in 0..trials {
        let clusters: Vec<(u64, f64)> = (0..40)
            .map(|_| {
                let bytes = 500.0 + 1000.0 * random();
                (bytes as u64, bytes * (0.01 + 0.02 * random()))
            })
            .collect();
        let planned: u64 = clusters.iter().map(|cluster| cluster.0).sum();
        let truth: f64 = clusters.iter().map(|cluster| cluster.1).sum();
        let (mut estimates, mut last) = (Estimates::new(), None);
        let (mut bytes, mut figure) = (0, 0.0);
        for cluster in &clusters[..20] {
            bytes += cluster.0;
            figure += cluster.1;
            estimates.begin(bytes, planned);
            last = Some(estimates.estimate(b"key", figure));
        }
        let Some(Estimate { total, within: Some(within) }) = last else { panic!("{last:?}") };
        inside += usize::from((total - truth).abs() <= within);
    }
    let part = inside as f64 / f64::from(trials);
    assert!((0.93..0.97).contains(&part), "{part} of intervals hold");
}
