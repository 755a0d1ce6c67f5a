//! The thread that makes shows: it takes closed epochs into the run's own partial, reduces and sorts what
//! that holds, and gives it to the caller's function.

use super::epochs::{Closed, Epochs, Event};
use super::stability::{STABLE_KEYS_MOST, Stability};
use super::{Every, Show, Shown};
use crate::aggregate::Aggregate;
use crate::engine::Core;
use crate::error::{Error, Result};
use crate::failure::Failure;
use crate::job::Job;
use crate::memory::ChunkPool;
use crate::merge::{MergeStage, Piece};
use crate::options::{Options, Order};
use crate::output::{Answers, Stored};
use crate::partial::{Partial, Upkeep};
use crate::plan::Plan;
use crate::reduce::ReduceStage;
use crate::schedule::Pool;
use crate::timeline::{self, Context, Kind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

const STAGE: &str = "a show";
/// With a limit on memory, answers are made beside the pairs they are made of if these are so small a
/// part of their share.
const HELD_DIVISOR: usize = 4;

type Accumulator<J> = <<J as Job>::Combine as Aggregate>::Accumulator;
type Value<J> = <<J as Job>::Combine as Aggregate>::Reduced;

/// What shows need to know of their run.
pub(crate) struct ShowStage<'r, J: Job> {
    pub(crate) job: &'r J,
    pub(crate) core: &'r Core,
    pub(crate) plan: &'r Plan,
    pub(crate) chunks: &'r Arc<ChunkPool>,
    /// The run's own partial, to which nobody else adds while maps run.
    pub(crate) partial: &'r Partial<Accumulator<J>>,
    pub(crate) epochs: &'r Epochs<'r, Accumulator<J>>,
    pub(crate) failure: &'r Failure,
    pub(crate) stored: Stored,
    pub(crate) options: &'r Options,
}

/// Tells the thread that no more comes, even when maps unwind.
struct Ending<'r, V: Copy> {
    epochs: &'r Epochs<'r, V>,
    well: bool,
}

impl<V: Copy> Drop for Ending<'_, V> {
    fn drop(&mut self) {
        self.epochs.end(self.well);
    }
}

impl<J: Job> ShowStage<'_, J> {
    /// Makes shows while `map` maps, and the last one when it has.
    pub(crate) fn during<R>(
        &self,
        show: Show<'_, J>,
        map: impl FnOnce() -> Result<R>,
    ) -> Result<R> {
        let context = Context::here();
        std::thread::scope(|scope| {
            let serve = || {
                let _entered = context.enter();
                let _waiting = timeline::begin(Kind::Idle);
                if self.failure.attempt(u64::MAX, STAGE, || self.serve(show)).is_none() {
                    // Those that wait shall see it.
                    self.core.pool().wake();
                }
            };
            let thread = std::thread::Builder::new().name("show".to_owned());
            let thread = thread.spawn_scoped(scope, serve);
            let thread =
                thread.map_err(|cause| Error::System { action: "start a thread", cause })?;
            let mut ending = Ending { epochs: self.epochs, well: false };
            let mapped = map();
            ending.well = mapped.is_ok();
            drop(ending);
            // Its panics are caught.
            let _ = thread.join();
            let mapped = mapped?;
            self.failure.check()?;
            Ok(mapped)
        })
    }

    fn serve(&self, show: Show<'_, J>) -> Result<()> {
        let (top, order) = show.cut(self.options);
        let every = match show.every {
            Every::Time(time) => Some(time),
            Every::Part(_) | Every::Bytes(_) => None,
        };
        let mut maker = Maker {
            stage: self,
            pool: Pool::of_caller(),
            upkeep: Upkeep::new(self.chunks),
            began: Instant::now(),
            bytes: 0,
            shown_bytes: 0,
            number: 0,
            stability: Stability::default(),
            show,
            top,
            order,
        };
        let mut deadline = every.map(|time| Instant::now() + time);
        let mut is_due = every.is_none();
        loop {
            match self.epochs.next(deadline) {
                Event::Time => {
                    // Never two shows for one that was late.
                    deadline = every.map(|time| Instant::now() + time);
                    is_due = true;
                    if self.epochs.time() {
                        self.core.pool().wake();
                    }
                }
                Event::Closed(closed) => {
                    maker.take(&closed)?;
                    self.epochs.taken();
                    if is_due && maker.has_news() && !closed.is_last && !self.failure.stops() {
                        maker.show(false)?;
                        is_due = every.is_none();
                    }
                }
                Event::End { well: true } if !self.failure.stops() => return maker.show(true),
                Event::End { .. } => return Ok(()),
            }
        }
    }
}

/// What the thread makes shows with.
struct Maker<'r, 's, J: Job> {
    stage: &'r ShowStage<'r, J>,
    /// The stages of a show are run by this thread alone.
    pool: Pool,
    upkeep: Upkeep<J::Combine>,
    began: Instant,
    /// What was mapped of closed epochs.
    bytes: u64,
    /// What the last show had seen.
    shown_bytes: u64,
    number: u64,
    stability: Stability,
    show: Show<'s, J>,
    top: Option<usize>,
    order: Order,
}

impl<J: Job> Maker<'_, '_, J> {
    /// Moves a closed epoch's pairs to the run's own partial.
    fn take(&mut self, closed: &Closed) -> Result<()> {
        let ShowStage { core, partial, epochs, .. } = *self.stage;
        let _compressing = timeline::begin(Kind::Compress);
        core.go_to_group_of(closed.by);
        partial.take_in(epochs.partial(closed.number))?;
        self.bytes += closed.bytes;
        epochs.kept_pairs.store(self.upkeep.fold(partial, 0)?, Ordering::Relaxed);
        self.upkeep.relieve(partial)
    }

    /// Bytes whose pairs the run's own partial holds.
    fn seen_bytes(&self) -> u64 {
        self.bytes + self.stage.epochs.restored_bytes.load(Ordering::Relaxed)
    }

    /// Whether anything was seen since the last show.
    fn has_news(&self) -> bool {
        self.seen_bytes() > self.shown_bytes
    }

    /// Reduces and sorts what was seen so far, and shows it.
    fn show(&mut self, is_last: bool) -> Result<()> {
        let ShowStage { job, plan, chunks, partial, ref stored, .. } = *self.stage;
        let reducing = timeline::begin(Kind::Reduce);
        self.make_room()?;
        let failure = Failure::new(&self.stage.options.cancel);
        let (pool, order) = (&self.pool, self.order);
        let stage = ReduceStage {
            job,
            pool,
            chunks,
            partial,
            failure: &failure,
            order,
            top: self.top,
            keeps: true,
        };
        let reduced = stage.run()?;
        let spill = partial.spill();
        let stage = MergeStage { job, pool, chunks, failure: &failure, order, spill };
        let pieces = stage.run(reduced.ranges)?;
        reducing.end();
        self.number += 1;
        self.shown_bytes = self.seen_bytes();
        let answers = Answers::new(&pieces, stored, plan);
        if order == Order::Value {
            let first = answers.first_keys(STABLE_KEYS_MOST)?;
            self.stability.see(first.iter().map(|key| &**key), self.shown_bytes);
        }
        let shown = Shown {
            number: self.number,
            bytes: self.shown_bytes,
            bytes_planned: Some(plan.bytes).filter(|_| plan.is_of_known_length()),
            keys: reduced.totals.keys,
            elapsed: self.began.elapsed(),
            is_last,
            answers,
            stability: &self.stability,
        };
        (self.show.see)(&shown)?;
        self.let_go(&pieces)
    }
}

impl<J: Job> Maker<'_, '_, J> {
    /// With a limit on memory, answers that may have no room beside the pairs they are made of are made on
    /// disk.
    fn make_room(&mut self) -> Result<()> {
        let ShowStage { chunks, partial, .. } = *self.stage;
        let Some(spill) = partial.spill().filter(|_| self.top.is_none()) else { return Ok(()) };
        if chunks.held_bytes() <= spill.shares().partial_bytes / HELD_DIVISOR {
            return Ok(());
        }
        self.upkeep.empty(partial)
    }

    /// Gives the space of answers on disk back.
    fn let_go(&self, pieces: &[Piece<Value<J>>]) -> Result<()> {
        let Some(spill) = self.stage.partial.spill() else { return Ok(()) };
        for piece in pieces {
            if let Piece::Stored(run) = piece {
                spill.scratch().free(&run.extents)?;
                spill.forget(run);
            }
        }
        Ok(())
    }
}
