//! The feed of the workers with the splits of files: read by the worker that maps them, so that they
//! are in its cache, or, where reads wait, by readers that run ahead of the workers into a bounded
//! number of buffers (SupMR's ingest pipeline). Which of them, and how many readers, is decided while
//! the job runs, by what reading was seen to cost (`readers.rs`). Takes the splits that a hand-out
//! gives; hands on buffers.
//!
//! Every 10 ms the calling thread looks at two figures: whether threads gave their processor away in reads
//! (the system counts that, `blocked.rs`), and whether workers found nothing to map. `Readers` decides from
//! these alone. The load that was read last is mapped first, because it is the likeliest to be in a cache.
//! The number of loads that may lie ready is found too: where workers find nothing and afterwards readers
//! find no room, they wait for each other in turn, so the number doubles each time.

use super::blocked::Waits;
use super::reader::{OpenFile, Reader, SplitBuffer};
use super::readers::{Readers, Seen};
use crate::error::{Error, Result};
use crate::failure::Failure;
use crate::input::{Cut, Material};
use crate::memory::BlockPool;
use crate::plan::Ranged;
use crate::schedule::{HandOut, Pool};
use crate::sizing::{Units, part};
use crate::sync::{Condvar, Mutex, MutexGuard};
use crate::timeline::{self, Context};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, Builder};
use std::time::{Duration, Instant};

const STAGE: &str = "the map stage";
/// How often what was seen is looked at.
const TICK: Duration = Duration::from_millis(10);
/// What a reader reads at a time: enough that what a request costs weighs little.
const AHEAD_BYTES: u64 = 1 << 20;
/// What a load's buffer may take beside its splits: the rest of the last record, and rounding.
const LOAD_MARGIN_BYTES: u64 = 128 << 10;
/// What buffers of files that are read ahead may take for each worker: enough for readers to keep a disk busy. Sources that are
/// slower to answer need more, because more of their reads must be under way at once.
const FILES_AHEAD_BYTES: u64 = 6 << 20;
/// Stack of a reader, which calls a source of the user's.
const READER_STACK_BYTES: usize = 2 << 20;
/// Loads for each worker that may lie ready at first, and the most when workers and readers have waited
/// for each other in turn.
const STOCK_FIRST: usize = 8;
const STOCK_MOST: usize = 32;
/// The most readers of files, and of sources that are slower to answer.
const FILE_READERS_MOST: usize = 16;
const RANGE_READERS_MOST: usize = 64;
/// Files that the process may have open, for each reader: its own, or its connection.
const OPEN_FILES_PER_READER: u64 = 4;

/// What workers are given, and who reads it.
pub struct Feed<'p> {
    ranged: &'p Ranged,
    cut: &'p Cut,
    hand_out: HandOut<'p>,
    /// The split that the hand-out counts from.
    first: u64,
    units: &'p Units,
    blocks: &'p Arc<BlockPool>,
    workers: usize,
    order: Order,
    /// Memory that what is read ahead may take.
    room_bytes: u64,
    /// Splits that a reader takes at a time.
    ahead_splits: u64,
    /// Whether workers read themselves.
    by_workers: AtomicBool,
    /// Stack that each reader is started with.
    stack_bytes: usize,
    watch: Watch,
    state: Mutex<State>,
    /// Readers wait here for free buffers.
    freed: Condvar,
    /// Who decides waits here for the end.
    ended: Condvar,
}

/// Which splits a worker is given of those that are to be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    /// Whichever are the likeliest to be in a cache.
    Any,
    /// None that come before those it was given.
    Ascending,
    /// Those of the tiles in its own queue, in the order of each tile.
    Apart,
}

/// What readers and workers share.
#[derive(Default)]
struct State {
    ready: Vec<Load>,
    free: Vec<SplitBuffer>,
    /// Buffers that there are.
    buffers: usize,
    /// Readers that run, and that should run.
    readers: usize,
    wanted: usize,
    /// The first split of each load that is being read, and for whom.
    reading: BTreeMap<u64, usize>,
    /// Whether a worker found nothing and waits.
    starving: bool,
    /// Loads that may lie ready beside those at work: more, when workers and readers have to wait for
    /// each other in turn.
    stock: usize,
    /// Whether a worker found nothing since the stock grew.
    starved: bool,
    /// Whether all splits are given out.
    exhausted: bool,
    /// Whether memory had no room for buffers.
    no_room: bool,
    /// Whether all are mapped or being mapped.
    ended: bool,
    totals: AheadTotals,
}

/// Splits that were read ahead.
pub struct Load {
    pub splits: Range<u64>,
    /// The worker from whose queue they came.
    owner: usize,
    pub bytes: SplitBuffer,
}

/// What a worker is given.
pub enum Portion {
    /// Splits to be read by the worker.
    Own(Range<u64>),
    /// Splits that were read.
    Read(Load),
    /// Nothing yet.
    Wait,
    /// Nothing any more.
    End,
}

/// What readers did.
#[derive(Clone, Copy, Debug, Default)]
pub struct AheadTotals {
    /// The most readers at once.
    pub readers: usize,
    pub bytes: u64,
    /// Time in reads, summed over readers.
    pub busy: Duration,
}

impl AheadTotals {
    /// Adds what readers did for another part of the input.
    pub fn add(&mut self, later: AheadTotals) {
        self.readers = self.readers.max(later.readers);
        self.bytes += later.bytes;
        self.busy += later.busy;
    }
}

/// What was seen of reading since it was looked at last.
#[derive(Default)]
struct Watch {
    reading_nanos: AtomicU64,
    waited_nanos: AtomicU64,
    loads: AtomicU64,
    starved: AtomicBool,
}

impl<'p> Feed<'p> {
    /// A feed of `workers` workers with splits of a part of the plan; the hand-out counts them from
    /// `first`.
    pub fn new(
        ranged: &'p Ranged,
        cut: &'p Cut,
        hand_out: HandOut<'p>,
        first: u64,
        units: &'p Units,
        blocks: &'p Arc<BlockPool>,
        workers: usize,
    ) -> Feed<'p> {
        let feed = Feed {
            ranged,
            cut,
            hand_out,
            first,
            units,
            blocks,
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
        let room_bytes = blocks.budget().limit() / part::READ_AHEAD;
        match ranged.material {
            Material::Files(_) => feed.within(room_bytes.min(FILES_AHEAD_BYTES * workers as u64)),
            Material::Ranges(..) | Material::Memory(_) => feed.within(room_bytes),
        }
    }

    /// With so much memory for what is read ahead, instead of a share of the budget.
    pub fn within(mut self, room_bytes: u64) -> Feed<'p> {
        let share_bytes = room_bytes / (2 * self.workers as u64 + 2);
        let load_bytes = AHEAD_BYTES.min(share_bytes.saturating_sub(LOAD_MARGIN_BYTES));
        self.room_bytes = room_bytes;
        self.ahead_splits = (load_bytes / self.ranged.layout.split_bytes()).max(1);
        let by_workers = !(self.is_slow_to_answer() && self.may_read_ahead());
        self.by_workers = AtomicBool::new(by_workers);
        self
    }

    /// Such that each worker is given splits in ascending order. The hand-out must be flat.
    pub fn ascending(mut self) -> Feed<'p> {
        self.order = Order::Ascending;
        self
    }

    /// Such that each tile is read in order and mapped by the one worker in whose queue it stands. The
    /// hand-out must have a queue for each worker.
    pub fn apart(mut self) -> Feed<'p> {
        self.order = Order::Apart;
        self
    }

    /// What a worker is to do next. `Own` splits are read by [`read_own`](Feed::read_own); a `Read`
    /// load's buffer comes back by [`give_back`](Feed::give_back).
    pub fn next(&self, worker: usize) -> Portion {
        let by_workers = self.by_workers.load(Ordering::Relaxed);
        if by_workers && self.order == Order::Any {
            if let Some(splits) = self.take(worker, self.units.now()) {
                return Portion::Own(splits);
            }
            self.lock().exhausted = true;
        }
        let mut state = self.lock();
        let load = match self.order {
            Order::Any => state.take_latest(),
            Order::Ascending => state.take_first(|_| true),
            Order::Apart => state.take_first(|owner| owner == worker),
        };
        if let Some(load) = load {
            return Portion::Read(load);
        }
        let is_next = match self.order {
            Order::Any => false,
            Order::Ascending => state.reading.is_empty(),
            Order::Apart => state.reading.values().all(|&owner| owner != worker),
        };
        if by_workers && is_next {
            // Readers take theirs under the same lock: so these come behind all that was read.
            if let Some(splits) = self.take(worker, self.units.now()) {
                return Portion::Own(splits);
            }
            state.exhausted = true;
        }
        if state.exhausted && state.reading.is_empty() {
            state.ended = true;
            self.ended.notify_all();
            return Portion::End;
        }
        (state.starving, state.starved) = (true, true);
        self.watch.starved.store(true, Ordering::Relaxed);
        Portion::Wait
    }

    /// As `next`, when nothing new is to be begun: what was read ahead, or is being read, before the record that
    /// was refused.
    pub fn next_before(&self, failure: &Failure) -> Portion {
        let mut state = self.lock();
        // Asked under the lock: a reader says that it failed before it takes the lock to wake those that wait.
        let split = failure.refused_at();
        let loads = state.ready.iter().enumerate();
        let first = loads.min_by_key(|(_, load)| load.splits.start);
        let first = first.filter(|(_, load)| load.splits.start < split).map(|(at, _)| at);
        if let Some(at) = first {
            return Portion::Read(state.ready.swap_remove(at));
        }
        match state.reading.keys().next().is_some_and(|&start| start < split) {
            true => {
                state.starving = true;
                Portion::Wait
            }
            false => Portion::End,
        }
    }

    /// Where the splits come from, and what it counted.
    pub fn hand_out(&self) -> &HandOut<'p> {
        &self.hand_out
    }

    fn take(&self, worker: usize, most: u64) -> Option<Range<u64>> {
        let splits = self.hand_out.take(worker, most)?;
        Some(self.first + splits.start..self.first + splits.end)
    }

    /// Takes splits for a device, as [`HandOut::take_last`] does.
    pub fn take_last(&self, most: u64) -> Option<Range<u64>> {
        let splits = self.hand_out.take_last(most)?;
        Some(self.first + splits.start..self.first + splits.end)
    }

    /// How many splits workers take at a time.
    pub fn units(&self) -> &Units {
        self.units
    }

    /// Reads splits for the worker that maps them.
    pub fn read_own(
        &self,
        splits: Range<u64>,
        reader: &mut Reader,
        waits: &mut Option<Waits>,
    ) -> Result<Duration> {
        let reading = timeline::begin(timeline::Kind::Read);
        reader.read_splits(self.ranged, splits, self.cut)?;
        let took = reading.end();
        if self.may_read_ahead() {
            let waited = waits.get_or_insert_with(Waits::begin).any_since();
            self.watch.add(took, waited);
        }
        Ok(took)
    }

    /// Takes the buffer of a load that is mapped.
    pub fn give_back(&self, buffer: SplitBuffer) {
        self.lock().free.push(buffer);
        self.freed.notify_one();
    }

    /// Decides who reads, as long as anything is to be read: the calling thread's part.
    pub fn oversee(&self, failure: &Failure, pool: &Pool) -> AheadTotals {
        let mut most = 0;
        if self.may_read_ahead() {
            let context = &Context::here();
            thread::scope(|scope| {
                let mut readers =
                    Readers::new(self.workers, self.readers_most(), self.is_slow_to_answer());
                let mut began = Instant::now();
                let mut wanted = readers.now();
                loop {
                    let mut numbers = self.call_for(wanted, pool);
                    let (before, end) = (numbers.start, numbers.end);
                    let is_refused = |&number: &usize| {
                        let thread = Builder::new().name(format!("reader-{number}"));
                        let serve = move || {
                            let _entered = context.enter();
                            self.serve(number, failure, pool);
                        };
                        thread.stack_size(self.stack_bytes).spawn_scoped(scope, serve).is_err()
                    };
                    let refused = numbers.find(is_refused).unwrap_or(end);
                    if refused > before {
                        most = most.max(refused);
                    }
                    if refused < end {
                        self.lack(end - refused, pool);
                    }
                    if self.wait_for_end(failure) {
                        break;
                    }
                    wanted = readers.tick(self.watch.take(began.elapsed()));
                    began = Instant::now();
                }
                self.call_for(0, pool);
                // One that has asked whether the run failed, just before it did, may be about to wait.
                pool.wake();
            });
        }
        AheadTotals { readers: most, ..self.lock().totals }
    }

    /// Whether reads may have to wait, and there is room for what is read ahead.
    fn may_read_ahead(&self) -> bool {
        !matches!(self.ranged.material, Material::Memory(_)) && self.buffers_most(0) > 0
    }

    /// Whether each read waits, so that workers should not read.
    fn is_slow_to_answer(&self) -> bool {
        matches!(self.ranged.material, Material::Ranges(..))
    }

    fn readers_most(&self) -> usize {
        let most = if self.is_slow_to_answer() { RANGE_READERS_MOST } else { FILE_READERS_MOST };
        let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
        let open = limit.map_or(usize::MAX, |files| (files / OPEN_FILES_PER_READER) as usize);
        most.min(open).min(self.buffers_most(most)).max(1)
    }

    /// The most buffers: two for each worker and one for each reader or load of the stock, as far as the
    /// room goes; none if it has not even one for each worker and one to read into.
    fn buffers_most(&self, others: usize) -> usize {
        let splits_bytes = self.ahead_splits.saturating_mul(self.ranged.layout.split_bytes());
        let load_bytes = splits_bytes.saturating_add(LOAD_MARGIN_BYTES);
        let room = usize::try_from(self.room_bytes / load_bytes).unwrap_or(usize::MAX);
        let most = (2 * self.workers + others).min(room);
        if most > self.workers { most } else { 0 }
    }

    /// Says how many readers there should be; returns the numbers of those that are to be started.
    fn call_for(&self, wanted: usize, pool: &Pool) -> Range<usize> {
        let mut state = self.lock();
        let wanted = if state.no_room { 0 } else { wanted };
        self.by_workers.store(wanted == 0, Ordering::Relaxed);
        let before = state.readers;
        state.wanted = wanted;
        if !state.exhausted {
            state.readers = before.max(wanted);
        }
        let started = before..state.readers;
        self.freed.notify_all();
        if wanted == 0 {
            self.tell(state, pool);
        }
        started
    }

    /// Goes on without readers that could not be started: where there are none, workers read. The next
    /// tick calls for them again.
    fn lack(&self, missing: usize, pool: &Pool) {
        let mut state = self.lock();
        state.readers -= missing;
        self.by_workers.store(state.readers == 0, Ordering::Relaxed);
        self.tell(state, pool);
    }

    /// Waits a tick; returns whether all is mapped, or nothing more shall be.
    fn wait_for_end(&self, failure: &Failure) -> bool {
        let state = self.lock();
        let waited = self.ended.wait_timeout_while(state, TICK, |state| !state.ended);
        let state = waited;
        state.ended || failure.stops()
    }

    /// A reader's life: reads splits into free buffers until there are none, or too many readers.
    fn serve(&self, number: usize, failure: &Failure, pool: &Pool) {
        let (mut open, mut waits) = (OpenFile::default(), Waits::begin());
        while let Some(mut buffer) = self.take_free(failure, pool) {
            let Some((splits, owner)) = self.begin_load(number) else {
                self.put_down(buffer, pool);
                continue;
            };
            let reading = timeline::begin(timeline::Kind::Read);
            let read = failure.attempt(splits.start, STAGE, || {
                buffer.read_splits(self.ranged, splits.clone(), self.cut, &mut open)
            });
            let took = reading.end();
            if read.is_none() {
                // The job ends; nobody asks for what was not read.
                self.put_down(buffer, pool);
                continue;
            }
            let bytes = (splits.end - splits.start) * self.ranged.layout.split_bytes();
            self.watch.add(took, waits.any_since());
            self.watch.loads.fetch_add(1, Ordering::Relaxed);
            self.put_up(Load { splits, owner, bytes: buffer }, took, bytes, pool);
        }
    }

    /// Takes splits for a load that a reader reads from now on, and says from whose queue.
    fn begin_load(&self, reader: usize) -> Option<(Range<u64>, usize)> {
        let mut state = self.lock();
        let mut owners: Vec<usize> = match self.order {
            Order::Apart => (0..self.workers).collect(),
            Order::Any | Order::Ascending => vec![reader % self.workers],
        };
        owners.sort_by_cached_key(|&owner| state.loads_of(owner));
        let (splits, owner) = owners
            .into_iter()
            .find_map(|owner| self.take(owner, self.ahead_splits).map(|splits| (splits, owner)))?;
        state.reading.insert(splits.start, owner);
        Some((splits, owner))
    }

    /// Waits for a buffer to read into; `None` if its reader is to go.
    fn take_free(&self, failure: &Failure, pool: &Pool) -> Option<SplitBuffer> {
        let mut state = self.lock();
        loop {
            if state.exhausted || state.readers > state.wanted || failure.stops() {
                state.readers -= 1;
                return None;
            }
            if let Some(buffer) = state.free.pop() {
                return Some(buffer);
            }
            // Workers starved and now readers find no room: only what lies ready between evens that out.
            if std::mem::take(&mut state.starved) {
                state.stock = (2 * state.stock).min(STOCK_MOST * self.workers);
            }
            if state.buffers < self.buffers_most(state.wanted + state.stock) {
                state.buffers += 1;
                drop(state);
                let bytes = self.ahead_splits * self.ranged.layout.split_bytes();
                match SplitBuffer::new(self.blocks, bytes) {
                    Ok(buffer) => return Some(buffer),
                    Err(cause) => self.do_without(cause, failure, pool),
                }
                state = self.lock();
                continue;
            }
            let waited = self.freed.wait_timeout(state, TICK);
            state = waited;
        }
    }

    /// There is no memory for one more buffer: workers read, if they can.
    fn do_without(&self, cause: Error, failure: &Failure, pool: &Pool) {
        let mut state = self.lock();
        state.buffers -= 1;
        if self.is_slow_to_answer() && state.buffers == 0 {
            failure.attempt(u64::MAX, STAGE, || Err::<(), _>(cause));
        }
        state.no_room = true;
        state.wanted = 0;
        self.by_workers.store(true, Ordering::Relaxed);
        self.tell(state, pool);
    }

    /// A reader has read nothing: nothing is left, or what is left is of no use.
    fn put_down(&self, buffer: SplitBuffer, pool: &Pool) {
        let mut state = self.lock();
        state.free.push(buffer);
        state.exhausted = true;
        self.tell(state, pool);
        self.freed.notify_all();
    }

    fn put_up(&self, load: Load, took: Duration, bytes: u64, pool: &Pool) {
        let mut state = self.lock();
        state.reading.remove(&load.splits.start);
        state.ready.push(load);
        state.totals.bytes += bytes;
        state.totals.busy += took;
        self.tell(state, pool);
    }

    /// Tells workers that wait of what has changed.
    fn tell(&self, mut state: MutexGuard<'_, State>, pool: &Pool) {
        let starving = std::mem::take(&mut state.starving);
        drop(state);
        if starving {
            pool.wake();
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }
}

impl State {
    /// The load that came last, which is the likeliest to be in a cache.
    fn take_latest(&mut self) -> Option<Load> {
        self.ready.pop()
    }

    /// The first load in the order of the input, of those from some queues, if none before it is still to
    /// come.
    fn take_first(&mut self, is_of: impl Fn(usize) -> bool) -> Option<Load> {
        let loads = self.ready.iter().enumerate().filter(|(_, load)| is_of(load.owner));
        let (at, first) = loads.min_by_key(|(_, load)| load.splits.start)?;
        let mut reading = self.reading.iter().filter(|(_, owner)| is_of(**owner));
        let is_next = reading.next().is_none_or(|(&start, _)| first.splits.start < start);
        is_next.then(|| self.ready.swap_remove(at))
    }

    /// Loads from a worker's queue that are read, or being read.
    fn loads_of(&self, worker: usize) -> usize {
        self.ready.iter().filter(|load| load.owner == worker).count()
            + self.reading.values().filter(|owner| **owner == worker).count()
    }
}

impl Watch {
    fn add(&self, took: Duration, waited: bool) {
        let nanos = took.as_nanos() as u64;
        self.reading_nanos.fetch_add(nanos, Ordering::Relaxed);
        if waited {
            self.waited_nanos.fetch_add(nanos, Ordering::Relaxed);
        }
    }

    /// What was seen over the last `time`.
    fn take(&self, time: Duration) -> Seen {
        let take = |nanos: &AtomicU64| nanos.swap(0, Ordering::Relaxed);
        Seen {
            time,
            reading: Duration::from_nanos(take(&self.reading_nanos)),
            waited: Duration::from_nanos(take(&self.waited_nanos)),
            loads: take(&self.loads),
            starved: self.starved.swap(false, Ordering::Relaxed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cancel::Cancel;
    use crate::input::{Input, RangeSource, Source};
    use crate::memory::Budget;
    use crate::plan::{DirectReads, Layout};
    use crate::schedule::{Placement, Step};
    use std::io;
    use std::path::Path;

    /// One file of zeros.
    #[derive(Debug)]
    struct Zeros;

    impl RangeSource for Zeros {
        fn read_at(&self, _: &Path, _: u64, into: &mut [u8]) -> io::Result<()> {
            into.fill(0);
            Ok(())
        }
    }

    fn ranged(is_far: bool, bytes: u64, split_bytes: u64) -> Ranged {
        let source = Input::ranges(Arc::new(Zeros), [("zeros", bytes)]).sources.pop();
        let material = match source {
            Some(Source::Ranges(source, files)) if is_far => Material::Ranges(source, files),
            Some(Source::Ranges(_, files)) => Material::Files(files),
            _ => panic!("ranges are a source of ranges"),
        };
        let layout = Layout::new([bytes].into_iter(), bytes, split_bytes, false);
        Ranged { number: 0, material, layout, direct: DirectReads::default() }
    }

    /// A thread with a stack of half of the address space cannot be had, as one beyond a limit on threads.
    #[test]
    fn workers_read_where_no_reader_can_be_started() {
        const BYTES: u64 = 10 << 20;
        let ranged = ranged(true, BYTES, 64 << 10);
        let (cut, units) = (Cut::Fixed(1), Units::fixed(64 << 10));
        let blocks = BlockPool::new(Budget::new(None));
        let (pool, placement) = (Pool::new(2, |_| ()).unwrap(), Placement::flat(2));
        let hand_out = HandOut::new(ranged.layout.tile_ends(), &placement);
        let feed = Feed::new(&ranged, &cut, hand_out, 0, &units, &blocks, 2);
        let feed = Feed { stack_bytes: usize::MAX / 2, ..feed };
        let (failure, read) = (Failure::new(&Cancel::new()), AtomicU64::new(0));
        let step = |worker| match feed.next(worker) {
            Portion::End => Step::Done,
            Portion::Wait => Step::Idle,
            Portion::Read(_) => panic!("there is no reader"),
            Portion::Own(splits) => {
                let done = failure.attempt(0, STAGE, || {
                    let mut reader = Reader::new(&blocks, 64 << 10)?;
                    feed.read_own(splits, &mut reader, &mut None)?;
                    let bytes = reader.read.pieces.iter().map(|piece| piece.records.len() as u64);
                    read.fetch_add(bytes.sum(), Ordering::Relaxed);
                    Ok(())
                });
                if done.is_some() { Step::More } else { Step::Done }
            }
        };
        let totals = pool.run(step, || feed.oversee(&failure, &pool));
        failure.check().unwrap();
        assert_eq!((read.into_inner(), totals.readers, totals.bytes), (BYTES, 0, 0));
    }

    #[test]
    fn what_is_read_ahead_of_files_is_bounded_for_each_worker() {
        let ranged = ranged(false, 1 << 40, 64 << 10);
        let (cut, units) = (Cut::Lines, Units::fixed(64 << 10));
        let blocks = BlockPool::new(Budget::new(None));
        for workers in 1..100 {
            let placement = Placement::flat(workers);
            let hand_out = HandOut::new(ranged.layout.tile_ends(), &placement);
            let feed = Feed::new(&ranged, &cut, hand_out, 0, &units, &blocks, workers);
            let buffers = feed.buffers_most(feed.readers_most() + STOCK_MOST * workers) as u64;
            let bytes = buffers * (feed.ahead_splits * (64 << 10) + LOAD_MARGIN_BYTES);
            assert!(bytes <= FILES_AHEAD_BYTES * workers as u64, "{bytes} with {workers} workers");
            // One for each worker and as many readers as a disk needs, and one at least.
            assert!(buffers >= 2 * workers as u64 && feed.readers_most() >= 4);
        }
    }
}
