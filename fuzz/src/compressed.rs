//! Files of each format with any bytes: an error that is named, or one answer in all shapes.

use crate::{choice, file, pairs};
use tegula::{Input, Result};
use tegula_apps::{WordCount, Words};

const NAMES: [&str; 5] = ["text.gz", "text.bz2", "text.zst", "text.lz4", "text"];

pub(crate) fn run(bytes: &[u8]) {
    let Some((which, data)) = choice(bytes) else { return };
    let path = file(NAMES[usize::from(which) % NAMES.len()], data);
    let job = WordCount { words: Words::Whitespace };
    let run = |shape| -> Result<_> { pairs(&job, Input::paths([&path])?, shape) };
    let answers = [7, 0b0011_1000].map(run);
    let [one, other] = answers.map(|answer| answer.map_err(|error| error.to_string()));
    assert_eq!(one.is_ok(), other.is_ok(), "{one:?} {other:?}");
    if let (Ok(one), Ok(other)) = (one, other) {
        assert_eq!(one, other);
    }
}
