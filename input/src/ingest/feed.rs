//! The feed of the workers with the splits of files: read by the worker that maps them, so that they
//! are in its cache, or, where reads wait, by readers that run ahead of the workers into a bounded
//! number of buffers (SupMR's ingest pipeline). Which of them, and how many readers, is decided while
//! the job runs, by the measured cost of reading (`ahead.rs`). Takes the splits that a hand-out
//! gives; hands on buffers.

use super::ahead::{AheadTotals, READER_STACK_BYTES, Watch};
use super::blocked::Waits;
use super::reader::Reader;
use crate::error::Result;
use crate::failure::Failure;
use crate::input::Material;
use crate::memory::BlockPool;
use crate::plan::{Plan, Ranged};
use crate::schedule::{HandOut, Pool, Share};
use crate::sizing::{Units, part};
use crate::sync::{Condvar, Mutex};
use crate::timeline;
use crate::unit::{Next, Unit};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

pub(super) const STAGE: &str = "the map stage";
/// The bytes that a reader reads at a time: enough that the cost of a request is small.
const AHEAD_BYTES: u64 = 1 << 20;
/// The memory of a load's buffer beside its splits: the rest of the last record, and rounding.
pub(super) const LOAD_MARGIN_BYTES: u64 = 128 << 10;
/// The memory of buffers of files that are read ahead, for each worker: enough for readers to keep a disk
/// busy. Slower sources need more, because more of their reads must be in flight at once.
pub(super) const FILES_AHEAD_BYTES: u64 = 6 << 20;
/// Loads for each worker that may lie ready at first.
const STOCK_FIRST: usize = 8;

/// The means of taking input in.
#[derive(Clone, Copy)]
pub struct Means<'p> {
    pub plan: &'p Plan,
    pub blocks: &'p Arc<BlockPool>,
    pub pool: &'p Pool,
    pub failure: &'p Failure,
    /// The workers that may take new work, if not all may.
    pub share: Option<&'p Share>,
}

/// The splits for workers, and their readers.
pub struct Feed<'p> {
    pub(super) ranged: &'p Ranged,
    hand_out: HandOut<'p>,
    /// The split that the hand-out counts from.
    first: u64,
    units: &'p Units,
    pub(super) means: Means<'p>,
    pub(super) workers: usize,
    pub(super) order: Order,
    /// Memory for reading ahead.
    pub(super) room_bytes: u64,
    /// Splits that a reader takes at a time.
    pub(super) ahead_splits: u64,
    /// Whether workers read themselves.
    pub(super) by_workers: AtomicBool,
    /// Stack that each reader is started with.
    pub(super) stack_bytes: usize,
    pub(super) watch: Watch,
    pub(super) state: Mutex<State>,
    /// Readers wait here for free buffers.
    pub(super) freed: Condvar,
    /// Who decides waits here for the end.
    pub(super) ended: Condvar,
}

/// The order in which a worker gets splits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// First those that are likeliest to be in a cache.
    Any,
    /// None before those that it got earlier, but for tiles that its group steals.
    Ascending,
    /// Those of the tiles in its own queue, in the order of each tile.
    Apart,
}

/// The data that readers and workers share.
#[derive(Default)]
pub(super) struct State {
    pub(super) ready: Vec<Load>,
    pub(super) free: Vec<Unit>,
    /// The number of buffers.
    pub(super) buffers: usize,
    /// Readers that run, and that should run.
    pub(super) readers: usize,
    pub(super) wanted: usize,
    /// The first split of each load that is being read, and its worker.
    pub(super) reading: BTreeMap<u64, usize>,
    /// Whether a worker found nothing and waits.
    pub(super) starving: bool,
    /// Loads that may be ready beside those at work. It grows when workers and readers wait for each other in
    /// turn.
    pub(super) stock: usize,
    /// Whether a worker found nothing since the stock grew.
    pub(super) starved: bool,
    /// Whether all splits are given out.
    pub(super) exhausted: bool,
    /// Whether memory had no room for buffers.
    pub(super) no_room: bool,
    /// Whether all are mapped or being mapped.
    pub(super) ended: bool,
    pub(super) totals: AheadTotals,
}

/// Splits that were read ahead.
pub(super) struct Load {
    /// The worker from whose queue they came.
    pub(super) owner: usize,
    pub(super) unit: Unit,
}

impl<'p> Feed<'p> {
    /// Returns a feed of the workers with splits of a part of the plan; the hand-out counts them from
    /// `first`.
    pub fn new(
        means: Means<'p>,
        ranged: &'p Ranged,
        hand_out: HandOut<'p>,
        first: u64,
        units: &'p Units,
    ) -> Feed<'p> {
        let workers = means.pool.workers();
        let feed = Feed {
            ranged,
            hand_out,
            first,
            units,
            means,
            workers,
            order: Order::Any,
            room_bytes: 0,
            ahead_splits: 1,
            by_workers: AtomicBool::new(true),
            stack_bytes: READER_STACK_BYTES,
            watch: Watch::default(),
            state: Mutex::new(State { stock: STOCK_FIRST * workers, ..State::default() }),
            freed: Condvar::new(),
            ended: Condvar::new(),
        };
        let room_bytes = means.blocks.budget().limit() / part::READ_AHEAD;
        match ranged.material {
            Material::Files(_) => feed.within(room_bytes.min(FILES_AHEAD_BYTES * workers as u64)),
            Material::Ranges(..) | Material::Memory(_) => feed.within(room_bytes),
        }
    }

    /// Sets the memory for reading ahead, instead of a share of the budget.
    pub fn within(mut self, room_bytes: u64) -> Feed<'p> {
        let share_bytes = room_bytes / (2 * self.workers as u64 + 2);
        let load_bytes = AHEAD_BYTES.min(share_bytes.saturating_sub(LOAD_MARGIN_BYTES));
        self.room_bytes = room_bytes;
        self.ahead_splits = (load_bytes / self.ranged.layout.split_bytes()).max(1);
        let by_workers = !(self.is_slow_to_answer() && self.may_read_ahead());
        self.by_workers = AtomicBool::new(by_workers);
        self
    }

    /// Such that each worker is given the splits of its group's queue in ascending order. After those come stolen ones.
    pub fn ascending(mut self) -> Feed<'p> {
        self.order = Order::Ascending;
        self
    }

    /// Makes each tile be read in order and mapped by the one worker in whose queue it is. The hand-out must
    /// have a queue for each worker.
    pub fn apart(mut self) -> Feed<'p> {
        self.order = Order::Apart;
        self
    }

    /// Returns the next work of a worker. Splits to `Read` are read by [`read_own`](Feed::read_own); a `Unit`
    /// comes back by [`give_back`](Feed::give_back).
    pub(super) fn next(&self, worker: usize) -> Next {
        if self.order == Order::Any && self.by_workers.load(Ordering::Relaxed) {
            if let Some(splits) = self.take(worker, self.units.now()) {
                return Next::Read(splits);
            }
            self.state.lock().exhausted = true;
        }
        let mut state = self.state.lock();
        // Readers are called for under this lock: a worker that took all for handed out after that would end others.
        let by_workers = self.by_workers.load(Ordering::Relaxed);
        let load = match self.order {
            Order::Any => state.take_latest(),
            Order::Ascending => {
                let others = state.exhausted;
                let own = state.take_first(|owner| self.hand_out.are_of_one_group(owner, worker));
                own.or_else(|| state.take_first(|_| others))
            }
            Order::Apart => state.take_first(|owner| owner == worker),
        };
        if let Some(load) = load {
            return Next::Unit(load.unit);
        }
        let is_next = match self.order {
            Order::Any => false,
            Order::Ascending => {
                let mut owners = state.reading.values();
                !owners.any(|&owner| self.hand_out.are_of_one_group(owner, worker))
            }
            Order::Apart => state.reading.values().all(|&owner| owner != worker),
        };
        if by_workers && is_next {
            // Readers take theirs under the same lock, so these splits are after all that were read.
            if let Some(splits) = self.take(worker, self.units.now()) {
                return Next::Read(splits);
            }
            state.exhausted = true;
        }
        if state.exhausted && state.reading.is_empty() {
            state.ended = true;
            self.ended.notify_all();
            return Next::End;
        }
        (state.starving, state.starved) = (true, true);
        self.watch.starved.store(true, Ordering::Relaxed);
        Next::Wait
    }

    /// As `next`, when nothing new may begin: returns loads that were read ahead, or are being read, before
    /// the record that was refused.
    pub(super) fn next_before(&self) -> Next {
        let mut state = self.state.lock();
        // Read under the lock: a reader records its failure before it takes the lock to wake waiting workers.
        let split = self.means.failure.refused_at();
        let loads = state.ready.iter().enumerate();
        let first = loads.min_by_key(|(_, load)| load.unit.splits.start);
        let first = first.filter(|(_, load)| load.unit.splits.start < split).map(|(at, _)| at);
        if let Some(at) = first {
            return Next::Unit(state.ready.swap_remove(at).unit);
        }
        match state.reading.keys().next().is_some_and(|&start| start < split) {
            true => {
                state.starving = true;
                Next::Wait
            }
            false => Next::End,
        }
    }

    /// Returns whether loads lie ready that only this worker can map.
    pub(super) fn owes(&self, worker: usize) -> bool {
        self.order == Order::Apart
            && self.state.lock().ready.iter().any(|load| load.owner == worker)
    }

    /// Returns the source of the splits, with its counts.
    pub fn hand_out(&self) -> &HandOut<'p> {
        &self.hand_out
    }

    pub(super) fn take(&self, worker: usize, most: u64) -> Option<Range<u64>> {
        let splits = self.hand_out.take(worker, most)?;
        Some(self.first + splits.start..self.first + splits.end)
    }

    /// Takes splits for a device, as [`HandOut::take_last`] does.
    pub fn take_last(&self, most: u64) -> Option<Range<u64>> {
        let splits = self.hand_out.take_last(most)?;
        Some(self.first + splits.start..self.first + splits.end)
    }

    /// Returns the number of splits that workers take at a time.
    pub(super) fn units(&self) -> &Units {
        self.units
    }

    /// Reads splits for the worker that maps them.
    pub(super) fn read_own(&self, splits: Range<u64>, reader: &mut Reader) -> Result<Duration> {
        let reading = timeline::begin(timeline::Kind::Read);
        // Between reads a worker waits for other things, such as a lock.
        let waits = self.may_read_ahead().then(Waits::begin);
        reader.read_splits(self.ranged, splits, &self.means.plan.cut)?;
        let took = reading.end();
        waits.iter().for_each(|waits| self.watch.add(took, waits.any()));
        Ok(took)
    }

    /// Takes a unit that is mapped, to be filled again.
    pub(super) fn give_back(&self, unit: Unit) {
        self.state.lock().free.push(unit);
        self.freed.notify_one();
    }
}

impl State {
    /// Returns the load that came last, which is the likeliest to be in a cache.
    fn take_latest(&mut self) -> Option<Load> {
        self.ready.pop()
    }

    /// Returns the first load in the order of the input, of those from some queues, if none before it is
    /// still to come.
    fn take_first(&mut self, is_of: impl Fn(usize) -> bool) -> Option<Load> {
        let loads = self.ready.iter().enumerate().filter(|(_, load)| is_of(load.owner));
        let (at, first) = loads.min_by_key(|(_, load)| load.unit.splits.start)?;
        let mut reading = self.reading.iter().filter(|(_, owner)| is_of(**owner));
        let is_next = reading.next().is_none_or(|(&start, _)| first.unit.splits.start < start);
        is_next.then(|| self.ready.swap_remove(at))
    }

    /// Loads from a worker's queue that are read, or being read.
    pub(super) fn loads_of(&self, worker: usize) -> usize {
        self.ready.iter().filter(|load| load.owner == worker).count()
            + self.reading.values().filter(|owner| **owner == worker).count()
    }
}
