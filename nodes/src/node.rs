//! A node: it obeys the manager's orders with a holding of the job, and reports. It waits for nothing and knows no
//! carrier.

use crate::fed::Fed;
use crate::message::{Order, Ready, Report};
use crate::peer::{Address, Connection, Offer};
use crate::request::Request;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tegula::holding::{Hold, Mapped, PARTITIONS, Spool};
use tegula::{Cancel, Result};

/// A node's part in one job. It is compiled once for all jobs.
pub struct Node<'h> {
    holding: &'h mut (dyn Hold + 'h),
    /// Leases that are mapped, and neither committed nor dropped.
    mapped: BTreeMap<u64, Mapped>,
    /// The pairs of the whole job, as far as they have come.
    received: Option<Mapped>,
    /// Pairs that are folded, and outside of the holding.
    spool: Option<Arc<Spool>>,
    /// Whether the holding has pairs beside those.
    has_more: bool,
    /// What others may ask for.
    offer: Offer,
    dropped: Dropped,
    /// Set on a node that cannot read the input.
    fed: Option<Arc<Fed>>,
}

/// What became of an order.
#[derive(Debug)]
pub enum Obeyed {
    /// The next may come.
    Done,
    /// The node has no part in the job.
    Left,
    /// The holding has all pairs of the job.
    Complete,
    /// The holding has all pairs of some partitions, whose answer is to be written.
    Write(ToWrite),
}

/// An answer that a node writes to a file. Its pairs are also in the node's spool and in those of others, so it can be
/// made again.
#[derive(Debug)]
pub struct ToWrite {
    /// The number of the attempt to bring the pairs together.
    pub number: u64,
    /// The file.
    pub path: PathBuf,
    /// What the node has mapped, for others and for a later attempt.
    pub(crate) spool: Option<Arc<Spool>>,
}

/// The leases that a node was told to drop. Whoever receives the node's orders tells it, so that a lease ends while it
/// is mapped.
#[derive(Clone, Debug, Default)]
pub struct Dropped(Arc<Mutex<Leases>>);

#[derive(Debug, Default)]
struct Leases {
    /// The lease that is mapped now.
    now: Option<(u64, Cancel)>,
    dropped: BTreeSet<u64>,
    has_ended: bool,
}

impl Dropped {
    /// Notes an order before the node obeys it.
    pub fn see(&self, order: &Order) {
        if let Order::Drop { lease } = order {
            let mut leases = self.lock();
            leases.dropped.insert(*lease);
            if let Some((_, cancel)) = leases.now.as_ref().filter(|(now, _)| now == lease) {
                cancel.cancel();
            }
        }
    }

    /// Drops the present lease and all later ones, because the manager is gone.
    pub fn drop_all(&self) {
        let mut leases = self.lock();
        leases.has_ended = true;
        leases.now.iter().for_each(|(_, cancel)| cancel.cancel());
    }

    /// Returns whether the manager is gone.
    pub fn has_ended(&self) -> bool {
        self.lock().has_ended
    }

    /// Returns a flag that is raised when the manager is gone.
    pub(crate) fn until_end(&self) -> Cancel {
        // No lease has this number.
        self.begin(u64::MAX)
    }

    /// Returns the flag that stops the mapping of a lease.
    fn begin(&self, lease: u64) -> Cancel {
        let (cancel, mut leases) = (Cancel::new(), self.lock());
        if leases.has_ended || leases.dropped.contains(&lease) {
            cancel.cancel();
        }
        leases.now = Some((lease, cancel.clone()));
        cancel
    }

    fn end(&self) {
        self.lock().now = None;
    }

    fn forget(&self, lease: u64) {
        self.lock().dropped.remove(&lease);
    }

    fn lock(&self) -> MutexGuard<'_, Leases> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<'h> Node<'h> {
    /// Makes a node with an empty holding of an input, which others send if it is `fed`. Its pairs are in `offer`, and
    /// those that it had with another holding in `spool`.
    pub(crate) fn new(
        holding: &'h mut (dyn Hold + 'h),
        fed: Option<Arc<Fed>>,
        offer: Offer,
        spool: Option<Arc<Spool>>,
    ) -> Node<'h> {
        let (mapped, dropped) = (BTreeMap::new(), Dropped::default());
        let (received, has_more) = (None, false);
        Node { holding, mapped, received, spool, has_more, offer, dropped, fed }
    }

    /// Returns what the node tells at first. `address` is where it listens for other nodes.
    pub fn ready(
        &self,
        workers: usize,
        memory_bytes: Option<u64>,
        address: Option<Address>,
    ) -> Report {
        Report::Ready(Ready {
            version: Ready::version_here(),
            digest: self.holding.digest(),
            workers: workers as u64,
            memory_bytes: memory_bytes.unwrap_or(u64::MAX),
            reads: self.fed.is_none(),
            address,
        })
    }

    /// Returns the leases that the node was told to drop, to be told of them early.
    pub fn dropped(&self) -> Dropped {
        self.dropped.clone()
    }

    /// Obeys an order, and tells what comes of it.
    ///
    /// # Errors
    /// Those of `tell`, and those after which the holding is of no use.
    pub fn obey(
        &mut self,
        order: Order,
        tell: &mut (dyn FnMut(Report) -> Result<()> + Send),
    ) -> Result<Obeyed> {
        match order {
            Order::Compare { listing } => {
                let difference = self.holding.difference(&listing)?;
                let what = difference.unwrap_or_else(|| "the job or its options differ".to_owned());
                tell(Report::Differs { what })?;
                return Ok(Obeyed::Left);
            }
            Order::Map { lease, tiles, from } => {
                let cancel = self.dropped.begin(lease);
                if let (Some(fed), Some(from)) = (&self.fed, from) {
                    let sizes =
                        &self.holding.tile_sizes()[tiles.start as usize..tiles.end as usize];
                    fed.begin(from, cancel.clone(), sizes.iter().sum());
                }
                let mapped = self.holding.map(tiles, &cancel);
                self.dropped.end();
                match mapped {
                    Ok(mapped) => {
                        self.mapped.insert(lease, mapped);
                        tell(Report::Mapped { lease })?;
                    }
                    Err(_) if cancel.is_cancelled() => {}
                    Err(error) => tell(Report::Failed { lease, cause: error.to_string() })?,
                }
            }
            Order::LeaveOut { covered } => self.holding.leave_out(&covered)?,
            Order::Commit { lease, save } => {
                if let Some(mapped) = self.mapped.remove(&lease) {
                    let saved = save.map(|first| self.holding.save(&mapped, first));
                    self.holding.commit(mapped)?;
                    self.has_more = true;
                    match saved {
                        Some(Ok(saved)) => tell(Report::Saved { lease, saved })?,
                        // The pairs are held all the same. If the node is lost, they are made once more.
                        Some(Err(error)) => {
                            tracing::warn!(target: "tegula::nodes", %error, "not saved");
                        }
                        None => {}
                    }
                }
            }
            Order::Drop { lease } => {
                self.mapped.remove(&lease);
                self.dropped.forget(lease);
            }
            Order::Fold { number } => {
                let spool = self.fold()?;
                let (bytes, counts) = (spool.bytes(), spool.counts().to_vec());
                self.offer.pairs(number, spool);
                tell(Report::Folded { number, bytes, counts })?;
            }
            Order::Give => self.give(tell)?,
            Order::Exchange { number, partitions, from } => {
                tell(self.exchange(number, &partitions, &from)?)?;
            }
            Order::Write { number, partitions, from, path } => {
                match self.gather(number, &partitions, &from)? {
                    Ok(received) => {
                        self.holding.clear()?;
                        self.holding.commit(received)?;
                        let spool = self.spool.clone();
                        return Ok(Obeyed::Write(ToWrite { number, path, spool }));
                    }
                    Err(cause) => tell(Report::Unreached { number, cause })?,
                }
            }
            Order::Blocks { bytes } => {
                let received = self.received.get_or_insert_with(|| self.holding.beside());
                self.holding.take_in(received, &bytes)?;
            }
            Order::Answer { counts } => {
                let mut received = self.received.take().unwrap_or_else(|| self.holding.beside());
                received.note(&counts)?;
                self.holding.clear()?;
                self.holding.commit(received)?;
                return Ok(Obeyed::Complete);
            }
            // It was asked for before the node was made.
            Order::Input { .. } => {}
        }
        Ok(Obeyed::Done)
    }

    /// Folds all pairs, and returns them.
    fn fold(&mut self) -> Result<Arc<Spool>> {
        if let Some(spool) = self.spool.take() {
            if !self.has_more {
                return Ok(Arc::clone(self.spool.insert(spool)));
            }
            let mut before = self.holding.beside();
            spool.read(0..PARTITIONS, &mut |blocks| self.holding.take_in(&mut before, blocks))?;
            before.note(spool.counts())?;
            self.holding.commit(before)?;
        }
        self.has_more = false;
        Ok(Arc::clone(self.spool.insert(Arc::new(self.holding.fold_out()?))))
    }

    fn give(&mut self, tell: &mut (dyn FnMut(Report) -> Result<()> + Send)) -> Result<()> {
        let spool = self.fold()?;
        spool.read(0..PARTITIONS, &mut |blocks| tell(Report::Blocks { bytes: blocks.to_vec() }))?;
        self.spool = None;
        self.offer.end();
        tell(Report::Given { counts: spool.counts().to_vec() })
    }

    /// Makes the answer of some partitions, and returns what the driver is told of it.
    fn exchange(&self, number: u64, partitions: &Range<usize>, from: &[Address]) -> Result<Report> {
        Ok(match self.gather(number, partitions, from)? {
            Ok(received) => {
                let answer = self.holding.answer_part(received)?;
                let totals = answer.totals();
                self.offer.answer(number, answer);
                Report::Answered { number, totals }
            }
            Err(cause) => Report::Unreached { number, cause },
        })
    }

    /// Returns the pairs of some partitions, of this node and of others. The inner error says why another one's did not
    /// come.
    fn gather(
        &self,
        number: u64,
        partitions: &Range<usize>,
        from: &[Address],
    ) -> Result<std::result::Result<Mapped, String>> {
        let mut received = self.holding.beside();
        if let Some(spool) = &self.spool {
            spool.read(partitions.clone(), &mut |blocks| {
                self.holding.take_in(&mut received, blocks)
            })?;
        }
        for address in from {
            if let Err(cause) = self.receive(number, partitions, address, &mut received)? {
                return Ok(Err(format!("the node at {}: {cause}", address.at)));
            }
        }
        Ok(Ok(received))
    }

    /// Takes the pairs of some partitions of another node in. The inner error is that of the link to it.
    fn receive(
        &self,
        number: u64,
        partitions: &Range<usize>,
        address: &Address,
        into: &mut Mapped,
    ) -> Result<io::Result<()>> {
        let goes_on = || !self.dropped.has_ended();
        let connected = Connection::to(address).and_then(|mut connection| {
            let partitions = partitions.clone();
            connection.ask(&Request::Pairs { attempt: number, partitions })?;
            Ok(connection)
        });
        let mut connection = match connected {
            Ok(connection) => connection,
            Err(cause) => return Ok(Err(cause)),
        };
        loop {
            match connection.piece(&goes_on) {
                Ok(Some(blocks)) => self.holding.take_in(into, &blocks)?,
                Ok(None) => return Ok(Ok(())),
                Err(fault) => return Ok(Err(fault.into_cause())),
            }
        }
    }
}

impl fmt::Debug for Node<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Node").field("mapped", &self.mapped.len()).finish_non_exhaustive()
    }
}
