//! One run of one job, all of it: plan, map (with ingest, combine and compress inside), reduce, merge;
//! each stage timed. Output is written later, by whoever holds the answer.

use crate::combine::Combine;
use crate::engine::Core;
use crate::error::Result;
use crate::failure::Failure;
use crate::input::Input;
use crate::job::Job;
use crate::map::{MapStage, MapTotals};
use crate::memory::{ChunkPool, resident_peak_bytes};
use crate::merge;
use crate::options::Options;
use crate::output::Output;
use crate::partial::Partial;
use crate::plan::Plan;
use crate::progress::Stage;
use crate::reduce::{ReduceStage, ReduceTotals};
use crate::sizing;
use crate::stats::{StageClock, Stats};
use crate::tokenize::Simd;
use std::sync::Arc;

/// Runs a job on an engine.
pub(crate) fn run<J: Job>(
    core: &Arc<Core>,
    job: &J,
    input: Input,
    options: &Options,
) -> Result<Output<J>> {
    let progress = options.progress.clone().unwrap_or_default();
    let failure = Failure::new(&options.cancel);
    let mut clock = StageClock::new(&progress);
    options.check()?;
    job.cut().check()?;

    let plan = clock.time(Stage::Plan, || {
        Plan::new(input, job.cut(), options, sizing::split_bytes(core.topology()))
    })?;
    progress.plan(plan.files, plan.bytes);

    let chunks = ChunkPool::new(Arc::clone(core.blocks()));
    let partial = Partial::new(&chunks);
    let mapped = clock.time(Stage::Map, || {
        let stage = MapStage {
            job,
            plan: &plan,
            pool: core.pool(),
            chunks: &chunks,
            partial: &partial,
            failure: &failure,
            progress: &progress,
            table_limits: sizing::table_limits(core.topology()),
        };
        stage.run()
    })?;

    let reduced = clock.time(Stage::Reduce, || {
        let (order, top) = (options.order, options.top);
        let stage = ReduceStage::<J::Combine> {
            pool: core.pool(),
            chunks: &chunks,
            partial: &partial,
            failure: &failure,
            order,
            top,
        };
        stage.run()
    })?;
    drop(partial);

    let pieces = clock.time(Stage::Merge, || {
        let ranges = reduced.ranges;
        merge::run::<J::Combine>(core.pool(), &chunks, &failure, ranges, options.order)
    })?;

    core.trim();
    let stats = stats::<J>(core, &plan, &mapped, &reduced.totals, clock);
    Ok(Output::new(Arc::clone(core), pieces, reduced.long_keys, stats))
}

fn stats<J: Job>(
    core: &Core,
    plan: &Plan,
    mapped: &MapTotals,
    reduced: &ReduceTotals,
    clock: StageClock<'_>,
) -> Stats {
    let value_bytes = size_of::<<J::Combine as Combine>::Accumulator>() as u64;
    Stats {
        stages: clock.finish(),
        ingest_busy: mapped.ingest,
        hand_over_busy: mapped.hand_over,
        compress_busy: mapped.compress,
        workers: core.pool().workers(),
        simd: Simd::detect().name(),
        files: plan.files,
        files_passed_over: plan.passed_over,
        bytes: mapped.bytes,
        tiles: plan.tiles() + mapped.stream_tiles,
        tile_bytes: plan.tile_bytes,
        splits: mapped.splits,
        split_bytes: plan.split_bytes,
        pairs: mapped.pairs,
        pairs_handed_over: mapped.pairs_handed_over,
        keys: reduced.keys,
        key_value_bytes: reduced.key_bytes + reduced.keys * value_bytes,
        memory_counted_peak: core.blocks().budget().peak(),
        memory_resident_peak: resident_peak_bytes(),
    }
}
