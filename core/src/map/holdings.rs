//! The pairs that a worker holds, and their way to a partial: its mapper with its tables, the partial that it hands
//! them over to, and the folding and spilling of that.

use super::MapStage;
use super::mapper::Mapper;
use crate::aggregate::Aggregate;
use crate::bad::{BadRecords, Found};
use crate::container::{self, Making};
use crate::error::Result;
use crate::partial::{Outlet, PARTITIONS, Partial};
use crate::plan::Plan;
use crate::timeline::{self, Kind};
use std::time::Duration;

/// Partitions are checked after this number of pairs: a small part of the pairs with which folding pays.
const PAIRS_PER_LOOK: u64 = 16 << 10;

pub(crate) struct Holdings<'r, C: Aggregate> {
    stage: &'r MapStage<'r, C>,
    index: usize,
    pub(super) mapper: Box<dyn Mapper<'r, C> + 'r>,
    /// Where pairs are handed over to; `None` while the worker holds nothing and may not hand over.
    partial: Option<&'r Partial<C::Accumulator>>,
    /// Pairs that the run holds beside those of the partial, as far as progress shows them.
    pairs_beside: u64,
    /// Pairs handed over when partitions were last looked at.
    handed_over_seen: u64,
    /// The records that its maps refused since they were last taken.
    pub(super) bad: BadRecords,
    pub(super) compress: Duration,
}

impl<'r, C: Aggregate> Holdings<'r, C> {
    pub(super) fn new(stage: &'r MapStage<'r, C>, index: usize) -> Result<Holdings<'r, C>> {
        let outlet = stage
            .attended_by
            .iter()
            .fold(Outlet::new(stage.partial), |outlet, attends| attends.outlet(index, outlet));
        let workers = stage.pool.workers();
        let in_share = stage.share.map_or(workers, |share| share.count(workers)).max(1);
        let making = Making {
            chunks: stage.chunks,
            outlet,
            limits: stage.table_limits,
            range: stage.facts.key_range,
            share_bytes: stage.plan.likely_bytes() / in_share as u64,
            container: stage.container,
            tables: container::tables,
            upkeep: container::upkeep,
        };
        Ok(Holdings {
            stage,
            index,
            mapper: stage.mappers.mapper(&making)?,
            partial: Some(stage.partial),
            pairs_beside: 0,
            handed_over_seen: 0,
            bad: stage.bad.alike(),
            compress: Duration::ZERO,
        })
    }

    pub(crate) fn plan(&self) -> &'r Plan {
        self.stage.plan
    }

    /// Wakes workers that wait for work.
    pub(crate) fn wake(&self) {
        self.stage.pool.wake();
    }

    /// Shows the pairs that are not handed over yet, and the counts of all.
    pub(crate) fn pairs(&self) -> &dyn Mapper<'r, C> {
        &*self.mapper
    }

    /// Hands over to `partial` from now on. The run holds `pairs_beside` pairs elsewhere.
    pub(crate) fn redirect(&mut self, partial: &'r Partial<C::Accumulator>, pairs_beside: u64) {
        self.mapper.redirect(partial);
        (self.partial, self.pairs_beside) = (Some(partial), pairs_beside);
    }

    /// Ends handing over, when all was handed over, until pairs are redirected.
    pub(crate) fn rest(&mut self) {
        self.partial = None;
    }

    /// As [`Mapper::end_piece`].
    pub(crate) fn end_piece(&mut self) -> Result<()> {
        self.mapper.end_piece()?;
        self.keep_up()
    }

    /// Hands over all pairs.
    pub(crate) fn hand_over(&mut self) -> Result<()> {
        if self.partial.is_some() {
            self.mapper.hand_over()?;
        }
        self.spill()
    }

    /// Adds the records that were refused since the last call to those of the run, and returns them.
    pub(crate) fn take_bad(&mut self) -> Found {
        let bad = self.bad.take();
        self.stage.bad.add(&bad);
        bad
    }

    /// Folds the partitions that have doubled since they were last folded, if enough was handed over
    /// since the last look, and spills.
    pub(super) fn keep_up(&mut self) -> Result<()> {
        let handed_over = self.mapper.handed_over().pairs;
        if let Some(partial) = self.partial
            && handed_over - self.handed_over_seen >= PAIRS_PER_LOOK
        {
            self.handed_over_seen = handed_over;
            let folding = timeline::begin(Kind::Compress);
            let first = self.index * PARTITIONS / self.stage.pool.workers();
            let held = self.mapper.upkeep().fold(partial, first)?;
            self.stage.progress.set_keys_held(held + self.pairs_beside);
            self.compress += folding.end();
        }
        self.spill()
    }

    /// Spills if pairs have passed their share of memory.
    fn spill(&mut self) -> Result<()> {
        let upkeep = self.mapper.upkeep();
        match self.partial.filter(|partial| upkeep.is_full(partial)) {
            Some(partial) => {
                let _spilling = timeline::begin(Kind::Spill);
                upkeep.relieve(partial)
            }
            None => Ok(()),
        }
    }
}
