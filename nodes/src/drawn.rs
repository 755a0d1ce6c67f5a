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
    /// The node of each lease in flight, and when it was given.
    leases: BTreeMap<u64, (usize, Instant)>,
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
                self.leases.insert(*lease, (node, now));
                return;
            }
            Order::Drop { lease } => {
                self.leases.remove(lease);
                return;
            }
            Order::Fold { .. } => Kind::Compress,
            Order::Give => Kind::Combine,
            Order::Exchange { .. } | Order::Write { .. } => Kind::Reduce,
            _ => return,
        };
        self.others.insert(node, (kind, now));
    }

    /// Draws the work that a node reports. A node does one thing after another. While that lasts it says that it is alive,
    /// so what those see who watch is half a second old at most.
    pub(crate) fn heard(&mut self, node: usize, report: &Report) {
        let done = match report {
            Report::Mapped { lease } => {
                self.leases.remove(lease).map(|(_, given)| (Kind::Map, given))
            }
            Report::Failed { lease, .. } => {
                self.leases.remove(lease);
                return;
            }
            Report::Alive => self.now(node),
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

    /// Returns what a node does now, and since when.
    fn now(&self, node: usize) -> Option<(Kind, Instant)> {
        let leases = self.leases.values().filter(|(of, _)| *of == node);
        let lease = leases.map(|&(_, given)| (Kind::Map, given)).min_by_key(|&(_, given)| given);
        lease.or_else(|| self.others.get(&node).copied())
    }

    /// Forgets the work of a node that is lost.
    pub(crate) fn lost(&mut self, node: usize) {
        self.leases.retain(|_, (of, _)| *of != node);
        self.others.remove(&node);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread::sleep;
    use std::time::Duration;

    fn map_ns(timeline: &Timeline) -> u64 {
        timeline.sums_ns().iter().map(|(_, sums)| sums[Kind::Map as usize]).sum()
    }

    #[test]
    fn a_lease_is_drawn_while_it_is_mapped() {
        let timeline = Timeline::new("a run");
        let mut drawn = Drawn::new(timeline.clone());
        let map = |lease| Order::Map { lease, tiles: 0..1, from: None };
        drawn.heard(3, &Report::Alive);
        assert_eq!(map_ns(&timeline), 0);
        drawn.told(3, &map(7));
        sleep(Duration::from_millis(5));
        drawn.heard(4, &Report::Alive);
        assert_eq!(map_ns(&timeline), 0);
        drawn.heard(3, &Report::Alive);
        let first = map_ns(&timeline);
        assert!(first >= 5_000_000);
        sleep(Duration::from_millis(5));
        drawn.heard(3, &Report::Mapped { lease: 7 });
        let all = map_ns(&timeline);
        assert!(all >= first + 5_000_000);
        drawn.told(3, &map(8));
        drawn.lost(3);
        drawn.heard(3, &Report::Alive);
        assert_eq!(map_ns(&timeline), all);
        drawn.told(4, &map(9));
        drawn.heard(4, &Report::Failed { lease: 9, cause: String::new() });
        sleep(Duration::from_millis(5));
        drawn.heard(4, &Report::Alive);
        assert_eq!(map_ns(&timeline), all);
    }
}
