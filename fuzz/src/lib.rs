//! Targets of fuzzing: functions that take any bytes, give them to a part of Tegula that reads bytes which it did not write,
//! and panic where the answer is not what it must be. `libfuzzer` calls them with bytes made by coverage; the tests call
//! them with the bytes that were kept of that. Here is what they share: engines, and shapes that
//! follow from the first bytes of an input.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a target panics where something is wrong"
)]

mod blocks;
#[cfg(feature = "server")]
mod commands;
mod compressed;
mod greps;
mod json;
mod kernels;
mod logs;
mod matrices;
mod memory;
mod messages;
#[cfg(feature = "remote")]
mod namenodes;
#[cfg(feature = "remote")]
mod objects;
mod pictures;
#[cfg(feature = "server")]
mod requests;
mod sorts;
mod states;
mod stations;
mod words;

pub(crate) use memory::{file, folder};
use std::collections::BTreeMap;
use std::sync::LazyLock;
use tegula::{Aggregate, Container, Engine, Error, Input, Job, Options, Order, Result};

/// A target: it takes any bytes, and panics where something is wrong.
pub type Target = fn(&[u8]);

/// The targets of this build, by name.
pub const TARGETS: &[(&str, Target)] = &[
    ("blocks", blocks::run),
    #[cfg(feature = "server")]
    ("commands", commands::run),
    ("compressed", compressed::run),
    ("greps", greps::run),
    ("json", json::run),
    ("kernels", kernels::run),
    ("logs", logs::run),
    ("matrices", matrices::run),
    ("messages", messages::run),
    #[cfg(feature = "remote")]
    ("namenodes", namenodes::run),
    #[cfg(feature = "remote")]
    ("objects", objects::run),
    ("pictures", pictures::run),
    #[cfg(feature = "server")]
    ("requests", requests::run),
    ("sorts", sorts::run),
    ("states", states::run),
    ("stations", stations::run),
    ("words", words::run),
];

/// Returns the target of a name.
pub fn target(name: &str) -> Option<Target> {
    TARGETS.iter().find(|(known, _)| *known == name).map(|(_, target)| *target)
}

/// Engines of one worker and of three.
static ENGINES: LazyLock<[Engine; 2]> =
    LazyLock::new(|| [1, 3].map(|workers| Engine::builder().workers(workers).build().unwrap()));

/// Takes the first byte for a choice; returns it with the rest.
pub(crate) fn choice(bytes: &[u8]) -> Option<(u8, &[u8])> {
    bytes.split_first().map(|(first, rest)| (*first, rest))
}

/// Returns an engine and options of a shape: no answer may depend on it.
pub(crate) fn shape(choice: u8) -> (&'static Engine, Options) {
    let engine = &ENGINES[usize::from(choice & 1)];
    let small = 1 + u64::from(choice >> 3);
    let container = [Container::Adaptive, Container::Hash, Container::Append, Container::Adaptive];
    let options = Options {
        order: Order::Key,
        split_bytes: (choice & 2 == 0).then_some(small),
        tile_bytes: (choice & 4 == 0).then_some(small * 3),
        container: container[usize::from(choice >> 6)],
        ..Options::default()
    };
    (engine, options)
}

/// Returns what did not panic: an error that is named is an answer, too.
pub(crate) fn named<T>(result: Result<T>) -> Result<T> {
    match result {
        Err(Error::Panicked { place, message }) => panic!("{place}: {message}"),
        result => result,
    }
}

/// Returns the pairs of a job over bytes, in a shape.
pub(crate) fn pairs<J, V>(job: &J, input: Input, choice: u8) -> Result<BTreeMap<Vec<u8>, V>>
where
    J: Job<Key = [u8]>,
    J::Combine: for<'a> Aggregate<Output<'a> = V>,
{
    let (engine, options) = shape(choice);
    let output = named(engine.job(job).options(&options).run(input))?;
    let mut pairs = BTreeMap::new();
    output.for_each(|key, value| drop(pairs.insert(key.to_vec(), value)))?;
    Ok(pairs)
}
