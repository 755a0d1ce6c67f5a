//! State: the partials of a run are saved as they are made. The same run, started again after a kill, an
//! error or a loss of power, computes only the missing part, and gives the same bytes (Ostrich, section 4.4:
//! fault tolerance by sub-jobs).
//!
//! # The files
//! A state is a folder, with a folder in it for each job by name:
//!
//! - `manifest`: the job, the input, and which splits are in which snapshot (`manifest.rs`);
//! - `snapshot-N`: blocks in the byte form of a partial (`snapshot.rs`, `partial/form.rs`);
//! - `input`: names, lengths and times of change of the input's files (`fingerprint.rs`);
//! - `job`: what a job keeps beside its pieces, such as the ranges of a sort (`pieces.rs`);
//! - `answer`: the file that the answer was written to, if it is not to be written again (`answer.rs`);
//! - `lock`: locked while a run uses the folder (`folder.rs`).
//!
//! # How it lasts
//! A worker's container hands its pairs over to the partial, and a witness (`SnapshotWriter`) writes each of
//! them on its way into a file of the worker's own. Now and then (`pace.rs`) a worker hands over all of its
//! pairs. Then the file holds exactly the pairs of the splits that it mapped since the last time, and goes to
//! the saver (`saver.rs`), which syncs it and names it in a new manifest. The manifest is replaced by a
//! rename, which is the only moment at which anything changes; a snapshot that no manifest names is ignored.
//! So a worker never waits, every named file is complete, and a kill loses the work since the last manifest.
//!
//! A snapshot covers splits, not tiles: a worker that has mapped a part of a tile may save that part. Splits
//! of a tile have the same numbers in every run, so a run that resumes, with any number of workers, takes the
//! covered splits from the snapshots (`restoring.rs`) and maps the rest (`coverage.rs`). This is correct because values merge
//! in any order.
//!
//! Where tiles are found again (`tiles.rs`), each piece is of one tile, and all of them stay. The combined
//! pairs of the whole are kept beside them, and for combines without an inverse those of groups of tiles
//! (`folds.rs`), so that the next run need not fold all tiles again (`finishing.rs`).
//!
//! Otherwise, at the end the folded partial of the whole replaces all snapshots: it is the result, in the form of
//! partials, so the same run, started again, only reads it.
//!
//! If a piece brings many pairs, they go to the partial. If it brings few, they stay with the worker, in a
//! table beside its own (`container/retained.rs`), because each pair would cost a partition that has left
//! the cache. After each commit the saver rests for thirty times as long as the commit took, a second at
//! most; snapshots that arrive meanwhile are named together.

mod answer;
mod attending;
mod fingerprint;
mod finishing;
mod folder;
#[allow(missing_docs, missing_debug_implementations, reason = "no part of the interface")]
pub mod folds;
#[allow(missing_docs, missing_debug_implementations, reason = "no part of the interface")]
pub mod manifest;
#[allow(missing_docs, missing_debug_implementations, reason = "no part of the interface")]
pub mod pace;
mod pieces;
mod report;
mod restoring;
mod saved;
mod saver;
mod saving;
mod sharing;
mod snapshot;
#[allow(missing_docs, missing_debug_implementations, reason = "no part of the interface")]
pub mod stock;
mod terms;
mod tiles;

pub use answer::AnswerFile;
pub(crate) use answer::{Asked, FoundAnswer, note};
pub(crate) use fingerprint::{Fingerprint, listed};
pub(crate) use manifest::Figures;
pub(crate) use pace::Pace;
pub(crate) use pieces::{GrowingPiece, PieceState, WrittenPiece};
pub use report::{StateReport, files_of, jobs_of, remove, report, verify};
pub(crate) use saved::SavedPartials;
pub(crate) use saving::{FoundState, Opening, Saving};
pub(crate) use sharing::SharedState;
pub(crate) use terms::Terms;
pub(crate) use tiles::EngineParts;
pub use tiles::{Incremental, TILES};

use crate::error::Result;
use crate::storage::{Disk, Folders, Storage};
use folder::{LOCK, StateFolder};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Where the partials of a run last, and how often they are saved; for
/// [`Options::state`](crate::Options::state).
#[derive(Clone, Debug)]
pub struct State {
    place: Location,
    save_every: SaveEvery,
    keep: Keep,
    incremental: Option<Incremental>,
    about: Option<Vec<u8>>,
}

#[derive(Clone, Debug)]
enum Location {
    Folder { state: Arc<dyn Folders>, id: String },
    Storage(Arc<dyn Storage>),
}

/// The interval between saves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SaveEvery {
    /// As often as costs about a hundredth of the run's time at most; once a second at most.
    #[default]
    Auto,
    /// A worker saves whenever it has mapped the bytes of this number of tiles.
    Tiles(u64),
    /// A worker saves when this time has passed since its last save.
    Time(Duration),
}

/// What a state keeps of a run that is done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Keep {
    /// The result, which replaces the snapshots: the next run only reads it.
    #[default]
    Result,
    /// All snapshots, those of the last pairs too.
    Partials,
    /// What the last save wrote, and no more: the next run resumes from there. For a caller that removes the state
    /// when it has the answer; a result of many keys takes as long to write as the answer. With [`SaveEvery::Auto`],
    /// the work of the first half second is not saved, so that a run that ends by then writes no pairs.
    Nothing,
}

impl State {
    /// Returns the state of the job called `id`, in a folder of that name below `folder`; both are made if
    /// need be. A name is up to 200 letters, digits, `.`, `_` and `-`, and does not begin with a dot.
    pub fn new(folder: impl Into<PathBuf>, id: impl Into<String>) -> State {
        State::within(Arc::new(Disk::new(folder)), id)
    }

    /// As [`new`](State::new), in folders of any kind.
    pub fn within(folders: Arc<dyn Folders>, id: impl Into<String>) -> State {
        State::at(Location::Folder { state: folders, id: id.into() })
    }

    /// Returns the state of one job, in storage of its own.
    pub fn on(storage: Arc<dyn Storage>) -> State {
        State::at(Location::Storage(storage))
    }

    fn at(place: Location) -> State {
        let (save_every, keep) = (SaveEvery::Auto, Keep::Result);
        State { place, save_every, keep, incremental: None, about: None }
    }

    /// Returns the state of one of several jobs of an application, by its number: beside this one, with the
    /// number after the name. `None` in storage of its own, which has room for one job.
    pub fn step(&self, number: usize) -> Option<State> {
        match &self.place {
            Location::Folder { state, id } => {
                let id = format!("{id}.{number}");
                let place = Location::Folder { state: Arc::clone(state), id };
                Some(State { place, ..self.clone() })
            }
            Location::Storage(_) => None,
        }
    }

    /// Sets the interval between saves. Default: [`SaveEvery::Auto`].
    pub fn save_every(self, save_every: SaveEvery) -> State {
        State { save_every, ..self }
    }

    /// Sets what stays when the run is done. Default: [`Keep::Result`].
    pub fn keep(self, keep: Keep) -> State {
        State { keep, ..self }
    }

    /// Finds the tiles of the last run again, wherever their bytes are now, and maps only the others: the
    /// input may have changed in any way. The answer is that of a run over all of it. Snapshots are kept.
    pub fn incremental(self, incremental: Incremental) -> State {
        State { incremental: Some(incremental), keep: Keep::Partials, ..self }
    }

    /// Bytes of the caller's that are kept with it, such as the command that made it:
    /// [`StateReport::about`]. They may be others each time.
    pub fn about(self, about: impl Into<Vec<u8>>) -> State {
        State { about: Some(about.into()), ..self }
    }

    pub(crate) fn is_incremental(&self) -> bool {
        self.incremental.is_some()
    }

    /// Where it lies, if it is there.
    fn storage(&self) -> Result<Arc<dyn Storage>> {
        match &self.place {
            Location::Folder { state, id } => StateFolder::storage_of(&**state, id),
            Location::Storage(storage) => Ok(Arc::clone(storage)),
        }
    }

    fn open(&self) -> Result<StateFolder> {
        match &self.place {
            Location::Folder { state, id } => StateFolder::open(&**state, id),
            Location::Storage(storage) => StateFolder::of(Arc::clone(storage)),
        }
    }
}
