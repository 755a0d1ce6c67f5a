//! The jobs about numbers, each beside a sequential twin made of the standard library alone: the same
//! answer, to the bit, for every number of workers and every cut. One file per behaviour.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod groups_settle_where_lloyd_says;
mod keys_are_whole_lines;
mod levels_are_counted_in_every_layout;
mod lines_fit_best;
mod matrices_are_read_as_written;
mod pictures_that_are_none_are_refused;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use tegula::{Engine, Options};

/// Engines of several numbers of workers, made once.
fn engines() -> &'static [Engine] {
    static ENGINES: LazyLock<Vec<Engine>> = LazyLock::new(|| {
        [1, 2, 5].into_iter().map(|n| Engine::builder().workers(n).build().unwrap()).collect()
    });
    &ENGINES
}

/// Runs `job` on every engine, with these splits and those of the engine's own choice, and gives the
/// answer, which must be the same each time.
fn same<A: PartialEq + std::fmt::Debug>(split: u64, job: impl Fn(&Engine, Options) -> A) -> A {
    let mut answers = engines().iter().flat_map(|engine| {
        [Some(split), None]
            .map(|split_bytes| job(engine, Options { split_bytes, ..Options::default() }))
    });
    let first = answers.next().unwrap();
    answers.for_each(|answer| assert_eq!(answer, first));
    first
}

fn write(folder: &Path, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
    let path = folder.join(name);
    fs::write(&path, bytes).unwrap();
    path
}

/// Configures `count` random cases, and no file of failed ones.
fn cases(count: u32) -> proptest::prelude::ProptestConfig {
    proptest::prelude::ProptestConfig {
        cases: count,
        failure_persistence: None,
        ..Default::default()
    }
}
