//! Progress of a job: counters that workers add to once per split and that anyone may read at any time. They
//! never influence the run. [`TileGrid`] has the same for each tile of the input.

mod tiles;

pub use tiles::{CELLS_MOST, CellPlace, GridPlaces, GridReading, TileGrid, TileState, Tiles};

use crate::memory::resident_bytes;
use crate::sync::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The stages of a run, in order. (See ARCHITECTURE.md, the path of the data.)
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Stage {
    /// Listing and cutting the input.
    Plan,
    /// Reading, mapping and combining; handing over and compressing partials.
    Map,
    /// Folding each partition's partials into one pair per key; selecting the top N.
    Reduce,
    /// Sorting the pairs.
    Merge,
    /// Formatting and writing.
    Output,
}

impl Stage {
    /// All stages, in order.
    pub const ALL: [Stage; 5] =
        [Stage::Plan, Stage::Map, Stage::Reduce, Stage::Merge, Stage::Output];

    /// Returns the stage's name in progress and statistics.
    pub fn name(self) -> &'static str {
        match self {
            Stage::Plan => "plan",
            Stage::Map => "map",
            Stage::Reduce => "reduce",
            Stage::Merge => "merge",
            Stage::Output => "output",
        }
    }
}

impl Mapping {
    fn map_for(&self) -> Duration {
        self.took.or_else(|| self.began.map(|began| began.elapsed())).unwrap_or_default()
    }
}

/// Live counters of one job, or of several one after another: each begins them anew. Share it (`Arc`) with the job
/// through `Options::progress` and read it from another thread.
#[derive(Debug, Default)]
pub struct Progress {
    stage: AtomicU8,
    bytes_planned: AtomicU64,
    bytes_done: AtomicU64,
    files_planned: AtomicU64,
    /// Pairs in partials, and the most keys in the tables of one worker.
    keys_held: AtomicU64,
    keys_seen: AtomicU64,
    /// 0 if there is none.
    memory_limit: AtomicU64,
    mapping: Mutex<Mapping>,
    /// The count of the run's scratch.
    spilled: Mutex<Arc<AtomicU64>>,
}

/// When the map stage began, and how long it took if it has ended.
#[derive(Clone, Copy, Debug, Default)]
struct Mapping {
    began: Option<Instant>,
    took: Option<Duration>,
}

/// One reading of a [`Progress`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProgressReading {
    /// The stage the job is in.
    pub stage: Stage,
    /// Input bytes the plan covers; 0 while unknown (streams).
    pub bytes_planned: u64,
    /// Input bytes mapped so far.
    pub bytes_done: u64,
    /// Files the plan covers.
    pub files_planned: u64,
    /// Distinct keys held, about: pairs in partials, where a key may occur twice until it is folded, or the
    /// keys in the fullest worker's tables if those are more. Exact from the merge stage on.
    pub keys_held: u64,
    /// The duration of the map stage so far, or of all of it.
    pub mapping: Duration,
    /// Resident memory of the process, in bytes; 0 where the system does not report it.
    pub memory_bytes: u64,
    /// The limit on it, if there is one.
    pub memory_limit_bytes: Option<u64>,
    /// Bytes written to scratch files so far, because they did not fit in memory.
    pub spilled_bytes: u64,
}

impl ProgressReading {
    /// Input bytes mapped per second, on average; 0 before the map stage.
    pub fn bytes_per_second(&self) -> f64 {
        if self.mapping.is_zero() {
            0.0
        } else {
            self.bytes_done as f64 / self.mapping.as_secs_f64()
        }
    }

    /// Returns the time that the rest of the input takes at the average rate so far; `None` where it is
    /// unknown: outside of the map stage, and for streams.
    pub fn time_left(&self) -> Option<Duration> {
        let left = self.bytes_planned.checked_sub(self.bytes_done)?;
        let is_known = self.stage == Stage::Map && self.bytes_planned > 0 && self.bytes_done > 0;
        let seconds = is_known.then(|| left as f64 / self.bytes_per_second())?;
        Duration::try_from_secs_f64(seconds).ok()
    }
}

impl Progress {
    /// Returns the present counters. The fields are read one by one, not as a snapshot.
    pub fn read(&self) -> ProgressReading {
        let stage =
            Stage::ALL[usize::from(self.stage.load(Ordering::Relaxed)).min(Stage::ALL.len() - 1)];
        ProgressReading {
            stage,
            bytes_planned: self.bytes_planned.load(Ordering::Relaxed),
            bytes_done: self.bytes_done.load(Ordering::Relaxed),
            files_planned: self.files_planned.load(Ordering::Relaxed),
            keys_held: self
                .keys_held
                .load(Ordering::Relaxed)
                .max(self.keys_seen.load(Ordering::Relaxed)),
            mapping: self.mapping.lock().map_for(),
            memory_bytes: resident_bytes(),
            memory_limit_bytes: Some(self.memory_limit.load(Ordering::Relaxed))
                .filter(|&limit| limit > 0),
            spilled_bytes: self.spilled.lock().load(Ordering::Relaxed),
        }
    }

    /// Marks the stage. Public because the output stage is marked by the code that writes.
    pub fn enter(&self, stage: Stage) {
        self.stage.store(stage as u8, Ordering::Relaxed);
        let mut mapping = self.mapping.lock();
        *mapping = match stage {
            Stage::Map => Mapping { began: Some(Instant::now()), took: None },
            _ => Mapping { took: mapping.began.map(|_| mapping.map_for()), ..*mapping },
        };
    }

    /// Begins a run's counters, whose input is now known.
    #[doc(hidden)]
    pub fn plan(&self, files: u64, bytes: u64, memory_limit: Option<u64>) {
        self.bytes_done.store(0, Ordering::Relaxed);
        self.keys_held.store(0, Ordering::Relaxed);
        self.keys_seen.store(0, Ordering::Relaxed);
        self.memory_limit.store(memory_limit.unwrap_or(0), Ordering::Relaxed);
        self.files_planned.store(files, Ordering::Relaxed);
        self.bytes_planned.store(bytes, Ordering::Relaxed);
    }

    /// Reads the bytes that a run has spilled from its scratch's own count.
    #[doc(hidden)]
    pub fn count_spills(&self, written: Arc<AtomicU64>) {
        *self.spilled.lock() = written;
    }

    #[doc(hidden)]
    pub fn add_bytes(&self, bytes: u64) {
        self.bytes_done.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Takes bytes back whose pairs were lost: they are added again when they are mapped again.
    #[doc(hidden)]
    pub fn take_bytes_back(&self, bytes: u64) {
        self.bytes_done.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// Notes the number of keys in the tables of one worker.
    #[doc(hidden)]
    pub fn see_keys(&self, keys: u64) {
        // Mostly it is no more than was seen before, so the shared cache line is not written.
        if keys > self.keys_seen.load(Ordering::Relaxed) {
            self.keys_seen.fetch_max(keys, Ordering::Relaxed);
        }
    }

    /// Sets the number of keys.
    #[doc(hidden)]
    pub fn set_keys(&self, keys: u64) {
        self.keys_seen.store(keys, Ordering::Relaxed);
        self.keys_held.store(keys, Ordering::Relaxed);
    }

    #[doc(hidden)]
    pub fn set_keys_held(&self, keys: u64) {
        self.keys_held.store(keys, Ordering::Relaxed);
    }
}
