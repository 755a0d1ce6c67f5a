//! Readers that run ahead of the workers: threads that fill buffers with the splits of a [`Feed`], where
//! reads wait. Takes measurements of reading; hands on the number of readers, and their loads.
//!
//! Every 10 ms the calling thread looks at two figures: whether threads gave their processor away in reads
//! (the system counts that, `blocked.rs`), and whether workers found nothing to map. `Readers` decides from
//! these alone. The load that was read last is mapped first, because it is the likeliest to be in a cache.
//! The number of loads that may lie ready is found too: where workers find nothing and afterwards readers
//! find no room, they wait for each other in turn, so the number doubles each time.

use super::blocked::Waits;
use super::feed::{Feed, LOAD_MARGIN_BYTES, Load, Order, STAGE, State};
use super::reader::{Opened, unit_for};
use super::readers::{Readers, Seen};
use crate::error::Error;
use crate::input::Material;
use crate::sync::MutexGuard;
use crate::timeline::{self, Context};
use crate::unit::Unit;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, Builder};
use std::time::{Duration, Instant};

/// The interval between looks at the measurements.
const TICK: Duration = Duration::from_millis(10);
/// Stack of a reader, which calls a source of the user's.
pub(super) const READER_STACK_BYTES: usize = 2 << 20;
/// Loads for each worker that may lie ready at most, when workers and readers have waited for each other in
/// turn.
const STOCK_MOST: usize = 32;
/// The most readers of files, and of sources that are slower to answer.
const FILE_READERS_MOST: usize = 16;
const RANGE_READERS_MOST: usize = 64;
/// Files that the process may have open, for each reader: its own, or its connection.
const OPEN_FILES_PER_READER: u64 = 4;

/// The counts of readers.
#[derive(Clone, Copy, Debug, Default)]
pub struct AheadTotals {
    /// The most readers at once.
    pub readers: usize,
    pub bytes: u64,
    /// Time in reads, summed over readers.
    pub busy: Duration,
}

impl AheadTotals {
    pub fn add(&mut self, later: AheadTotals) {
        self.readers = self.readers.max(later.readers);
        self.bytes += later.bytes;
        self.busy += later.busy;
    }
}

/// The measurements of reading since the last look.
#[derive(Default)]
pub(super) struct Watch {
    reading_nanos: AtomicU64,
    waited_nanos: AtomicU64,
    loads: AtomicU64,
    pub(super) starved: AtomicBool,
}

impl Feed<'_> {
    /// Decides who reads, as long as anything is left to read: the calling thread's part.
    pub(super) fn oversee(&self) -> AheadTotals {
        let mut most = 0;
        if self.may_read_ahead() {
            let context = &Context::here();
            thread::scope(|scope| {
                let mut readers =
                    Readers::new(self.workers, self.readers_most(), self.is_slow_to_answer());
                let mut began = Instant::now();
                let mut wanted = readers.now();
                loop {
                    let mut numbers = self.call_for(wanted);
                    let (before, end) = (numbers.start, numbers.end);
                    let is_refused = |&number: &usize| {
                        let thread = Builder::new().name(format!("reader-{number}"));
                        let serve = move || {
                            let _entered = context.enter();
                            self.serve(number);
                        };
                        thread.stack_size(self.stack_bytes).spawn_scoped(scope, serve).is_err()
                    };
                    let refused = numbers.find(is_refused).unwrap_or(end);
                    if refused > before {
                        most = most.max(refused);
                    }
                    if refused < end {
                        self.lack(end - refused);
                    }
                    if self.wait_for_end() {
                        break;
                    }
                    wanted = readers.tick(self.watch.take(began.elapsed()));
                    began = Instant::now();
                }
                self.call_for(0);
                // One that has asked whether the run failed, just before it did, may be about to wait.
                self.means.pool.wake();
            });
        }
        AheadTotals { readers: most, ..self.state.lock().totals }
    }

    /// Returns whether reads may have to wait, and there is room for reading ahead.
    pub(super) fn may_read_ahead(&self) -> bool {
        !matches!(self.ranged.material, Material::Memory(_)) && self.buffers_most(0) > 0
    }

    /// Returns whether each read waits, so that workers should not read.
    pub(super) fn is_slow_to_answer(&self) -> bool {
        matches!(self.ranged.material, Material::Ranges(..))
    }

    fn readers_most(&self) -> usize {
        let most = if self.is_slow_to_answer() { RANGE_READERS_MOST } else { FILE_READERS_MOST };
        let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
        let open = limit.map_or(usize::MAX, |files| (files / OPEN_FILES_PER_READER) as usize);
        most.min(open).min(self.buffers_most(most)).max(1)
    }

    /// Returns the most buffers: two for each worker and one for each reader or load of the stock, as far as
    /// the room goes; none if it has not even one for each worker and one to read into.
    fn buffers_most(&self, others: usize) -> usize {
        let splits_bytes = self.ahead_splits.saturating_mul(self.ranged.layout.split_bytes());
        let load_bytes = splits_bytes.saturating_add(LOAD_MARGIN_BYTES);
        let room = usize::try_from(self.room_bytes / load_bytes).unwrap_or(usize::MAX);
        let most = (2 * self.workers + others).min(room);
        if most > self.workers { most } else { 0 }
    }

    /// Sets the number of readers; returns the numbers of those to start.
    fn call_for(&self, wanted: usize) -> Range<usize> {
        let mut state = self.state.lock();
        let wanted = if state.no_room { 0 } else { wanted };
        // No reader is started any more when all was handed out.
        self.by_workers.store(wanted == 0 || state.exhausted, Ordering::Relaxed);
        let before = state.readers;
        state.wanted = wanted;
        if !state.exhausted {
            state.readers = before.max(wanted);
        }
        let started = before..state.readers;
        self.freed.notify_all();
        if wanted == 0 {
            self.tell(state);
        }
        started
    }

    /// Continues without readers that could not be started: if there are none, workers read. The next tick
    /// tries again.
    fn lack(&self, missing: usize) {
        let mut state = self.state.lock();
        state.readers -= missing;
        self.by_workers.store(state.readers == 0 || state.exhausted, Ordering::Relaxed);
        self.tell(state);
    }

    /// Waits a tick; returns whether all is mapped, or nothing more shall be.
    fn wait_for_end(&self) -> bool {
        let state = self.state.lock();
        let state = self.ended.wait_timeout_while(state, TICK, |state| !state.ended);
        state.ended || self.means.failure.stops()
    }

    /// A reader's life: reads splits into free buffers until there are none, or too many readers.
    fn serve(&self, number: usize) {
        let mut open = Opened::none();
        while let Some(mut unit) = self.take_free() {
            let Some((splits, owner)) = self.begin_load(number) else {
                self.put_down(unit);
                continue;
            };
            let (reading, waits) = (timeline::begin(timeline::Kind::Read), Waits::begin());
            let read = self.means.failure.attempt(splits.start, STAGE, || {
                unit.read_splits(self.ranged, splits.clone(), &self.means.plan.cut, &mut open)
            });
            let took = reading.end();
            if read.is_none() {
                // The job ends, so the unread bytes are not needed.
                self.put_down(unit);
                continue;
            }
            let bytes = (splits.end - splits.start) * self.ranged.layout.split_bytes();
            self.watch.add(took, waits.any());
            self.watch.loads.fetch_add(1, Ordering::Relaxed);
            self.put_up(Load { owner, unit }, took, bytes);
        }
    }

    /// Takes splits for a load that a reader reads from now on, and says from whose queue.
    fn begin_load(&self, reader: usize) -> Option<(Range<u64>, usize)> {
        let mut state = self.state.lock();
        let mut owners: Vec<usize> = match self.order {
            Order::Apart | Order::Ascending => (0..self.workers).collect(),
            Order::Any => vec![reader % self.workers],
        };
        // Those first who may take new work.
        let is_outside = |owner| self.means.share.is_some_and(|share| !share.has(owner));
        owners.sort_by_cached_key(|&owner| (is_outside(owner), state.loads_of(owner)));
        let (splits, owner) = owners
            .into_iter()
            .find_map(|owner| self.take(owner, self.ahead_splits).map(|splits| (splits, owner)))?;
        state.reading.insert(splits.start, owner);
        Some((splits, owner))
    }

    /// Waits for a buffer to read into; `None` if its reader is to go.
    fn take_free(&self) -> Option<Unit> {
        let mut state = self.state.lock();
        loop {
            if state.exhausted || state.readers > state.wanted || self.means.failure.stops() {
                state.readers -= 1;
                return None;
            }
            if self.means.share.is_some_and(|share| share.is_empty(self.workers)) {
                state = self.freed.wait_timeout(state, TICK);
                continue;
            }
            if let Some(unit) = state.free.pop() {
                return Some(unit);
            }
            // Workers starved and now readers find no room; only a larger stock evens that out.
            if std::mem::take(&mut state.starved) {
                state.stock = (2 * state.stock).min(STOCK_MOST * self.workers);
            }
            if state.buffers < self.buffers_most(state.wanted + state.stock) {
                state.buffers += 1;
                drop(state);
                let bytes = self.ahead_splits * self.ranged.layout.split_bytes();
                match unit_for(self.means.blocks, bytes) {
                    Ok(unit) => return Some(unit),
                    Err(cause) => self.do_without(cause),
                }
                state = self.state.lock();
                continue;
            }
            state = self.freed.wait_timeout(state, TICK);
        }
    }

    /// There is no memory for one more buffer: workers read, if they can.
    fn do_without(&self, cause: Error) {
        let mut state = self.state.lock();
        state.buffers -= 1;
        if self.is_slow_to_answer() && state.buffers == 0 {
            self.means.failure.attempt(u64::MAX, STAGE, || Err::<(), _>(cause));
        }
        state.no_room = true;
        state.wanted = 0;
        self.by_workers.store(true, Ordering::Relaxed);
        self.tell(state);
    }

    /// Returns a reader's unused buffer: no split is left, or the rest is not needed.
    fn put_down(&self, unit: Unit) {
        let mut state = self.state.lock();
        state.free.push(unit);
        state.exhausted = true;
        self.tell(state);
        self.freed.notify_all();
    }

    fn put_up(&self, load: Load, took: Duration, bytes: u64) {
        let mut state = self.state.lock();
        state.reading.remove(&load.unit.splits.start);
        state.ready.push(load);
        state.totals.bytes += bytes;
        state.totals.busy += took;
        self.tell(state);
    }

    /// Wakes waiting workers after a change.
    fn tell(&self, mut state: MutexGuard<'_, State>) {
        let starving = std::mem::take(&mut state.starving);
        drop(state);
        if starving {
            self.means.pool.wake();
        }
    }
}

impl Watch {
    pub(super) fn add(&self, took: Duration, waited: bool) {
        let nanos = took.as_nanos() as u64;
        self.reading_nanos.fetch_add(nanos, Ordering::Relaxed);
        if waited {
            self.waited_nanos.fetch_add(nanos, Ordering::Relaxed);
        }
    }

    /// Returns the measurements of the last `time`.
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
    use super::super::feed::{FILES_AHEAD_BYTES, Means};
    use super::super::reader::Reader;
    use super::*;
    use crate::cancel::Cancel;
    use crate::failure::Failure;
    use crate::input::{Cut, Input, RangeSource, Source};
    use crate::memory::{BlockPool, Budget};
    use crate::plan::{Cutting, DirectReads, Layout, Plan, Ranged, Reads};
    use crate::schedule::{HandOut, Placement, Pool, Step};
    use crate::sizing::Units;
    use crate::unit::Next;
    use std::io;
    use std::path::Path;
    use std::sync::Arc;

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

    fn plan(cut: Cut) -> Plan {
        let (sources, bytes) = (Vec::new(), 64 << 10);
        let (split_bytes, unit_bytes, reads) = (bytes, bytes, Reads::Cached);
        let cutting =
            Cutting { tile_bytes: bytes, split_bytes, unit_bytes, reads, skip_torn: false };
        Plan::new(Input { sources, passed_over: 0 }, cut, cutting).unwrap()
    }

    /// A thread with a stack of half of the address space cannot be had, as one beyond a limit on threads.
    #[test]
    fn workers_read_where_no_reader_can_be_started() {
        const BYTES: u64 = 10 << 20;
        let ranged = ranged(true, BYTES, 64 << 10);
        let (plan, units) = (&plan(Cut::Fixed(1)), Units::fixed(64 << 10));
        let blocks = &BlockPool::new(Budget::new(None));
        let (pool, placement) = (&Pool::new(2, |_| ()).unwrap(), Placement::flat(2));
        let hand_out = HandOut::new(ranged.layout.tile_ends(), &placement);
        let (failure, read) = (&Failure::new(&Cancel::new()), AtomicU64::new(0));
        let means = Means { plan, blocks, pool, failure, share: None };
        let mut feed = Feed::new(means, &ranged, hand_out, 0, &units);
        feed.stack_bytes = usize::MAX / 2;
        let step = |worker| match feed.next(worker) {
            Next::End => Step::Done,
            Next::Wait => Step::Idle,
            Next::Unit(_) => panic!("there is no reader"),
            Next::Read(splits) => {
                let done = failure.attempt(0, STAGE, || {
                    let mut reader = Reader::new(blocks, 64 << 10)?;
                    feed.read_own(splits, &mut reader)?;
                    let bytes = reader.read.pieces.iter().map(|piece| piece.records.len() as u64);
                    read.fetch_add(bytes.sum(), Ordering::Relaxed);
                    Ok(())
                });
                if done.is_some() { Step::More } else { Step::Done }
            }
        };
        let totals = pool.run(step, || feed.oversee());
        failure.check().unwrap();
        assert_eq!((read.into_inner(), totals.readers, totals.bytes), (BYTES, 0, 0));
    }

    #[test]
    fn what_is_read_ahead_of_files_is_bounded_for_each_worker() {
        let ranged = ranged(false, 1 << 40, 64 << 10);
        let (plan, units) = (&plan(Cut::Lines), Units::fixed(64 << 10));
        let (blocks, failure) = (&BlockPool::new(Budget::new(None)), &Failure::new(&Cancel::new()));
        for workers in 1..100 {
            let pool = &Pool::new(workers, |_| ()).unwrap();
            let means = Means { plan, blocks, pool, failure, share: None };
            let placement = Placement::flat(workers);
            let hand_out = HandOut::new(ranged.layout.tile_ends(), &placement);
            let feed = Feed::new(means, &ranged, hand_out, 0, &units);
            let buffers = feed.buffers_most(feed.readers_most() + STOCK_MOST * workers) as u64;
            let bytes = buffers * (feed.ahead_splits * (64 << 10) + LOAD_MARGIN_BYTES);
            assert!(bytes <= FILES_AHEAD_BYTES * workers as u64, "{bytes} with {workers} workers");
            // One for each worker and as many readers as a disk needs, and one at least.
            assert!(buffers >= 2 * workers as u64 && feed.readers_most() >= 4);
        }
    }
}
