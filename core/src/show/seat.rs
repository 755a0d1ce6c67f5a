//! A worker's way through the epochs: its present epoch, and when it moves to the next.

use super::Epochs;
use super::epochs::{Position, Spot};
use super::sample::{self, Asked, Base, Sample};
use crate::aggregate::Aggregate;
use crate::partial::Partial;
use std::sync::Arc;

/// The state that a worker keeps about the epochs of its run.
pub(crate) struct Seat<'r, V: Copy> {
    epochs: &'r Epochs<'r, V>,
    worker: usize,
    place: Option<Position>,
    /// Bytes mapped in the epoch.
    bytes: u64,
}

impl<'r, V: Copy> Seat<'r, V> {
    pub(crate) fn new(epochs: &'r Epochs<'r, V>, worker: usize) -> Seat<'r, V> {
        Seat { epochs, worker, place: None, bytes: 0 }
    }

    /// Returns whether the epoch must be left before splits from `spot` on are mapped.
    pub(crate) fn ends_before(&self, spot: Spot) -> bool {
        self.place.as_ref().is_some_and(|place| spot >= place.end)
    }

    /// Enters the epoch of splits from `spot` on, if the worker is in none. Then returns the partial for
    /// handing over.
    pub(crate) fn enter(&mut self, spot: Spot) -> Option<&'r Partial<V>> {
        if self.place.is_some() {
            return None;
        }
        let place = self.place.insert(self.epochs.enter(self.worker, spot));
        Some(self.epochs.partial(place.epoch))
    }

    /// Records mapped splits of the epoch. Returns whether waiting workers must be woken.
    pub(crate) fn mapped(&mut self, bytes: u64, splits: u64) -> bool {
        self.bytes += bytes;
        self.place.as_ref().is_some_and(|place| self.epochs.mapped(place.epoch, bytes, splits))
    }

    /// Returns whether the epoch must be left now.
    pub(crate) fn is_called_out(&self) -> bool {
        self.epochs.calls_out(self.worker)
    }

    /// Returns whether a sample is requested.
    pub(crate) fn is_asked(&self) -> bool {
        self.epochs.asks(self.worker)
    }

    /// Returns the threshold of the sample, and the requested keys.
    pub(crate) fn asked<C: Aggregate<Accumulator = V>>(&self) -> Option<(V, Arc<Base<V>>)> {
        let (asked, all) = self.epochs.asked();
        let Asked { nth, base } = asked?;
        Some((sample::least::<C>(&nth, self.bytes, all)?, base))
    }

    /// Gives the pairs from `least` on; all of them if `is_whole`.
    pub(crate) fn give(&self, least: Option<V>, pairs: Vec<(Box<[u8]>, V)>, is_whole: bool) {
        self.epochs.give(self.worker, Sample { bytes: self.bytes, least, pairs, is_whole });
    }

    /// Returns the partial of the epoch.
    pub(crate) fn partial(&self) -> Option<&'r Partial<V>> {
        self.place.as_ref().map(|place| self.epochs.partial(place.epoch))
    }

    /// Leaves the epoch, after all its pairs were handed over.
    pub(crate) fn leave(&mut self) {
        if let Some(place) = self.place.take() {
            self.epochs.leave(self.worker, place.epoch, std::mem::take(&mut self.bytes));
        }
    }

    /// Returns the number of pairs that the run's own partial holds.
    pub(crate) fn kept_pairs(&self) -> u64 {
        self.epochs.kept_pairs.load(std::sync::atomic::Ordering::Relaxed)
    }
}
