//! The jobs over lines, each beside a sequential twin made of the standard library alone: the same
//! answer for every number of workers and every cut. One file per behaviour.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod access_logs_are_added_up_by_each_key;
mod fields_are_counted_and_summed;
mod generated_lines_are_the_same_again;
mod malformed_lines_are_bad_records;
mod patterns_see_lines;
mod stations_have_their_extremes;
mod users_have_been_online;

use std::fmt::Debug;
use std::sync::LazyLock;
use tegula::{Combine, Engine, Input, Job, Options};

/// Engines of several numbers of workers, made once.
fn engines() -> &'static [Engine] {
    static ENGINES: LazyLock<Vec<Engine>> = LazyLock::new(|| {
        [1, 2, 5].into_iter().map(|n| Engine::builder().workers(n).build().unwrap()).collect()
    });
    &ENGINES
}

/// Returns the pairs of `job` over a text, which must be the same for every number of workers, with these
/// splits and those of the engine's own choice.
fn pairs<J: Job<Key = [u8], Combine = C>, C: Combine<Output: PartialEq + Debug>>(
    job: &J,
    text: &[u8],
    split_bytes: u64,
    options: &Options,
) -> Vec<(Vec<u8>, C::Output)> {
    let mut answers = engines().iter().flat_map(|engine| {
        [Some(split_bytes), None].map(|split_bytes| {
            let options = Options { split_bytes, ..options.clone() };
            let output = engine.job(job).options(&options).run(Input::bytes(text)).unwrap();
            output.iter().unwrap().map(|(key, answer)| (key.to_vec(), answer)).collect::<Vec<_>>()
        })
    });
    let first = answers.next().unwrap();
    answers.for_each(|answer| assert_eq!(answer, first));
    first
}

/// Configures `count` random cases, and no file of failed ones.
fn cases(count: u32) -> proptest::prelude::ProptestConfig {
    proptest::prelude::ProptestConfig {
        cases: count,
        failure_persistence: None,
        ..Default::default()
    }
}
