//! The work of nodes in a timeline: a track for each node, with a span for each lease that it has mapped, and for its part
//! in bringing the pairs together: folding them, handing them over, and making an answer of those that it has received.

use crate::message::{Order, Report};
use std::collections::BTreeMap;
use std::time::Instant;
use tegula::Timeline;
use tegula::timeline::{Kind, Track};

pub(crate) struct Drawn {
    timeline: Timeline,
    /// The track of each node, and when its last work ended.
    tracks: BTreeMap<usize, (Track, Instant)>,
    /// When leases in flight were given.
    leases: BTreeMap<u64, Instant>,
    /// What nodes do beside leases, and since when.
    others: BTreeMap<usize, (Kind, Instant)>,
}

impl Drawn {
    pub(crate) fn new(timeline: Timeline) -> Drawn {
        let (leases, others) = (BTreeMap::new(), BTreeMap::new());
        Drawn { timeline, tracks: BTreeMap::new(), leases, others }
    }

    /// Notes an order that a node is given.
    pub(crate) fn told(&mut self, node: usize, order: &Order) {
        let now = Instant::now();
        let kind = match order {
            Order::Map { lease, .. } => {
                self.leases.insert(*lease, now);
                return;
            }
            Order::Fold { .. } => Kind::Compress,
            Order::Give => Kind::Combine,
            Order::Exchange { .. } | Order::Write { .. } => Kind::Reduce,
            _ => return,
        };
        self.others.insert(node, (kind, now));
    }

    /// Draws the work that a node reports. A node does one thing after another.
    pub(crate) fn heard(&mut self, node: usize, report: &Report) {
        let done = match report {
            Report::Mapped { lease } => self.leases.remove(lease).map(|given| (Kind::Map, given)),
            Report::Folded { .. }
            | Report::Given { .. }
            | Report::Answered { .. }
            | Report::Written { .. }
            | Report::Unreached { .. } => self.others.remove(&node),
            _ => None,
        };
        let Some((kind, given)) = done else { return };
        let now = Instant::now();
        let make = || (self.timeline.track(&format!("node-{node}")), given);
        let (track, ended) = self.tracks.entry(node).or_insert_with(make);
        let began = given.max(*ended);
        track.add(kind, began, now - began);
        *ended = now;
    }
}
