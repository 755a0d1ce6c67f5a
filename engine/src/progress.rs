//! What a job has done so far, for those who watch it: counters that workers add to once per split
//! and that anyone may read at any time. They never influence the run.

use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

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

    /// The stage's name in progress and statistics.
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

/// Live counters of one job, or of several one after another: each begins them anew. Share it (`Arc`) with the job through
/// [`Options::progress`](crate::Options) and read it from another thread.
#[derive(Debug, Default)]
pub struct Progress {
    stage: AtomicU8,
    bytes_planned: AtomicU64,
    bytes_done: AtomicU64,
    files_planned: AtomicU64,
    keys_held: AtomicU64,
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
    /// Pairs held in partials now: at least the distinct keys handed over so far.
    pub keys_held: u64,
}

impl Progress {
    /// What the job has done so far. The fields are read one by one, not as a snapshot.
    pub fn read(&self) -> ProgressReading {
        let stage =
            Stage::ALL[usize::from(self.stage.load(Ordering::Relaxed)).min(Stage::ALL.len() - 1)];
        ProgressReading {
            stage,
            bytes_planned: self.bytes_planned.load(Ordering::Relaxed),
            bytes_done: self.bytes_done.load(Ordering::Relaxed),
            files_planned: self.files_planned.load(Ordering::Relaxed),
            keys_held: self.keys_held.load(Ordering::Relaxed),
        }
    }

    /// Marks the stage. The output stage belongs to whoever writes, so this is public.
    pub fn enter(&self, stage: Stage) {
        self.stage.store(stage as u8, Ordering::Relaxed);
    }

    /// Begins a run's counters, whose input is now known.
    pub(crate) fn plan(&self, files: u64, bytes: u64) {
        self.bytes_done.store(0, Ordering::Relaxed);
        self.keys_held.store(0, Ordering::Relaxed);
        self.files_planned.store(files, Ordering::Relaxed);
        self.bytes_planned.store(bytes, Ordering::Relaxed);
    }

    pub(crate) fn add_bytes(&self, bytes: u64) {
        self.bytes_done.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(crate) fn set_keys_held(&self, keys: u64) {
        self.keys_held.store(keys, Ordering::Relaxed);
    }
}
