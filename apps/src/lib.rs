//! Ready-made jobs. Each is a map and a combine over the engine's public interface, like any user's job.
//! They have no flags and print nothing; the command line is another crate.
//!
//! Each job has a cargo feature of its name. All but `native` and `offload` are on by default.

#[cfg(feature = "logstats")]
mod digits;
#[cfg(feature = "linreg")]
mod double;
#[cfg(any(feature = "native", feature = "offload"))]
mod extreme;
#[cfg(feature = "grep")]
pub mod grep;
#[cfg(any(feature = "histogram", feature = "matrix"))]
mod headers;
#[cfg(feature = "histogram")]
pub mod histogram;
#[cfg(feature = "index")]
mod index;
#[cfg(feature = "json")]
pub mod json;
#[cfg(feature = "kmeans")]
pub mod kmeans;
#[cfg(feature = "linreg")]
pub mod linreg;
#[cfg(feature = "logstats")]
pub mod logstats;
#[cfg(feature = "matrix")]
pub mod matrix;
#[cfg(feature = "native")]
pub mod native;
#[cfg(feature = "offload")]
pub mod offload;
mod runs;
#[cfg(feature = "stations")]
pub mod stations;
#[cfg(feature = "stringmatch")]
pub mod string_match;
#[cfg(feature = "tera")]
mod teragen;
#[cfg(feature = "tera")]
mod teravalidate;
#[cfg(feature = "top")]
pub mod top;
#[cfg(feature = "wordcount")]
mod unicode_words;
#[cfg(feature = "wordcount")]
mod word_count;

#[cfg(feature = "index")]
pub use index::{Index, Place};
#[cfg(feature = "matrix")]
pub use matrix::Matrix;
pub use runs::{About, Runs};
#[cfg(feature = "stations")]
pub use stations::Stations;
#[cfg(feature = "tera")]
pub use teragen::{ROW_BYTES, TeraRows};
#[cfg(feature = "tera")]
pub use teravalidate::{Misplaced, Stretch, Stretches, TeraReport, TeraValidate};
#[cfg(feature = "wordcount")]
pub use word_count::{WordCount, Words};

/// Returns the error of a thing in memory, by its name.
#[cfg(any(feature = "matrix", feature = "wordcount", feature = "offload"))]
fn fault(thing: &str, cause: impl Into<String>) -> tegula::Error {
    tegula::Error::Record { place: tegula::Place::stage(thing), cause: cause.into().into() }
}

/// Joins byte strings into one text, for the identity of a job that looks for them.
#[cfg(any(feature = "index", feature = "stringmatch"))]
fn listed(all: &[&[u8]]) -> String {
    let shown = all.iter().map(|one| format!("\"{}\"", one.escape_ascii()));
    shown.collect::<Vec<_>>().join(" ")
}
