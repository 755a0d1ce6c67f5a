//! Ways to divide tiles among nodes: the ledger's leases, and those that it is compared with.

use crate::cluster::Cluster;
use std::collections::VecDeque;
use std::iter;
use std::ops::Range;
use std::time::{Duration, Instant};
use tegula_nodes::{About, Commit, Ledger, Next, NodeId, Rules, Tiles};

/// Tiles that a node is to map, under a number.
pub(crate) struct Given {
    pub(crate) lease: u64,
    pub(crate) tiles: Range<u32>,
}

/// What a manager decides. Nodes are numbers from 0.
pub(crate) trait Manager {
    /// Returns tiles for a node that has less than it can have.
    fn next(&mut self, node: usize, now: Duration) -> Option<Given>;
    /// Returns whether the tiles count, and which lease of which other node need not go on.
    fn mapped(&mut self, node: usize, lease: u64, now: Duration) -> (bool, Option<(usize, u64)>);
    fn lost(&mut self, node: usize);
    /// Processor time that was spent here, in seconds.
    fn seconds(&self) -> f64;
}

pub(crate) struct Leases {
    ledger: Ledger,
    nodes: Vec<NodeId>,
    spent: Duration,
}

impl Leases {
    pub(crate) fn new(cluster: &Cluster) -> Leases {
        let tiles = Tiles::new((0..cluster.tiles()).map(|_| cluster.tile_bytes()), 0);
        let mut ledger = Ledger::new(tiles, Rules::default());
        let about = About { memory_bytes: 1 << 30, reads: true, sends: true };
        let nodes = (0..cluster.nodes()).map(|_| ledger.join(about)).collect();
        Leases { ledger, nodes, spent: Duration::ZERO }
    }

    fn number(&self, id: NodeId) -> usize {
        self.nodes.iter().position(|&node| node == id).unwrap_or_default()
    }
}

impl Manager for Leases {
    fn next(&mut self, node: usize, now: Duration) -> Option<Given> {
        let begun = Instant::now();
        let next = self.ledger.next(self.nodes[node], now);
        self.spent += begun.elapsed();
        match next {
            Next::Lease { lease, tiles, .. } => Some(Given { lease, tiles }),
            _ => None,
        }
    }

    fn mapped(&mut self, node: usize, lease: u64, now: Duration) -> (bool, Option<(usize, u64)>) {
        let begun = Instant::now();
        let commit = self.ledger.mapped(self.nodes[node], lease, now);
        self.spent += begun.elapsed();
        match commit {
            Commit::Yes { beaten } => (true, beaten.map(|(id, lease)| (self.number(id), lease))),
            Commit::No => (false, None),
        }
    }

    fn lost(&mut self, node: usize) {
        self.ledger.lost(self.nodes[node]);
    }

    fn seconds(&self) -> f64 {
        self.spent.as_secs_f64()
    }
}

/// Ranges that are the same for each node, whoever asks, or one range that each node is given at first.
pub(crate) struct Fixed {
    of_node: Vec<VecDeque<Range<u32>>>,
    of_all: VecDeque<Range<u32>>,
    next_lease: u64,
}

impl Fixed {
    /// Gives each node one part, in proportion to a weight.
    pub(crate) fn parts(cluster: &Cluster, weight: impl Fn(usize) -> f64) -> Fixed {
        let weights: Vec<f64> = (0..cluster.nodes()).map(weight).collect();
        let all: f64 = weights.iter().sum();
        let (mut sum, mut start) = (0.0, 0);
        let mut of_node = Vec::new();
        for weight in weights {
            sum += weight;
            let end =
                ((sum / all * f64::from(cluster.tiles())).round() as u32).min(cluster.tiles());
            of_node.push(iter::once(start..end).collect());
            start = end;
        }
        Fixed { of_node, of_all: VecDeque::new(), next_lease: 0 }
    }

    /// Gives units of so many tiles to whoever asks.
    pub(crate) fn units(cluster: &Cluster, tiles: u32) -> Fixed {
        let starts = (0..cluster.tiles()).step_by(tiles as usize);
        let of_all = starts.map(|start| start..(start + tiles).min(cluster.tiles())).collect();
        Fixed { of_node: vec![VecDeque::new(); cluster.nodes()], of_all, next_lease: 0 }
    }
}

impl Manager for Fixed {
    fn next(&mut self, node: usize, _: Duration) -> Option<Given> {
        let tiles = self.of_node[node].pop_front().or_else(|| self.of_all.pop_front())?;
        self.next_lease += 1;
        Some(Given { lease: self.next_lease, tiles })
    }

    fn mapped(&mut self, _: usize, _: u64, _: Duration) -> (bool, Option<(usize, u64)>) {
        (true, None)
    }

    fn lost(&mut self, _: usize) {
        unreachable!("nodes are lost with the ledger alone");
    }

    fn seconds(&self) -> f64 {
        0.0
    }
}
