//! The thread that makes shows. It merges closed epochs into the run's own partial, reduces and sorts its
//! contents, and passes them to the caller's function.

use super::epochs::{Closed, Epochs, Event};
use super::sample::{Asked, Base, Sample, highest};
use super::stability::{STABLE_KEYS_MOST, Stability};
use super::{Every, Moment, Showing};
use crate::aggregate::Aggregate;
use crate::context::RunContext;
use crate::error::{Error, Result};
use crate::failure::Failure;
use crate::memory::{ChunkPool, ValueStore};
use crate::merge::{MergeStage, Piece};
use crate::options::Order;
use crate::output::{Seen, Stored};
use crate::partial::{Partial, Spill, Upkeep};
use crate::plan::Plan;
use crate::reduce::{Range, Ranking, ReduceStage, Reduced, take_back};
use crate::schedule::{Pool, beside};
use crate::sync::Mutex;
use crate::timeline::{self, Kind};
use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

const STAGE: &str = "a show";
/// After repeated failures, samples are tried again after at most 2 to this power shows.
const FAILURES_MOST: u32 = 6;
/// The number of the highest pairs of the run's own partial that are kept, per shown pair.
const BASE_TIMES: usize = 4;
const BASE_BESIDE: usize = 256;
/// With a limit on memory, answers are made in memory beside their pairs if the pairs take at most this
/// fraction of their share.
const HELD_DIVISOR: usize = 4;

/// The parts of a run that shows need.
pub(crate) struct ShowStage<'r, C: Aggregate> {
    pub(crate) ranking: Ranking<'r, C>,
    pub(crate) context: &'r RunContext<'r>,
    pub(crate) plan: &'r Plan,
    pub(crate) chunks: &'r Arc<ChunkPool>,
    /// The run's own partial, to which nobody else adds while maps run.
    pub(crate) partial: &'r Partial<C::Accumulator>,
    pub(crate) epochs: &'r Epochs<'r, C::Accumulator>,
    pub(crate) stored: Stored,
}

/// Tells the thread that no more epochs come, even if maps unwind.
struct Ending<'r, V: Copy> {
    epochs: &'r Epochs<'r, V>,
    well: bool,
}

impl<V: Copy> Drop for Ending<'_, V> {
    fn drop(&mut self) {
        self.epochs.end(self.well);
    }
}

impl<C: Aggregate> ShowStage<'_, C> {
    /// Makes shows while `map` maps, and the last one afterwards, unless it can be made of the answer: then returns
    /// what makes it.
    pub(crate) fn during<'s>(
        &self,
        showing: Showing<'s, C>,
        map: &mut dyn FnMut() -> Result<()>,
    ) -> Result<Option<LastShow<'s, C>>> {
        let (showing, last) = (Mutex::new(Some(showing)), Mutex::new(None));
        let serve = |_| {
            let Some(showing) = showing.lock().take() else { return };
            let _waiting = timeline::begin(Kind::Idle);
            match self.context.failure.attempt(u64::MAX, STAGE, || self.serve(showing)) {
                Some(left) => *last.lock() = left,
                // Waiting workers must see it.
                None => self.context.core.pool().wake(),
            }
        };
        let mapped = RefCell::new(Ok(()));
        let mut cannot = |_, cause| {
            *mapped.borrow_mut() = Err(Error::System { action: "start a thread", cause });
        };
        beside(&["show".to_owned()], &serve, &mut cannot, &mut || {
            if mapped.borrow().is_ok() {
                let mut ending = Ending { epochs: self.epochs, well: false };
                let result = map();
                ending.well = result.is_ok();
                *mapped.borrow_mut() = result;
            }
        });
        mapped.into_inner()?;
        self.context.failure.check()?;
        Ok(last.into_inner())
    }

    fn serve<'s>(&self, showing: Showing<'s, C>) -> Result<Option<LastShow<'s, C>>> {
        let (top, order) = showing.wanted.cut(self.context.options);
        let every = match showing.wanted.every {
            Every::Time(time) => Some(time),
            Every::Part(_) | Every::Bytes(_) => None,
        };
        let mut maker = Maker {
            stage: self,
            pool: Pool::of_caller(),
            upkeep: Upkeep::new(self.chunks),
            bytes: 0,
            shown_bytes: 0,
            base: Arc::new(Base { pairs: Vec::new(), bound: None }),
            failures: 0,
            rests: 0,
            presenter: Presenter {
                began: Instant::now(),
                number: 0,
                stability: Stability::default(),
                showing,
                top,
                order,
            },
        };
        let mut deadline = every.map(|time| Instant::now() + time);
        let mut is_due = every.is_none();
        loop {
            match self.epochs.next(deadline) {
                Event::Time => {
                    // Never makes two shows after a late one.
                    deadline = every.map(|time| Instant::now() + time);
                    is_due = true;
                    if self.epochs.time() {
                        self.context.core.pool().wake();
                    }
                }
                Event::Closed(closed) => {
                    maker.take(&closed, closed.is_last && self.answer_has(top))?;
                    self.epochs.taken();
                    if is_due
                        && maker.has_news()
                        && !closed.is_last
                        && !self.context.failure.stops()
                    {
                        maker.show(false)?;
                        maker.sample_next()?;
                        is_due = every.is_none();
                    }
                }
                Event::Sampled(samples) => {
                    if maker.show_samples(&samples)? {
                        is_due = every.is_none();
                    }
                }
                Event::End { well: true } if !self.context.failure.stops() => {
                    if let Some(top) = top.filter(|_| self.answer_has(top)) {
                        let (bytes, presenter) = (maker.seen_bytes(), maker.presenter);
                        return Ok(Some(LastShow { presenter, top, bytes }));
                    }
                    return maker.show(true).map(|()| None);
                }
                Event::End { .. } => return Ok(None),
            }
        }
    }

    /// Whether the answer will have the pairs of a show, in memory.
    fn answer_has(&self, top: Option<usize>) -> bool {
        let is_on_disk = self.partial.spill().is_some_and(Spill::began);
        let in_answer = |top| self.context.options.top.is_none_or(|most| most >= top);
        top.is_some_and(in_answer) && !is_on_disk
    }
}

/// What goes on from show to show, and the caller's function.
struct Presenter<'s, C: Aggregate> {
    began: Instant,
    number: u64,
    stability: Stability,
    showing: Showing<'s, C>,
    top: Option<usize>,
    order: Order,
}

/// What a show covers.
struct Seeing {
    bytes: u64,
    /// `None` if they were not counted.
    keys: Option<u64>,
    is_last: bool,
}

impl<C: Aggregate> Presenter<'_, C> {
    fn present(
        &mut self,
        answers: Seen<'_, C>,
        plan: &Plan,
        Seeing { bytes, keys, is_last }: Seeing,
    ) -> Result<()> {
        self.number += 1;
        if self.order == Order::Value {
            let first = answers.first_keys(STABLE_KEYS_MOST)?;
            self.stability.see(first, bytes);
        }
        (self.showing.see)(&Moment {
            number: self.number,
            bytes,
            bytes_planned: Some(plan.bytes).filter(|_| plan.is_of_known_length()),
            keys,
            elapsed: self.began.elapsed(),
            is_last,
            answers,
            stability: &self.stability,
        })
    }
}

/// The show of all of the input, which is not made yet: its pairs are the first of the answer's.
pub(crate) struct LastShow<'s, C: Aggregate> {
    presenter: Presenter<'s, C>,
    top: usize,
    bytes: u64,
}

impl<C: Aggregate> LastShow<'_, C> {
    /// Makes it of the pairs that the `reducing` stage has reduced. Linear in these.
    pub(crate) fn show(
        mut self,
        reducing: &ReduceStage<'_, C>,
        reduced: &Reduced<C::Reduced>,
        stored: &Stored,
        plan: &Plan,
    ) -> Result<()> {
        let ReduceStage { ranking, pool, chunks, failure, .. } = *reducing;
        let _ = failure.attempt(u64::MAX, STAGE, || {
            let first = reducing.first_of(&reduced.ranges, self.top)?;
            let order = self.presenter.order;
            let stage = MergeStage { ranking, pool, chunks, failure, order, spill: None };
            let pieces = stage.run(vec![first])?;
            let (bytes, keys) = (self.bytes, Some(reduced.totals.keys));
            let seeing = Seeing { bytes, keys, is_last: true };
            self.presenter.present(Seen::new(&pieces, stored, plan), plan, seeing)
        });
        failure.check()
    }
}

/// The state of the thread that makes shows.
struct Maker<'r, 's, C: Aggregate> {
    stage: &'r ShowStage<'r, C>,
    /// This thread alone runs the stages of a show.
    pool: Pool,
    upkeep: Upkeep<C>,
    /// Mapped bytes of closed epochs.
    bytes: u64,
    /// Bytes seen by the last show.
    shown_bytes: u64,
    /// The highest pairs of the run's own partial, while shows may be made of samples.
    base: Arc<Base<C::Accumulator>>,
    /// The number of failures since the last success, and the number of shows for which samples are not
    /// tried.
    failures: u32,
    rests: u32,
    presenter: Presenter<'s, C>,
}

impl<C: Aggregate> Maker<'_, '_, C> {
    /// Moves a closed epoch's pairs to the run's own partial, and folds them unless they are for the answer alone.
    fn take(&mut self, closed: &Closed, is_for_answer: bool) -> Result<()> {
        let ShowStage { context, partial, epochs, .. } = *self.stage;
        let _compressing = timeline::begin(Kind::Compress);
        closed.by.iter().for_each(|&worker| context.core.go_to_group_of(worker));
        partial.take_in(epochs.partial(closed.number))?;
        self.bytes += closed.bytes;
        if !is_for_answer {
            epochs.kept_pairs.store(self.upkeep.fold(partial, 0)?, Ordering::Relaxed);
        }
        self.upkeep.relieve(partial)
    }

    /// Returns the bytes whose pairs the run's own partial holds.
    fn seen_bytes(&self) -> u64 {
        self.bytes + self.stage.epochs.restored_bytes.load(Ordering::Relaxed)
    }

    /// Returns whether new bytes were seen since the last show.
    fn has_news(&self) -> bool {
        self.seen_bytes() > self.shown_bytes
    }

    /// Reduces and sorts the pairs so far, and shows them.
    fn show(&mut self, is_last: bool) -> Result<()> {
        self.make_room()?;
        self.present(self.stage.partial, self.seen_bytes(), true, is_last)
    }

    /// Shows the answers of a partial that represents the first `bytes` mapped bytes. Includes the number
    /// of keys if the partial `has_all` of them.
    fn present(
        &mut self,
        partial: &Partial<C::Accumulator>,
        bytes: u64,
        has_all: bool,
        is_last: bool,
    ) -> Result<()> {
        let ShowStage { ranking, plan, chunks, ref stored, .. } = *self.stage;
        let reducing = timeline::begin(Kind::Reduce);
        let failure = Failure::new(&self.stage.context.options.cancel);
        let (pool, &Presenter { top, order, .. }) = (&self.pool, &self.presenter);
        let reduced = self.reduced(partial, &failure, order, top)?;
        let spill = partial.spill();
        let stage = MergeStage { ranking, pool, chunks, failure: &failure, order, spill };
        let pieces = stage.run(reduced.ranges)?;
        reducing.end();
        self.shown_bytes = bytes;
        let keys = has_all.then_some(reduced.totals.keys);
        let seeing = Seeing { bytes, keys, is_last };
        self.presenter.present(Seen::new(&pieces, stored, plan), plan, seeing)?;
        self.let_go(pieces, partial)
    }

    /// Reduces a partial to one pair per key, on this thread alone.
    fn reduced(
        &self,
        partial: &Partial<C::Accumulator>,
        failure: &Failure,
        order: Order,
        top: Option<usize>,
    ) -> Result<Reduced<C::Reduced>> {
        let ShowStage { ranking, chunks, .. } = *self.stage;
        let (pool, keeps) = (&self.pool, true);
        ReduceStage { ranking, pool, chunks, partial, failure, order, top, keeps }.run()
    }
}

/// Shows from samples.
impl<C: Aggregate> Maker<'_, '_, C> {
    /// Returns whether this job and these options allow samples.
    fn may_sample(&self) -> bool {
        let is_saved = self.stage.context.options.state.is_some();
        let share = C::SHARE.is_some() && self.presenter.showing.is_largest_first;
        share
            && self.presenter.top.is_some()
            && !self.presenter.showing.wanted.in_order
            && !is_saved
    }

    /// After a full show: requests samples for the next ones, unless samples failed recently.
    fn sample_next(&mut self) -> Result<()> {
        if !self.may_sample() {
            return Ok(());
        }
        if self.rests > 0 {
            self.rests -= 1;
            return Ok(());
        }
        let top = self.presenter.top.unwrap_or_default();
        let most = top.saturating_mul(BASE_TIMES).saturating_add(BASE_BESIDE);
        let failure = Failure::new(&self.stage.context.options.cancel);
        let reduced = self.reduced(self.stage.partial, &failure, Order::Value, Some(most))?;
        let mut pairs: Vec<(Box<[u8]>, C::Accumulator)> = Vec::new();
        for range in &reduced.ranges {
            let Range::Held { pairs: held, .. } = range else { return Ok(()) };
            let held = held.iter();
            pairs
                .extend(held.filter_map(|pair| Some((pair.key.into(), C::unreduced(pair.value)?))));
        }
        let is_cut = reduced.totals.keys > pairs.len() as u64;
        let bound = pairs.last().filter(|_| is_cut).map(|pair| pair.1);
        let nth = top.checked_sub(1).and_then(|last| pairs.get(last)).map(|pair| pair.1);
        let base = Arc::new(Base { pairs, bound });
        self.stage.epochs.ask(nth.map(|nth| Asked { nth, base: Arc::clone(&base) }));
        self.base = base;
        Ok(())
    }

    /// Makes a show from samples. If the result is not certain, requests all pairs of the workers. Returns
    /// whether there was a show.
    fn show_samples(&mut self, samples: &[Sample<C::Accumulator>]) -> Result<bool> {
        let top = self.presenter.top.unwrap_or_default();
        let are_whole = samples.iter().all(|sample| sample.is_whole);
        let store = &mut ValueStore::new(self.stage.chunks);
        let highest = are_whole.then(|| highest::<C>(&self.base, samples, top, store)).flatten();
        let Some(highest) = highest else {
            self.failures = (self.failures + 1).min(FAILURES_MOST);
            self.rests = (1 << self.failures) - 1;
            self.stage.epochs.ask(None);
            if self.stage.epochs.close() {
                self.stage.context.core.pool().wake();
            }
            return Ok(false);
        };
        self.failures = 0;
        let partial = Partial::new(self.stage.chunks, None);
        let mut putting = partial.restore(false);
        highest.pairs.iter().try_for_each(|(key, value)| putting.put(key, *value))?;
        drop(putting);
        let sampled: u64 = samples.iter().map(|sample| sample.bytes).sum();
        self.present(&partial, self.seen_bytes() + sampled, false, false)?;
        let (nth, base) = (highest.nth, Arc::clone(&self.base));
        self.stage.epochs.ask(Some(Asked { nth, base }));
        Ok(true)
    }
}

impl<C: Aggregate> Maker<'_, '_, C> {
    /// With a limit on memory, spills the partial if the answers may not fit beside their pairs. The
    /// answers are then made on disk.
    fn make_room(&mut self) -> Result<()> {
        let ShowStage { chunks, partial, .. } = *self.stage;
        let Some(spill) = partial.spill().filter(|_| self.presenter.top.is_none()) else {
            return Ok(());
        };
        if chunks.held_bytes() <= spill.shares().partial_bytes / HELD_DIVISOR {
            return Ok(());
        }
        self.upkeep.empty(partial)
    }

    /// Gives the pairs of answers back to the partial that has lent them, and the disk space of others.
    fn let_go(
        &self,
        pieces: Vec<Piece<C::Reduced>>,
        partial: &Partial<C::Accumulator>,
    ) -> Result<()> {
        let is_lent = self.presenter.top.is_none() && self.presenter.order == Order::None;
        for (number, piece) in pieces.into_iter().enumerate() {
            match (piece, self.stage.partial.spill()) {
                (Piece::Held(held), _) if is_lent => {
                    take_back::<C>(partial, number, held.pairs);
                }
                (Piece::Stored(run), Some(spill)) => {
                    spill.scratch().free(&run.extents)?;
                    spill.forget(&run);
                }
                _ => {}
            }
        }
        Ok(())
    }
}
