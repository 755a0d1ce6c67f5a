//! A holding as the stages see it: keys are bytes and the job is gone, so it is compiled once for all jobs with the
//! same aggregate.

mod beside;
mod blocks;
mod noting;

pub(crate) use beside::{Beside, damaged};

use crate::aggregate::Aggregate;
use crate::bad::BadRecords;
use crate::cancel::Cancel;
use crate::context::RunContext;
use crate::core::{Core, FILE_LIST};
use crate::coverage::{ALL_FILES, Coverage};
use crate::encoding::{Digest, Reading, put_number};
use crate::error::{InputError, Result, StateError};
use crate::facts::JobFacts;
use crate::input::Input;
use crate::map::{Attendance, MapStage, MapTotals, Mappers};
use crate::memory::Reserved;
use crate::options::{Options, Pipeline};
use crate::output::Finished;
use crate::partial::{PARTITIONS, Partial};
use crate::plan::{Part, Plan};
use crate::progress::Stage;
use crate::reduce::{Compare, Ranking};
use crate::room::Room;
use crate::run::{merge, reduce, stats};
use crate::sizing::{self, TableLimits};
use crate::slots::PairRef;
use crate::state::{Figures, Fingerprint, FoundState, Saving, SharedState, Terms};
use crate::stats::{StageTime, Stats};
use beside::Counts;
use noting::Noting;
use std::cmp::Ordering;
use std::iter;
use std::ops::Range;
use std::sync::Arc;

/// A job of which a holding is: its facts, its map, and its order by value.
pub(crate) struct HoldingJob<'e, C: Aggregate> {
    pub(crate) facts: JobFacts,
    pub(crate) mappers: Box<dyn Mappers<C> + Send + 'e>,
    pub(crate) compare: Option<Box<Comparing<'e, C>>>,
}

type Comparing<'e, C> = dyn Fn(Pair<'_, C>, Pair<'_, C>) -> Ordering + Send + Sync + 'e;
type Pair<'a, C> = PairRef<'a, <C as Aggregate>::Reduced>;

/// What [`Holding`](crate::holding::Holding) does, of a job that is not named.
pub(crate) trait Hold<C: Aggregate>: Send + Sync {
    fn tile_sizes(&self) -> &[u64];
    fn digest(&self) -> u128;
    fn digest_of_names(&self) -> Result<u128>;
    fn listing(&self) -> Result<Vec<u8>>;
    fn difference(&self, listing: &[u8]) -> Result<Option<String>>;
    fn map(&self, tiles: Range<u32>, cancel: &Cancel) -> Result<Beside<C>>;
    fn beside(&self) -> Beside<C>;
    fn take_in(&self, into: &mut Beside<C>, blocks: &[u8]) -> Result<()>;
    fn commit(&mut self, beside: Beside<C>) -> Result<()>;
    fn blocks(
        &self,
        partitions: Range<usize>,
        sink: &mut (dyn FnMut(&[u8]) -> Result<()> + Send),
    ) -> Result<()>;
    fn counts(&self) -> Vec<u8>;
    fn clear(&mut self) -> Result<()>;
    fn open_state(&mut self) -> Result<Vec<Range<u32>>>;
    fn covered(&self) -> Option<(Vec<u8>, u64)>;
    fn leave_out(&mut self, covered: &[u8]) -> Result<()>;
    fn save(&self, beside: &Beside<C>, first: u64) -> Result<Vec<u8>>;
    fn name(&self, saved: &[u8]) -> Result<()>;
    fn take_saved(&self, saved: &[u8]) -> Result<Beside<C>>;
    fn spent(&mut self, time: StageTime);
    fn answer(self: Box<Self>, partitions: Range<usize>) -> Result<Finished<C>>;
}

struct Held<'e, C: Aggregate> {
    core: &'e Arc<Core>,
    job: HoldingJob<'e, C>,
    options: Options,
    plan: Plan,
    tile_sizes: Vec<u64>,
    digest: u128,
    partial: Partial<C::Accumulator>,
    counts: Counts,
    /// Set on the machine that has opened the state.
    saving: Option<Saving<C>>,
    /// What earlier runs have mapped.
    done: Coverage,
    /// The times of stages.
    stats: Stats,
    list: Reserved,
    _beside: Reserved,
    room: Room,
}

/// Plans a job of which a part is held here.
pub(crate) fn hold<'e, C: Aggregate>(
    core: &'e Arc<Core>,
    job: HoldingJob<'e, C>,
    input: Input,
    options: &Options,
) -> Result<Box<dyn Hold<C> + 'e>> {
    let options = options.clone();
    let context = RunContext::open(core, &options)?;
    let threads = core.pool().workers();
    let unit_bytes = sizing::unit_bytes(core.topology());
    let least = core.least_bytes::<C>(options.split_bytes.unwrap_or(unit_bytes), threads);
    let list = core.count(input.list_bytes(), FILE_LIST, least)?;
    let beside = core.count(options.beside_bytes, "what the map holds beside the engine", least)?;
    let plan = context.plan(input, job.facts.cut, sizing::SPLIT_BYTES, unit_bytes)?;
    let tile_sizes = plan.tile_sizes().map_err(|name| {
        let cause = "a stream can be read by one machine alone".to_owned();
        let advice = "give files, or run the job on one machine".to_owned();
        InputError::Refused { path: name.to_path_buf(), cause, advice }
    })?;
    let held_bytes = list.bytes() + beside.bytes();
    let room = Room::new(core, core.shares::<C>(plan.unit_bytes, held_bytes, threads)?);
    let digest = digest_of(&job.facts, &plan, &options, &Fingerprint::of(&plan)?);
    let stats = context.close();
    Ok(Box::new(Held {
        core,
        job,
        plan,
        tile_sizes,
        digest,
        partial: room.partial(),
        counts: Counts::default(),
        saving: None,
        done: Coverage::default(),
        stats,
        list,
        _beside: beside,
        room,
        options,
    }))
}

/// Returns the tiles of which all splits are covered. How many bytes a compressed file has is not known before it was
/// read, so those are none.
fn complete_tiles(plan: &Plan, done: &Coverage) -> Vec<Range<u32>> {
    let (mut complete, mut number) = (Vec::new(), 0);
    for (at, part) in plan.parts.iter().enumerate() {
        if let (Part::Ranged(ranged), Some(done)) = (part, done.of(at, ALL_FILES)) {
            let mut first = 0;
            for (tile, end) in (number..).zip(ranged.layout.tile_ends()) {
                if done.first_gap(first..end).is_none() {
                    complete.push(tile..tile + 1);
                }
                first = end;
            }
        }
        number += part.tiles() as u32;
    }
    complete
}

fn terms(options: &Options) -> Terms {
    let Options { skip_bad, plain, ref devices, .. } = *options;
    Terms { skip_bad, plain, devices: devices.len() }
}

fn digest_of(facts: &JobFacts, plan: &Plan, options: &Options, input: &Fingerprint) -> u128 {
    let Fingerprint { files, digest } = *input;
    let mut bytes = digest.to_le_bytes().to_vec();
    let flags = [options.skip_bad, options.plain].map(u64::from);
    let numbers = [files, plan.tile_bytes, plan.split_bytes].into_iter().chain(flags);
    numbers.for_each(|number| put_number(number, &mut bytes));
    facts.identity.iter().for_each(|identity| identity.encode(&mut bytes));
    Digest::of(&bytes)
}

impl<C: Aggregate> Hold<C> for Held<'_, C> {
    fn tile_sizes(&self) -> &[u64] {
        &self.tile_sizes
    }

    fn digest(&self) -> u128 {
        self.digest
    }

    fn digest_of_names(&self) -> Result<u128> {
        let input = Fingerprint::of_names(&self.plan)?;
        Ok(digest_of(&self.job.facts, &self.plan, &self.options, &input))
    }

    fn listing(&self) -> Result<Vec<u8>> {
        Fingerprint::listing(&self.plan)
    }

    fn difference(&self, listing: &[u8]) -> Result<Option<String>> {
        if Fingerprint::listing(&self.plan)? == listing {
            return Ok(None);
        }
        let difference = Fingerprint::difference_from(&self.plan, listing)?;
        Ok(Some(difference.unwrap_or_else(|| "files at its end are missing".to_owned())))
    }

    fn map(&self, tiles: Range<u32>, cancel: &Cancel) -> Result<Beside<C>> {
        let Held { core, job, plan, room, .. } = self;
        let options = Options { cancel: cancel.clone(), ..self.options.clone() };
        let context = RunContext::open(core, &options)?;
        let (partial, bad) =
            (room.partial(), BadRecords::new(options.skip_bad, plan.cut.is_lines()));
        let noting = Noting::default();
        let attended_by: &[&dyn Attendance<C>] =
            if options.state.is_some() { &[&noting] } else { &[] };
        let (totals, _) = context.time(Stage::Map, || {
            MapStage {
                facts: &job.facts,
                mappers: &*job.mappers,
                plan,
                pool: core.pool(),
                placement: core.placement(),
                chunks: &room.chunks,
                partial: &partial,
                failure: &context.failure,
                bad: &bad,
                progress: &context.progress,
                table_limits: TableLimits { standing: 0, ..room.shares.tables },
                container: options.container,
                unit_is_given: options.split_bytes.is_some(),
                overlaps: options.pipeline == Pipeline::On,
                in_order: false,
                tiles_apart: false,
                done: (!self.done.is_empty()).then_some(&self.done),
                leased: Some(tiles),
                attended_by,
                bytes_between: None,
                devices: &options.devices,
                alone: job.facts.alone,
                share: options.share.as_deref(),
            }
            .run()
        })?;
        let MapTotals { bytes, splits, pairs: emitted, .. } = totals;
        let figures = Figures { bytes, splits, emitted };
        let counts = Counts { figures, bad: bad.take() };
        Ok(Beside { partial, counts, coverage: noting.into_coverage() })
    }

    fn beside(&self) -> Beside<C> {
        let (counts, coverage) = Default::default();
        Beside { partial: self.room.partial(), counts, coverage }
    }

    fn take_in(&self, into: &mut Beside<C>, blocks: &[u8]) -> Result<()> {
        let context = RunContext::open(self.core, &self.options)?;
        blocks::take_in::<C>(&context, &into.partial, &self.room, blocks)?;
        blocks::fold::<C>(&context, &into.partial, &self.room)
    }

    fn commit(&mut self, beside: Beside<C>) -> Result<()> {
        self.partial.take_in(&beside.partial)?;
        self.counts.add(&beside.counts);
        self.saving.iter().for_each(|saving| saving.cover(&beside.coverage));
        let context = RunContext::open(self.core, &self.options)?;
        blocks::fold::<C>(&context, &self.partial, &self.room)
    }

    fn blocks(
        &self,
        partitions: Range<usize>,
        sink: &mut (dyn FnMut(&[u8]) -> Result<()> + Send),
    ) -> Result<()> {
        let context = RunContext::open(self.core, &self.options)?;
        blocks::give::<C>(&context, &self.partial, &self.room, partitions, sink)
    }

    fn counts(&self) -> Vec<u8> {
        self.counts.encode()
    }

    fn clear(&mut self) -> Result<()> {
        blocks::drop_pairs(&self.partial, 0..PARTITIONS)?;
        self.partial = self.room.partial();
        self.counts = Counts::default();
        Ok(())
    }

    fn open_state(&mut self) -> Result<Vec<Range<u32>>> {
        let Held { core, job, options, plan, room, partial, .. } = self;
        let Some(state) = &options.state else { return Ok(Vec::new()) };
        let context = RunContext::open(core, options)?;
        let into = (&*partial, &room.chunks);
        let parts = context.parts();
        let terms = terms(options);
        let saving: Saving<C> =
            Saving::open(state, &job.facts, plan, terms, into.1, room.shares.block_bytes, parts)?;
        saving.restore(into, &context.progress, context.parts())?;
        let FoundState { coverage, figures, bad, .. } = saving.found();
        self.counts.add(&Counts { figures: *figures, bad: bad.clone() });
        context.progress.add_bytes(figures.bytes);
        self.done = coverage.clone();
        let complete = match saving.was_done() {
            true => iter::once(0..self.tile_sizes.len() as u32).collect(),
            false => complete_tiles(plan, &self.done),
        };
        self.saving = Some(saving);
        Ok(complete)
    }

    fn covered(&self) -> Option<(Vec<u8>, u64)> {
        let saving = self.saving.as_ref()?;
        let mut covered = Vec::new();
        self.done.encode(&mut covered);
        Some((covered, saving.first_free()))
    }

    fn leave_out(&mut self, covered: &[u8]) -> Result<()> {
        let done = Coverage::decode(&mut Reading::new(covered));
        self.done = done.ok_or_else(|| damaged(0, "its list of splits is cut short"))?;
        Ok(())
    }

    fn save(&self, beside: &Beside<C>, first: u64) -> Result<Vec<u8>> {
        let Held { job, options, plan, room, .. } = self;
        let Some(state) = &options.state else { return Err(StateError::NoIdentity.into()) };
        let shared = SharedState::find(state, &job.facts, plan, terms(options))?;
        let covered = (&beside.coverage, beside.counts.figures, &beside.counts.bad);
        let (chunks, block_bytes) = (&room.chunks, room.shares.block_bytes);
        shared.save::<C>(first, &beside.partial, covered, chunks, block_bytes)
    }

    fn name(&self, saved: &[u8]) -> Result<()> {
        self.saving.as_ref().map_or(Ok(()), |saving| saving.name(saved))
    }

    fn take_saved(&self, saved: &[u8]) -> Result<Beside<C>> {
        let beside = self.beside();
        if let Some(saving) = &self.saving {
            let context = RunContext::open(self.core, &self.options)?;
            let into = (&beside.partial, &self.room.chunks);
            saving.take_kept(saved, into, &context.progress, context.parts())?;
        }
        Ok(beside)
    }

    fn spent(&mut self, time: StageTime) {
        self.stats.add_time(time);
    }

    fn answer(self: Box<Self>, partitions: Range<usize>) -> Result<Finished<C>> {
        let Held {
            core,
            job,
            options,
            plan,
            partial,
            counts,
            room,
            list,
            stats: times,
            saving,
            ..
        } = *self;
        if let Some(saving) = &saving {
            let context = RunContext::open(core, &options)?;
            let ended = (counts.figures, counts.bad.clone());
            saving.finish(&partial, &room.chunks, &plan, context.parts(), ended)?;
        }
        let others = (0..PARTITIONS).filter(|number| !partitions.contains(number));
        blocks::drop_pairs(&partial, others)?;
        let ranking =
            Ranking::new(job.compare.as_deref().map(|compare| compare as &Compare<'_, _>));
        let context = RunContext::open(core, &options)?;
        let reduced = reduce(&context, ranking, &partial, &room)?;
        let answer = merge(&context, ranking, partial, &room, reduced)?;
        let Counts { figures: Figures { bytes, splits, emitted: pairs }, bad } = counts;
        let mapped = MapTotals { bytes, splits, pairs, ..MapTotals::default() };
        let mut stats = stats(context.close_planned(&plan), mapped, Default::default());
        times.stages.iter().for_each(|time| stats.add_time(*time));
        stats.stages.sort_by_key(|time| time.stage);
        saving.iter().for_each(|saving| saving.count_in(&mut stats));
        let found = BadRecords::new(options.skip_bad, plan.cut.is_lines());
        found.add(&bad);
        (stats.bad_records, stats.bad_first) = found.finish(&plan);
        Ok(answer.finish(core, room, plan.into_names(list), stats, &options))
    }
}
