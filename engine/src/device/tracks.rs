//! What a device's queues did, in the timeline of the run: copies, in and out, on one track and kernels on
//! another, by the device's own clock. Takes units that are done; it changes nothing.

use super::Done;
use crate::timeline::{Kind, Track};
use std::time::{Duration, Instant};

pub(super) struct Tracks {
    /// When the device's clock stood at 0.
    began: Instant,
    copies: Track,
    kernels: Track,
    /// When the last unit was done.
    last: Duration,
}

impl Tracks {
    /// Those of the device of that number, whose clock shows `now`, if the calling thread records.
    pub(super) fn of(number: usize, now: Duration) -> Option<Tracks> {
        let copies = Track::here(&format!("device-{number} copies"))?;
        let kernels = Track::here(&format!("device-{number} kernels"))?;
        let began = Instant::now();
        Some(Tracks { began: began.checked_sub(now).unwrap_or(began), copies, kernels, last: now })
    }

    pub(super) fn unit(&mut self, done: &Done) {
        self.last = done.at;
        let begin = |end: Duration, length| self.began + end.saturating_sub(length);
        // What stays there is not copied again.
        if !done.copy.is_zero() {
            self.copies.add(Kind::CopyIn, begin(done.copied, done.copy), done.copy);
        }
        self.kernels.add(Kind::Kernel, begin(done.at, done.kernel), done.kernel);
    }

    /// A partial was copied out, when all units were done: so not before that, though the time is not the
    /// device's.
    pub(super) fn copied_out(&self, from: Duration, length: Duration) {
        let from = from.max(self.last);
        self.copies.add(Kind::CopyOut, self.began + from, length);
    }
}
