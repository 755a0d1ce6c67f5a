//! One partition of a partial: pairs in segments, each handed over from one table, and the rule that decides
//! when to fold them.

use super::pairs::Pairs;
use super::runs::Run;
use super::tiers::Tiers;
use crate::error::MemoryError;
use crate::memory::{ChunkPool, KeptValues};
use std::sync::Arc;

/// A partition of fewer pairs is never folded while the job runs. They take a few MiB over all partitions.
const FOLD_LEAST: usize = 1024;

/// Pairs whose keys share the top bits of their hash.
pub struct Partition<V: Copy> {
    pub pairs: Pairs<V>,
    /// Tables that handed over here since the last fold, and the fold itself.
    segments: usize,
    /// Folding is due at this many pairs.
    fold_at: usize,
    /// The memory of values that folding has copied.
    values: Vec<KeptValues>,
    /// The spilled pairs, each run folded and in canonical order.
    pub runs: Tiers,
}

impl<V: Copy> Partition<V> {
    pub fn new(pool: &Arc<ChunkPool>) -> Partition<V> {
        Partition {
            pairs: Pairs::new(pool),
            segments: 0,
            fold_at: FOLD_LEAST,
            values: Vec::new(),
            runs: Tiers::default(),
        }
    }

    /// Begins a segment: the next pairs come from another table than those before.
    pub(super) fn begin_segment(&mut self) {
        self.segments += 1;
    }

    /// Begins a segment whose pairs were not combined: keys may repeat among themselves.
    pub(super) fn begin_repeating_segment(&mut self) {
        self.segments += 2;
    }

    /// Begins pairs of which no key came here before or comes twice among them: all pairs here came in this
    /// way.
    pub(super) fn go_on_with_folded(&mut self) {
        self.segments = self.segments.max(1);
    }

    /// Returns whether a key can be here more than once.
    pub fn may_repeat(&self) -> bool {
        self.segments > 1
    }

    /// Returns whether it is time to compress. Folding when the pairs have doubled since the last fold costs
    /// each pair a constant number of folds, and holds at most twice the distinct pairs.
    pub fn fold_is_due(&self) -> bool {
        self.may_repeat() && self.pairs.len() >= self.fold_at
    }

    /// Moves all pairs of another partition to the end of this one.
    pub(super) fn take_in(&mut self, other: &mut Partition<V>) -> Result<(), MemoryError> {
        self.pairs.append(&mut other.pairs)?;
        self.segments += other.segments;
        (other.segments, other.fold_at) = (0, FOLD_LEAST);
        self.values.append(&mut other.values);
        let runs = other.runs.runs_mut().drain(..);
        // They are as new as any here, however often they were joined.
        runs.for_each(|run| self.runs.push(Run { level: 0, ..run }));
        Ok(())
    }

    /// Records that all pairs went into a run.
    pub(super) fn spilled(&mut self, run: Run) {
        (self.segments, self.fold_at) = (0, FOLD_LEAST);
        self.values.clear();
        self.runs.push(run);
    }

    pub(super) fn folded(&mut self, pairs: Pairs<V>, values: Option<KeptValues>) {
        self.fold_at = (2 * pairs.len()).max(FOLD_LEAST);
        self.pairs = pairs;
        self.segments = 1;
        self.keep_values(values);
    }

    /// Takes over the memory of values of its pairs, or of pairs that were here.
    pub(super) fn keep_values(&mut self, values: Option<KeptValues>) {
        self.values.extend(values);
    }

    /// Returns the memory of values of its pairs, those that were here among them.
    pub(super) fn take_values(&mut self) -> Vec<KeptValues> {
        std::mem::take(&mut self.values)
    }
}
