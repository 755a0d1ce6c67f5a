//! Products and principal components beside plain loops: near to them, and the same to the bit for
//! every number of workers. One file per behaviour.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod components_are_directions_of_spread;
mod products_are_sums_of_products;

use proptest::prelude::ProptestConfig;
use std::fmt::Debug;
use std::sync::LazyLock;
use tegula::{Engine, Options};
use tegula_apps::Runs;

/// Runs `work` on engines of several numbers of workers, made once; its answer must be the same.
fn same<A: PartialEq + Debug>(work: impl Fn(&mut Runs<'_>) -> A) -> A {
    static ENGINES: LazyLock<Vec<Engine>> = LazyLock::new(|| {
        [1, 2, 5].into_iter().map(|n| Engine::builder().workers(n).build().unwrap()).collect()
    });
    let mut answers = ENGINES.iter().map(|engine| work(&mut Runs::new(engine, Options::default())));
    let first = answers.next().unwrap();
    answers.for_each(|answer| assert_eq!(answer, first));
    first
}

/// Configures `count` random cases, and no file of failed ones.
fn cases(count: u32) -> ProptestConfig {
    ProptestConfig { cases: count, failure_persistence: None, ..ProptestConfig::default() }
}

/// Numbers between -1 and 1, drawn by a seed.
fn drawn(count: usize, seed: u64) -> Vec<f64> {
    let mut state = seed;
    let mut next = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
    };
    (0..count).map(|_| next()).collect()
}
