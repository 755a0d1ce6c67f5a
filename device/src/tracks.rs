//! Records the work of a device's queues in the timeline of the run, by the device's own clock: copies, in
//! and out, on one track, kernels on another. Takes units that are done, and changes nothing.

use super::Done;
use crate::timeline::{Kind, Track};
use std::time::{Duration, Instant};

pub(super) struct Tracks {
    /// The moment of the device's time 0.
    began: Instant,
    copies: Track,
    kernels: Track,
    /// The end of the last unit.
    last: Duration,
}

impl Tracks {
    /// Creates the tracks of device `number`, whose clock shows `now`, if the calling thread records.
    pub(super) fn of(number: usize, now: Duration) -> Option<Tracks> {
        let copies = Track::here(&format!("device-{number} copies"))?;
        let kernels = Track::here(&format!("device-{number} kernels"))?;
        let began = Instant::now();
        Some(Tracks { began: began.checked_sub(now).unwrap_or(began), copies, kernels, last: now })
    }

    pub(super) fn unit(&mut self, done: &Done) {
        self.last = done.at;
        let begin = |end: Duration, length| self.began + end.saturating_sub(length);
        // Resident units are not copied again.
        if !done.copy.is_zero() {
            self.copies.add(Kind::CopyIn, begin(done.copied, done.copy), done.copy);
        }
        self.kernels.add(Kind::Kernel, begin(done.at, done.kernel), done.kernel);
    }

    /// Records the copy of a partial after all units were done. It cannot begin before that, although the
    /// time is not the device's.
    pub(super) fn copied_out(&self, from: Duration, length: Duration) {
        let from = from.max(self.last);
        self.copies.add(Kind::CopyOut, self.began + from, length);
    }
}
