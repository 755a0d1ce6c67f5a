//! The leases of nodes in a timeline: a track for each node, with a span for each lease that it has mapped.

use std::collections::BTreeMap;
use std::time::Instant;
use tegula::Timeline;
use tegula::timeline::{Kind, Track};

pub(crate) struct Drawn {
    timeline: Timeline,
    /// The track of each node, and when its last lease ended.
    tracks: BTreeMap<usize, (Track, Instant)>,
    /// When leases in flight were given.
    given: BTreeMap<u64, Instant>,
}

impl Drawn {
    pub(crate) fn new(timeline: Timeline) -> Drawn {
        Drawn { timeline, tracks: BTreeMap::new(), given: BTreeMap::new() }
    }

    pub(crate) fn given(&mut self, lease: u64) {
        self.given.insert(lease, Instant::now());
    }

    /// Draws a lease that a node has mapped. A node maps its leases one after another.
    pub(crate) fn mapped(&mut self, node: usize, lease: u64) {
        let now = Instant::now();
        let Some(given) = self.given.remove(&lease) else { return };
        let make = || (self.timeline.track(&format!("node-{node}")), given);
        let (track, ended) = self.tracks.entry(node).or_insert_with(make);
        let began = given.max(*ended);
        track.add(Kind::Map, began, now - began);
        *ended = now;
    }
}
