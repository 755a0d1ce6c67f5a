//! A worker's way through the epochs: its present epoch, and when it moves to the next. The map stage calls a seat as
//! its worker's attendant.

use super::epochs::{Epochs, Position};
use super::sample::{self, Asked, Sample};
use crate::aggregate::Aggregate;
use crate::error::Result;
use crate::map::{Attendance, Attendant, Holdings, Mapped, Spot};
use crate::timeline::{self, Kind};
use std::sync::atomic::Ordering;

/// Where more pairs than this rank high, samples do not pay.
const SAMPLE_MOST: usize = 64 << 10;

/// The state that a worker keeps about the epochs of its run.
struct Seat<'r, V: Copy> {
    epochs: &'r Epochs<'r, V>,
    worker: usize,
    place: Option<Position>,
    /// Bytes mapped in the epoch.
    bytes: u64,
    /// Pairs handed over when the epoch was entered.
    handed_over_before: u64,
}

impl<C: Aggregate> Attendance<C> for Epochs<'_, C::Accumulator> {
    /// A worker hands nothing over before it is in an epoch.
    fn attendant<'r>(
        &'r self,
        worker: usize,
        holdings: &mut Holdings<'r, C>,
    ) -> Box<dyn Attendant<'r, C> + 'r> {
        holdings.rest();
        Box::new(Seat { epochs: self, worker, place: None, bytes: 0, handed_over_before: 0 })
    }

    /// An idle worker leaves its epoch when it is called out of it; a worker that will have nothing more leaves
    /// it in any case.
    fn calls(&self, worker: usize, is_done: bool) -> bool {
        match is_done {
            true => self.has(worker),
            false => self.calls_out(worker) || self.asks(worker),
        }
    }
}

impl<'r, V: Copy + Send + Sync> Seat<'r, V> {
    /// Hands over all pairs of the epoch, and leaves it.
    fn leave<C: Aggregate<Accumulator = V>>(
        &mut self,
        holdings: &mut Holdings<'r, C>,
    ) -> Result<()> {
        holdings.hand_over()?;
        self.handed_over(holdings);
        Ok(())
    }

    /// Gives a sample of the worker's pairs, if a show asks for one.
    fn give_sample<C: Aggregate<Accumulator = V>>(&self, holdings: &Holdings<'_, C>) {
        let Seat { epochs, worker, bytes, .. } = *self;
        if !epochs.asks(worker) {
            return;
        }
        let (asked, all) = epochs.asked();
        let asked = asked
            .and_then(|Asked { nth, base }| Some((sample::least::<C>(&nth, bytes, all)?, base)));
        let Some((least, base)) = asked else {
            let (least, pairs, is_whole) = (None, Vec::new(), false);
            return epochs.give(worker, Sample { bytes, least, pairs, is_whole });
        };
        let _combining = timeline::begin(Kind::Combine);
        let reduced = |value: &_| C::reduce(&[], value);
        let (bar, held) = (reduced(&least), holdings.pairs());
        let mut pairs = Vec::new();
        let holds_all = held.handed_over().pairs == self.handed_over_before;
        let is_whole = holds_all
            && held.each(&|value| C::rank(&reduced(value), &bar).is_ge(), &mut |pair| {
                if pairs.len() < SAMPLE_MOST {
                    pairs.push((pair.key.into(), *pair.value));
                }
            });
        let is_whole = is_whole && pairs.len() < SAMPLE_MOST;
        for (key, _) in &base.pairs {
            let value = held.get(key).filter(|_| is_whole);
            let lower = value.filter(|value| C::rank(&reduced(value), &bar).is_lt());
            pairs.extend(lower.map(|value| (key.clone(), *value)));
        }
        epochs.give(worker, Sample { bytes, least: Some(least), pairs, is_whole });
    }
}

impl<'r, C: Aggregate> Attendant<'r, C> for Seat<'r, C::Accumulator> {
    /// Enters the unit's epoch.
    fn begin(&mut self, spot: Spot, holdings: &mut Holdings<'r, C>) -> Result<()> {
        if self.place.is_some_and(|place| spot >= place.end) {
            self.leave(holdings)?;
        }
        if self.place.is_none() {
            let epochs = self.epochs;
            let place = self.place.insert(epochs.enter(self.worker, spot));
            let kept_pairs = epochs.kept_pairs.load(Ordering::Relaxed);
            holdings.redirect(epochs.partial(place.epoch), kept_pairs);
            self.handed_over_before = holdings.pairs().handed_over().pairs;
        }
        Ok(())
    }

    fn mapped(&mut self, mapped: &Mapped<'_>, holdings: &mut Holdings<'r, C>) -> Result<()> {
        let (epochs, bytes) = (self.epochs, mapped.stored_bytes);
        self.bytes += bytes;
        if self.place.is_some_and(|place| epochs.mapped(place.epoch, bytes, mapped.splits)) {
            holdings.wake();
        }
        // Nobody else would hand over the pairs of a device before its next partial comes.
        if epochs.calls_out(self.worker) || epochs.is_device(self.worker) {
            return self.leave(holdings);
        }
        self.give_sample(holdings);
        Ok(())
    }

    fn is_due(&mut self, bytes: u64, holdings: &mut Holdings<'r, C>) -> Result<bool> {
        let is_called_out = self.epochs.calls_out(self.worker);
        if bytes == 0 {
            return if is_called_out { self.leave(holdings) } else { Ok(()) }.map(|()| false);
        }
        self.begin((0, 0), holdings)?;
        Ok(is_called_out || self.epochs.is_due_with(bytes))
    }

    fn idle(&mut self, is_done: bool, holdings: &mut Holdings<'r, C>) -> Result<()> {
        if is_done || self.epochs.calls_out(self.worker) {
            return self.leave(holdings);
        }
        self.give_sample(holdings);
        Ok(())
    }

    /// Leaves the epoch.
    fn handed_over(&mut self, holdings: &mut Holdings<'r, C>) {
        if let Some(place) = self.place.take() {
            holdings.rest();
            self.epochs.leave(self.worker, place.epoch, std::mem::take(&mut self.bytes));
        }
    }

    fn end(&mut self, _: bool, holdings: &mut Holdings<'r, C>) -> Result<()> {
        self.leave(holdings)
    }
}
