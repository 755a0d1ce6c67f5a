//! The manager of one job over nodes: it hears what nodes report and says what they do next. It has the ledger, and a
//! holding, in which the pairs of all nodes come together. It has no clock and knows no carrier; `now` is
//! the time since any moment that the carrier chooses.
//!
//! When each tile is held by a node, pairs come together ([`Together`]). A node's pairs are beside the manager's holding
//! until all have come: of a node that is lost meanwhile nothing counts, and its tiles are mapped by others.

use crate::ledger::{About, Commit, Kept, Ledger, Next, NodeId};
use crate::message::{Order, Ready, Report};
use crate::peer::Address;
use crate::rules::Rules;
use crate::tile_set::TileSet;
use crate::tiles::Tiles;
use crate::together::Together;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tegula::holding::{Hold, Mapped, PARTITIONS, Pull};
use tegula::{Cancel, Error, Progress, Result, StageTime, TileState};

/// Numbers of files that the save of a lease may use.
const FILES_MOST: u64 = 1024;

/// A node that fails more leases than this, which the manager could map, is left out.
const FAILURES_MOST: u32 = 1;

/// The longest time between two looks at what all nodes could do next. In between, those are looked at of which something
/// was heard, so that an event costs the same with any number of nodes.
const LOOK: Duration = Duration::from_millis(50);
/// The shortest time between two times that the grid of the tiles is told.
const SHOW: Duration = Duration::from_millis(200);

/// The manager of a job. It is compiled once for all jobs.
pub struct Manager<'h> {
    holding: &'h mut (dyn Hold + 'h),
    tiles: Tiles,
    ledger: Ledger,
    rules: Rules,
    exchanges: Exchanges,
    together: Together,
    nodes: BTreeMap<NodeId, Member>,
    /// The nodes of which something was heard since the last orders.
    heard: BTreeSet<NodeId>,
    /// When all nodes were looked at; `None` if more tiles are free since.
    looked: Option<Duration>,
    /// With a state: what earlier runs have saved, and the first number for the saves of this one.
    covered: Option<(Vec<u8>, u64)>,
    /// Saves of lost nodes, which the manager has not taken in yet.
    orphans: Vec<Vec<u8>>,
    /// The first tiles of the input that a node could not map, and the node.
    failed: Option<(Range<u32>, NodeId)>,
    /// The tiles whose pairs nodes have given.
    given: BTreeMap<NodeId, TileSet>,
    /// What was said of nodes that are lost.
    losses: Vec<String>,
    /// The tiles that earlier runs have saved.
    found: TileSet,
    /// When the grid was told last.
    shown: Option<Duration>,
    progress: Option<Arc<Progress>>,
    cancel: Cancel,
}

/// What the manager knows of a node that is there.
struct Member {
    name: String,
    /// Where it listens for other nodes.
    address: Option<Address>,
    /// Whether it reads the input itself.
    reads: bool,
    /// Whether it was told what earlier runs have saved.
    is_told: bool,
    /// The tiles of leases whose pairs it is saving.
    saving: BTreeMap<u64, Range<u32>>,
    /// The pairs that it gives, as far as they have come.
    gives: Option<Mapped>,
    failures: u32,
    /// Why it could not map the last of the leases that it has failed.
    failure: String,
}

/// Which answers nodes make of the pairs that they exchange.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Exchanges {
    /// None: the manager needs all pairs.
    No,
    /// That of many pairs. They keep it until the manager collects it.
    Kept,
    /// Those that read the input write it, of however few pairs, into this folder.
    Written(PathBuf),
}

/// The manager's answer to a node that is ready.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Joined {
    /// It has a part in the job.
    Yes(NodeId),
    /// It does not, and is told so.
    No(Order),
}

/// What nodes do next, in this order for each node.
type Told = Vec<(NodeId, Order)>;

impl<'h> Manager<'h> {
    /// Begins a job with its plan. If its options name a state, goes on with what that has. If nodes make
    /// the answer, the manager's holding has it without the pairs.
    ///
    /// # Errors
    /// Those of the state.
    pub fn new(
        holding: &'h mut (dyn Hold + 'h),
        rules: Rules,
        exchanges: Exchanges,
        progress: Option<Arc<Progress>>,
        cancel: Cancel,
    ) -> Result<Manager<'h>> {
        let complete = holding.open_state()?;
        let covered = holding.covered();
        let tiles = Tiles::new(holding.tile_sizes().iter().copied(), holding.digest());
        let mut ledger = Ledger::new(tiles.clone(), rules);
        complete.iter().for_each(|tiles| ledger.take_home(tiles));
        Ok(Manager {
            holding,
            tiles,
            ledger,
            rules,
            exchanges,
            together: Together::default(),
            nodes: BTreeMap::new(),
            heard: BTreeSet::new(),
            looked: None,
            covered,
            orphans: Vec::new(),
            failed: None,
            given: BTreeMap::new(),
            losses: Vec::new(),
            found: complete.into_iter().collect(),
            shown: None,
            progress,
            cancel,
        })
    }

    /// Adds a node that is ready, at any time. `name` is what messages call it.
    ///
    /// # Errors
    /// Those of the input.
    pub fn join(&mut self, name: &str, ready: &Ready) -> Result<Joined> {
        if ready.version != Ready::version_here() {
            let (there, here) = (&ready.version, Ready::version_here());
            self.losses
                .push(format!("{name} has version {there} of the program, and this is {here}"));
            return Ok(Joined::No(Order::Compare { listing: Vec::new() }));
        }
        let digest = match ready.reads {
            true => self.tiles.digest(),
            false => self.holding.digest_of_names()?,
        };
        if ready.digest != digest {
            return Ok(Joined::No(Order::Compare { listing: self.holding.listing()? }));
        }
        let Ready { memory_bytes, reads, ref address, .. } = *ready;
        let node = self.ledger.join(About { memory_bytes, reads, sends: address.is_some() });
        let member = Member {
            name: name.to_owned(),
            address: address.clone(),
            reads,
            is_told: self.covered.is_none(),
            saving: BTreeMap::new(),
            gives: None,
            failures: 0,
            failure: String::new(),
        };
        self.nodes.insert(node, member);
        self.heard.insert(node);
        Ok(Joined::Yes(node))
    }

    /// Returns what nodes do next.
    ///
    /// # Errors
    /// The job's own, once it is known which record or file is the first that cannot be mapped.
    pub fn orders(&mut self, now: Duration) -> Result<Told> {
        let mut orders = Vec::new();
        for saved in std::mem::take(&mut self.orphans) {
            let taken = self.holding.take_saved(&saved)?;
            self.holding.commit(taken)?;
        }
        orders.extend(self.settle_failure()?);
        if self.failed.is_some() {
            return Ok(orders);
        }
        if self.looked.is_none_or(|looked| looked + LOOK <= now) {
            self.looked = Some(now);
            self.heard.extend(self.nodes.keys());
        }
        for node in std::mem::take(&mut self.heard) {
            if let Some(member) = self.nodes.get_mut(&node).filter(|member| !member.is_told) {
                member.is_told = true;
                let covered = self.covered.as_ref().map(|(covered, _)| covered.clone());
                orders.extend(covered.map(|covered| (node, Order::LeaveOut { covered })));
            }
            while let Next::Lease { lease, tiles, from } = self.ledger.next(node, now) {
                let from = from.and_then(|from| self.nodes.get(&from)?.address.clone());
                orders.push((node, Order::Map { lease, tiles, from }));
            }
        }
        if self.ledger.is_done() && !self.ledger.is_home() {
            orders.extend(self.bring_together());
        }
        Ok(orders)
    }

    /// Hears a report. What follows from it is told at once; [`orders`](Manager::orders) tells the rest.
    ///
    /// # Errors
    /// Those of memory and of the disk.
    pub fn hear(&mut self, node: NodeId, report: Report, now: Duration) -> Result<Told> {
        let Some(member) = self.nodes.get_mut(&node) else { return Ok(Vec::new()) };
        if !matches!(report, Report::Alive) {
            self.heard.insert(node);
        }
        match report {
            Report::Mapped { lease } => return Ok(self.mapped(node, lease, now)),
            Report::Failed { lease, cause } => {
                tracing::info!(target: "tegula::nodes", node = member.name, cause, "a lease failed");
                if let Some(tiles) = self.ledger.failed(node, lease) {
                    member.failures += 1;
                    member.failure = cause;
                    self.looked = None;
                    let is_first =
                        self.failed.as_ref().is_none_or(|(first, _)| tiles.start < first.start);
                    if is_first {
                        self.failed = Some((tiles, node));
                    }
                }
            }
            Report::Blocks { bytes } => {
                if let Some(gives) = &mut member.gives {
                    self.holding.take_in(gives, &bytes)?;
                }
            }
            Report::Given { counts } => {
                if let Some(mut gives) = member.gives.take() {
                    gives.note(&counts)?;
                    self.holding.commit(gives)?;
                    self.given.insert(node, self.ledger.held(node));
                    self.ledger.gathered(node);
                }
            }
            Report::Folded { number, bytes, counts } => {
                self.together.folded(node, number, bytes, counts);
            }
            Report::Answered { number, totals } => {
                self.together.answered(node, number, (totals, 0));
            }
            Report::Written { number, totals, bytes } => {
                self.together.answered(node, number, (totals, bytes));
            }
            Report::Unreached { number, cause } => {
                tracing::info!(target: "tegula::nodes", node = member.name, cause, "unreached");
                self.together.unreached(number);
            }
            Report::Saved { lease, saved } => {
                let tiles = member.saving.remove(&lease).into_iter().collect();
                let kept = Kept { name: saved, tiles };
                if self.ledger.kept(node, kept.clone()).is_ok() {
                    self.holding.name(&kept.name)?;
                }
            }
            Report::Differs { what } => return Ok(self.lose(node, &what)),
            Report::Leaves { cause } => return Ok(self.lose(node, &cause)),
            Report::Ready(_) | Report::Asks | Report::Alive => {}
        }
        Ok(Vec::new())
    }

    /// Notes that a node is lost, and why. Those that it sent bytes to drop what they map.
    pub fn lose(&mut self, node: NodeId, cause: &str) -> Told {
        let Some(member) = self.nodes.remove(&node) else { return Vec::new() };
        self.leaves_out(&member.name, cause);
        self.looked = None;
        self.together.reset();
        let mut undone = self.ledger.held(node);
        let lost = self.ledger.lost(node);
        lost.kept.iter().for_each(|kept| undone.subtract(&kept.tiles));
        let bytes = undone.ranges().map(|tiles| self.tiles.bytes(tiles)).sum();
        self.progress.iter().for_each(|progress| progress.take_bytes_back(bytes));
        self.orphans.extend(lost.kept.into_iter().map(|kept| kept.name));
        lost.ended.into_iter().map(|(other, lease)| (other, Order::Drop { lease })).collect()
    }

    /// Returns what a node that cannot read is told of the input, once another one can send it.
    ///
    /// # Errors
    /// Those of the input.
    pub fn input(&self) -> Result<Option<Order>> {
        let sender = self.nodes.values().find_map(|member| match member.reads {
            true => member.address.clone(),
            false => None,
        });
        let Some(from) = sender else { return Ok(None) };
        Ok(Some(Order::Input { from, listing: self.holding.listing()? }))
    }

    /// Notes why a node has no part in the job.
    pub fn leaves_out(&mut self, name: &str, cause: &str) {
        tracing::warn!(target: "tegula::nodes", node = name, cause, "lost");
        self.losses.push(format!("{name}: {cause}"));
    }

    /// Returns what was said of each node that is lost, in order.
    pub fn losses(&self) -> &[String] {
        &self.losses
    }

    /// Tells the grid of the options, if there is one, where each tile is; at most a few times a second, unless it is the
    /// last time.
    pub fn show(&mut self, now: Duration, is_last: bool) {
        if !is_last && self.shown.is_some_and(|shown| now < shown + SHOW) {
            return;
        }
        self.shown = Some(now);
        let mut rest: TileSet = std::iter::once(0..self.tiles.count()).collect();
        let mut show = |tiles: &TileSet, state| {
            rest.subtract(tiles);
            tiles.ranges().for_each(|range| self.holding.show(range, state));
        };
        show(self.ledger.free(), TileState::Waiting);
        show(&self.ledger.all_leased(), TileState::Running);
        show(&self.ledger.all_kept(), TileState::Saved);
        if self.covered.is_some() {
            show(self.ledger.home(), TileState::Saved);
        }
        show(&self.found, TileState::Found);
        rest.ranges().for_each(|range| self.holding.show(range, TileState::Mapped));
    }

    /// Returns the tiles of the job.
    pub fn tiles(&self) -> &Tiles {
        &self.tiles
    }

    /// Notes that a node had tiles in the job before this one.
    pub fn had(&mut self, node: NodeId, tiles: &TileSet) {
        self.ledger.had(node, tiles);
    }

    /// Returns the tiles whose pairs a node has given.
    pub fn given(&self, node: NodeId) -> TileSet {
        self.given.get(&node).cloned().unwrap_or_default()
    }

    /// Returns the number of nodes that are there.
    pub fn nodes(&self) -> usize {
        self.nodes.len()
    }

    /// Returns whether a node is there.
    pub fn has(&self, node: NodeId) -> bool {
        self.nodes.contains_key(&node)
    }

    /// Returns whether the manager has all pairs.
    pub fn is_complete(&self) -> bool {
        self.ledger.is_home() && self.orphans.is_empty()
    }

    /// Shows `see` all pairs of the job as orders by which a node makes the answer, too.
    ///
    /// # Errors
    /// Those of `see`, of memory and of the disk.
    pub fn share(&self, see: &mut (dyn FnMut(Order) -> Result<()> + Send)) -> Result<()> {
        self.holding
            .blocks(0..PARTITIONS, &mut |block| see(Order::Blocks { bytes: block.to_vec() }))?;
        see(Order::Answer { counts: self.holding.counts() })
    }

    /// Returns where the parts of the answer are, and the number to ask for, once nodes have made all of them.
    pub fn answers(&self) -> Option<(Vec<Address>, u64)> {
        let (nodes, _) = self.together.answers()?;
        let address = |(node, _): &(NodeId, u64)| self.nodes.get(node)?.address.clone();
        Some((nodes.iter().filter_map(address).collect(), self.together.number))
    }

    /// Returns the nodes that have written the answer, in the order of its parts, with the lengths of their files, and
    /// the number of the attempt, once all have.
    pub fn written(&self) -> Option<(Vec<(NodeId, u64)>, u64)> {
        let (nodes, _) = self.together.answers()?;
        Some((nodes, self.together.number))
    }

    /// Puts the answers together that nodes have made, in the order of [`answers`](Manager::answers). Of those that nodes
    /// have written there is nothing to put together.
    ///
    /// # Errors
    /// Those of [`Hold::collect`]. The job can go on after an error of `from`.
    pub fn collect(&mut self, from: &mut [Box<Pull<'_>>]) -> Result<()> {
        let Some((_, totals)) = self.together.answers() else { return Ok(()) };
        self.holding.collect(from, totals)?;
        let mut counted = self.holding.beside();
        for (node, counts) in self.together.counts() {
            counted.note(counts)?;
            self.given.insert(node, self.ledger.held(node));
            self.ledger.gathered(node);
        }
        self.holding.commit(counted)
    }

    /// Notes that an answer did not come.
    pub fn unreached(&mut self, cause: &io::Error) {
        tracing::info!(target: "tegula::nodes", %cause, "an answer did not come");
        self.together.unreached(self.together.number);
    }

    /// Adds the time of a stage.
    pub fn spent(&mut self, time: StageTime) {
        self.holding.spent(time);
    }

    /// Returns what nodes do to bring the pairs of all tiles together.
    fn bring_together(&mut self) -> Told {
        let asked = self.together.begin(self.nodes.keys().copied());
        let Some(bytes) = self.together.bytes() else { return asked };
        let is_allowed = self.covered.is_none() && self.ledger.is_none_home();
        let all_listen = self.nodes.values().all(|member| member.address.is_some());
        let (is_asked, into) = match &self.exchanges {
            Exchanges::No => (false, None),
            Exchanges::Kept => (bytes > self.rules.gathered_most, None),
            Exchanges::Written(folder) => (true, Some(&**folder)),
        };
        if is_allowed && all_listen && is_asked && self.together.may_exchange() {
            let parts = self.ledger.exchange(PARTITIONS, bytes, into.is_some());
            if let Some(parts) = parts {
                let address = |node: NodeId| self.nodes.get(&node)?.address.clone();
                return self.together.exchange(parts, &address, into);
            }
        }
        self.together.give();
        let mut orders = Vec::new();
        for (&node, member) in &mut self.nodes {
            if member.gives.is_none() && !self.ledger.held(node).is_empty() {
                member.gives = Some(self.holding.beside());
                orders.push((node, Order::Give));
            }
        }
        orders
    }

    fn mapped(&mut self, node: NodeId, lease: u64, now: Duration) -> Told {
        let tiles = self.ledger.leased(lease);
        match self.ledger.mapped(node, lease, now) {
            Commit::Yes { beaten } => {
                let bytes = tiles.clone().map_or(0, |tiles| self.tiles.bytes(tiles));
                // A node that cannot read the input has not the state either.
                let saves = self.nodes.get(&node).is_some_and(|member| member.reads);
                let covered = self.covered.as_ref().filter(|_| saves);
                let save = covered.map(|(_, first)| first + lease * FILES_MOST);
                if let (Some(member), Some(_), Some(tiles)) =
                    (self.nodes.get_mut(&node), save, tiles)
                {
                    member.saving.insert(lease, tiles);
                }
                self.progress.iter().for_each(|progress| progress.add_bytes(bytes));
                self.heard.extend(beaten.map(|(other, _)| other));
                let beaten = beaten.map(|(other, lease)| (other, Order::Drop { lease }));
                [(node, Order::Commit { lease, save })].into_iter().chain(beaten).collect()
            }
            Commit::No => vec![(node, Order::Drop { lease })],
        }
    }

    /// Maps what a node could not, once no node maps anything before it: then the error is that of the first record
    /// of the input that cannot be mapped, as on one machine. If the manager can map it, the node is at fault.
    fn settle_failure(&mut self) -> Result<Told> {
        let Some((tiles, node)) = self.failed.clone() else { return Ok(Vec::new()) };
        if self.ledger.first_leased().is_some_and(|first| first < tiles.start) {
            return Ok(Vec::new());
        }
        let before = self.ledger.free().ranges().take_while(|free| free.start < tiles.end);
        let before: Vec<Range<u32>> =
            before.map(|free| free.start..free.end.min(tiles.end)).collect();
        for free in before {
            // That adds its bytes to the progress.
            let mapped = self.holding.map(free.clone(), &self.cancel)?;
            self.holding.commit(mapped)?;
            self.ledger.take_home(&free);
        }
        self.failed = None;
        let member = self.nodes.get(&node).filter(|member| member.failures > FAILURES_MOST);
        let cause =
            member.map(|member| format!("it fails where others do not: {}", member.failure));
        Ok(cause.map(|cause| self.lose(node, &cause)).unwrap_or_default())
    }

    /// Returns the error of a job that has no node any more.
    pub fn no_nodes(&self) -> Error {
        let cause = io::Error::other(self.losses.join("; "));
        Error::System { action: "go on, because no node is left", cause }
    }
}

impl fmt::Debug for Manager<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("Manager");
        out.field("nodes", &self.nodes.len()).field("ledger", &self.ledger).finish_non_exhaustive()
    }
}
