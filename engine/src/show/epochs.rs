//! Epochs: the stretches of the input between shows, each with a partial of its own while workers are in
//! it. Takes what workers have mapped; hands epochs on, in order, to which nobody adds any more.
//!
//! A worker enters an epoch before its first piece of work there and leaves it when it has handed over
//! all it holds. An epoch is closed when it may not be entered any more and all have left. It may not be
//! entered when a later one was begun, or, in the order of the input, when all of its splits are
//! mapped. Everything here but two numbers, which are read and added to once a piece of work, is changed
//! under one lock, a few times per worker and show (in the order of the input, once a piece of work).
//!
//! Partials are few and used in turn. Where closed epochs are taken so slowly that none is left, no
//! epoch is begun: the last one goes on, and a show is left out.

use super::sample::{Asked, Sample};
use super::{Every, Wanted};
use crate::partial::Partial;
use crate::plan::{Part, Plan};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Instant;

/// Epochs that may be open, or closed and not yet taken.
const EPOCHS_MOST: usize = 8;

/// A split: the number of its part of the plan, and its number there.
pub(super) type Spot = (usize, u64);

/// The epochs of a run.
pub(crate) struct Epochs<'r, V: Copy> {
    /// A partial for each epoch that there may be at once.
    partials: Vec<OnceLock<Partial<V>>>,
    make: Box<dyn Fn() -> Partial<V> + Send + Sync + 'r>,
    /// Epochs before this one are to be left.
    now: AtomicU64,
    /// Bytes mapped, and how many there are to be when the next show is due.
    seen_bytes: AtomicU64,
    due_bytes: AtomicU64,
    /// Bytes between shows; `None` if they are made by time or in the order of the input.
    step_bytes: Option<u64>,
    /// Of the whole input, at which no show is due but the last; `u64::MAX` if nobody knows.
    all_bytes: u64,
    workers: usize,
    /// For each worker and device the epoch it is in; `NOWHERE` if in none.
    seats: Vec<AtomicU64>,
    /// In the order of the input: where epochs end.
    borders: Option<Vec<Border>>,
    /// The number of the last round of samples, and for each worker the last one that it has given its part
    /// of, or had none in.
    round: AtomicU64,
    given: Vec<AtomicU64>,
    /// Pairs that the run's own partial holds, and bytes that it stands for although nobody mapped them
    /// in this run.
    pub(super) kept_pairs: AtomicU64,
    pub(super) restored_bytes: AtomicU64,
    state: Mutex<State<V>>,
    changed: Condvar,
}

const NOWHERE: u64 = u64::MAX;

/// Where an epoch ends that keeps the order of the input.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Border {
    /// The first split behind it.
    end: Spot,
    /// Splits since the border before.
    splits: u64,
}

struct State<V> {
    epochs: VecDeque<Epoch>,
    /// Number of the first of them.
    first: u64,
    /// Borders that epochs were begun for.
    borders: usize,
    /// Whether an epoch that was taken still uses its partial.
    taking: bool,
    /// Bytes seen when the last epoch was begun.
    begun_bytes: u64,
    /// Whether maps have ended, and well.
    ended: Option<bool>,
    /// If the next show may be made of samples.
    asked: Option<Asked<V>>,
    /// Those of the round that is being made, and how many are missing.
    samples: Vec<Sample<V>>,
    missing: usize,
}

#[derive(Clone, Copy, Debug)]
struct Epoch {
    /// Workers in it.
    present: usize,
    bytes: u64,
    /// The first split behind it, and its splits that are still to be mapped, in the order of the input.
    end: Spot,
    left: u64,
    /// The worker or device that left it last, if any did.
    last: Option<usize>,
}

impl Epoch {
    const NEW: Epoch = Epoch { present: 0, bytes: 0, end: (usize::MAX, 0), left: 0, last: None };
}

/// A worker's place in an epoch.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub(super) epoch: u64,
    /// The first split behind the epoch, as far as is known.
    pub(super) end: Spot,
}

/// An epoch to which nobody adds any more.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Closed {
    pub(super) number: u64,
    pub(super) bytes: u64,
    /// The worker that left it last; `None` if a device did.
    pub(super) by: Option<usize>,
    /// Whether it is the last of the run.
    pub(super) is_last: bool,
}

/// What happened.
pub(super) enum Event<V> {
    Closed(Closed),
    /// All workers have given what they were asked for.
    Sampled(Vec<Sample<V>>),
    /// The time has come that was waited for.
    Time,
    /// All epochs were taken and none will be any more: maps have ended, well or not.
    End {
        well: bool,
    },
}

impl<'r, V: Copy> Epochs<'r, V> {
    /// The epochs of a run by so many workers and devices, which are numbered behind them; `make` makes their
    /// partials.
    pub(crate) fn new(
        show: Wanted,
        plan: &Plan,
        (workers, devices): (usize, usize),
        make: impl Fn() -> Partial<V> + Send + Sync + 'r,
    ) -> Epochs<'r, V> {
        let all_bytes = if plan.bytes > 0 { plan.bytes } else { u64::MAX };
        let step_bytes = match show.every {
            Every::Part(part) => Some(((plan.bytes as f64 * part).ceil() as u64).max(1)),
            Every::Bytes(bytes) => Some(bytes),
            Every::Time(_) => None,
        };
        let borders = show.is_in_order().then(|| borders(plan, step_bytes.unwrap_or(1)));
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
            state: Mutex::new(State {
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

    /// Whether they keep the order of the input.
    pub(crate) fn in_order(&self) -> bool {
        self.borders.is_some()
    }

    /// Before anything is mapped, the run's own partial has the pairs of so many bytes that an earlier run
    /// has mapped.
    pub(crate) fn restored(&self, bytes: u64) {
        self.restored_bytes.store(bytes, Ordering::Relaxed);
        self.seen_bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(super) fn partial(&self, epoch: u64) -> &Partial<V> {
        self.partials[epoch as usize % EPOCHS_MOST].get_or_init(|| (self.make)())
    }

    /// Whether a worker is to leave the epoch it is in, if it is in any.
    pub(crate) fn calls_out(&self, worker: usize) -> bool {
        let epoch = self.seats[worker].load(Ordering::Relaxed);
        epoch != NOWHERE && epoch < self.now.load(Ordering::Relaxed)
    }

    /// Whether a show would fall due, and could be made, if so many bytes more were mapped.
    pub(crate) fn is_due_with(&self, bytes: u64) -> bool {
        let seen = self.seen_bytes.load(Ordering::Relaxed) + bytes;
        let is_due = seen >= self.due_bytes.load(Ordering::Relaxed) && seen < self.all_bytes;
        is_due && self.lock().is_ready()
    }

    /// Whether a worker is in any epoch.
    pub(crate) fn has(&self, worker: usize) -> bool {
        self.seats[worker].load(Ordering::Relaxed) != NOWHERE
    }

    /// Whether a worker is to give a sample of what it holds.
    pub(crate) fn asks(&self, worker: usize) -> bool {
        let round = self.round.load(Ordering::Relaxed);
        self.given[worker].load(Ordering::Relaxed) < round && self.has(worker)
    }

    /// What samples are to have, and the bytes that were seen since the run began.
    pub(super) fn asked(&self) -> (Option<Asked<V>>, u64) {
        (self.lock().asked.clone(), self.seen_bytes.load(Ordering::Relaxed))
    }

    /// A worker gives what it was asked for.
    pub(super) fn give(&self, worker: usize, sample: Sample<V>) {
        let mut state = self.lock();
        self.take_sample(&mut state, worker, sample);
        drop(state);
        self.changed.notify_one();
    }

    fn take_sample(&self, state: &mut State<V>, worker: usize, sample: Sample<V>) {
        let round = self.round.load(Ordering::Relaxed);
        if self.given[worker].swap(round, Ordering::Relaxed) < round {
            state.samples.push(sample);
            state.missing -= 1;
        }
    }

    /// The next shows may be made of samples, or may not.
    pub(super) fn ask(&self, asked: Option<Asked<V>>) {
        self.lock().asked = asked;
    }

    /// A worker is about to map splits from one on.
    pub(super) fn enter(&self, worker: usize, spot: Spot) -> Place {
        let mut state = self.lock();
        let at = match &self.borders {
            None => state.epochs.len() - 1,
            Some(borders) => state.find(spot, borders),
        };
        let epoch = &mut state.epochs[at];
        epoch.present += 1;
        let end = epoch.end;
        let epoch = state.first + at as u64;
        self.seats[worker].store(epoch, Ordering::Relaxed);
        // It holds nothing of what a round that has begun is of.
        self.given[worker].store(self.round.load(Ordering::Relaxed), Ordering::Relaxed);
        if self.borders.is_some() {
            self.call_out(&state);
        }
        Place { epoch, end }
    }

    /// A worker has handed over all that it held of an epoch, of which it has mapped so many bytes.
    pub(super) fn leave(&self, worker: usize, epoch: u64, bytes: u64) {
        let mut state = self.lock();
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

    /// A worker has mapped so many bytes and splits of an epoch. Says whether workers that wait are to be
    /// woken, for they may have to leave.
    pub(super) fn mapped(&self, epoch: u64, bytes: u64, splits: u64) -> bool {
        if self.borders.is_some() {
            let mut state = self.lock();
            let at = (epoch - state.first) as usize;
            state.epochs[at].left = state.epochs[at].left.saturating_sub(splits);
            return self.call_out(&state);
        }
        let seen = self.seen_bytes.fetch_add(bytes, Ordering::Relaxed) + bytes;
        seen >= self.due_bytes.load(Ordering::Relaxed) && self.begin_next(seen)
    }

    /// Begins the next epoch, if those before were taken and there is anything new; says whether.
    fn begin_next(&self, seen: u64) -> bool {
        let mut state = self.lock();
        let is_due = self.step_bytes.is_none() || seen >= self.due_bytes.load(Ordering::Relaxed);
        // What devices have is not seen before they are called out.
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

    fn begin_epoch(&self, state: &mut State<V>) {
        state.epochs.push_back(Epoch::NEW);
        self.now.store(state.first + 1, Ordering::Relaxed);
    }

    /// Begins the next epoch, although no show is due; says whether workers that wait are to be woken.
    pub(super) fn close(&self) -> bool {
        let mut state = self.lock();
        let is_ready = state.is_ready();
        if is_ready {
            self.begin_epoch(&mut state);
        }
        is_ready
    }

    /// Begins a round of samples, if that is of use: not where pairs of the epoch were handed over.
    fn begin_round(&self, state: &mut State<V>) -> bool {
        let is_held = state.epochs.back().is_some_and(|epoch| epoch.last.is_none());
        if state.asked.is_none() || !is_held {
            return false;
        }
        let round = self.round.load(Ordering::Relaxed) + 1;
        for (worker, given) in self.given.iter().enumerate() {
            // What devices have is not at hand, and was not counted yet either.
            if worker < self.workers && self.has(worker) {
                state.missing += 1;
            } else {
                given.store(round, Ordering::Relaxed);
            }
        }
        self.round.store(round, Ordering::Relaxed);
        state.missing > 0
    }

    /// The time for a show has come; says whether workers that wait are to be woken.
    pub(super) fn time(&self) -> bool {
        self.borders.is_none() && self.begin_next(self.seen_bytes.load(Ordering::Relaxed))
    }

    /// Says which epochs are to be left, in the order of the input: those before the first that lacks
    /// splits. Says whether they are more than before.
    fn call_out(&self, state: &State<V>) -> bool {
        let complete = state.epochs.iter().take_while(|epoch| epoch.left == 0).count();
        let now = state.first + complete as u64;
        let before = self.now.swap(now, Ordering::Relaxed);
        if now > before {
            self.changed.notify_one();
        }
        now > before
    }

    /// Maps have ended, well or not; if well, all workers have left.
    pub(super) fn end(&self, well: bool) {
        self.lock().ended = Some(well);
        self.changed.notify_one();
    }

    /// Waits for what comes next, at most until a deadline. What is closed comes in order; its partial is
    /// the caller's until [`taken`](Epochs::taken).
    pub(super) fn next(&self, deadline: Option<Instant>) -> Event<V> {
        let mut state = self.lock();
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
                    let is_last = match &self.borders {
                        Some(borders) => state.epochs.is_empty() && state.borders == borders.len(),
                        None => state.epochs.is_empty(),
                    };
                    let Epoch { bytes, last, .. } = epoch;
                    return Event::Closed(Closed {
                        number,
                        bytes,
                        by: last.filter(|&worker| worker < self.workers),
                        is_last,
                    });
                }
            } else if ended.is_some() {
                return Event::End { well: true };
            }
            let wait = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            state = match wait {
                Some(wait) if wait.is_zero() => return Event::Time,
                Some(wait) => {
                    let waited = self.changed.wait_timeout(state, wait);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
                None => self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
            };
        }
    }

    /// The partial of what was taken last is empty again.
    pub(super) fn taken(&self) {
        self.lock().taking = false;
    }

    fn lock(&self) -> MutexGuard<'_, State<V>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<V> State<V> {
    /// Whether there is room for the next epoch, or the next round.
    fn is_ready(&self) -> bool {
        let is_sampled = self.missing == 0 && self.samples.is_empty();
        self.epochs.len() <= 1 && is_sampled && self.ended.is_none()
    }

    /// The epoch of a split, in the order of the input; those up to it are begun.
    fn find(&mut self, spot: Spot, borders: &[Border]) -> usize {
        loop {
            if let Some(at) = self.epochs.iter().position(|epoch| spot < epoch.end) {
                return at;
            }
            // Splits lie before the last border.
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

/// The ends of the tiles that are the first behind each so many bytes, and the input's end.
fn borders(plan: &Plan, step_bytes: u64) -> Vec<Border> {
    let mut borders = Vec::new();
    let (mut bytes, mut splits, mut due) = (0, 0, step_bytes);
    for part in &plan.parts {
        let Part::Ranged(ranged) = part else { continue };
        let mut first = 0;
        for (tile_bytes, end) in ranged.layout.tile_bytes() {
            bytes += tile_bytes;
            splits += end - first;
            first = end;
            if bytes >= due || bytes == plan.bytes {
                borders.push(Border { end: (ranged.number, end), splits });
                splits = 0;
                due = (bytes / step_bytes + 1).saturating_mul(step_bytes);
            }
        }
    }
    borders
}
