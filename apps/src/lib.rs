//! Ready-made jobs. Each is a map and a combine over the engine's public interface, like any user's job.
//! They have no flags and print nothing; the command line is another crate.

mod digits;
mod double;
pub mod grep;
mod headers;
pub mod histogram;
mod index;
pub mod kmeans;
pub mod linreg;
pub mod logstats;
pub mod matrix;
#[cfg(feature = "offload")]
pub mod offload;
mod runs;
pub mod stations;
pub mod string_match;
mod teragen;
mod teravalidate;
pub mod top;
mod unicode_words;
mod word_count;

pub use index::{Index, Place};
pub use matrix::Matrix;
pub use runs::{Runs, TASK_BYTES, task_numbers, tasks};
pub use stations::Stations;
pub use teragen::{ROW_BYTES, TeraRows};
pub use teravalidate::{Misplaced, Stretch, Stretches, TeraReport, TeraValidate};
pub use word_count::{WordCount, Words};

/// Joins byte strings to one text, for the identity of a job that looks for them.
fn listed(all: &[&[u8]]) -> String {
    let shown = all.iter().map(|one| format!("\"{}\"", one.escape_ascii()));
    shown.collect::<Vec<_>>().join(" ")
}
