//! Tegula: MapReduce for one big machine.
//!
//! A job is a map that emits pairs of a key and a value, and a named type that combines the values of
//! one key. The engine cuts the input into tiles and splits, maps splits on all cores while they are
//! in cache, combines in tables of each worker's own, hands tables over by partition, and gives the
//! answer sorted, ranked or as it is, with the same bytes for any number of workers.
//!
//! [`Job`] shows a whole program. The path of the data is the order of the modules below; the design
//! is told in `ARCHITECTURE.md`.

pub mod aggregate;
mod bad;
mod cancel;
mod codec;
pub mod combine;
mod compiled;
mod container;
mod core;
pub mod device;
mod encoding;
mod engine;
mod error;
mod facts;
mod failure;
mod identity;
mod ingest;
mod input;
mod job;
mod key;
mod map;
mod memory;
mod merge;
mod options;
mod origin;
pub mod output;
mod partial;
mod plan;
mod process;
mod progress;
mod reduce;
mod relocation;
pub mod reuse;
mod room;
mod run;
mod saved;
pub mod schedule;
mod show;
pub mod sizing;
mod slots;
mod sort;
mod split;
pub mod state;
mod stats;
pub mod storage;
mod sync;
mod tasks;
pub mod timeline;
pub mod tokenize;
pub mod topology;
#[cfg(feature = "testing")]
mod trial;

pub use aggregate::*;
pub use bad::{BAD_RECORDS_SHOWN, BadRecord};
pub use cancel::Cancel;
pub use combine::*;
pub use container::Container;
pub use device::{Accelerator, DeviceError};
pub use engine::{Engine, EngineBuilder, Grouping, Saved};
pub use error::{
    Error, InputError, MemoryError, OutputError, Place, Result, StateError, StorageError,
};
pub use identity::Identity;
pub use input::{ByteSet, Cut, Delimited, Delimiter, Input, InputFile, RangeSource, TileSource};
pub use job::{Emit, Job, Pair, Sees};
pub use key::Key;
pub use options::{Options, Order, Pipeline};
pub use output::{Answers, Output};
pub use plan::{DEFAULT_TILE_BYTES, FormatFigures, INCREMENTAL_TILE_BYTES, Reads};
pub use process::process_cpu;
pub use progress::{Progress, ProgressReading, Stage};
pub use relocation::Relocation;
pub use show::{Estimate, Estimates, Every, STABLE_KEYS_MOST, Show, Shown};
pub use sort::{Records, Sort, SortTo};
pub use split::{Lines, Split};
pub use state::{Incremental, SaveEvery, State};
pub use stats::{StageTime, Stats};
pub use storage::{Disk, Storage, StoredFile};
pub use timeline::Timeline;
pub use tokenize::WordClass;
pub use topology::Topology;
#[cfg(feature = "testing")]
pub use trial::{Trial, trial};
