//! The seam between a job over nodes and what carries its messages: pipes to processes, calls of actors, sockets. A
//! carrier brings the bytes of orders and reports to the other end, whole and in order, and says that a node is gone.

use crate::fed::{Fed, Units};
use crate::message::{Order, Report};
use crate::node::{Dropped, Node, Obeyed, ToWrite};
use crate::parts::Parts;
use crate::peer::{Listening, reader};
use crate::task::Task;
use std::fmt;
use std::fs;
use std::net::IpAddr;
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tegula::holding::{Hold, ReduceTotals, Spool, listed};
use tegula::{Aggregate, Cancel, Engine, Error, Input, Job, Options, Output, OutputError, Result};

/// How often a node says that it is alive, and how long it may say nothing before it counts as lost.
pub const BEAT: Duration = Duration::from_millis(500);
pub(crate) const SILENCE_MOST: Duration = Duration::from_secs(5);

/// The byte form of [`Report::Alive`].
pub const ALIVE: &[u8] = &[6];

/// What comes from a node, by its number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The byte form of a [`Report`].
    Told(usize, Vec<u8>),
    /// Nothing will come any more, and why.
    Gone(usize, String),
}

/// The driver's end of what carries messages. Nodes are numbered as the carrier likes, and may come at any time; a node
/// that was gone and comes back has another number.
pub trait Carrier: fmt::Debug + Send {
    /// Returns what messages call a node.
    fn name(&self, node: usize) -> String;

    /// Sends the byte form of an [`Order`]. Does not wait for the node, and says nothing if it is gone.
    fn tell(&mut self, node: usize, order: &[u8]);

    /// Returns the next event, waiting for it so long at most.
    fn next(&mut self, most: Duration) -> Option<Event>;

    /// Ends a node, which is not heard any more.
    fn end(&mut self, node: usize);

    /// Returns the number of nodes that are there, with those that have told nothing yet.
    fn present(&self) -> usize;

    /// Returns whether no node is there and none will come.
    fn is_empty(&self) -> bool;
}

/// Sends the byte form of a [`Report`].
type Tell = dyn Fn(&[u8]) -> Result<()> + Send + Sync;

/// A node's end: it serves the jobs of a driver, one after the other.
pub struct Seat {
    orders: Receiver<Order>,
    tell: Arc<Tell>,
    /// The leases that the present job's node is to drop.
    dropped: Arc<Mutex<Dropped>>,
    /// The memory that jobs may use.
    memory_bytes: Option<u64>,
    /// Where others get what this node has.
    listening: Listening,
    /// The units in which others send the input; `None` if it reads the input itself.
    streamed: Option<Units>,
    /// The input that others send.
    fed: Option<Arc<Fed>>,
}

/// A job that a node serves, whatever its types: what is compiled for each job is here.
trait Serve {
    /// Lets orders fill a holding of the input, and makes its answer; returns where that is to be written, if it is.
    fn serve(
        &mut self,
        seat: &mut Seat,
        input: Input,
        options: &Options,
        next: Option<Next>,
    ) -> Result<Option<ToWrite>>;

    /// Writes the answer to a file, and frees its memory.
    fn write(&mut self, path: &Path, cancel: &Cancel) -> Result<ReduceTotals>;
}

struct Served<'a, J: Job> {
    engine: &'a Engine,
    job: &'a J,
    parts: Option<Parts<'a, J>>,
    output: Option<Output<J>>,
}

impl<J: Job> Serve for Served<'_, J> {
    fn serve(
        &mut self,
        seat: &mut Seat,
        input: Input,
        options: &Options,
        next: Option<Next>,
    ) -> Result<Option<ToWrite>> {
        let mut holding = self.engine.hold(self.job, input, options)?;
        let to_write = seat.serve(&mut *holding, self.engine.workers(), next)?;
        self.output = Some(holding.answer()?);
        Ok(to_write)
    }

    fn write(&mut self, path: &Path, cancel: &Cancel) -> Result<ReduceTotals> {
        let (Some(parts), Some(output)) = (&self.parts, self.output.take()) else {
            return Err(Error::Cancelled);
        };
        let output = (parts.write)(output, path, cancel)?;
        let stats = output.stats();
        let pair_bytes = size_of::<<J::Combine as Aggregate>::Reduced>() as u64;
        let key_bytes = stats.key_value_bytes - stats.keys * pair_bytes;
        Ok(ReduceTotals { keys: stats.keys, key_bytes })
    }
}

/// What goes on when a node has written a part of the answer.
struct Next {
    /// What it has mapped.
    spool: Option<Arc<Spool>>,
    order: Order,
}

/// What a node is.
#[derive(Clone, Copy, Debug)]
pub struct Here {
    /// The memory that jobs may use; `None`: all there is.
    pub memory_bytes: Option<u64>,
    /// The units in which other nodes send the input; `None` if it reads the input itself.
    pub streamed: Option<Units>,
    /// The address by which other nodes reach this machine.
    pub host: IpAddr,
}

/// Where a carrier puts the orders for a node, from any thread.
#[derive(Clone, Debug)]
pub struct Orders {
    orders: Sender<Order>,
    dropped: Arc<Mutex<Dropped>>,
}

impl Orders {
    /// Puts the byte form of an order. Returns whether the node goes on.
    pub fn put(&self, order: &[u8]) -> bool {
        let Ok(order) = Order::decode(order) else {
            self.end();
            return false;
        };
        lock(&self.dropped).see(&order);
        self.orders.send(order).is_ok()
    }

    /// Says that the driver is gone: what is being mapped is dropped. The seat ends when all of these are dropped.
    pub fn end(&self) {
        lock(&self.dropped).drop_all();
    }
}

impl Seat {
    /// Returns a seat, and where its orders are to be put. `tell` sends the byte form of a report, and fails when the
    /// driver is gone.
    ///
    /// # Errors
    /// [`Error::System`] if the node cannot listen for others.
    pub fn new(
        here: Here,
        tell: impl Fn(&[u8]) -> Result<()> + Send + Sync + 'static,
    ) -> Result<(Seat, Orders)> {
        let Here { memory_bytes, streamed, host } = here;
        let listening = Listening::on(host)?;
        let (sender, orders) = channel();
        let dropped = Arc::new(Mutex::new(Dropped::default()));
        let put = Orders { orders: sender, dropped: Arc::clone(&dropped) };
        let tell = Arc::new(tell);
        Ok((Seat { orders, tell, dropped, memory_bytes, listening, streamed, fed: None }, put))
    }

    /// Returns the input of the next job, whose bytes other nodes send, on a node that cannot read it.
    ///
    /// # Errors
    /// [`Error::Cancelled`] when the driver needs this node no more, and
    /// [`StorageError::Damaged`](tegula::StorageError::Damaged) if it is of another version.
    pub fn sent_input(&mut self) -> Result<Option<Input>> {
        let Some(units) = self.streamed else { return Ok(None) };
        (self.tell)(&Report::Asks.encode())?;
        let Ok(Order::Input { from, listing }) = self.orders.recv() else {
            return Err(Error::Cancelled);
        };
        let files = listed(&listing)?;
        let fed = Arc::new(Fed::new(&files, from, units, self.memory_bytes));
        self.fed = Some(Arc::clone(&fed));
        Ok(Some(Input::ranges(fed, files)))
    }

    /// Serves a job until the driver shares its answer. Writes parts of the answer, if the task says how.
    ///
    /// # Errors
    /// [`Error::Cancelled`] when the driver needs this node no more, and those of the job's input.
    pub fn run<J: Job>(&mut self, task: Task<'_, J>) -> Result<Output<J>> {
        let Task { engine, job, input, options, parts } = task;
        let writes = parts.is_some();
        let mut served = Served { engine, job, parts, output: None };
        self.run_any((input, options), writes, &mut served)?;
        served.output.ok_or(Error::Cancelled)
    }

    /// [`run`](Seat::run) without the types of the job.
    fn run_any(
        &mut self,
        (mut input, options): (Input, &Options),
        writes: bool,
        served: &mut dyn Serve,
    ) -> Result<()> {
        let mut options = self.begin(&input, options);
        if writes {
            options.beside_bytes += input.list_bytes();
        }
        let mut next = None;
        let ended = loop {
            // A part may have to be made again, with another holding.
            let input = if writes { input.clone() } else { std::mem::take(&mut input) };
            let after = match served.serve(self, input, &options, next.take()) {
                Ok(Some(to_write)) => {
                    self.write(&to_write, served).and_then(|()| self.wait_beside(to_write))
                }
                Ok(None) => break Ok(()),
                Err(error) => Err(error),
            };
            match after {
                Ok(after) => next = Some(after),
                Err(error) => break Err(error),
            }
        };
        self.say_why(ended.as_ref().err());
        ended
    }

    /// Writes a part of the answer, and tells the driver.
    fn write(&self, to_write: &ToWrite, served: &mut dyn Serve) -> Result<()> {
        let ToWrite { number, path, .. } = to_write;
        let cancel = lock(&self.dropped).until_end();
        let totals = served.write(path, &cancel)?;
        let found = fs::metadata(path);
        let found = found.map_err(|cause| OutputError::Write { path: path.clone(), cause })?;
        (self.tell)(&Report::Written { number: *number, totals, bytes: found.len() }.encode())
    }

    /// Waits for the order that follows a written part. The memory of its answer is free by then.
    fn wait_beside(&self, written: ToWrite) -> Result<Next> {
        let order = self.orders.recv().map_err(|_| Error::Cancelled)?;
        Ok(Next { spool: written.spool, order })
    }

    /// Returns the options of a job over an input, which others may ask for from now on.
    fn begin(&self, input: &Input, options: &Options) -> Options {
        let mut options = options.clone();
        self.listening.offer.files(reader(input).filter(|_| self.streamed.is_none()));
        if let Some(units) = self.streamed {
            options.beside_bytes += Fed::memory(units, self.memory_bytes);
        }
        options
    }

    /// Tells the driver why the node leaves.
    pub(crate) fn say_why(&self, error: Option<&Error>) {
        if let Some(error) = error.filter(|error| !matches!(error, Error::Cancelled)) {
            // The driver may be gone, too.
            let _ = (self.tell)(&Report::Leaves { cause: error.to_string() }.encode());
        }
    }

    /// Obeys orders until the holding has all pairs of the job, or of an answer that is to be written. If a part was
    /// written before, `next` says what goes on.
    fn serve(
        &mut self,
        holding: &mut dyn Hold,
        workers: usize,
        next: Option<Next>,
    ) -> Result<Option<ToWrite>> {
        let tell = Arc::clone(&self.tell);
        let say = &mut |report: Report| tell(&report.encode());
        let (spool, mut order) = match next {
            Some(Next { spool, order }) => (spool, Some(order)),
            None => (None, None),
        };
        let offer = self.listening.offer.clone();
        let mut node = Node::new(holding, self.fed.clone(), offer, spool);
        let before = std::mem::replace(&mut *lock(&self.dropped), node.dropped());
        if before.has_ended() {
            return Err(Error::Cancelled);
        }
        if order.is_none() {
            let address = Some(self.listening.address.clone());
            say(node.ready(workers, self.memory_bytes, address))?;
        }
        loop {
            let order = match order.take() {
                Some(order) => order,
                None => self.orders.recv().map_err(|_| Error::Cancelled)?,
            };
            match node.obey(order, say)? {
                Obeyed::Done => {}
                Obeyed::Complete => return Ok(None),
                Obeyed::Write(to_write) => return Ok(Some(to_write)),
                Obeyed::Left => return Err(Error::Cancelled),
            }
        }
    }
}

impl fmt::Debug for Seat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Seat").field("memory_bytes", &self.memory_bytes).finish_non_exhaustive()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
