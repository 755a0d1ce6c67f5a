//! Who maps which tiles, who holds their pairs, and who has saved them.
//!
//! Each tile is in one of four states: *free*, *leased* to one node or to two, *held* by one node, or *home*, where no
//! loss of a node reaches it. What a lost node had saved is home, because the manager reads its saves. A node's pairs of
//! a lease are beside its holding until [`Ledger::mapped`] says [`Commit::Yes`], so a lease is counted once or not at all,
//! whatever is lost, late or done twice.

use crate::exchange::{Part, Share, divide};
use crate::outlook::{Outlook, some};
use crate::pace::Pace;
use crate::rules::Rules;
use crate::tile_set::TileSet;
use crate::tiles::Tiles;
use std::collections::BTreeMap;
use std::fmt;
use std::iter;
use std::ops::Range;
use std::time::Duration;

/// A node, by the order in which nodes joined. A node that was lost and comes back gets a new number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(u32);

impl NodeId {
    pub(crate) fn of(at: usize) -> NodeId {
        NodeId(at as u32)
    }

    fn at(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The facts that a node tells of itself when it joins.
#[derive(Clone, Copy, Debug)]
pub struct About {
    /// The memory that the job may use on it.
    pub memory_bytes: u64,
    /// Whether it reads the shared storage. If not, another node sends it the bytes of its tiles.
    pub reads: bool,
    /// Whether it can send bytes to others.
    pub sends: bool,
}

/// A node's save of some of what it holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// Names the files of the save with their lengths and digests. They are named at the time of the save, so what a
    /// node writes after it was declared lost is never read.
    pub name: Vec<u8>,
    /// The tiles whose pairs are in it.
    pub tiles: TileSet,
}

/// The next work of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// Map these tiles. If `from` names a node, that node reads them and sends their bytes.
    Lease {
        /// The number to tell when they are mapped.
        lease: u64,
        /// The tiles.
        tiles: Range<u32>,
        /// The node that sends the bytes to a node that cannot read.
        from: Option<NodeId>,
    },
    /// Nothing now; ask again after the next event.
    Wait,
    /// Each tile is home or held by a node.
    Done,
    /// The node was declared lost: it drops what it holds and joins anew.
    Leave,
}

/// Whether the pairs of a mapped lease count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Commit {
    /// They count. If another node was given the same tiles, this is the lease that it can stop mapping.
    Yes {
        /// The other node and its lease.
        beaten: Option<(NodeId, u64)>,
    },
    /// They do not: the tiles were mapped by another node first, or given to another one.
    No,
}

/// What follows from the loss of a node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lost {
    /// The leases of other nodes that were sent their bytes by it: they have ended.
    pub ended: Vec<(NodeId, u64)>,
    /// Its saves, which the manager takes in.
    pub kept: Vec<Kept>,
}

/// The error for a save that cannot be what the node holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused;

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a save names tiles that its node does not hold, or has saved before")
    }
}

impl std::error::Error for Refused {}

/// The manager's knowledge of a job over nodes. Times are since any moment that the carrier chooses, but the same
/// one always. A lease costs the same time with any number of nodes and tiles, but for the logarithm; a loss and the
/// exchange cost time linear in them.
#[derive(Clone, Debug)]
pub struct Ledger {
    tiles: Tiles,
    rules: Rules,
    free: TileSet,
    free_bytes: u64,
    nodes: Vec<Node>,
    /// The nodes that are not lost.
    present: Vec<usize>,
    /// Those of them that read the shared storage and can send bytes to others.
    senders: Vec<usize>,
    /// The tiles that no node had in the job before this one; `None` if no node had any.
    new: Option<TileSet>,
    outlook: Outlook,
    /// The node of each lease in flight.
    leases: BTreeMap<u64, NodeId>,
    /// Tiles whose pairs the manager has.
    home: TileSet,
    /// The number of the next lease.
    next_lease: u64,
}

#[derive(Clone, Debug)]
struct Node {
    about: About,
    is_lost: bool,
    pace: Pace,
    /// Leases in flight, in the order in which they were given.
    leases: Vec<Lease>,
    /// The bytes of leases in flight that it sends to others.
    sending: u64,
    /// Tiles that it holds and that are in no save.
    unsaved: TileSet,
    /// Its saves.
    kept: Vec<Kept>,
    /// Tiles that it had in the job before this one, which are in its memory.
    had: TileSet,
}

#[derive(Clone, Debug)]
struct Lease {
    number: u64,
    tiles: Range<u32>,
    bytes: u64,
    given: Duration,
    from: Option<NodeId>,
    /// The lease of the same tiles to another node.
    twin: Option<u64>,
}

impl Ledger {
    /// Begins a job: all tiles are free.
    pub fn new(tiles: Tiles, rules: Rules) -> Ledger {
        let free = iter::once(0..tiles.count()).collect::<TileSet>();
        let free_bytes = tiles.bytes(0..tiles.count());
        Ledger {
            tiles,
            rules,
            free,
            free_bytes,
            nodes: Vec::new(),
            present: Vec::new(),
            senders: Vec::new(),
            new: None,
            outlook: Outlook::default(),
            leases: BTreeMap::new(),
            home: TileSet::default(),
            next_lease: 0,
        }
    }

    /// Adds a node, at any time.
    pub fn join(&mut self, about: About) -> NodeId {
        self.nodes.push(Node {
            about,
            is_lost: false,
            pace: Pace::default(),
            leases: Vec::new(),
            sending: 0,
            unsaved: TileSet::default(),
            kept: Vec::new(),
            had: TileSet::default(),
        });
        let at = self.nodes.len() - 1;
        self.present.push(at);
        if about.reads && about.sends {
            self.senders.push(at);
        }
        self.outlook.end();
        NodeId::of(at)
    }

    /// Notes that a node had tiles in the job before this one: it is leased those first, and others take them last.
    pub fn had(&mut self, node: NodeId, tiles: &TileSet) {
        let Some(of) = self.nodes.get_mut(node.at()).filter(|_| !tiles.is_empty()) else { return };
        let all = || iter::once(0..self.tiles.count()).collect();
        self.new.get_or_insert_with(all).subtract(tiles);
        of.had.extend(tiles);
    }

    /// Returns what a node does next.
    pub fn next(&mut self, node: NodeId, now: Duration) -> Next {
        let about = match self.nodes.get(node.at()) {
            Some(found) if !found.is_lost => found.about,
            _ => return Next::Leave,
        };
        if self.is_done() {
            return Next::Done;
        }
        if self.nodes[node.at()].leases.len() >= self.rules.in_flight {
            return Next::Wait;
        }
        let from = if about.reads { None } else { self.feeder() };
        if !about.reads && from.is_none() {
            return Next::Wait;
        }
        self.look(now);
        let given = match self.free_for(node) {
            Some(free) => self.tiles_for(node, free, now).map(|tiles| (tiles, None)),
            None => self.backup_for(node, now).map(|(twin, tiles)| (tiles, Some(twin))),
        };
        let Some((tiles, twin)) = given else { return Next::Wait };
        let number = self.next_lease;
        self.next_lease += 1;
        let bytes = self.tiles.bytes(tiles.clone());
        match twin.and_then(|twin| self.lease_mut(twin)) {
            Some(twin) => twin.twin = Some(number),
            None => {
                self.free.remove(&tiles);
                self.free_bytes -= bytes;
            }
        }
        if let Some(from) = from {
            self.nodes[from.at()].sending += bytes;
        }
        self.leases.insert(number, node);
        let lease = Lease { number, tiles: tiles.clone(), bytes, given: now, from, twin };
        self.nodes[node.at()].leases.push(lease);
        Next::Lease { lease: number, tiles, from }
    }

    /// Notes that a node has mapped a lease, and returns whether its pairs count.
    pub fn mapped(&mut self, node: NodeId, lease: u64, now: Duration) -> Commit {
        if self.leases.get(&lease) != Some(&node) {
            return Commit::No;
        }
        let Some((_, mapped)) = self.end(lease) else { return Commit::No };
        let beaten = mapped.twin.and_then(|twin| self.end(twin).map(|(other, _)| (other, twin)));
        let of = &mut self.nodes[node.at()];
        of.pace.ended(mapped.bytes, mapped.given, now);
        of.unsaved.insert(mapped.tiles);
        Commit::Yes { beaten }
    }

    /// Notes that a node could not map a lease: its tiles are free again, unless another node has them, too. Returns
    /// them; `None` if they were not that node's.
    pub fn failed(&mut self, node: NodeId, lease: u64) -> Option<Range<u32>> {
        if self.leases.get(&lease) != Some(&node) {
            return None;
        }
        let (_, failed) = self.end(lease)?;
        let tiles = failed.tiles.clone();
        self.release(failed);
        Some(tiles)
    }

    /// Notes that the manager has the pairs of all tiles that a node held, and the node has none.
    pub fn gathered(&mut self, node: NodeId) {
        let held = self.held(node);
        if let Some(of) = self.nodes.get_mut(node.at()).filter(|node| !node.is_lost) {
            of.unsaved = TileSet::default();
            of.kept.clear();
            self.home.extend(&held);
        }
    }

    /// Notes that the manager has the pairs of tiles that were free, because it has mapped them or found them saved.
    pub fn take_home(&mut self, tiles: &Range<u32>) {
        if self.free.contains(tiles) {
            self.free.remove(tiles);
            self.free_bytes -= self.tiles.bytes(tiles.clone());
            self.home.insert(tiles.clone());
        }
    }

    /// Returns whether the manager has the pairs of no tile.
    pub fn is_none_home(&self) -> bool {
        self.home.is_empty()
    }

    /// Returns whether the manager has the pairs of all tiles.
    pub fn is_home(&self) -> bool {
        self.home.len() == self.tiles.count() as usize
    }

    /// Returns the tiles whose pairs the manager has.
    pub fn home(&self) -> &TileSet {
        &self.home
    }

    /// Returns the tiles that nobody has.
    pub fn free(&self) -> &TileSet {
        &self.free
    }

    /// Returns the tiles of a lease in flight.
    pub fn leased(&self, lease: u64) -> Option<Range<u32>> {
        let node = self.leases.get(&lease)?;
        let found = self.nodes[node.at()].leases.iter().find(|one| one.number == lease);
        found.map(|lease| lease.tiles.clone())
    }

    /// Returns the tiles of all leases in flight.
    pub fn all_leased(&self) -> TileSet {
        self.leases.keys().filter_map(|&lease| self.leased(lease)).collect()
    }

    /// Returns the tiles in the saves of nodes.
    pub fn all_kept(&self) -> TileSet {
        let mut all = TileSet::default();
        let kept = self.nodes.iter().flat_map(|node| &node.kept);
        kept.for_each(|save| all.extend(&save.tiles));
        all
    }

    /// Returns the first tile of all leases in flight.
    pub fn first_leased(&self) -> Option<u32> {
        self.all_leased().first().map(|tiles| tiles.start)
    }

    /// Notes a save of some of what a node holds and has not saved yet.
    ///
    /// # Errors
    /// [`Refused`] if it names other tiles, or the node was declared lost; nothing changes then.
    pub fn kept(&mut self, node: NodeId, kept: Kept) -> Result<(), Refused> {
        let of = self.nodes.get_mut(node.at()).filter(|node| !node.is_lost);
        let Some(of) = of.filter(|node| node.unsaved.contains_all(&kept.tiles)) else {
            return Err(Refused);
        };
        of.unsaved.subtract(&kept.tiles);
        of.kept.push(kept);
        Ok(())
    }

    /// Notes that a node is lost. Its leases and the tiles that it had not saved are free again; the others are home,
    /// because the manager takes its saves in.
    pub fn lost(&mut self, node: NodeId) -> Lost {
        let Some(of) = self.nodes.get_mut(node.at()).filter(|node| !node.is_lost) else {
            return Lost::default();
        };
        of.is_lost = true;
        let had = std::mem::take(&mut of.had);
        let unsaved = std::mem::take(&mut of.unsaved);
        let kept = std::mem::take(&mut of.kept);
        self.present.retain(|&at| at != node.at());
        self.senders.retain(|&at| at != node.at());
        if let (Some(new), false) = (&mut self.new, had.is_empty()) {
            new.extend(&had);
            self.present.iter().for_each(|&at| new.subtract(&self.nodes[at].had));
        }
        self.outlook.end();
        self.set_free(&unsaved);
        kept.iter().for_each(|kept| self.home.extend(&kept.tiles));
        let ended: Vec<u64> = self
            .nodes
            .iter()
            .enumerate()
            .flat_map(|(at, of)| {
                let is_its = move |lease: &&Lease| at == node.at() || lease.from == Some(node);
                of.leases.iter().filter(is_its).map(|lease| lease.number)
            })
            .collect();
        let mut of_others = Vec::new();
        for number in ended {
            let Some((holder, lease)) = self.end(number) else { continue };
            self.release(lease);
            if holder != node {
                of_others.push((holder, number));
            }
        }
        Lost { ended: of_others, kept }
    }

    /// Returns whether each tile is home or held by a node.
    pub fn is_done(&self) -> bool {
        self.free.is_empty() && self.leases.is_empty()
    }

    /// Divides the partitions of the answer among the nodes that are there, or among those that read the shared storage,
    /// by rate and memory, once each tile is held. `bytes` is the size of all nodes' pairs. After a loss the tiles of
    /// the lost node are mapped by others first, and the division is another one.
    pub fn exchange(
        &self,
        partitions: usize,
        bytes: u64,
        among_readers: bool,
    ) -> Option<Vec<Part>> {
        let takes = |(_, node): &(usize, &Node)| node.about.reads || !among_readers;
        if !self.is_done() || !self.present().any(|of| takes(&of)) {
            return None;
        }
        let mean = self.mean_rate();
        // Half of a node's memory: the other half holds what it makes of them.
        let most = |memory: u64| memory as f64 / 2.0 / bytes.max(1) as f64;
        let share = |(at, node): (usize, &Node)| Share {
            node: NodeId::of(at),
            rate: node.pace.rate().unwrap_or(mean),
            most: most(node.about.memory_bytes),
        };
        let shares: Vec<Share> = self.present().filter(takes).map(share).collect();
        Some(divide(&shares, partitions))
    }

    /// Returns the tiles that a node holds, in saves or not.
    pub fn held(&self, node: NodeId) -> TileSet {
        let Some(of) = self.nodes.get(node.at()) else { return TileSet::default() };
        let mut held = of.unsaved.clone();
        of.kept.iter().for_each(|save| held.extend(&save.tiles));
        held
    }

    /// Returns the rate of a node in bytes per second, once it has mapped a lease.
    pub fn rate(&self, node: NodeId) -> Option<f64> {
        self.nodes.get(node.at()).and_then(|node| node.pace.rate())
    }

    fn set_free(&mut self, tiles: &TileSet) {
        self.outlook.end();
        self.free.extend(tiles);
        self.free_bytes += tiles.ranges().map(|range| self.tiles.bytes(range)).sum::<u64>();
    }

    fn lease_mut(&mut self, number: u64) -> Option<&mut Lease> {
        let node = self.leases.get(&number)?;
        self.nodes[node.at()].leases.iter_mut().find(|lease| lease.number == number)
    }

    /// Removes a lease.
    fn end(&mut self, number: u64) -> Option<(NodeId, Lease)> {
        let node = self.leases.remove(&number)?;
        let of = &mut self.nodes[node.at()].leases;
        let lease = of.remove(of.iter().position(|lease| lease.number == number)?);
        if let Some(from) = lease.from {
            self.nodes[from.at()].sending -= lease.bytes;
        }
        Some((node, lease))
    }

    /// Sets the tiles of a lease that has ended free, unless another node has them, too.
    fn release(&mut self, ended: Lease) {
        match ended.twin.and_then(|twin| self.lease_mut(twin)) {
            Some(twin) => twin.twin = None,
            None => self.set_free(&iter::once(ended.tiles).collect()),
        }
    }

    fn present(&self) -> impl Iterator<Item = (usize, &Node)> {
        self.present.iter().map(|&at| (at, &self.nodes[at]))
    }

    /// Returns the mean rate of the nodes whose rate is known, or 1.
    fn mean_rate(&self) -> f64 {
        let rates = self.present().filter_map(|(_, node)| node.pace.rate());
        let (count, sum) = rates.fold((0, 0.0), |(count, sum), rate| (count + 1, sum + rate));
        if count == 0 { 1.0 } else { sum / f64::from(count) }
    }

    /// Returns the node that sends bytes to the next node that cannot read: the one that sends the least beside
    /// its rate.
    fn feeder(&self) -> Option<NodeId> {
        let load = |at: usize| {
            let node = &self.nodes[at];
            (node.sending as f64 + 1.0) / node.pace.rate().unwrap_or(1.0)
        };
        let (senders, _) = some(&self.senders, self.next_lease as usize);
        senders.min_by(|&a, &b| load(a).total_cmp(&load(b))).map(NodeId::of)
    }

    /// Makes a new outlook, unless the last one serves. A node that has mapped nothing yet counts with the mean rate of
    /// those that have: otherwise the first of many nodes would be leased far too much.
    fn look(&mut self, now: Duration) {
        let needs_alone = self.free.is_empty();
        if self.outlook.serves(needs_alone) {
            return;
        }
        let mean = self.mean_rate();
        let mut outlook = Outlook::of(self.present.len());
        let mut alone = Vec::new();
        for (_, node) in self.present() {
            outlook.left += node.left(node.leases.len(), now);
            outlook.rate += node.pace.rate().unwrap_or(mean);
            let leases = node.leases.iter().enumerate().filter(|_| needs_alone);
            let leases = leases.filter(|(_, lease)| lease.twin.is_none());
            alone.extend(leases.map(|(at, lease)| (node.ends(at, now), lease.number)));
        }
        alone.sort_by(|a, b| a.0.total_cmp(&b.0));
        outlook.alone = alone.into_iter().map(|(_, lease)| lease).collect();
        outlook.has_alone = needs_alone;
        self.outlook = outlook;
    }

    /// Returns the first free tiles that a node had before; without such, the first that no other node had.
    fn free_for(&self, node: NodeId) -> Option<Range<u32>> {
        let Some(new) = &self.new else { return self.free.first() };
        let had = self.free.first_shared(&self.nodes[node.at()].had);
        had.or_else(|| self.free.first_shared(new)).or_else(|| self.free.first())
    }

    /// Returns the tiles of a node's next lease: of the first range of free tiles.
    fn tiles_for(&self, node: NodeId, range: Range<u32>, now: Duration) -> Option<Range<u32>> {
        let of = &self.nodes[node.at()];
        let Some(rate) = of.pace.rate() else {
            // One tile shows how fast the node is.
            return of.leases.is_empty().then_some(range.start..range.start + 1);
        };
        let Rules { parts_left, least, most, .. } = self.rules;
        let seconds = (self.free_bytes as f64 + self.outlook.left) / self.outlook.rate / parts_left;
        let seconds = seconds.clamp(least.as_secs_f64(), most.as_secs_f64());
        let tiles = self.tiles.first_of(range, (seconds * rate) as u64);
        if tiles.len() > 1 {
            return Some(tiles);
        }
        // A single tile, unless the others end all free tiles before this node ends one.
        let bytes = self.tiles.bytes(tiles.clone()).max(1) as f64;
        let ends = (of.left(of.leases.len(), now) + bytes) / rate;
        let by_others = self.tiles_by_others(node, bytes, ends, now);
        (by_others < self.free.len() as f64).then_some(tiles)
    }

    /// Returns how many tiles of these bytes the other nodes end before a time, in seconds from now; with many nodes, as
    /// some of them let expect.
    fn tiles_by_others(&self, node: NodeId, bytes: f64, seconds: f64, now: Duration) -> f64 {
        let (some, each) = some(&self.present, node.at());
        let tiles = some.filter(|&at| at != node.at()).filter_map(|at| {
            let other = &self.nodes[at];
            let mapped = other.pace.rate()? * seconds - other.left(other.leases.len(), now);
            // A tile that ends at that very time does not count: two equal nodes would wait for each other.
            Some(((mapped / bytes).ceil() - 1.0).max(0.0))
        });
        tiles.sum::<f64>() * each
    }

    /// Returns the lease of another node that this node would end much sooner.
    fn backup_for(&mut self, node: NodeId, now: Duration) -> Option<(u64, Range<u32>)> {
        let of = &self.nodes[node.at()];
        let rate = of.pace.rate().filter(|_| of.leases.is_empty())?;
        loop {
            let number = *self.outlook.alone.last()?;
            let other = self.leases.get(&number).map(|holder| &self.nodes[holder.at()]);
            let is_it = |lease: &Lease| lease.number == number && lease.twin.is_none();
            let at = other.and_then(|other| other.leases.iter().position(is_it));
            let (Some(other), Some(at)) = (other, at) else {
                // It has ended since, or another node has it, too.
                self.outlook.alone.pop();
                continue;
            };
            let lease = &other.leases[at];
            let needed = lease.bytes as f64 / rate;
            let is_late = other.ends(at, now) > self.rules.backup_ratio * needed;
            return is_late.then(|| (number, lease.tiles.clone()));
        }
    }
}

impl Node {
    /// Returns the bytes of the first leases in flight that are not mapped yet, as the rate lets expect.
    fn left(&self, leases: usize, now: Duration) -> f64 {
        let waiting =
            self.leases[..leases].iter().skip(1).map(|lease| lease.bytes as f64).sum::<f64>();
        let Some(first) = self.leases[..leases].first() else { return 0.0 };
        let Some(rate) = self.pace.rate() else { return waiting + first.bytes as f64 };
        let spent = now.saturating_sub(self.pace.began(first.given)).as_secs_f64();
        // A lease that is late is expected to take as much longer as it is late: a node that has stopped seems
        // ever further from its end.
        waiting + (first.bytes as f64 - spent * rate).abs()
    }

    /// Returns when the lease at a position is expected to end, in seconds from now. A node that has mapped
    /// nothing is expected to take as long again as it has taken.
    fn ends(&self, at: usize, now: Duration) -> f64 {
        let waited = now.saturating_sub(self.leases[at].given).as_secs_f64();
        self.pace.rate().map_or(waited, |rate| self.left(at + 1, now) / rate)
    }
}
