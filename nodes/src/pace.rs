//! How fast a node maps.

use std::time::Duration;

/// The rate of a node, from the leases that it has mapped. A lease counts twice as much as the one before it, so a
/// node that slows down is known after two leases.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Pace {
    bytes: f64,
    seconds: f64,
    /// When the node ended its last lease.
    ended: Duration,
}

impl Pace {
    /// Notes a lease that the node was given at `given` and ended at `now`. Leases are mapped one after another,
    /// so the time of one begins when the node ended the one before it.
    pub(crate) fn ended(&mut self, bytes: u64, given: Duration, now: Duration) {
        let seconds = now.saturating_sub(self.began(given)).as_secs_f64().max(1e-6);
        self.bytes = self.bytes / 2.0 + bytes as f64;
        self.seconds = self.seconds / 2.0 + seconds;
        self.ended = now;
    }

    /// Returns when the first of the leases in flight began.
    pub(crate) fn began(&self, given: Duration) -> Duration {
        given.max(self.ended)
    }

    /// Returns the rate, in bytes per second, once the node has mapped something.
    pub(crate) fn rate(&self) -> Option<f64> {
        (self.bytes > 0.0).then(|| self.bytes / self.seconds)
    }
}
