//! One run of one job, all of it: plan, map (with ingest, combine and compress inside), reduce, merge;
//! each stage timed. The holder of the answer writes the output later.

use crate::aggregate::Aggregate;
use crate::bad::BadRecords;
use crate::codec::recognise;
use crate::core::Core;
use crate::device::Alone;
use crate::error::{MemoryError, Result};
use crate::facts::JobFacts;
use crate::failure::Failure;
use crate::input::Input;
use crate::map::{MapStage, MapTotals, Mappers, Spread};
use crate::memory::{ChunkPool, Reserved, resident_peak_bytes};
use crate::merge::{MergeStage, Piece};
use crate::options::Options;
use crate::output::{Finished, PointedAt};
use crate::partial::Partial;
use crate::plan::Plan;
use crate::progress::{Progress, Stage};
use crate::reduce::{Ranking, ReduceStage, ReduceTotals, Reduced};
use crate::room::Room;
use crate::schedule::Placement;
use crate::show::{Epochs, ShowStage, Showing};
use crate::sizing;
use crate::state::{Figures, Means, Saving, State, Terms};
use crate::stats::{StageClock, Stats};
use crate::tokenize::Simd;
use std::sync::Arc;

/// A job whose type is gone: its facts, its map, and its order by value.
pub(crate) struct ErasedJob<'j, C: Aggregate> {
    pub(crate) facts: &'j JobFacts,
    pub(crate) mappers: &'j dyn Mappers<C>,
    pub(crate) ranking: Ranking<'j, C>,
}

impl<C: Aggregate> Clone for ErasedJob<'_, C> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<C: Aggregate> Copy for ErasedJob<'_, C> {}

/// Runs a job on an engine.
pub(crate) fn run<C: Aggregate>(
    core: &Arc<Core>,
    job: ErasedJob<'_, C>,
    input: Input,
    options: &Options,
    show: Option<Showing<'_, C>>,
) -> Result<Finished<C>> {
    options.check()?;
    let progress = options.progress.clone().unwrap_or_default();
    let failure = Failure::new(&options.cancel);
    options.timeline.iter().for_each(|timeline| timeline.watch(core.blocks(), core.limit_bytes()));
    let mut clock = StageClock::new(&progress, options.timeline.as_ref());

    // The thread that makes shows holds pairs as a worker does.
    let threads = core.pool().workers() + usize::from(show.is_some());
    let counted = count_list::<C>(core, &input, options, threads)?;
    let beside = count_beside::<C>(core, options, threads)?;
    let mut plan = clock.time(Stage::Plan, || plan(core, job.facts, input, options, &failure))?;
    progress.plan(plan.files, plan.bytes, core.limit_bytes());
    let room = Room::new(
        core,
        core.shares::<C>(plan.unit_bytes, counted.bytes() + beside.bytes(), threads)?,
    );
    let partial = room.partial();
    show.iter().try_for_each(|show| show.wanted.check(&plan, options.state.is_some()))?;
    let mut open = |state| {
        clock
            .time(Stage::Plan, || open_state(state, job, &mut plan, &room, options, core, &failure))
    };
    let saving = options.state.as_ref().map(&mut open).transpose()?;
    let bad = BadRecords::new(options.skip_bad, plan.cut.is_lines());
    let epochs = show.as_ref().map(|show| {
        let hands = (core.pool().workers(), options.devices.len());
        Epochs::new(show.wanted, &plan, hands, || room.partial())
    });

    let (mapped, spread) = clock.time(Stage::Map, || {
        Mapping {
            core,
            job,
            options,
            plan: &plan,
            room: &room,
            partial: &partial,
            failure: &failure,
            bad: &bad,
            progress: &progress,
            saving: saving.as_ref(),
            epochs: epochs.as_ref(),
        }
        .run(show)
    })?;
    let answer =
        answer(core, job.ranking, options, (&partial, &room.chunks), &failure, &mut clock)?;

    progress.set_keys(answer.totals.keys);
    drop((epochs, partial));
    core.trim();
    let mut stats = stats::<C>(core, &plan, &mapped, spread, &answer.totals, clock);
    (stats.bad_records, stats.bad_first) = bad.finish(&plan);
    stats.spilled_bytes = room.scratch.bytes();
    saving.iter().for_each(|saving| saving.count_in(&mut stats));
    let (stored, files) = (room.stored(), plan.into_names(counted));
    let Answer { pieces, pointed_at, .. } = answer;
    let timeline = options.timeline.clone();
    Ok(Finished::new(Arc::clone(core), pieces, pointed_at, stored, files, stats, timeline))
}

/// Opens the state of a run; where tiles are found again, the plan is cut into those.
fn open_state<C: Aggregate>(
    state: &State,
    job: ErasedJob<'_, C>,
    plan: &mut Plan,
    room: &Room,
    options: &Options,
    core: &Core,
    failure: &Failure,
) -> Result<Saving<C>> {
    let Options { skip_bad, plain, ref devices, .. } = *options;
    let terms = Terms { skip_bad, plain, devices: devices.len() };
    let (chunks, block_bytes, means) =
        (&room.chunks, room.shares.block_bytes, means(core, failure));
    Saving::open(state, job.facts, plan, terms, chunks, block_bytes, means)
}

fn means<'r>(core: &'r Core, failure: &'r Failure) -> Means<'r> {
    Means { pool: core.pool(), blocks: core.blocks(), failure }
}

/// Counts the list of the input's files in the budget, before anything else takes of it.
fn count_list<C: Aggregate>(
    core: &Core,
    input: &Input,
    options: &Options,
    threads: usize,
) -> Result<Reserved, MemoryError> {
    core.count_list(input, least_bytes::<C>(core, options, threads))
}

/// Counts what the map holds beside the engine.
fn count_beside<C: Aggregate>(
    core: &Core,
    options: &Options,
    threads: usize,
) -> Result<Reserved, MemoryError> {
    let bytes = options.beside_bytes;
    let counted = Reserved::new(core.blocks(), bytes, "what the map holds beside the engine");
    let least = least_bytes::<C>(core, options, threads);
    counted.map_err(|_| core.too_small(least + bytes as u64))
}

/// Returns what a run cannot do without.
fn least_bytes<C: Aggregate>(core: &Core, options: &Options, threads: usize) -> u64 {
    let unit_bytes = sizing::unit_bytes(core.topology());
    core.least_bytes::<C>(options.split_bytes.unwrap_or(unit_bytes), threads)
}

/// Looks at the input's formats and cuts it into tiles and splits.
fn plan(
    core: &Core,
    facts: &JobFacts,
    input: Input,
    options: &Options,
    failure: &Failure,
) -> Result<Plan> {
    let input = recognise(input, options.plain, core.pool(), failure)?;
    let unit_bytes = sizing::unit_bytes(core.topology());
    Plan::new(input, facts.cut, options.cutting(sizing::SPLIT_BYTES, unit_bytes))
}

/// The map stage of a run, with the thread that makes shows, and with saving.
struct Mapping<'r, C: Aggregate> {
    core: &'r Core,
    job: ErasedJob<'r, C>,
    options: &'r Options,
    plan: &'r Plan,
    room: &'r Room,
    partial: &'r Partial<C::Accumulator>,
    failure: &'r Failure,
    bad: &'r BadRecords,
    progress: &'r Progress,
    saving: Option<&'r Saving<C>>,
    epochs: Option<&'r Epochs<'r, C::Accumulator>>,
}

impl<C: Aggregate> Mapping<'_, C> {
    /// Maps the whole input into the partial, makes shows meanwhile, and saves the rest.
    fn run(&self, show: Option<Showing<'_, C>>) -> Result<(MapTotals, Spread)> {
        let (totals, spread) = match (show, self.epochs) {
            (Some(show), Some(epochs)) => self.shows(epochs).during(show, || self.map())?,
            _ => self.map()?,
        };
        if let Some(saving) = self.saving {
            let MapTotals { bytes, splits, pairs: emitted, .. } = totals;
            let figures = (Figures { bytes, splits, emitted }, self.bad.so_far());
            let means = means(self.core, self.failure);
            saving.finish(self.partial, &self.room.chunks, self.plan, means, figures)?;
        }
        Ok((totals, spread))
    }

    fn map(&self) -> Result<(MapTotals, Spread)> {
        let Mapping { core, job, options, room, saving, .. } = *self;
        // A tile that is saved by itself is one worker's, whichever group it is in.
        let keeps_tiles_apart = saving.is_some_and(|saving| saving.tiles().is_some());
        let alone = keeps_tiles_apart.then(|| Placement::alone(core.pool().workers()));
        MapStage {
            facts: job.facts,
            mappers: job.mappers,
            plan: self.plan,
            pool: core.pool(),
            placement: alone.as_ref().unwrap_or(core.placement()),
            chunks: &room.chunks,
            partial: self.partial,
            failure: self.failure,
            bad: self.bad,
            progress: self.progress,
            table_limits: room.shares.tables,
            pipeline: options.pipeline,
            container: options.container,
            saving,
            epochs: self.epochs,
            devices: &options.devices,
            alone: job.facts.alone.or_else(|| options.devices_alone.then(Alone::default)),
        }
        .run()
    }

    fn shows<'s>(&'s self, epochs: &'s Epochs<'s, C::Accumulator>) -> ShowStage<'s, C> {
        let Mapping { core, job, options, plan, room, partial, failure, .. } = *self;
        let (ranking, chunks) = (job.ranking, &room.chunks);
        let stored = room.stored_beside_pairs();
        ShowStage { ranking, core, plan, chunks, partial, epochs, failure, stored, options }
    }
}

/// The pairs of an answer, in its order.
pub(crate) struct Answer<C: Aggregate> {
    pub(crate) pieces: Vec<Piece<C::Reduced>>,
    pub(crate) pointed_at: PointedAt,
    pub(crate) totals: ReduceTotals,
}

/// Makes the answer of a partial that holds all pairs: reduce and merge.
pub(crate) fn answer<C: Aggregate>(
    core: &Core,
    ranking: Ranking<'_, C>,
    options: &Options,
    (partial, chunks): (&Partial<C::Accumulator>, &Arc<ChunkPool>),
    failure: &Failure,
    clock: &mut StageClock<'_>,
) -> Result<Answer<C>> {
    let (pool, order) = (core.pool(), options.order);
    let Reduced { ranges, long_keys, totals } = clock.time(Stage::Reduce, || {
        let (top, keeps) = (options.top, false);
        ReduceStage { ranking, pool, chunks, partial, failure, order, top, keeps }.run()
    })?;
    let pieces = clock.time(Stage::Merge, || {
        let spill = partial.spill();
        MergeStage { ranking, pool, chunks, failure, order, spill }.run(ranges)
    })?;
    let pointed_at = PointedAt { _long_keys: long_keys, _values: partial.take_values() };
    Ok(Answer { pieces, pointed_at, totals })
}

fn stats<C: Aggregate>(
    core: &Core,
    plan: &Plan,
    mapped: &MapTotals,
    spread: Spread,
    reduced: &ReduceTotals,
    clock: StageClock<'_>,
) -> Stats {
    let value_bytes = size_of::<C::Reduced>() as u64;
    Stats {
        stages: clock.finish(),
        ingest_busy: mapped.ingest,
        readers: mapped.ahead.readers,
        read_ahead_bytes: mapped.ahead.bytes,
        read_ahead_busy: mapped.ahead.busy,
        direct_bytes: plan.direct_bytes(),
        hand_over_busy: mapped.hand_over,
        compress_busy: mapped.compress,
        workers: core.pool().workers(),
        simd: Simd::detect().name(),
        files: plan.files,
        files_passed_over: plan.passed_over,
        bytes: mapped.bytes,
        compressed: plan.tally.figures(),
        tiles: plan.tiles() + mapped.stream_tiles,
        tile_bytes: plan.tile_bytes,
        splits: mapped.splits,
        split_bytes: plan.split_bytes,
        unit_bytes: mapped.unit_bytes,
        pairs: mapped.pairs,
        pairs_handed_over: mapped.pairs_handed_over,
        keys: reduced.keys,
        key_value_bytes: reduced.key_bytes + reduced.keys * value_bytes,
        memory_counted_peak: core.blocks().budget().peak(),
        memory_resident_peak: resident_peak_bytes(),
        groups: spread.groups,
        map_idle: spread.idle,
        devices: spread.devices,
        ..Stats::default()
    }
}
