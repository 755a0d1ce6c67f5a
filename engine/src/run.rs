//! One run of one job, all of it: plan, map (with ingest, combine and compress inside), reduce, merge;
//! each stage timed. Output is written later, by whoever holds the answer.

use crate::aggregate::Aggregate;
use crate::bad::{BadRecord, BadRecords};
use crate::codec::recognise;
use crate::device::Alone;
use crate::engine::Core;
use crate::error::Result;
use crate::facts::JobFacts;
use crate::failure::Failure;
use crate::input::Input;
use crate::job::{Job, comparison};
use crate::map::{JobMappers, MapStage, MapTotals, Mappers, Spread};
use crate::memory::{ChunkPool, resident_peak_bytes};
use crate::merge::{MergeStage, Piece};
use crate::options::Options;
use crate::output::{Finished, Output, PointedAt, Stored};
use crate::partial::{Partial, Spill};
use crate::plan::Plan;
use crate::progress::Stage;
use crate::reduce::{Ranking, ReduceStage, ReduceTotals, Reduced};
use crate::schedule::Placement;
use crate::show::{Epochs, Moment, Show, ShowStage, Showing};
use crate::sizing;
use crate::state::{Figures, Means, Saving};
use crate::stats::{StageClock, Stats};
use crate::storage::Scratch;
use crate::tokenize::Simd;
use std::sync::Arc;

/// Runs a job on an engine.
pub(crate) fn run<J: Job>(
    core: &Arc<Core>,
    job: &J,
    input: Input,
    options: &Options,
    mut show: Option<Show<'_, J>>,
) -> Result<Output<J>> {
    let facts = JobFacts::of(job)?;
    options.container.check(facts.key_range)?;
    let mappers = JobMappers(job);
    let compare = comparison(job);
    let ranking = Ranking::new((!facts.is_largest_first).then_some(&compare));
    let mut see;
    let showing = match &mut show {
        Some(show) => {
            let wanted = show.wanted;
            see = |moment: Moment<'_, J::Combine>| show.see(moment);
            Some(Showing { wanted, is_largest_first: facts.is_largest_first, see: &mut see })
        }
        None => None,
    };
    let job = ErasedJob { facts: &facts, mappers: &mappers, ranking };
    Ok(Output::of((J::Combine::compiled().run)(core, job, input, options, showing)?))
}

/// A job whose type is gone: its facts, its map, and its order by value.
pub(crate) struct ErasedJob<'j, C: Aggregate> {
    facts: &'j JobFacts,
    mappers: &'j dyn Mappers<C>,
    ranking: Ranking<'j, C>,
}

/// As `run`, compiled once for all jobs with the same aggregate.
pub(crate) fn run_erased<C: Aggregate>(
    core: &Arc<Core>,
    job: ErasedJob<'_, C>,
    input: Input,
    options: &Options,
    show: Option<Showing<'_, C>>,
) -> Result<Finished<C>> {
    let ErasedJob { facts, mappers, ranking } = job;
    let progress = options.progress.clone().unwrap_or_default();
    let failure = Failure::new(&options.cancel);
    let timeline = options.timeline.as_ref();
    timeline.iter().for_each(|timeline| timeline.watch(core));
    let mut clock = StageClock::new(&progress, timeline);
    options.check()?;

    // Who makes shows holds pairs as a worker does.
    let threads = core.pool().workers() + usize::from(show.is_some());
    let unit_bytes = sizing::unit_bytes(core.topology());
    let least_bytes = core.least_bytes::<C>(options.split_bytes.unwrap_or(unit_bytes), threads);
    let counted = core.count_list(&input, least_bytes)?;
    let mut plan = clock.time(Stage::Plan, || {
        let input = recognise(input, options.plain, core.pool(), &failure)?;
        Plan::new(input, facts.cut.clone(), options, sizing::SPLIT_BYTES, unit_bytes)
    })?;
    progress.plan(plan.files, plan.bytes, core.limit_bytes());

    let chunks = ChunkPool::new(Arc::clone(core.blocks()));
    let shares = core.shares::<C>(plan.unit_bytes, counted.bytes(), threads)?;
    let scratch = Scratch::new(core.storage());
    let partial_of_its_own = || {
        let spill = || Spill::new(Arc::clone(&scratch), shares, core.blocks());
        Partial::new(&chunks, core.is_limited().then(spill))
    };
    let partial = partial_of_its_own();
    show.iter().try_for_each(|show| show.wanted.check(&plan, options.state.is_some()))?;
    let bad = BadRecords::new(options.skip_bad, plan.cut.is_lines());
    let mut open = |state| {
        let means = Means { pool: core.pool(), blocks: core.blocks(), failure: &failure };
        let block_bytes = shares.block_bytes;
        clock.time(Stage::Plan, || {
            Saving::open(state, facts, &mut plan, options, &chunks, block_bytes, means)
        })
    };
    let saving = options.state.as_ref().map(&mut open).transpose()?;
    let hands = (core.pool().workers(), options.devices.len());
    let epochs = |show: &Showing<'_, C>| Epochs::new(show.wanted, &plan, hands, partial_of_its_own);
    let epochs = show.as_ref().map(epochs);
    let alone;
    let placement = match &saving {
        Some(saving) if saving.tiles().is_some() => {
            alone = Placement::alone(core.pool().workers());
            &alone
        }
        _ => core.placement(),
    };
    let ((mapped, spread), bad) = clock.time(Stage::Map, || {
        let stage = MapStage {
            facts,
            mappers,
            plan: &plan,
            pool: core.pool(),
            placement,
            chunks: &chunks,
            partial: &partial,
            failure: &failure,
            bad: &bad,
            progress: &progress,
            table_limits: shares.tables,
            pipeline: options.pipeline,
            container: options.container,
            saving: saving.as_ref(),
            epochs: epochs.as_ref(),
            devices: &options.devices,
            alone: facts.alone.or_else(|| options.devices_alone.then(Alone::default)),
        };
        let mapped = match (show, &epochs) {
            (Some(show), Some(epochs)) => {
                let (chunks, block_bytes) = (Arc::clone(&chunks), shares.block_bytes);
                let stored = Stored { scratch: Arc::clone(&scratch), chunks, block_bytes };
                let (plan, partial, failure) = (&plan, &partial, &failure);
                let chunks = &stored.chunks.clone();
                let shows = ShowStage {
                    ranking,
                    core,
                    plan,
                    chunks,
                    partial,
                    epochs,
                    failure,
                    stored,
                    options,
                };
                shows.during(show, || stage.run())?
            }
            _ => stage.run()?,
        };
        if let Some(saving) = &saving {
            let MapTotals { bytes, splits, pairs: emitted, .. } = mapped.0;
            let figures = Figures { bytes, splits, emitted };
            let means = Means { pool: core.pool(), blocks: core.blocks(), failure: &failure };
            saving.finish(&partial, &chunks, &plan, means, (figures, bad.so_far()))?;
        }
        Ok((mapped, bad.finish(&plan)))
    })?;

    let answer = answer(core, ranking, options, (&partial, &chunks), &failure, &mut clock)?;
    progress.set_keys(answer.totals.keys);
    drop(epochs);
    drop(partial);

    core.trim();
    let mut stats = stats::<C>(core, &plan, &mapped, bad, &answer.totals, clock);
    stats.spilled_bytes = scratch.bytes();
    if let Some(saving) = &saving {
        stats.restored_bytes = saving.found().figures.bytes;
        stats.saved_bytes = saving.saved_bytes();
    }
    Spread { groups: stats.groups, idle: stats.map_idle, devices: stats.devices } = spread;
    // Chunks of its own: those of the run are free, unless what is held of the answer lies in them.
    let chunks = ChunkPool::new(Arc::clone(core.blocks()));
    let stored = Stored { scratch, chunks, block_bytes: shares.block_bytes };
    let files = plan.into_names(counted);
    let timeline = options.timeline.clone();
    let Answer { pieces, pointed_at, .. } = answer;
    Ok(Finished::new(Arc::clone(core), pieces, pointed_at, stored, files, stats, timeline))
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
    (bad_records, bad_first): (u64, Vec<BadRecord>),
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
        bad_records,
        bad_first,
        keys: reduced.keys,
        key_value_bytes: reduced.key_bytes + reduced.keys * value_bytes,
        spilled_bytes: 0,
        restored_bytes: 0,
        saved_bytes: 0,
        memory_counted_peak: core.blocks().budget().peak(),
        memory_resident_peak: resident_peak_bytes(),
        groups: Vec::new(),
        map_idle: Vec::new(),
        devices: Vec::new(),
    }
}
