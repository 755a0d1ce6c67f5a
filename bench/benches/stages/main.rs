//! The ladder: one rung per stage of a run, over the engine's public interface, one worker. Each rung does
//! the work of the one below and one thing more, so that the difference is the cost of that thing.
//!
//! All throughputs are bytes of *input* per second of the stage, so that rungs can be compared; only
//! formatting the answer is given in bytes of output.
#![allow(clippy::unwrap_used, reason = "a benchmark that cannot run fails by panicking")]

mod answer;
mod jobs;
mod map;
mod sorted;
mod text;
mod tokenize;

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, Criterion, SamplingMode, Throughput};
use std::time::Duration;
use tegula::{Engine, Input, Job, Options, Output, Stage};
use text::Text;

fn main() {
    let mut criterion = Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(200))
        .measurement_time(Duration::from_secs(1))
        .configure_from_args();
    tokenize::bench(&mut criterion);
    map::bench(&mut criterion);
    answer::bench(&mut criterion);
    sorted::bench(&mut criterion);
    criterion.final_summary();
}

/// Returns a group of rungs over texts of one size. A rung's texts are made before it is measured.
fn group<'c>(criterion: &'c mut Criterion, name: &str) -> BenchmarkGroup<'c, WallTime> {
    let mut group = criterion.benchmark_group(name);
    group.sampling_mode(SamplingMode::Flat).throughput(Throughput::Bytes(text::BYTES as u64));
    group
}

/// Returns an engine of one worker, so that figures are those of one core.
fn engine() -> Engine {
    Engine::builder().workers(1).build().unwrap()
}

fn run<J: Job>(engine: &Engine, job: &J, text: Text, options: &Options) -> Output<J> {
    engine.job(job).options(options).run(Input::paths([text.path()]).unwrap()).unwrap()
}

/// Returns the wall time of one stage, summed over `runs` whole runs.
fn stage_time<J: Job>(
    engine: &Engine,
    job: &J,
    text: Text,
    options: &Options,
    stage: Stage,
    runs: u64,
) -> Duration {
    (0..runs)
        .map(|_| {
            let output = run(engine, job, text, options);
            let times = &output.stats().stages;
            times.iter().find(|time| time.stage == stage).map_or(Duration::ZERO, |time| time.wall)
        })
        .sum()
}
