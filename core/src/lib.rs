//! Jobs and their runs: the map with its containers, reduce, merge, sort, output, shows, state and reuse.
//!
//! This crate is internal to Tegula. Its interface is the crate `tegula`; everything else may change.

#![warn(missing_debug_implementations)]

mod compiled;
#[allow(missing_docs, missing_debug_implementations, reason = "no part of the interface")]
pub mod container;
mod context;
mod core;
#[allow(missing_docs, missing_debug_implementations, reason = "no part of the interface")]
pub mod coverage;
mod engine;
mod facts;
#[allow(missing_docs, missing_debug_implementations, reason = "no part of the interface")]
pub mod heads;
mod held;
pub mod holding;
mod job;
mod job_run;
mod map;
#[allow(missing_docs, missing_debug_implementations, reason = "no part of the interface")]
pub mod merge;
mod options;
pub mod output;
#[allow(missing_docs, missing_debug_implementations, reason = "no part of the interface")]
pub mod reduce;
#[allow(missing_docs, missing_debug_implementations, reason = "no part of the interface")]
pub mod reuse;
mod room;
mod run;
mod saved;
#[allow(missing_docs, missing_debug_implementations, reason = "no part of the interface")]
pub mod show;
mod sort;
pub mod state;
mod stats;
mod tasks;

pub use container::Container;
pub use engine::{Engine, EngineBuilder, Grouping};
pub use job::{Emit, Job, Offloadable, Pair, Resumable, Sees};
pub use job_run::{JobRun, Renewed, Saved};
pub use options::{Options, Order, Pipeline};
pub use output::{Answers, Output};
pub use show::{Estimate, Estimates, Every, STABLE_KEYS_MOST, Show, Shown};
pub use sort::{PairSort, Putting, Records, Sort, SortTo, SortedPairs};
pub use state::{Incremental, Keep, SaveEvery, State};
pub use stats::{StageTime, Stats};

use tegula_device as device;
use tegula_input::{bad, codec, ingest, input, origin, plan, split, tokenize, unit};
use tegula_machine::{
    cancel, encoding, error, failure, memory, process, progress, relocation, schedule, sizing,
    storage, sync, timeline, topology,
};
use tegula_pairs::{aggregate, combine, identity, key, partial, slots};
