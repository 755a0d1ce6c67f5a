//! A track: work that no thread of the process does, of a device's queue or of another machine. The thread that
//! gets its times adds the spans, in order of time; the track is drawn beside the threads' lanes.

use super::context::Context;
use super::lane::Lane;
use super::{Inner, Kind, Timeline};
use std::sync::Arc;
use std::time::{Duration, Instant};

#[derive(Clone, Debug)]
#[doc(hidden)]
pub struct Track(Arc<Lane>);

impl Track {
    /// Returns the track of this name in the timeline that the calling thread records in, if it does.
    pub fn here(name: &str) -> Option<Track> {
        Context::here().timeline().map(|timeline| Track(timeline.track(name)))
    }

    /// Adds a span.
    pub fn add(&self, kind: Kind, begin: Instant, length: Duration) {
        self.0.push(self.0.clock().span(kind, begin, begin + length));
    }
}

impl Timeline {
    /// Returns the track of this name.
    #[doc(hidden)]
    pub fn track(&self, name: &str) -> Track {
        Track(self.0.track(name))
    }
}

impl Inner {
    fn track(self: &Arc<Inner>, name: &str) -> Arc<Lane> {
        let mut lanes = self.lanes.lock();
        if let Some(lane) = lanes.iter().find(|lane| lane.is_track(name)) {
            return Arc::clone(lane);
        }
        let lane = Arc::new(Lane::of_device(self, name));
        lanes.push(Arc::clone(&lane));
        lane
    }
}
