//! Turns: workers make numbered pieces of an output side by side and write them in the order of their
//! numbers, so that a fast disk waits for nobody and memory holds a piece per worker at most.

use crate::error::{OutputError, Result};
use crate::failure::Failure;
use crate::sync::{Condvar, Mutex, MutexGuard};
use crate::timeline::{self, Kind};
use std::io::Write;
use std::path::Path;

/// A sink that pieces are written to in turn.
pub(crate) struct Turns<'w> {
    state: Mutex<Row<'w>>,
    turned: Condvar,
    name: &'w Path,
}

/// The sink, and the number of the piece whose turn it is.
struct Row<'w> {
    sink: &'w mut (dyn Write + Send),
    next: u64,
}

/// One piece's place in the row. The turn passes on when it is dropped, whatever happened, so that
/// nobody waits for ever.
pub(crate) struct Turn<'t, 'w> {
    turns: &'t Turns<'w>,
    number: u64,
}

impl<'w> Turns<'w> {
    /// Writes to `sink`, which messages call `name`.
    pub(crate) fn new(sink: &'w mut (dyn Write + Send), name: &'w Path) -> Turns<'w> {
        let state = Mutex::new(Row { sink, next: 0 });
        Turns { state, turned: Condvar::new(), name }
    }

    /// Returns the turn of a piece. Workers must take pieces in order, and each finish its own; otherwise
    /// later pieces wait for ever.
    pub(crate) fn get(&self, number: u64) -> Turn<'_, 'w> {
        Turn { turns: self, number }
    }

    /// Flushes the sink, when all pieces are written.
    pub(crate) fn finish(self) -> Result<()> {
        let state = self.state.into_inner();
        state.sink.flush().map_err(|cause| OutputError::from_write(self.name, cause).into())
    }
}

impl<'w> Turn<'_, 'w> {
    /// Writes bytes of the piece when its turn has come. Nothing is written after a failure.
    pub(crate) fn write(&self, bytes: &[u8], failure: &Failure) -> Result<()> {
        let mut state = self.wait();
        if failure.stops() {
            return Ok(());
        }
        let _writing = timeline::begin(Kind::Write);
        let written = state.sink.write_all(bytes);
        written.map_err(|cause| OutputError::from_write(self.turns.name, cause).into())
    }

    /// Waits until the turn has come.
    pub(crate) fn come(&self) {
        drop(self.wait());
    }

    fn wait(&self) -> MutexGuard<'_, Row<'w>> {
        let turns = self.turns;
        let mut state = turns.state.lock();
        let waits = (state.next != self.number).then(|| timeline::begin(Kind::Idle));
        while state.next != self.number {
            state = turns.turned.wait(state);
        }
        drop(waits);
        state
    }
}

impl Drop for Turn<'_, '_> {
    fn drop(&mut self) {
        self.wait().next += 1;
        self.turns.turned.notify_all();
    }
}
