//! Work for a device: the source of a driver's units and the destination of its partials. A run implements
//! it, and in tests a simulation.

use super::Piece;
use crate::error::Result;
use std::ops::Range;
use std::time::Duration;

/// The source of a driver's units, and the destination of their results.
pub trait Work {
    /// Takes at most `splits` consecutive splits; `None` if there are none.
    fn take(&mut self, splits: u64) -> Option<Range<u64>>;

    /// Takes the splits of a resident unit from an earlier run; `None` if there are no more.
    fn take_held(&mut self) -> Option<Range<u64>> {
        None
    }

    /// Gives back splits that the device will not count.
    fn give_back(&mut self, splits: Range<u64>);

    /// Returns the most threads that may fill slots. Each but the first is a core that does nothing else
    /// meanwhile. Fewer may turn out to be available.
    fn feeders_most(&self) -> usize {
        1
    }

    /// Sets the number of threads that fill slots from now on; 0 if nothing will be sent.
    fn feed_by(&mut self, _feeders: usize) {}

    /// Reads the records of splits into a slot.
    ///
    /// # Errors
    /// Returns the errors of the input, which fail the job.
    fn read(
        &mut self,
        splits: &Range<u64>,
        slot: &mut [u8],
        pieces: &mut Vec<Piece>,
    ) -> Result<Read>;

    /// Returns whether the partial must be fetched as soon as the units in flight have ended; `splits`
    /// splits are in it or in flight. Called before anything else is sent.
    ///
    /// # Errors
    /// Returns the errors of the job.
    fn is_due(&mut self, _splits: u64) -> Result<bool> {
        Ok(false)
    }

    /// Merges a partial of exactly these splits. The device is `idle` for about this time while it is
    /// fetched.
    ///
    /// # Errors
    /// Returns the errors of the job.
    fn merge(&mut self, partial: &[u64], splits: &[Range<u64>], idle: Duration) -> Result<()>;

    /// Returns the remaining work, and the rate of the others.
    fn outlook(&mut self) -> Outlook;
}

/// The result of reading a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Read {
    /// It is in the slot and has this number of bytes.
    Filled(usize),
    /// It does not fit, or contains something that no device can process.
    Unfit,
}

/// The state of the rest of the job, as a device needs it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outlook {
    /// Splits that nobody has taken.
    pub splits_left: u64,
    /// Splits that all others have taken so far.
    pub others_splits: u64,
    /// Splits that all others take at a time, in total: this number may be taken and not done.
    pub others_at_a_time: u64,
    /// Splits per second of all others; 0 if it is not known.
    pub others_splits_s: f64,
}
