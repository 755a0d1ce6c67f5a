//! Shared by the tests: a text, word count over any input, and settings for a server.

use std::fmt::Write;
use std::time::Duration;
use tegula::{Engine, Input, Options, Result};
use tegula_apps::{WordCount, Words};
use tegula_remote::Settings;
use tegula_remote_servers::S3;

/// Words, some often and most seldom, in lines of different lengths.
pub(crate) fn text(bytes: usize) -> Vec<u8> {
    let mut text = String::new();
    let mut state = 1u64;
    while text.len() < bytes {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let number = state >> 40;
        let word = if number.is_multiple_of(3) { number % 50 } else { number % 50_000 };
        write!(text, "word{word}{}", if number.is_multiple_of(11) { '\n' } else { ' ' }).unwrap();
    }
    text.truncate(bytes);
    text.into_bytes()
}

/// Returns the answer of a word count as text, with `workers` workers and tiles of 1 MiB.
pub(crate) fn count(input: Input, workers: usize) -> Result<String> {
    let engine = Engine::builder().workers(workers).build()?;
    let options = Options { tile_bytes: Some(1 << 20), ..Options::default() };
    let output =
        engine.job(&WordCount { words: Words::Whitespace }).options(&options).run(input)?;
    let mut answer = String::new();
    output.for_each(|word, count| {
        writeln!(answer, "{}\t{count}", String::from_utf8_lossy(word)).unwrap();
    })?;
    Ok(answer)
}

/// Returns the message of an input that cannot be read.
pub(crate) fn fault(result: Result<impl Sized>) -> String {
    match result {
        Ok(_) => panic!("it can be read"),
        Err(fault) => fault.to_string(),
    }
}

/// Settings for a server at `endpoint`, and few tries.
pub(crate) fn settings(endpoint: impl Into<String>) -> Settings {
    Settings::new()
        .with("AWS_ENDPOINT_URL", endpoint)
        .with("AWS_ACCESS_KEY_ID", S3::KEY_ID)
        .with("AWS_SECRET_ACCESS_KEY", S3::SECRET)
        .with("TEGULA_REMOTE_TRIES", "4")
}

/// Names and lengths, in order.
pub(crate) fn listing(input: &Input) -> Vec<(String, u64)> {
    input.listing().map(|file| (file.name().display().to_string(), file.bytes().unwrap())).collect()
}

/// More than all tries and pauses of [`settings`] take.
pub(crate) const SOON: Duration = Duration::from_secs(20);
