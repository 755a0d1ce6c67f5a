//! Work for a device: where a driver's units come from and where its partials go. The run stands behind it;
//! in tests, a simulation does.

use super::Piece;
use crate::error::Result;
use std::ops::Range;
use std::time::Duration;

/// Where a driver's units come from, and where what becomes of them goes.
pub trait Work {
    /// Takes splits that follow each other, at most so many; `None` if there are none.
    fn take(&mut self, splits: u64) -> Option<Range<u64>>;

    /// Takes the splits of a unit that the device has from a run before this one; `None` if there are none
    /// any more.
    fn take_held(&mut self) -> Option<Range<u64>> {
        None
    }

    /// Gives splits back that the device will not count.
    fn give_back(&mut self, splits: Range<u64>);

    /// The most threads that may fill slots; each but the first is a core that does nothing else meanwhile. It may
    /// turn out to be fewer.
    fn feeders_most(&self) -> usize {
        1
    }

    /// From now on so many threads fill slots; 0: none, for nothing is to be sent.
    fn feed_by(&mut self, _feeders: usize) {}

    /// Reads the records of splits into a slot.
    ///
    /// # Errors
    /// Those of the input, which fail the job.
    fn read(
        &mut self,
        splits: &Range<u64>,
        slot: &mut [u8],
        pieces: &mut Vec<Piece>,
    ) -> Result<Read>;

    /// Whether the partial is to be fetched as soon as what is in flight has ended; `splits` are in it or in
    /// flight. Asked before anything else is sent.
    ///
    /// # Errors
    /// Those of the job.
    fn is_due(&mut self, _splits: u64) -> Result<bool> {
        Ok(false)
    }

    /// Takes in a partial, which has these splits in it and no others. Fetching it leaves the device `idle` for
    /// about so long.
    ///
    /// # Errors
    /// Those of the job.
    fn merge(&mut self, partial: &[u64], splits: &[Range<u64>], idle: Duration) -> Result<()>;

    /// What is left for all, and how fast others are.
    fn outlook(&mut self) -> Outlook;
}

/// What came of reading a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Read {
    /// It is in the slot, in so many bytes.
    Filled(usize),
    /// It does not fit, or has something in it that no device can do.
    Unfit,
}

/// What a device must know of the rest of the job.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outlook {
    /// Splits that nobody has taken.
    pub splits_left: u64,
    /// Splits that all others have taken until now.
    pub others_splits: u64,
    /// Splits that all others take at a time, together: so many they may have taken and not done.
    pub others_at_a_time: u64,
    /// Splits a second of all others; 0 if nobody knows.
    pub others_splits_s: f64,
}
