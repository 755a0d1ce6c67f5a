//! The pool: threads pinned to processors that live as long as the engine and serve every stage of
//! every job. A stage is a function that does one step of work (a split, a partition, a range) for a
//! worker; when several jobs run at once, a worker goes from one to the next after each step, so all
//! of them move.
//!
//! # Protocol
//! A caller puts its stage on the list and waits. Each worker calls the stage until it answers
//! [`Step::Done`] and counts itself off; the worker that counts the stage down to zero takes it off
//! the list and wakes the caller. So no worker touches the stage after the caller goes on, which lets a stage
//! borrow from its caller's stack. Workers record on the caller's timeline while they serve its stage.
//!
//! A short stage of a run that has a share of the workers is not shown to the others: these need not even wake on a
//! processor that works for another process.

use super::share::HeldShare;
use super::sync::{Arc, Condvar, Mutex, MutexGuard};
use crate::timeline::{self, Context, Kind};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// The result of a worker's step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Something was done; there may be more.
    More,
    /// Nothing can be done now; [`Pool::wake`] says when to ask again.
    Idle,
    /// Nothing is left for this worker.
    Done,
}

type Panic = Box<dyn Any + Send>;
type StepFn<'a> = dyn Fn(usize) -> Step + Sync + 'a;

/// Workers and the stages they serve. A clone is of the same workers, which end with the last clone.
#[derive(Clone)]
#[allow(missing_debug_implementations, reason = "no part of the interface")]
pub struct Pool {
    threads: Arc<Threads>,
    workers: usize,
    /// Of a run that has one.
    share: Option<HeldShare>,
}

struct Threads {
    shared: Arc<Shared>,
    #[cfg(not(loom))]
    handles: Vec<std::thread::JoinHandle<()>>,
    #[cfg(loom)]
    handles: Vec<loom::thread::JoinHandle<()>>,
}

struct Shared {
    state: Mutex<State>,
    /// Workers wait here for stages, or for idle ones to be woken.
    work: Condvar,
    /// Callers wait here for their stage's end.
    finished: Condvar,
}

#[derive(Default)]
struct State {
    stages: Vec<Stage>,
    next_id: u64,
    /// Counts wakes, so that none is lost between a worker's look and its sleep.
    wakes: u64,
    closed: bool,
}

struct Stage {
    id: u64,
    step: &'static StepFn<'static>,
    /// Which workers are done with it.
    done: Vec<bool>,
    panic: Option<Panic>,
}

impl Pool {
    /// Starts `workers` threads; worker `i` calls `pin(i)` first.
    pub fn new(
        workers: usize,
        pin: impl Fn(usize) + Send + Clone + 'static,
    ) -> std::io::Result<Pool> {
        Pool::named(|worker| format!("tegula-{worker}"), workers, pin)
    }

    /// As [`new`](Pool::new), with threads of other names than the engine's own.
    pub fn named(
        name: impl Fn(usize) -> String,
        workers: usize,
        pin: impl Fn(usize) + Send + Clone + 'static,
    ) -> std::io::Result<Pool> {
        let shared = Arc::new(Shared::new());
        let mut threads = Threads { shared, handles: Vec::with_capacity(workers) };
        for worker in 0..workers {
            let (shared, pin) = (Arc::clone(&threads.shared), pin.clone());
            let serve = move || {
                pin(worker);
                shared.serve(worker);
            };
            let name = name(worker);
            #[cfg(not(loom))]
            threads.handles.push(std::thread::Builder::new().name(name).spawn(serve)?);
            #[cfg(loom)]
            threads.handles.push(loom::thread::Builder::new().name(name).spawn(serve)?);
        }
        Ok(Pool { threads: Arc::new(threads), workers, share: None })
    }

    /// Returns a pool without threads: its one worker is the caller of [`run`](Pool::run). For stages that
    /// never wait.
    pub fn of_caller() -> Pool {
        let threads = Threads { shared: Arc::new(Shared::new()), handles: Vec::new() };
        Pool { threads: Arc::new(threads), workers: 1, share: None }
    }

    /// Returns the same workers for a run that has a share of them.
    #[doc(hidden)]
    #[must_use]
    pub fn within(&self, share: Option<HeldShare>) -> Pool {
        Pool { share, ..self.clone() }
    }

    #[doc(hidden)]
    pub fn workers(&self) -> usize {
        self.workers
    }

    /// Has every worker call `step` until it answers `Done`, while the caller does `meanwhile`.
    /// Returns when all are done.
    ///
    /// # Panics
    /// With the panic of a step, or else of `meanwhile`, when all workers have come home. Stages guard
    /// the job's code themselves, so that is a fault of the engine.
    pub fn run<R>(&self, step: impl Fn(usize) -> Step + Sync, meanwhile: impl FnOnce() -> R) -> R {
        let mut meanwhile = Some(meanwhile);
        let mut result = None;
        let done = vec![false; self.workers];
        self.run_any(&step, done, &mut || result = meanwhile.take().map(|meanwhile| meanwhile()));
        match result {
            Some(result) => result,
            None => unreachable!("`run_any` calls `meanwhile` or panics"),
        }
    }

    /// As [`run`](Pool::run), for a stage that ends soon: only the workers that are in the run's share as it begins
    /// serve it; all, if none is.
    #[doc(hidden)]
    pub fn run_within(&self, step: impl Fn(usize) -> Step + Sync) {
        let share = self.share.as_deref().filter(|share| !share.is_empty(self.workers));
        let is_outside = |worker| share.is_some_and(|share| !share.has(worker));
        let mut done: Vec<bool> = (0..self.workers).map(is_outside).collect();
        if done.iter().all(|&done| done) {
            // The share has changed while it was read.
            done.fill(false);
        }
        self.run_any(&step, done, &mut || ());
    }

    /// As [`run`](Pool::run), compiled once for all stages.
    fn run_any(&self, step: &StepFn<'_>, done: Vec<bool>, meanwhile: &mut dyn FnMut()) {
        let Threads { shared, handles } = &*self.threads;
        if handles.is_empty() {
            while step(0) != Step::Done {}
            return meanwhile();
        }
        let context = Context::here();
        let step = |worker| {
            let _entered = context.enter();
            step(worker)
        };
        let step: &StepFn<'_> = &step;
        // SAFETY: only the lifetime changes. The reference is used by workers while the stage is on
        // the list, and `wait` below does not return before the last worker has counted itself off;
        // nothing between here and there can return or unwind (`meanwhile` is caught).
        let step: &'static StepFn<'static> =
            unsafe { std::mem::transmute::<&StepFn<'_>, &'static StepFn<'static>>(step) };
        let id = shared.add(step, done);
        let result = catch_unwind(AssertUnwindSafe(meanwhile));
        let waiting = timeline::begin(Kind::Idle);
        let panic = shared.wait(id);
        drop(waiting);
        match (panic, result) {
            (None, Ok(())) => {}
            (Some(panic), _) | (None, Err(panic)) => resume_unwind(panic),
        }
    }

    /// Wakes workers for a stage that had nothing to do and may have something now.
    pub fn wake(&self) {
        self.threads.shared.lock().wakes += 1;
        self.threads.shared.work.notify_all();
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        self.shared.lock().closed = true;
        self.shared.work.notify_all();
        for thread in self.handles.drain(..) {
            // A worker's panics are caught per step; there is nothing to learn from its end.
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn new() -> Shared {
        Shared {
            state: Mutex::new(State::default()),
            work: Condvar::new(),
            finished: Condvar::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        match self.state.lock() {
            Ok(state) => state,
            // No user code runs under this lock, and each change under it is whole.
            Err(poisoned) => poisoned.into_inner(),
        }
    }

    /// Puts a stage on the list, with which some workers may be done.
    fn add(&self, step: &'static StepFn<'static>, done: Vec<bool>) -> u64 {
        let mut state = self.lock();
        let id = state.next_id;
        state.next_id += 1;
        state.stages.push(Stage { id, step, done, panic: None });
        drop(state);
        self.work.notify_all();
        id
    }

    /// Waits for the stage's last worker; returns the panic of a step, if any.
    fn wait(&self, id: u64) -> Option<Panic> {
        let mut state = self.lock();
        loop {
            let place = state.stages.iter().position(|stage| stage.id == id)?;
            if state.stages[place].done.iter().all(|&done| done) {
                return state.stages.swap_remove(place).panic;
            }
            state = wait(&self.finished, state);
        }
    }

    /// A worker's life: one step of each stage in turn.
    fn serve(&self, worker: usize) {
        let mut last_id = None;
        // Stages that answered Idle since the last sleep, and the count of wakes then.
        let mut idle: Vec<u64> = Vec::new();
        let mut state = self.lock();
        let mut wakes = state.wakes;
        loop {
            if state.wakes != wakes {
                wakes = state.wakes;
                idle.clear();
            }
            let open = |stage: &&Stage| !stage.done[worker] && !idle.contains(&stage.id);
            let after = state.stages.iter().filter(open).filter(|stage| Some(stage.id) > last_id);
            let next = after.min_by_key(|stage| stage.id);
            let next = next.or_else(|| state.stages.iter().filter(open).min_by_key(|s| s.id));
            let Some((id, step)) = next.map(|stage| (stage.id, stage.step)) else {
                if state.closed {
                    return;
                }
                state = wait(&self.work, state);
                continue;
            };
            last_id = Some(id);
            drop(state);
            let outcome = catch_unwind(AssertUnwindSafe(|| step(worker)));
            state = self.lock();
            match outcome {
                Ok(Step::More) => idle.clear(),
                Ok(Step::Idle) => idle.push(id),
                Ok(Step::Done) => self.count_off(&mut state, id, worker, None),
                Err(panic) => self.count_off(&mut state, id, worker, Some(panic)),
            }
        }
    }

    fn count_off(&self, state: &mut State, id: u64, worker: usize, panic: Option<Panic>) {
        if let Some(stage) = state.stages.iter_mut().find(|stage| stage.id == id) {
            stage.done[worker] = true;
            stage.panic = stage.panic.take().or(panic);
            if stage.done.iter().all(|&done| done) {
                self.finished.notify_all();
            }
        }
    }
}

fn wait<'a>(condvar: &Condvar, guard: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
    match condvar.wait(guard) {
        Ok(guard) => guard,
        Err(poisoned) => poisoned.into_inner(),
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;
    use loom::sync::atomic::{AtomicU64, Ordering};

    #[test]
    fn a_stage_never_outlives_its_caller_and_no_wake_is_lost() {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(3);
        model.check(|| {
            let pool = Pool::new(2, |_| ()).unwrap();
            // On the caller's stack: loom fails the model if a worker touches it after `run`.
            let fed = AtomicU64::new(0);
            let step = |_| match fed.load(Ordering::Acquire) {
                0 => Step::Idle,
                _ => Step::Done,
            };
            let feed = || {
                fed.store(1, Ordering::Release);
                pool.wake();
            };
            pool.run(step, feed);
        });
    }

    #[test]
    fn two_callers_at_once_are_both_served() {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(3);
        model.check(|| {
            let pool = Arc::new(Pool::new(1, |_| ()).unwrap());
            let call = |pool: &Pool| {
                let steps = AtomicU64::new(0);
                let step = |_| match steps.fetch_add(1, Ordering::Relaxed) {
                    0 => Step::More,
                    _ => Step::Done,
                };
                pool.run(step, || ());
                assert_eq!(steps.load(Ordering::Relaxed), 2);
            };
            let other = Arc::clone(&pool);
            let caller = loom::thread::spawn(move || call(&other));
            call(&pool);
            caller.join().unwrap();
        });
    }
}
