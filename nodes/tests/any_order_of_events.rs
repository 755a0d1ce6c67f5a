//! Whatever the order of joins, leases, saves, losses and restarts of the manager, each tile is counted once.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use proptest::prelude::*;
use std::collections::BTreeMap;
use std::time::Duration;
use tegula_nodes::{About, Commit, Kept, Ledger, Lost, Next, NodeId, Rules, TileSet, Tiles};

/// A node as the carrier sees it: what it maps and what it holds.
#[derive(Default)]
struct Node {
    leases: BTreeMap<u64, TileSet>,
    /// How often each tile's pairs are in its holding.
    held: BTreeMap<u32, u32>,
    /// Those that it has saved.
    saved: TileSet,
    is_alive: bool,
}

struct Cluster {
    ledger: Ledger,
    tiles: Tiles,
    rules: Rules,
    nodes: BTreeMap<NodeId, Node>,
    /// The tiles of all saves ever made.
    saves: TileSet,
    /// The number of saves.
    named: usize,
    /// What the manager has itself.
    home: BTreeMap<u32, u32>,
    now: Duration,
}

#[derive(Clone, Debug)]
enum Event {
    Join { reads: bool },
    Ask(usize),
    Map(usize, usize),
    Save(usize),
    Lose(usize),
    Fail(usize, usize),
    Gather(usize),
    RestartManager,
    Pass(u64),
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        2 => any::<bool>().prop_map(|reads| Event::Join { reads }),
        12 => (0_usize..8).prop_map(Event::Ask),
        8 => (0_usize..8, 0_usize..3).prop_map(|(node, lease)| Event::Map(node, lease)),
        3 => (0_usize..8).prop_map(Event::Save),
        2 => (0_usize..8).prop_map(Event::Lose),
        1 => (0_usize..8, 0_usize..3).prop_map(|(node, lease)| Event::Fail(node, lease)),
        1 => (0_usize..8).prop_map(Event::Gather),
        1 => Just(Event::RestartManager),
        4 => (1_u64..5000).prop_map(Event::Pass),
    ]
}

impl Cluster {
    fn new(tiles: Tiles, rules: Rules) -> Cluster {
        let ledger = Ledger::new(tiles.clone(), rules);
        let (nodes, home, saves) = (BTreeMap::new(), BTreeMap::new(), TileSet::default());
        Cluster { ledger, tiles, rules, nodes, saves, named: 0, home, now: Duration::ZERO }
    }

    fn join(&mut self, reads: bool) {
        let id = self.ledger.join(About { memory_bytes: 1 << 30, reads, sends: true });
        self.nodes.insert(id, Node { is_alive: true, ..Node::default() });
    }

    /// Returns the living node of a random number.
    fn pick(&self, number: usize) -> Option<NodeId> {
        let alive: Vec<NodeId> =
            self.nodes.iter().filter(|(_, node)| node.is_alive).map(|(&id, _)| id).collect();
        (!alive.is_empty()).then(|| alive[number % alive.len()])
    }

    fn ask(&mut self, id: NodeId) -> Next {
        let next = self.ledger.next(id, self.now);
        let node = self.nodes.get_mut(&id).unwrap();
        match &next {
            Next::Lease { lease, tiles, from } => {
                assert!(!tiles.is_empty());
                assert!(from.is_none_or(|from| from != id));
                node.leases.insert(*lease, TileSet::from_iter([tiles.clone()]));
            }
            Next::Wait | Next::Done => {}
            Next::Leave => panic!("node {id} is alive"),
        }
        next
    }

    fn map(&mut self, id: NodeId, number: usize) {
        let node = self.nodes.get_mut(&id).unwrap();
        let Some((&lease, _)) = node.leases.iter().nth(number % node.leases.len().max(1)) else {
            return;
        };
        let tiles = node.leases.remove(&lease).unwrap();
        let Commit::Yes { beaten } = self.ledger.mapped(id, lease, self.now) else { return };
        assert_eq!(self.ledger.mapped(id, lease, self.now), Commit::No, "a lease counts once");
        for tile in tiles.ranges().flatten() {
            *node.held.entry(tile).or_default() += 1;
        }
        if let Some((other, lease)) = beaten {
            assert_ne!(other, id);
            // The other node may go on with it, and is told that it does not count.
            assert_eq!(self.ledger.mapped(other, lease, self.now), Commit::No);
        }
    }

    /// The node cannot map a lease; the manager maps some of the tiles that are free then.
    fn fail(&mut self, id: NodeId, number: usize) {
        let node = self.nodes.get_mut(&id).unwrap();
        let Some((&lease, _)) = node.leases.iter().nth(number % node.leases.len().max(1)) else {
            return;
        };
        let tiles = node.leases.remove(&lease).unwrap();
        let Some(failed) = self.ledger.failed(id, lease) else { return };
        assert_eq!(TileSet::from_iter([failed.clone()]), tiles);
        assert_eq!(self.ledger.mapped(id, lease, self.now), Commit::No);
        if self.ledger.free().contains(&failed) && number == 0 {
            self.ledger.take_home(&failed);
            failed.for_each(|tile| *self.home.entry(tile).or_default() += 1);
        }
    }

    fn gather(&mut self, id: NodeId) {
        self.ledger.gathered(id);
        let node = self.nodes.get_mut(&id).unwrap();
        node.saved = TileSet::default();
        for (tile, count) in std::mem::take(&mut node.held) {
            *self.home.entry(tile).or_default() += count;
        }
    }

    fn save(&mut self, id: NodeId) {
        let node = self.nodes.get_mut(&id).unwrap();
        let mut tiles: TileSet = node.held.keys().map(|&tile| tile..tile + 1).collect();
        tiles.subtract(&node.saved);
        self.named += 1;
        let name = format!("save {}", self.named).into_bytes();
        self.ledger.kept(id, Kept { name: name.clone(), tiles: tiles.clone() }).unwrap();
        if !tiles.is_empty() {
            assert!(self.ledger.kept(id, Kept { name, tiles: tiles.clone() }).is_err());
        }
        node.saved.extend(&tiles);
        self.saves.extend(&tiles);
    }

    fn lose(&mut self, id: NodeId) {
        let Lost { ended, kept } = self.ledger.lost(id);
        for kept in kept {
            for tile in kept.tiles.ranges().flatten() {
                *self.home.entry(tile).or_default() += 1;
            }
        }
        for (other, lease) in ended {
            self.nodes.get_mut(&other).unwrap().leases.remove(&lease);
            assert_eq!(self.ledger.mapped(other, lease, self.now), Commit::No);
        }
        let node = self.nodes.get_mut(&id).unwrap();
        node.is_alive = false;
        // It may not know yet that it was declared lost.
        for lease in std::mem::take(&mut node.leases).into_keys() {
            assert_eq!(self.ledger.mapped(id, lease, self.now), Commit::No);
        }
        assert_eq!(self.ledger.next(id, self.now), Next::Leave);
        assert!(
            self.ledger.kept(id, Kept { name: Vec::new(), tiles: TileSet::default() }).is_err()
        );
    }

    fn restart_manager(&mut self) {
        self.ledger = Ledger::new(self.tiles.clone(), self.rules);
        self.nodes.clear();
        self.home = self.saves.ranges().flatten().map(|tile| (tile, 1)).collect();
        self.saves.ranges().for_each(|tiles| self.ledger.take_home(&tiles));
        self.join(true);
    }

    fn apply(&mut self, event: &Event) {
        match *event {
            Event::Join { reads } if self.nodes.len() < 40 => self.join(reads),
            Event::Join { .. } => {}
            Event::RestartManager => self.restart_manager(),
            Event::Pass(milliseconds) => self.now += Duration::from_millis(milliseconds),
            Event::Ask(node) => {
                self.pick(node).map(|id| self.ask(id));
            }
            Event::Map(node, lease) => {
                self.pick(node).map(|id| self.map(id, lease)).unwrap_or_default();
            }
            Event::Fail(node, lease) => {
                self.pick(node).map(|id| self.fail(id, lease)).unwrap_or_default();
            }
            Event::Gather(node) => self.pick(node).map(|id| self.gather(id)).unwrap_or_default(),
            Event::Save(node) => self.pick(node).map(|id| self.save(id)).unwrap_or_default(),
            Event::Lose(node) => self.pick(node).map(|id| self.lose(id)).unwrap_or_default(),
        }
        self.check();
    }

    /// The ledger knows what each node holds, and no tile is held twice.
    fn check(&self) {
        assert!(self.home.values().all(|&times| times == 1), "the manager counts a tile twice");
        let mut all: TileSet = self.home.keys().map(|&tile| tile..tile + 1).collect();
        let mut count = all.len();
        assert_eq!(self.ledger.is_home(), count == self.tiles.count() as usize);
        for (&id, node) in self.nodes.iter().filter(|(_, node)| node.is_alive) {
            assert!(node.held.values().all(|&times| times == 1), "node {id} counts a tile twice");
            let held: TileSet = node.held.keys().map(|&tile| tile..tile + 1).collect();
            assert_eq!(self.ledger.held(id), held, "node {id}");
            count += held.len();
            all.extend(&held);
        }
        assert_eq!(all.len(), count, "two nodes hold the same tile");
        if self.ledger.is_done() {
            assert_eq!(count, self.tiles.count() as usize);
        }
    }

    /// Lets those that are left end the job.
    fn finish(&mut self) {
        self.join(true);
        for _ in 0..2_000 {
            self.now += Duration::from_millis(100);
            let alive: Vec<NodeId> =
                self.nodes.iter().filter(|(_, node)| node.is_alive).map(|(&id, _)| id).collect();
            let mut are_done = true;
            for id in alive {
                self.map(id, 0);
                are_done &= self.ask(id) == Next::Done;
            }
            self.check();
            if are_done {
                return;
            }
        }
        panic!("the job does not end");
    }
}

proptest! {
    #[test]
    fn each_tile_is_counted_once(
        bytes in prop::collection::vec(0_u64..100_000, 0..60),
        events in prop::collection::vec(event(), 0..200),
        in_flight in 1_usize..4,
    ) {
        let rules = Rules { in_flight, ..Rules::default() };
        let mut cluster = Cluster::new(Tiles::new(bytes, 7), rules);
        for event in &events {
            cluster.apply(event);
        }
        cluster.finish();
    }

    #[test]
    fn a_set_of_tiles_is_a_set(
        steps in prop::collection::vec((any::<bool>(), 0_u32..50, 0_u32..12), 0..60),
    ) {
        let (mut set, mut model) = (TileSet::default(), std::collections::BTreeSet::new());
        for (adds, start, length) in steps {
            let range = start..start + length;
            if adds {
                set.insert(range.clone());
                model.extend(range.clone());
            } else {
                set.remove(&range);
                model.retain(|tile| !range.contains(tile));
            }
            prop_assert_eq!(set.contains(&range), range.clone().all(|tile| model.contains(&tile)));
            prop_assert_eq!(set.ranges().flatten().collect::<Vec<_>>(), model.iter().copied().collect::<Vec<_>>());
            let ranges: Vec<_> = set.ranges().collect();
            prop_assert!(ranges.windows(2).all(|pair| pair[0].end < pair[1].start), "ranges touch");
        }
    }
}

/// A ledger with these nodes, all of which have mapped one tile at the given rates.
fn at_rates(count: u32, bytes: u64, rates: &[f64]) -> (Ledger, Vec<NodeId>, Duration) {
    let mut ledger = Ledger::new(Tiles::new(vec![bytes; count as usize], 0), Rules::default());
    let mut now = Duration::ZERO;
    let mut nodes = Vec::new();
    for rate in rates {
        let node = ledger.join(About { memory_bytes: 1 << 30, reads: true, sends: true });
        let Next::Lease { lease, tiles, .. } = ledger.next(node, now) else {
            panic!("no tile is left")
        };
        assert_eq!(tiles.len(), 1, "one tile shows how fast the node is");
        now += Duration::from_secs_f64(bytes as f64 / rate);
        assert!(matches!(ledger.mapped(node, lease, now), Commit::Yes { .. }));
        nodes.push(node);
    }
    (ledger, nodes, now)
}

fn leased(next: Next) -> std::ops::Range<u32> {
    match next {
        Next::Lease { tiles, .. } => tiles,
        other => panic!("{other:?}"),
    }
}

#[test]
fn leases_are_in_proportion_to_rates() {
    let (mut ledger, nodes, now) = at_rates(1000, 1 << 20, &[1e6, 4e6]);
    let (slow, fast) = (leased(ledger.next(nodes[0], now)), leased(ledger.next(nodes[1], now)));
    let ratio = fast.len() as f64 / slow.len() as f64;
    assert!((3.0..5.0).contains(&ratio), "{slow:?} {fast:?}");
}

#[test]
fn a_lease_is_thirty_seconds_at_most() {
    let (mut ledger, nodes, now) = at_rates(100_000, 1 << 20, &[1e6]);
    assert_eq!(leased(ledger.next(nodes[0], now)).len(), 28);
}

#[test]
fn towards_the_end_leases_are_single_tiles_and_slow_nodes_get_none() {
    let (mut ledger, nodes, now) = at_rates(8, 1 << 20, &[1e5, 4e6]);
    assert_eq!(leased(ledger.next(nodes[1], now)).len(), 1);
    assert_eq!(ledger.next(nodes[0], now), Next::Wait, "the fast node ends all before");
}

#[test]
fn a_late_lease_is_given_to_another_node_and_the_first_counts() {
    let (mut ledger, nodes, now) = at_rates(4, 1 << 20, &[1e6, 1e6]);
    let Next::Lease { lease: late, tiles, .. } = ledger.next(nodes[0], now) else { panic!() };
    let Next::Lease { lease, .. } = ledger.next(nodes[1], now) else { panic!() };
    let now = now + Duration::from_secs(1);
    assert!(matches!(ledger.mapped(nodes[1], lease, now), Commit::Yes { beaten: None }));
    assert_eq!(ledger.next(nodes[1], now), Next::Wait, "the other lease is about to end");
    let now = now + Duration::from_secs(7);
    let Next::Lease { lease: again, tiles: same, .. } = ledger.next(nodes[1], now) else {
        panic!()
    };
    assert_eq!(same, tiles);
    let now = now + Duration::from_secs(1);
    let beaten = Some((nodes[0], late));
    assert_eq!(ledger.mapped(nodes[1], again, now), Commit::Yes { beaten });
    assert_eq!(ledger.mapped(nodes[0], late, now), Commit::No);
    assert!(ledger.is_done());
}

#[test]
fn a_node_that_cannot_read_is_sent_its_bytes_by_one_that_can() {
    let mut ledger = Ledger::new(Tiles::new([1; 9], 0), Rules::default());
    let small = ledger.join(About { memory_bytes: 1 << 20, reads: false, sends: true });
    assert_eq!(ledger.next(small, Duration::ZERO), Next::Wait, "nobody can send it anything");
    let large = ledger.join(About { memory_bytes: 1 << 30, reads: true, sends: true });
    let Next::Lease { lease, from, tiles } = ledger.next(small, Duration::ZERO) else { panic!() };
    assert_eq!(from, Some(large));
    assert_eq!(ledger.lost(large).ended, [(small, lease)]);
    assert_eq!(ledger.mapped(small, lease, Duration::from_secs(1)), Commit::No);
    let other = ledger.join(About { memory_bytes: 1 << 30, reads: true, sends: true });
    assert_eq!(leased(ledger.next(other, Duration::from_secs(1))), tiles, "the tile is free again");
}

/// k-means reads the same tiles in each round.
#[test]
fn a_node_is_leased_what_it_had_in_the_job_before() {
    let mut ledger = Ledger::new(Tiles::new([1; 9], 0), Rules::default());
    let about = About { memory_bytes: 1 << 30, reads: true, sends: true };
    let nodes: Vec<NodeId> = (0..3).map(|_| ledger.join(about)).collect();
    ledger.had(nodes[0], &set_of(&[(2, 4), (8, 9)]));
    ledger.had(nodes[1], &set_of(&[(0, 2)]));
    let first = |node: usize, ledger: &mut Ledger| leased(ledger.next(nodes[node], Duration::ZERO));
    assert_eq!(first(0, &mut ledger), 2..3);
    assert_eq!(first(1, &mut ledger), 0..1);
    assert_eq!(first(2, &mut ledger), 4..5, "no other node had that tile");
}

fn set_of(ranges: &[(u32, u32)]) -> TileSet {
    ranges.iter().map(|&(start, end)| start..end).collect()
}

#[test]
fn the_first_shared_range_is_found() {
    let free = set_of(&[(3, 5), (7, 20)]);
    let shared = |other: &[(u32, u32)]| free.first_shared(&set_of(other));
    assert_eq!(shared(&[(0, 4)]), Some(3..4));
    assert_eq!(shared(&[(5, 7), (9, 12)]), Some(9..12));
    assert_eq!(shared(&[(0, 3), (5, 7), (20, 30)]), None);
    assert_eq!(shared(&[(4, 99)]), Some(4..5));
}

#[test]
fn a_save_must_name_what_its_node_holds() {
    let (mut ledger, nodes, _) = at_rates(9, 1 << 20, &[1e6, 1e6]);
    let kept = |tiles| Kept { name: b"save".to_vec(), tiles: TileSet::from_iter([tiles]) };
    assert!(ledger.kept(nodes[0], kept(1..2)).is_err(), "another node holds it");
    assert!(ledger.kept(nodes[0], kept(0..1)).is_ok());
    assert!(ledger.kept(nodes[0], kept(0..1)).is_err(), "it is saved already");
}

#[test]
fn partitions_are_divided_among_the_nodes_that_are_left() {
    let (mut ledger, nodes, now) = at_rates(3, 1 << 20, &[1e6, 1e6, 2e6]);
    assert_eq!(ledger.next(nodes[0], now), Next::Done);
    let lengths = |ledger: &Ledger| {
        let parts = ledger.exchange(64, 1, false).unwrap();
        parts.iter().map(|part| part.partitions.len()).collect::<Vec<_>>()
    };
    assert_eq!(lengths(&ledger), [16, 16, 32]);
    ledger.lost(nodes[2]);
    assert_eq!(ledger.exchange(64, 1, false), None, "its tile is not held by any node");
    let Next::Lease { lease, .. } = ledger.next(nodes[0], now) else { panic!() };
    ledger.mapped(nodes[0], lease, now + Duration::from_secs_f64((1 << 20) as f64 / 1e6));
    assert_eq!(lengths(&ledger), [32, 32]);
}
