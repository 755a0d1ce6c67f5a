//! The driver's loop: it carries messages between the manager of a job and its nodes, until the manager has all pairs.

use crate::answers::Answers;
use crate::carrier::{BEAT, Carrier, Event, SILENCE_MOST};
use crate::drawn::Drawn;
use crate::ledger::NodeId;
use crate::manager::{Exchanges, Joined, Manager};
use crate::message::{Order, Ready, Report};
use crate::parts::{Parts, PartsFolder};
use crate::peer::Connection;
use crate::request::Request;
use crate::rules::Rules;
use crate::task::Task;
use crate::tile_set::TileSet;
use crate::tiles::Tiles;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::time::{Duration, Instant};
use tegula::holding::{Hold, Pull};
use tegula::{Cancel, Error, Job, Options, Output, Result, Stage, StageTime, Storage, process_cpu};

/// The longest time between two looks at what nodes could do next.
const LOOK: Duration = Duration::from_millis(50);

/// Whether the nodes of a job need its answer, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shares {
    /// The next job of the program depends on it.
    Answer,
    /// It is for the driver alone.
    Nothing,
}

/// What the earlier jobs of a program leave for the next one. Nodes have their numbers with the carrier.
#[derive(Debug, Default)]
pub struct Earlier {
    tiles: Option<Tiles>,
    /// Which tiles each node had in the last job. The rounds of k-means read the same tiles again, which are in the
    /// memory of the nodes that had them.
    held: BTreeMap<usize, TileSet>,
    /// Nodes that the driver has ended. Events of them may still be on the way.
    ended: BTreeSet<usize>,
    /// For nodes that come late.
    answers: Answers,
}

impl Earlier {
    /// Returns what nodes had of these tiles: nothing, if the last job had others.
    fn held_of(&mut self, tiles: &Tiles) -> BTreeMap<usize, TileSet> {
        let held = std::mem::take(&mut self.held);
        match self.tiles.as_ref().is_some_and(|before| before.are_as_large_as(tiles)) {
            true => held,
            false => BTreeMap::new(),
        }
    }
}

/// A job on its way.
struct Drive<'c, 'h> {
    carrier: &'c mut dyn Carrier,
    manager: Manager<'h>,
    began: Instant,
    /// The nodes of the job, by their numbers with the carrier.
    members: BTreeMap<usize, NodeId>,
    /// Their numbers with the carrier.
    numbers: BTreeMap<NodeId, usize>,
    /// The time for which the driver has listened. A node is silent in this time only: what it says while the driver works
    /// is heard later.
    listened: Duration,
    /// When each node was heard last, in this time.
    heard: BTreeMap<usize, Duration>,
    /// When silent nodes were looked for, in this time.
    looked: Duration,
    drawn: Option<Drawn>,
    /// The tiles that nodes had in the job before this one.
    before: BTreeMap<usize, TileSet>,
    /// What the jobs before this one have left.
    earlier: &'c mut Earlier,
    /// Where the answer is kept for nodes that come late.
    storage: &'c dyn Storage,
    /// Nodes that cannot read the input.
    streamed: BTreeSet<usize>,
    /// Those of them that wait for one that can.
    asking: Vec<usize>,
    /// Since when none of the nodes that are there can read the input, though one needs it.
    unread: Option<Instant>,
    unread_most: Duration,
    /// Whether nodes have written the answer.
    is_published: bool,
}

/// Runs a job over the nodes of a carrier. The answer is that of one machine, to the byte.
///
/// # Errors
/// Those of [`JobRun::run`](tegula::JobRun::run), [`Error::System`] when no node is left, and
/// [`OutputError`](tegula::OutputError) if a folder for parts cannot be made.
pub fn drive<J: Job>(
    carrier: &mut dyn Carrier,
    (earlier, rules): (&mut Earlier, Rules),
    task: Task<'_, J>,
    shares: Shares,
) -> Result<Output<J>> {
    let Task { engine, job, input, options, parts } = task;
    let mut holding = engine.hold(job, input, options)?;
    let create = |parts: &Parts<'_, J>| PartsFolder::create(parts.folder, parts.ending);
    let folder = parts.as_ref().map(create).transpose()?;
    let nodes = (carrier, earlier, rules);
    let run = (options, &**engine.storage());
    let is_published = gather(nodes, &mut *holding, run, shares, folder.as_ref())?;
    let output = holding.answer()?;
    match (parts, folder) {
        (Some(parts), Some(folder)) if !is_published => {
            folder.write_all(|path| (parts.write)(output, path, &options.cancel))
        }
        _ => Ok(output),
    }
}

/// Lets nodes map a job whose plan a holding has, until that holds all pairs, or the answer, or that is in the folder,
/// which is returned.
fn gather(
    (carrier, earlier, rules): (&mut dyn Carrier, &mut Earlier, Rules),
    holding: &mut dyn Hold,
    (options, storage): (&Options, &dyn Storage),
    shares: Shares,
    folder: Option<&PartsFolder>,
) -> Result<bool> {
    let (began, cpu_began) = (Instant::now(), process_cpu());
    let progress = options.progress.clone();
    progress.iter().for_each(|progress| progress.enter(Stage::Map));
    let cancel = options.cancel.clone();
    let exchanges = match (shares, folder) {
        (Shares::Answer, _) => Exchanges::No,
        (Shares::Nothing, None) => Exchanges::Kept,
        (Shares::Nothing, Some(folder)) => Exchanges::Written(folder.hidden().to_path_buf()),
    };
    let manager = Manager::new(holding, rules, exchanges, progress, cancel)?;
    let (members, numbers, heard) = Default::default();
    let (listened, looked) = Default::default();
    let drawn = options.timeline.clone().map(Drawn::new);
    let (streamed, asking, unread) = Default::default();
    let before = earlier.held_of(manager.tiles());
    let mut drive = Drive {
        carrier,
        manager,
        began,
        members,
        numbers,
        listened,
        heard,
        looked,
        drawn,
        before,
        earlier: &mut *earlier,
        storage,
        streamed,
        asking,
        unread,
        unread_most: rules.unread_most,
        is_published: false,
    };
    if let Err(error) = drive.go_on(options, shares, folder) {
        drive.end_all();
        return Err(error);
    }
    let Drive { mut manager, members, is_published, .. } = drive;
    if options.grid.is_some() {
        manager.show(began.elapsed(), true);
    }
    let held = members.into_iter().map(|(node, id)| (node, manager.given(id))).collect();
    (earlier.tiles, earlier.held) = (Some(manager.tiles().clone()), held);
    let cpu = process_cpu().saturating_sub(cpu_began);
    manager.spent(StageTime { stage: Stage::Map, wall: began.elapsed(), cpu });
    options.timeline.iter().for_each(|timeline| timeline.add_stage(Stage::Map, began));
    Ok(is_published)
}

impl Drive<'_, '_> {
    /// Goes on until the manager holds all pairs, or the answer, or that is in the folder.
    fn go_on(
        &mut self,
        options: &Options,
        shares: Shares,
        folder: Option<&PartsFolder>,
    ) -> Result<()> {
        while !self.step()? {
            if options.grid.is_some() {
                self.manager.show(self.began.elapsed(), false);
            }
            match folder {
                Some(folder) => self.publish(folder)?,
                None => self.collect(&options.cancel)?,
            }
            if options.cancel.is_cancelled() {
                return Err(Error::Cancelled);
            }
        }
        match shares {
            Shares::Answer => self.share(),
            Shares::Nothing => Ok(()),
        }
    }

    /// Tells nodes what to do, and hears what comes next. Returns whether the manager has all pairs.
    fn step(&mut self) -> Result<bool> {
        let orders = self.manager.orders(self.began.elapsed())?;
        self.tell(&orders);
        self.end_left_out();
        if self.manager.is_complete() {
            return Ok(true);
        }
        let asked = Instant::now();
        let event = self.carrier.next(LOOK);
        // It was longer if this process was stopped.
        self.listened += asked.elapsed().min(LOOK);
        match event {
            Some(Event::Told(node, _) | Event::Gone(node, _))
                if self.earlier.ended.contains(&node) => {}
            Some(Event::Told(node, report)) => self.hear(node, &report)?,
            Some(Event::Gone(node, cause)) => self.lose(node, &cause),
            None if self.carrier.is_empty() => return Err(self.manager.no_nodes()),
            None => {}
        }
        // However many nodes there are, which say all the time that they are alive.
        if self.listened > self.looked + BEAT {
            self.looked = self.listened;
            self.look_for_silence();
        }
        self.look_for_readers()?;
        Ok(self.manager.is_complete())
    }

    fn tell(&mut self, orders: &[(NodeId, Order)]) {
        for (to, order) in orders {
            if let Some(&node) = self.numbers.get(to) {
                self.drawn.iter_mut().for_each(|drawn| drawn.told(node, order));
                self.carrier.tell(node, &order.encode());
            }
        }
    }

    fn hear(&mut self, node: usize, report: &[u8]) -> Result<()> {
        self.heard.insert(node, self.listened);
        let report = match Report::decode(report) {
            Ok(report) => report,
            Err(damaged) => {
                self.end(node);
                self.lose(node, &damaged.to_string());
                return Ok(());
            }
        };
        match (report, self.members.get(&node)) {
            (Report::Ready(ready), _) if self.is_behind(&ready) => {
                self.catch_up(node, ready.digest);
            }
            (Report::Ready(ready), _) => {
                match self.manager.join(&self.carrier.name(node), &ready)? {
                    Joined::Yes(id) => {
                        self.manager.had(id, &self.before.remove(&node).unwrap_or_default());
                        self.members.insert(node, id);
                        self.numbers.insert(id, node);
                    }
                    Joined::No(order) => self.carrier.tell(node, &order.encode()),
                }
            }
            (Report::Asks, _) => {
                self.streamed.insert(node);
                self.asking.push(node);
            }
            (report, Some(&id)) => {
                self.drawn.iter_mut().for_each(|drawn| drawn.heard(node, &report));
                let orders = self.manager.hear(id, report, self.began.elapsed())?;
                self.tell(&orders);
            }
            (Report::Differs { what: cause } | Report::Leaves { cause }, None) => {
                // Its end adds nothing to that.
                self.end(node);
                self.lose(node, &cause);
            }
            // Of the job before this one.
            (_, None) => {}
        }
        Ok(())
    }

    /// Returns whether a node is at a job that has ended.
    fn is_behind(&self, ready: &Ready) -> bool {
        let is_this = ready.digest == self.manager.tiles().digest();
        !is_this && ready.version == Ready::version_here() && self.earlier.answers.has(ready.digest)
    }

    /// Sends a node the answer of the job that it is at, after which it goes on to the next.
    fn catch_up(&mut self, node: usize, digest: u128) {
        let carrier = &mut self.carrier;
        let shown = self.earlier.answers.show(digest, &mut |order| carrier.tell(node, order));
        if let Err(cause) = shown {
            self.end(node);
            self.lose(node, &format!("it came late, and answers were not kept for it: {cause}"));
        }
    }

    /// Ends a node. Nothing of it is heard any more.
    fn end(&mut self, node: usize) {
        self.carrier.end(node);
        self.earlier.ended.insert(node);
    }

    /// Ends the nodes of a job that has failed. Otherwise they would go on to write their parts while the folder is
    /// removed.
    fn end_all(&mut self) {
        let nodes: Vec<usize> = self.members.keys().copied().collect();
        nodes.into_iter().for_each(|node| self.end(node));
    }

    /// Ends the nodes that the manager has left out.
    fn end_left_out(&mut self) {
        if self.members.len() == self.manager.nodes() {
            return;
        }
        let left = self.members.iter().filter(|&(_, &id)| !self.manager.has(id));
        let left: Vec<usize> = left.map(|(&node, _)| node).collect();
        for node in left {
            self.end(node);
            self.forget(node);
        }
    }

    /// Forgets a node. Returns its number in the job, if it had a part in it.
    fn forget(&mut self, node: usize) -> Option<NodeId> {
        self.heard.remove(&node);
        self.drawn.iter_mut().for_each(|drawn| drawn.lost(node));
        self.streamed.remove(&node);
        self.asking.retain(|&asking| asking != node);
        let id = self.members.remove(&node)?;
        self.numbers.remove(&id);
        Some(id)
    }

    fn lose(&mut self, node: usize, cause: &str) {
        match self.forget(node) {
            Some(id) => {
                let orders = self.manager.lose(id, cause);
                self.tell(&orders);
            }
            None => self.manager.leaves_out(&self.carrier.name(node), cause),
        }
    }

    /// Tells nodes that cannot read the input who sends it.
    ///
    /// # Errors
    /// [`Error::System`] if no node is there for long that reads the input or may yet do so, and those of the input.
    fn look_for_readers(&mut self) -> Result<()> {
        if !self.asking.is_empty()
            && let Some(order) = self.manager.input()?
        {
            let order = order.encode();
            let carrier = &mut self.carrier;
            self.asking.drain(..).for_each(|node| carrier.tell(node, &order));
        }
        // A node that has not started yet may read it, however late it is.
        let is_unread = !self.streamed.is_empty() && self.streamed.len() >= self.carrier.present();
        if !is_unread {
            self.unread = None;
        } else if self.unread.get_or_insert_with(Instant::now).elapsed() > self.unread_most {
            self.manager.leaves_out("the others", "they cannot read the input");
            return Err(self.manager.no_nodes());
        }
        Ok(())
    }

    /// Ends nodes that have said nothing for too long.
    fn look_for_silence(&mut self) {
        let since = |heard: Duration| self.listened.saturating_sub(heard);
        let silent = self.heard.iter().filter(|&(_, &heard)| since(heard) > SILENCE_MOST);
        let silent: Vec<usize> = silent.map(|(&node, _)| node).collect();
        for node in silent {
            self.end(node);
            self.lose(node, &format!("it said nothing for {} s", SILENCE_MOST.as_secs()));
        }
    }

    /// Puts the answers together that nodes have made, once they have. If one does not come, the nodes begin again.
    fn collect(&mut self, cancel: &Cancel) -> Result<()> {
        let Some((addresses, number)) = self.manager.answers() else { return Ok(()) };
        let connect = |address| {
            let mut connection = Connection::to(address)?;
            connection.ask(&Request::Answer { attempt: number })?;
            Ok(connection)
        };
        let connections: io::Result<Vec<Connection>> = addresses.iter().map(connect).collect();
        let failed = RefCell::new(None);
        let collected = connections.map(|mut connections| {
            let pull = |connection| pull(connection, cancel, &failed);
            let mut pulls: Vec<Box<Pull<'_>>> = connections.iter_mut().map(pull).collect();
            self.manager.collect(&mut pulls)
        });
        let cause = match (collected, failed.into_inner()) {
            (Ok(collected), None) => return collected,
            (Err(cause), _) | (Ok(_), Some(cause)) => cause,
        };
        self.manager.unreached(&cause);
        Ok(())
    }

    /// Lets the folder appear once nodes have written all parts. A node whose file is not there is left out.
    fn publish(&mut self, folder: &PartsFolder) -> Result<()> {
        let Some((parts, number)) = self.manager.written() else { return Ok(()) };
        let missing =
            parts.iter().enumerate().find(|&(at, &(_, bytes))| !folder.has(number, at, bytes));
        if let Some((_, (id, _))) = missing {
            let Some(&node) = self.numbers.get(id) else { return Ok(()) };
            self.end(node);
            self.lose(node, "what it has written to the folder of the answer is not there");
            return Ok(());
        }
        self.manager.collect(&mut [])?;
        folder.publish(number, parts.len())?;
        self.is_published = true;
        Ok(())
    }

    /// Sends all nodes of the job its pairs, and keeps them for those that come late.
    fn share(&mut self) -> Result<()> {
        let (carrier, answers) = (&mut *self.carrier, &mut self.earlier.answers);
        let nodes: Vec<usize> = self.members.keys().copied().collect();
        let digest = self.manager.tiles().digest();
        // The same job may be done twice.
        let is_kept = answers.has(digest);
        self.manager.share(&mut |order| {
            let bytes = order.encode();
            nodes.iter().for_each(|&node| carrier.tell(node, &bytes));
            if !is_kept {
                answers.keep(self.storage, digest, &bytes);
            }
            Ok(())
        })
    }
}

/// Returns what takes an answer from a node. An error of the link is left in `failed`.
fn pull<'p>(
    connection: &'p mut Connection,
    cancel: &'p Cancel,
    failed: &'p RefCell<Option<io::Error>>,
) -> Box<Pull<'p>> {
    Box::new(move || {
        connection.piece(&|| !cancel.is_cancelled()).map_err(|fault| {
            let cause = fault.into_cause();
            let again = io::Error::new(cause.kind(), cause.to_string());
            *failed.borrow_mut() = Some(again);
            Error::System { action: "receive an answer from a node", cause }
        })
    })
}
