//! Resident units: an input that several jobs run over, such as the rounds of k-means, with the sessions
//! that keep units of it on their devices. A run's devices take their sessions out and put them back at the
//! end. Resident units are not handed out to others; they belong to their device at once. When the last job
//! drops the residence, the devices' memory is freed.

use super::{Accelerator, Piece, Room, Session};
use crate::sync::Mutex;
use std::ops::Range;
use std::sync::Arc;

/// An input in memory whose units stay on devices from one job to the next. Jobs that share it must have
/// the same kernel, the same shape of partial, and the same arguments for the same records
/// (`Offloadable::launch`); only the broadcast may change from job to job. Runs over other
/// bytes, or with other splits, find nothing in it.
#[derive(Debug)]
pub struct Residence {
    bytes: Arc<Vec<u8>>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// The cut of the input: for each tile its bytes and the first split after it; then the bytes of a
    /// split.
    cut: (Vec<(u64, u64)>, u64),
    parked: Vec<Parked>,
}

/// A session between two runs.
pub(super) struct Parked {
    /// The accelerator that it belongs to.
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

/// A unit on a device.
#[derive(Clone, Debug)]
pub(super) struct Kept {
    pub(super) splits: Range<u64>,
    /// Its number in the session.
    pub(super) number: usize,
    pub(super) bytes: usize,
    pub(super) pieces: Vec<Piece>,
}

impl Residence {
    /// Creates a residence for an input that is on no device yet.
    pub fn of(bytes: Arc<Vec<u8>>) -> Arc<Residence> {
        Arc::new(Residence { bytes, state: Mutex::default() })
    }

    /// Returns whether it is for these bytes.
    #[doc(hidden)]
    pub fn is_of(&self, bytes: &Arc<Vec<u8>>) -> bool {
        Arc::ptr_eq(&self.bytes, bytes)
    }

    /// Begins a run with this cut of the input; drops units that were cut otherwise.
    #[doc(hidden)]
    pub fn begin(&self, tiles: impl Iterator<Item = (u64, u64)>, split_bytes: u64) {
        let mut state = self.state.lock();
        let cut = (tiles.collect(), split_bytes);
        if state.cut != cut {
            *state = State { cut, parked: Vec::new() };
        }
    }

    /// Returns the splits of a device's resident units, in the order in which they came.
    #[doc(hidden)]
    pub fn held_by(&self, accelerator: &Accelerator) -> Vec<Range<u64>> {
        let state = self.state.lock();
        let parked = state.parked.iter().find(|parked| parked.accelerator == accelerator.number());
        let units = parked.iter().flat_map(|parked| &parked.units);
        units.map(|unit| unit.splits.clone()).collect()
    }

    /// Takes the session of a device. A session of another kernel or room is dropped with its units.
    pub(super) fn take_out(&self, accelerator: u64, kernel: &str, room: &Room) -> Option<Parked> {
        let mut state = self.state.lock();
        let at = state.parked.iter().position(|parked| parked.accelerator == accelerator)?;
        let parked = state.parked.swap_remove(at);
        (parked.kernel == kernel && parked.room == *room).then_some(parked)
    }

    /// Keeps a session until the next run.
    pub(super) fn park(&self, parked: Parked) {
        self.state.lock().parked.push(parked);
    }
}
