//! Nodes of speeds 1 to 8 that map tiles in virtual time, event by event.

use crate::managers::{Given, Manager};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::time::Duration;

const TILE_BYTES: u64 = 32 << 20;
/// How long the job takes if no node ever waits, in seconds.
const IDEAL_SECONDS: f64 = 60.0;
/// From a node's message to the manager's answer.
const LATENCY: Duration = Duration::from_millis(20);
/// The slowest node's bytes per second.
const LEAST_SPEED: f64 = 100e6;
const IN_FLIGHT: usize = 2;
/// From the loss of a node until the manager knows of it.
const LOSS_KNOWN: Duration = Duration::from_millis(1500);
/// How often nodes that wait ask again.
const BEAT: Duration = Duration::from_millis(500);

pub(crate) struct Cluster {
    speeds: Vec<f64>,
    known: Vec<f64>,
    tiles: u32,
    losses: Vec<(Duration, usize)>,
    random: Random,
}

pub(crate) struct Outcome {
    /// The part of the sum of speeds that was used.
    pub(crate) share: f64,
    pub(crate) leases: u64,
    pub(crate) seconds_per_lease: f64,
}

/// SplitMix64.
#[derive(Clone)]
struct Random(u64);

impl Random {
    fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ mixed >> 31) as f64 / u64::MAX as f64
    }

    /// From `1 - spread` to `1 + spread`.
    fn about_one(&mut self, spread: f64) -> f64 {
        1.0 + spread * (2.0 * self.unit() - 1.0)
    }
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// The node's oldest lease is mapped, if its number is this one still.
    Mapped(usize, u64),
    /// The manager hears of it.
    Heard(usize, u64),
    Beat,
    Dies(usize),
    IsLost(usize),
}

struct Node {
    leases: VecDeque<(u64, u32, Duration)>,
    is_dead: bool,
    is_lost: bool,
    /// Leases that the manager counts as in flight.
    in_flight: usize,
}

impl Cluster {
    pub(crate) fn new(nodes: usize, seed: u64, has_losses: bool) -> Cluster {
        let mut random = Random(seed.wrapping_mul(1_000_003) + nodes as u64);
        let speeds: Vec<f64> =
            (0..nodes).map(|_| LEAST_SPEED * 8_f64.powf(random.unit())).collect();
        let known = speeds.iter().map(|speed| speed * random.about_one(0.2)).collect();
        let bytes = speeds.iter().sum::<f64>() * IDEAL_SECONDS;
        let mut losses = Vec::new();
        for node in (0..if has_losses { nodes / 4 } else { 0 }).map(|at| at * 4) {
            losses.push((Duration::from_secs_f64(random.unit() * IDEAL_SECONDS), node));
        }
        Cluster { speeds, known, tiles: (bytes / TILE_BYTES as f64) as u32, losses, random }
    }

    pub(crate) fn nodes(&self) -> usize {
        self.speeds.len()
    }

    pub(crate) fn tiles(&self) -> u32 {
        self.tiles
    }

    pub(crate) fn tile_bytes(&self) -> u64 {
        TILE_BYTES
    }

    pub(crate) fn known_rate(&self, node: usize) -> f64 {
        self.known[node]
    }

    pub(crate) fn run(&self, manager: Box<dyn Manager>) -> Outcome {
        Run::new(self, manager).outcome()
    }
}

struct Run<'c> {
    cluster: &'c Cluster,
    manager: Box<dyn Manager>,
    nodes: Vec<Node>,
    events: BinaryHeap<Reverse<(Duration, Event)>>,
    random: Random,
    leases: u64,
    /// Tiles whose pairs a node holds, for each node.
    held: Vec<u32>,
    held_by_all: u32,
}

impl<'c> Run<'c> {
    fn new(cluster: &'c Cluster, manager: Box<dyn Manager>) -> Run<'c> {
        let node =
            |_| Node { leases: VecDeque::new(), is_dead: false, is_lost: false, in_flight: 0 };
        let nodes = (0..cluster.nodes()).map(node).collect();
        let mut events = BinaryHeap::from([Reverse((Duration::ZERO, Event::Beat))]);
        for &(at, node) in &cluster.losses {
            events.push(Reverse((at, Event::Dies(node))));
            events.push(Reverse((at + LOSS_KNOWN, Event::IsLost(node))));
        }
        let random = cluster.random.clone();
        let held = vec![0; cluster.nodes()];
        Run { cluster, manager, nodes, events, random, leases: 0, held, held_by_all: 0 }
    }

    fn outcome(mut self) -> Outcome {
        while let Some(Reverse((now, event))) = self.events.pop() {
            self.apply(now, &event);
            if self.held_by_all == self.cluster.tiles {
                let bytes = f64::from(self.cluster.tiles) * TILE_BYTES as f64;
                let share = bytes / now.as_secs_f64() / self.cluster.speeds.iter().sum::<f64>();
                let seconds_per_lease = self.manager.seconds() / self.leases as f64;
                return Outcome { share, leases: self.leases, seconds_per_lease };
            }
        }
        unreachable!("a beat follows each beat");
    }

    fn apply(&mut self, now: Duration, event: &Event) {
        match *event {
            Event::Beat => {
                self.events.push(Reverse((now + BEAT, Event::Beat)));
                (0..self.nodes.len()).for_each(|node| self.give(node, now));
            }
            Event::Dies(node) => self.nodes[node].is_dead = true,
            Event::IsLost(node) => {
                self.nodes[node].is_lost = true;
                self.held_by_all -= std::mem::take(&mut self.held[node]);
                self.manager.lost(node);
                (0..self.nodes.len()).for_each(|node| self.give(node, now));
            }
            Event::Mapped(node, lease) => {
                let of = &mut self.nodes[node];
                if of.is_dead || of.leases.front().is_none_or(|first| first.0 != lease) {
                    return;
                }
                of.leases.pop_front();
                self.events.push(Reverse((now + LATENCY / 2, Event::Heard(node, lease))));
                self.begin(node, now);
            }
            Event::Heard(node, lease) => self.heard(node, lease, now),
        }
    }

    fn heard(&mut self, node: usize, lease: u64, now: Duration) {
        if self.nodes[node].is_lost {
            return;
        }
        let (counts, beaten) = self.manager.mapped(node, u64::from(lease as u32), now);
        if counts {
            self.held[node] += (lease >> 32) as u32;
            self.held_by_all += (lease >> 32) as u32;
            self.nodes[node].in_flight -= 1;
        }
        if let Some((other, number)) = beaten {
            let number =
                self.nodes[other].leases.iter().position(|one| one.0 as u32 == number as u32);
            self.nodes[other].in_flight -= 1;
            if let Some(at) = number {
                self.nodes[other].leases.remove(at);
                if at == 0 {
                    self.begin(other, now + LATENCY / 2);
                }
            }
            self.give(other, now);
        }
        self.give(node, now);
    }

    /// Gives a node all that it can have.
    fn give(&mut self, node: usize, now: Duration) {
        while !self.nodes[node].is_lost && self.nodes[node].in_flight < IN_FLIGHT {
            let Some(Given { lease, tiles }) = self.manager.next(node, now) else { return };
            self.leases += 1;
            let of = &mut self.nodes[node];
            of.in_flight += 1;
            // The number of tiles travels in the upper half of the number.
            let number = (tiles.len() as u64) << 32 | lease;
            of.leases.push_back((number, tiles.len() as u32, now + LATENCY / 2));
            if of.leases.len() == 1 {
                self.begin(node, now);
            }
        }
    }

    /// Lets a node begin its oldest lease.
    fn begin(&mut self, node: usize, now: Duration) {
        let Some(&(lease, tiles, arrives)) = self.nodes[node].leases.front() else { return };
        // Tiles differ in cost by 10 % either way, which evens out over many.
        let spread = 0.1 / f64::from(tiles.max(1)).sqrt();
        let cost = self.random.about_one(spread) * f64::from(tiles) * TILE_BYTES as f64;
        let seconds = cost / self.cluster.speeds[node];
        let ends = now.max(arrives) + Duration::from_secs_f64(seconds);
        self.events.push(Reverse((ends, Event::Mapped(node, lease))));
    }
}
