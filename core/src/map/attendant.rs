//! Attendants: the interface by which features of the layers above take part in a worker's work. The map stage calls
//! each of them once per unit of work (at least 64 KiB), and names none.
//!
//! An [`Attendance`] is such a feature for a whole run; it gives each worker an [`Attendant`]. Attendants are called
//! in the order in which the stage has them: saving, then shows. Saving hands pairs over for the units that were
//! mapped so far, and they must go to the partial that the worker had meanwhile. A show may replace that partial
//! both before a unit and after it, so it comes last after a unit; before one, saving must be done with the last
//! tile before the show moves the worker on.

use super::holdings::Holdings;
use crate::aggregate::Aggregate;
use crate::error::Result;
use crate::partial::Outlet;
use crate::plan::Part;
use crate::unit::Piece;
use std::ops::Range;
use std::time::Duration;

/// A split: the number of its part of the plan, and its number there.
pub(crate) type Spot = (usize, u64);

/// A part of the input that one worker, or a device, has mapped.
pub(crate) struct Mapped<'a> {
    /// Of the plan.
    pub(crate) part: usize,
    /// Of the part, if it is read in order; else [`ALL_FILES`](crate::coverage::ALL_FILES).
    pub(crate) file: u64,
    /// Splits, or bytes of the file; none of a stream, which cannot be mapped again.
    pub(crate) ranges: &'a [Range<u64>],
    pub(crate) bytes: u64,
    pub(crate) splits: u64,
    /// Bytes as they are stored, mapped before or not.
    pub(crate) stored_bytes: u64,
    /// The time for fetching the pairs, if a device made them.
    pub(crate) took: Duration,
}

/// A feature that takes part in the map stage of a run.
pub(crate) trait Attendance<C: Aggregate>: Sync {
    /// Returns the outlet of a worker's pairs. Devices are numbered after the workers.
    fn outlet<'r>(
        &'r self,
        worker: usize,
        outlet: Outlet<'r, C::Accumulator>,
    ) -> Outlet<'r, C::Accumulator> {
        let _ = worker;
        outlet
    }

    /// Returns the attendant of a worker that holds nothing yet.
    fn attendant<'r>(
        &'r self,
        worker: usize,
        holdings: &mut Holdings<'r, C>,
    ) -> Box<dyn Attendant<'r, C> + 'r>;

    /// Returns whether a worker without work must call its attendant. Asked often, so it costs next to nothing.
    fn calls(&self, worker: usize, is_done: bool) -> bool {
        let _ = (worker, is_done);
        false
    }

    /// All of the input is mapped: next, workers hand over their last pairs.
    fn end_of_input(&self) -> Result<()> {
        Ok(())
    }
}

/// A feature's part in the work of one worker, or one device.
pub(crate) trait Attendant<'r, C: Aggregate>: Send {
    /// Called before a unit that begins at `spot` is mapped.
    fn begin(&mut self, spot: Spot, holdings: &mut Holdings<'r, C>) -> Result<()> {
        let _ = (spot, holdings);
        Ok(())
    }

    /// Sees records of a part of the plan before they are mapped.
    fn see(&mut self, part: &Part, piece: &Piece, records: &[u8]) {
        let _ = (part, piece, records);
    }

    /// Called after a unit, or when the partial of a device was taken in.
    fn mapped(&mut self, mapped: &Mapped<'_>, holdings: &mut Holdings<'r, C>) -> Result<()>;

    /// Returns whether a device's partial of about `bytes` must be taken in soon; 0 if it has none.
    fn is_due(&mut self, bytes: u64, holdings: &mut Holdings<'r, C>) -> Result<bool> {
        let _ = (bytes, holdings);
        Ok(false)
    }

    /// Called when the worker finds no work; if it `is_done`, there will be no more in this part of the input.
    fn idle(&mut self, is_done: bool, holdings: &mut Holdings<'r, C>) -> Result<()> {
        let _ = (is_done, holdings);
        Ok(())
    }

    /// Called when the worker has handed over all of its pairs.
    fn handed_over(&mut self, holdings: &mut Holdings<'r, C>) {
        let _ = holdings;
    }

    /// Called at the end of the stage, or of a device's work on a part of the input, while workers may go on.
    fn end(&mut self, others_go_on: bool, holdings: &mut Holdings<'r, C>) -> Result<()> {
        let _ = (others_go_on, holdings);
        Ok(())
    }
}
