//! Epochs: the stretches of the input between shows. Each has a partial of its own while workers are in it.
//! Takes the work that workers have mapped; hands on, in order, epochs that nobody can add to any more.
//!
//! A worker enters an epoch before its first piece of work there, and leaves it when it has handed over all
//! of its pairs. An epoch is closed when no worker may enter it any more and all have left. No worker may
//! enter it once a later one was begun, or in the order of the input, once all of its splits are mapped.
//! Two numbers are read and incremented once per piece of work. All other state changes under one lock, a
//! few times per worker and show (in the order of the input, once per piece of work).
//!
//! Partials are few and used in turn. If closed epochs are taken so slowly that none is free, no epoch is
//! begun: the last one continues, and a show is left out.

use super::sample::{Asked, Sample};
use super::{Every, Wanted};
use crate::coverage::{ALL_FILES, Coverage, Ranges};
use crate::map::Spot;
use crate::partial::Partial;
use crate::plan::{Part, Plan};
use crate::sync::{Condvar, Mutex};
use std::collections::VecDeque;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// The most epochs that may be open, or closed and not yet taken.
const EPOCHS_MOST: usize = 8;

/// The epochs of a run.
pub(crate) struct Epochs<'r, V: Copy> {
    /// One partial for each epoch that may exist at once.
    partials: Vec<OnceLock<Partial<V>>>,
    make: Box<dyn Fn() -> Partial<V> + Send + Sync + 'r>,
    /// Epochs before this one must be left.
    now: AtomicU64,
    /// Bytes mapped, and the number of bytes at which the next show is due.
    seen_bytes: AtomicU64,
    due_bytes: AtomicU64,
    /// Bytes between shows; `None` if they are made by time or in the order of the input.
    step_bytes: Option<u64>,
    /// Bytes of the whole input, where only the last show is due; `u64::MAX` if the length is not known.
    all_bytes: u64,
    workers: usize,
    /// The epoch of each worker and device; `NOWHERE` if it is in none.
    seats: Vec<AtomicU64>,
    /// In the order of the input: the ends of epochs.
    borders: Option<Vec<Border>>,
    /// The number of the last round of samples, and for each worker the last round to which it contributed
    /// or in which it held no pairs.
    round: AtomicU64,
    given: Vec<AtomicU64>,
    /// Pairs that the run's own partial holds, and the bytes that it represents although they were not
    /// mapped in this run.
    pub(super) kept_pairs: AtomicU64,
    pub(super) restored_bytes: AtomicU64,
    state: Mutex<Shared<V>>,
    changed: Condvar,
}

const NOWHERE: u64 = u64::MAX;

/// The end of an epoch in the order of the input.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Border {
    /// The first split after it.
    end: Spot,
    /// Splits since the border before.
    splits: u64,
}

struct Shared<V> {
    epochs: VecDeque<Epoch>,
    /// Number of the first of them.
    first: u64,
    /// The number of borders for which epochs were begun.
    borders: usize,
    /// Whether a taken epoch still uses its partial.
    taking: bool,
    /// Bytes seen when the last epoch was begun.
    begun_bytes: u64,
    /// Whether maps have ended, and if so, whether without an error.
    ended: Option<bool>,
    /// Set if the next show may be made of samples.
    asked: Option<Asked<V>>,
    /// The samples of the present round, and the number of missing ones.
    samples: Vec<Sample<V>>,
    missing: usize,
}

#[derive(Clone, Copy, Debug)]
struct Epoch {
    /// The number of workers in it.
    present: usize,
    bytes: u64,
    /// The first split after it, and in the order of the input the number of its splits that are not mapped
    /// yet.
    end: Spot,
    left: u64,
    /// The last worker or device that left it.
    last: Option<usize>,
}

impl Epoch {
    const NEW: Epoch = Epoch { present: 0, bytes: 0, end: (usize::MAX, 0), left: 0, last: None };
}

/// A worker's position in an epoch.
#[derive(Clone, Copy)]
pub(super) struct Position {
    pub(super) epoch: u64,
    /// The first split after the epoch, as far as it is known.
    pub(super) end: Spot,
}

/// An epoch that nobody can add to any more.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Closed {
    pub(super) number: u64,
    pub(super) bytes: u64,
    /// The last worker that left it; `None` if it was a device.
    pub(super) by: Option<usize>,
    /// Whether it is the last of the run.
    pub(super) is_last: bool,
}

/// The event that ended a wait.
pub(super) enum Event<V> {
    Closed(Closed),
    /// All workers have given their samples.
    Sampled(Vec<Sample<V>>),
    /// The deadline was reached.
    Time,
    /// All epochs were taken and no more will come: maps have ended, with or without an error.
    End {
        well: bool,
    },
}

impl<'r, V: Copy> Epochs<'r, V> {
    /// Creates the epochs of a run by `workers` workers and `devices` devices, which are numbered after the
    /// workers. `done` was mapped by an earlier run. `make` makes their partials.
    pub(crate) fn new(
        show: Wanted,
        plan: &Plan,
        done: Option<&Coverage>,
        (workers, devices): (usize, usize),
        make: impl Fn() -> Partial<V> + Send + Sync + 'r,
    ) -> Epochs<'r, V> {
        let all_bytes = if plan.bytes > 0 { plan.bytes } else { u64::MAX };
        let step_bytes = match show.every {
            Every::Part(part) => Some(((plan.bytes as f64 * part).ceil() as u64).max(1)),
            Every::Bytes(bytes) => Some(bytes),
            Every::Time(_) => None,
        };
        let borders = show.is_in_order().then(|| borders(plan, done, step_bytes.unwrap_or(1)));
        let step_bytes = step_bytes.filter(|_| borders.is_none());
        let epochs = if borders.is_some() { VecDeque::new() } else { [Epoch::NEW].into() };
        Epochs {
            partials: (0..EPOCHS_MOST).map(|_| OnceLock::new()).collect(),
            make: Box::new(make),
            now: AtomicU64::new(0),
            seen_bytes: AtomicU64::new(0),
            due_bytes: AtomicU64::new(step_bytes.unwrap_or(u64::MAX)),
            step_bytes,
            all_bytes,
            workers,
            seats: (0..workers + devices).map(|_| AtomicU64::new(NOWHERE)).collect(),
            borders,
            round: AtomicU64::new(0),
            given: (0..workers + devices).map(|_| AtomicU64::new(0)).collect(),
            kept_pairs: AtomicU64::new(0),
            restored_bytes: AtomicU64::new(0),
            state: Mutex::new(Shared {
                epochs,
                first: 0,
                borders: 0,
                taking: false,
                begun_bytes: 0,
                ended: None,
                asked: None,
                samples: Vec::new(),
                missing: 0,
            }),
            changed: Condvar::new(),
        }
    }

    /// Records, before anything is mapped, that the run's own partial already has the pairs of `bytes`
    /// bytes that an earlier run has mapped.
    pub(crate) fn restored(&self, bytes: u64) {
        self.restored_bytes.store(bytes, Ordering::Relaxed);
        self.seen_bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(super) fn partial(&self, epoch: u64) -> &Partial<V> {
        self.partials[epoch as usize % EPOCHS_MOST].get_or_init(|| (self.make)())
    }

    /// Returns whether a number is a device's, which come after the workers.
    pub(super) fn is_device(&self, worker: usize) -> bool {
        worker >= self.workers
    }

    /// Returns whether a worker must leave the epoch that it is in.
    pub(super) fn calls_out(&self, worker: usize) -> bool {
        let epoch = self.seats[worker].load(Ordering::Relaxed);
        epoch != NOWHERE && epoch < self.now.load(Ordering::Relaxed)
    }

    /// Returns whether a show would be due, and could be made, after `bytes` more mapped bytes.
    pub(super) fn is_due_with(&self, bytes: u64) -> bool {
        let seen = self.seen_bytes.load(Ordering::Relaxed) + bytes;
        let is_due = seen >= self.due_bytes.load(Ordering::Relaxed) && seen < self.all_bytes;
        is_due && self.state.lock().is_ready()
    }

    /// Returns whether a worker is in an epoch.
    pub(super) fn has(&self, worker: usize) -> bool {
        self.seats[worker].load(Ordering::Relaxed) != NOWHERE
    }

    /// Returns whether a worker must give a sample of its pairs.
    pub(super) fn asks(&self, worker: usize) -> bool {
        let round = self.round.load(Ordering::Relaxed);
        self.given[worker].load(Ordering::Relaxed) < round && self.has(worker)
    }

    /// Returns the request for samples, and the bytes that were seen since the run began.
    pub(super) fn asked(&self) -> (Option<Asked<V>>, u64) {
        (self.state.lock().asked.clone(), self.seen_bytes.load(Ordering::Relaxed))
    }

    /// Takes the sample of a worker.
    pub(super) fn give(&self, worker: usize, sample: Sample<V>) {
        let mut state = self.state.lock();
        self.take_sample(&mut state, worker, sample);
        drop(state);
        self.changed.notify_one();
    }

    fn take_sample(&self, state: &mut Shared<V>, worker: usize, sample: Sample<V>) {
        let round = self.round.load(Ordering::Relaxed);
        if self.given[worker].swap(round, Ordering::Relaxed) < round {
            state.samples.push(sample);
            state.missing -= 1;
        }
    }

    /// Sets the request for samples of the next shows; `None` if they may not be made of samples.
    pub(super) fn ask(&self, asked: Option<Asked<V>>) {
        self.state.lock().asked = asked;
    }

    /// Records that a worker will map splits from `spot` on.
    pub(super) fn enter(&self, worker: usize, spot: Spot) -> Position {
        let mut state = self.state.lock();
        let at = match &self.borders {
            None => state.epochs.len() - 1,
            Some(borders) => state.find(spot, borders),
        };
        let epoch = &mut state.epochs[at];
        epoch.present += 1;
        let end = epoch.end;
        let epoch = state.first + at as u64;
        self.seats[worker].store(epoch, Ordering::Relaxed);
        // The worker holds no pairs of the bytes that a started round covers.
        self.given[worker].store(self.round.load(Ordering::Relaxed), Ordering::Relaxed);
        if self.borders.is_some() {
            self.call_out(&state);
        }
        Position { epoch, end }
    }

    /// Records that a worker has handed over all of its pairs of an epoch, of which it has mapped `bytes`
    /// bytes.
    pub(super) fn leave(&self, worker: usize, epoch: u64, bytes: u64) {
        let mut state = self.state.lock();
        self.take_sample(&mut state, worker, Sample::NOTHING);
        self.seats[worker].store(NOWHERE, Ordering::Relaxed);
        let at = (epoch - state.first) as usize;
        let left = &mut state.epochs[at];
        left.present -= 1;
        left.bytes += bytes;
        left.last = Some(worker);
        drop(state);
        self.changed.notify_one();
    }

    /// Records that a worker has mapped `bytes` bytes and `splits` splits of an epoch. Returns whether
    /// waiting workers must be woken, because they may have to leave.
    pub(super) fn mapped(&self, epoch: u64, bytes: u64, splits: u64) -> bool {
        if self.borders.is_some() {
            let mut state = self.state.lock();
            let at = (epoch - state.first) as usize;
            state.epochs[at].left = state.epochs[at].left.saturating_sub(splits);
            return self.call_out(&state);
        }
        let seen = self.seen_bytes.fetch_add(bytes, Ordering::Relaxed) + bytes;
        seen >= self.due_bytes.load(Ordering::Relaxed) && self.begin_next(seen)
    }

    /// Begins the next epoch, if those before were taken and there are new bytes. Returns whether it did.
    fn begin_next(&self, seen: u64) -> bool {
        let mut state = self.state.lock();
        let is_due = self.step_bytes.is_none() || seen >= self.due_bytes.load(Ordering::Relaxed);
        // The work of devices is not visible before they are called out.
        let has_devices = (self.workers..self.seats.len()).any(|device| self.has(device));
        let is_new = (seen > state.begun_bytes || has_devices) && seen < self.all_bytes;
        if !is_due || !is_new || !state.is_ready() {
            return false;
        }
        state.begun_bytes = seen;
        if !self.begin_round(&mut state) {
            self.begin_epoch(&mut state);
        }
        if let Some(step) = self.step_bytes {
            self.due_bytes.store((seen / step + 1).saturating_mul(step), Ordering::Relaxed);
        }
        drop(state);
        self.changed.notify_one();
        true
    }

    fn begin_epoch(&self, state: &mut Shared<V>) {
        state.epochs.push_back(Epoch::NEW);
        self.now.store(state.first + 1, Ordering::Relaxed);
    }

    /// Begins the next epoch although no show is due. Returns whether waiting workers must be woken.
    pub(super) fn close(&self) -> bool {
        let mut state = self.state.lock();
        let is_ready = state.is_ready();
        if is_ready {
            self.begin_epoch(&mut state);
        }
        is_ready
    }

    /// Begins a round of samples, if that is of use: not if pairs of the epoch were handed over.
    fn begin_round(&self, state: &mut Shared<V>) -> bool {
        let is_held = state.epochs.back().is_some_and(|epoch| epoch.last.is_none());
        if state.asked.is_none() || !is_held {
            return false;
        }
        let round = self.round.load(Ordering::Relaxed) + 1;
        for (worker, given) in self.given.iter().enumerate() {
            // The pairs of devices are not available, and were not counted yet either.
            if !self.is_device(worker) && self.has(worker) {
                state.missing += 1;
            } else {
                given.store(round, Ordering::Relaxed);
            }
        }
        self.round.store(round, Ordering::Relaxed);
        state.missing > 0
    }

    /// Records that the time for a show has come. Returns whether waiting workers must be woken.
    pub(super) fn time(&self) -> bool {
        self.borders.is_none() && self.begin_next(self.seen_bytes.load(Ordering::Relaxed))
    }

    /// In the order of the input, calls workers out of the epochs before the first that lacks splits.
    /// Returns whether there are more such epochs than before.
    fn call_out(&self, state: &Shared<V>) -> bool {
        let complete = state.epochs.iter().take_while(|epoch| epoch.left == 0).count();
        let now = state.first + complete as u64;
        let before = self.now.swap(now, Ordering::Relaxed);
        if now > before {
            self.changed.notify_one();
        }
        now > before
    }

    /// Records that maps have ended. If `well`, all workers have left.
    pub(super) fn end(&self, well: bool) {
        self.state.lock().ended = Some(well);
        self.changed.notify_one();
    }

    /// Waits for the next event, at most until a deadline. Closed epochs come in order; a partial belongs
    /// to the caller until [`taken`](Epochs::taken).
    pub(super) fn next(&self, deadline: Option<Instant>) -> Event<V> {
        let mut state = self.state.lock();
        loop {
            let ended = state.ended;
            if ended == Some(false) {
                return Event::End { well: false };
            }
            if state.missing == 0 && !state.samples.is_empty() {
                return Event::Sampled(std::mem::take(&mut state.samples));
            }
            if let Some(epoch) = state.epochs.front().copied() {
                let number = state.first;
                let closed = number < self.now.load(Ordering::Relaxed) || ended.is_some();
                if closed && epoch.present == 0 {
                    state.epochs.pop_front();
                    state.first += 1;
                    state.taking = true;
                    // Samples are added to a base, which lacks the pairs of this epoch.
                    state.asked = None;
                    let is_last = match &self.borders {
                        Some(borders) => state.epochs.is_empty() && state.borders == borders.len(),
                        None => state.epochs.is_empty(),
                    };
                    let Epoch { bytes, last, .. } = epoch;
                    return Event::Closed(Closed {
                        number,
                        bytes,
                        by: last.filter(|&worker| !self.is_device(worker)),
                        is_last,
                    });
                }
            } else if ended.is_some() {
                return Event::End { well: true };
            }
            let wait = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            state = match wait {
                Some(wait) if wait.is_zero() => return Event::Time,
                Some(wait) => self.changed.wait_timeout(state, wait),
                None => self.changed.wait(state),
            };
        }
    }

    /// Records that the partial of the last taken epoch is empty again.
    pub(super) fn taken(&self) {
        self.state.lock().taking = false;
    }
}

impl<V> Shared<V> {
    /// Returns whether there is room for the next epoch or the next round.
    fn is_ready(&self) -> bool {
        let is_sampled = self.missing == 0 && self.samples.is_empty();
        self.epochs.len() <= 1 && is_sampled && self.ended.is_none()
    }

    /// Returns the epoch of a split in the order of the input, and begins all epochs up to it.
    fn find(&mut self, spot: Spot, borders: &[Border]) -> usize {
        loop {
            if let Some(at) = self.epochs.iter().position(|epoch| spot < epoch.end) {
                return at;
            }
            // Splits are before the last border.
            let Border { end, splits } = borders[self.borders];
            self.borders += 1;
            let in_use = self.epochs.len() + usize::from(self.taking);
            match self.epochs.back_mut().filter(|_| in_use >= EPOCHS_MOST) {
                Some(last) => (last.end, last.left) = (end, last.left + splits),
                None => self.epochs.push_back(Epoch { end, left: splits, ..Epoch::NEW }),
            }
        }
    }
}

/// Returns the first tile end after each multiple of `step_bytes`, and the end of the input. The pairs of splits that
/// are done cannot be told apart, so none of them is after the first border.
fn borders(plan: &Plan, done: Option<&Coverage>, step_bytes: u64) -> Vec<Border> {
    let mut borders = Vec::new();
    let (mut bytes, mut splits, mut due) = (0, 0, step_bytes);
    let ranged = plan.parts.iter().filter_map(|part| match part {
        Part::Ranged(ranged) => {
            Some((ranged, done.and_then(|done| done.of(ranged.number, ALL_FILES))))
        }
        Part::Packed(_) | Part::Stream(_) => None,
    });
    let count = |ranges: &Ranges| ranges.iter().map(|range| range.end - range.start).sum::<u64>();
    let mut done_after: u64 = ranged.clone().filter_map(|(_, done)| done).map(count).sum();
    for (ranged, done) in ranged {
        let mut first = 0;
        for (tile_bytes, end) in ranged.layout.tile_bytes() {
            let gaps = done.map(|done| done.gaps(first..end).map(|gap| gap.end - gap.start).sum());
            let left = gaps.unwrap_or(end - first);
            bytes += tile_bytes;
            splits += left;
            done_after -= end - first - left;
            first = end;
            if done_after == 0 && (bytes >= due || bytes == plan.bytes) {
                borders.push(Border { end: (ranged.number, end), splits });
                splits = 0;
                due = (bytes / step_bytes + 1).saturating_mul(step_bytes);
            }
        }
    }
    borders
}
