//! Where units stay between runs: an input that several jobs run over, such as the rounds of k-means, and
//! the sessions that have units of it on their devices. A run's devices take their sessions out of it and
//! put them back at the end; what they have is then not handed out to anybody else, but is theirs at once.
//! It goes, and the devices' memory with it, when the last job that has it goes.

use super::{Accelerator, Piece, Room, Session};
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// An input in memory of which devices keep what they were sent, from one job to the next. Jobs that share
/// it must have the same kernel, the same shape of partial, and for the same records the same numbers
/// ([`Job::launch`](crate::Job::launch)): what changes from job to job is the broadcast. Runs over other bytes
/// than these, or in other splits, find nothing in it.
#[derive(Debug)]
pub struct Residence {
    bytes: Arc<Vec<u8>>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// How the input is cut: the bytes of each tile and the first split behind it, and those of a split.
    cut: (Vec<(u64, u64)>, u64),
    parked: Vec<Parked>,
}

/// A session between two runs.
pub(super) struct Parked {
    /// Whose it is.
    pub(super) accelerator: u64,
    /// The name of its kernel.
    pub(super) kernel: String,
    pub(super) room: Room,
    pub(super) session: Box<dyn Session>,
    pub(super) units: Vec<Kept>,
}

impl std::fmt::Debug for Parked {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Parked").field("room", &self.room).field("units", &self.units).finish()
    }
}

/// A unit that is on a device.
#[derive(Clone, Debug)]
pub(super) struct Kept {
    pub(super) splits: Range<u64>,
    /// What its session calls it.
    pub(super) number: usize,
    pub(super) bytes: usize,
    pub(super) pieces: Vec<Piece>,
}

impl Residence {
    /// An input of which no device has anything yet.
    pub fn of(bytes: Arc<Vec<u8>>) -> Arc<Residence> {
        Arc::new(Residence { bytes, state: Mutex::default() })
    }

    /// Whether these are the bytes.
    pub(crate) fn is_of(&self, bytes: &Arc<Vec<u8>>) -> bool {
        Arc::ptr_eq(&self.bytes, bytes)
    }

    /// A run begins in which the input is cut like this: what was cut otherwise is dropped.
    pub(crate) fn begin(&self, tiles: impl Iterator<Item = (u64, u64)>, split_bytes: u64) {
        let mut state = self.lock();
        let cut = (tiles.collect(), split_bytes);
        if state.cut != cut {
            *state = State { cut, parked: Vec::new() };
        }
    }

    /// The splits of the units that a device has, in the order in which they came.
    pub(crate) fn held_by(&self, accelerator: &Accelerator) -> Vec<Range<u64>> {
        let state = self.lock();
        let parked = state.parked.iter().find(|parked| parked.accelerator == accelerator.number());
        let units = parked.iter().flat_map(|parked| &parked.units);
        units.map(|unit| unit.splits.clone()).collect()
    }

    /// The session of a device. One of another kernel or room is dropped, and what it has with it.
    pub(super) fn take_out(&self, accelerator: u64, kernel: &str, room: &Room) -> Option<Parked> {
        let mut state = self.lock();
        let at = state.parked.iter().position(|parked| parked.accelerator == accelerator)?;
        let parked = state.parked.swap_remove(at);
        (parked.kernel == kernel && parked.room == *room).then_some(parked)
    }

    /// A session rests here until the next run.
    pub(super) fn park(&self, parked: Parked) {
        self.lock().parked.push(parked);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
