//! Hadoop Streaming on the engine: jobs whose mapper, combiner and reducer are commands that read and write lines.
//! docs/streaming.md says how to use it.
//!
//! The path of a job: `options.rs` reads the command line and `settings.rs` understands it, or refuses it with the reason.
//! `run.rs` is the run on one screen. `mapping.rs` is the engine's job: a task is a split, and its lines become pairs
//! by part (`partition.rs`) and in the order of the job's comparator (`order.rs`). `gathering.rs` brings them together,
//! `pairs.rs` gives them out in order, and `reducing.rs` gives each part to its reducer. `process.rs` runs a command, in
//! a folder and a group of processes (`workplace.rs`) that never outlive the run. `output.rs` names the answer when it
//! is complete.

mod codec;
mod command;
mod conf;
mod counters;
mod failure;
mod fields;
mod gathering;
mod hdfs;
mod input;
mod lines;
mod log4j;
mod mapping;
mod numbers;
mod options;
mod order;
mod output;
mod pairs;
mod partition;
mod process;
mod reducing;
mod run;
mod settings;
mod shell;
mod shipped;
mod speech;
mod tasks;
mod workplace;

pub use counters::Counters;
pub use failure::TaskFailed;
pub use hdfs::Hdfs;
pub use log4j::Log;
pub use options::{CommandLine, help};
pub use run::{Host, Report};
pub use settings::Settings;
