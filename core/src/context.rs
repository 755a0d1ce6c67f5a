//! The context of one run: its options, progress, failure, clock and, at its end, statistics. A run of a job, a
//! sort, tasks and the answers of a state each open one before their first stage and close it after the last.

use crate::codec::recognise;
use crate::core::Core;
use crate::error::{Place, Result};
use crate::failure::{Failure, guard};
use crate::input::{Cut, Input};
use crate::map::Tiling;
use crate::memory::resident_peak_bytes;
use crate::options::Options;
use crate::plan::{Cutting, Plan};
use crate::process::process_cpu;
use crate::progress::{Progress, Stage};
use crate::schedule::Pool;
use crate::state::EngineParts;
use crate::stats::{StageTime, Stats};
use crate::sync::Mutex;
use crate::timeline::Context as Lanes;
use crate::tokenize::Simd;
use std::sync::Arc;
use std::time::Instant;

pub(crate) struct RunContext<'r> {
    pub(crate) core: &'r Core,
    pub(crate) options: &'r Options,
    /// The workers of the run's share.
    pub(crate) pool: Pool,
    pub(crate) progress: Arc<Progress>,
    pub(crate) failure: Failure,
    stages: Mutex<Vec<StageTime>>,
}

impl<'r> RunContext<'r> {
    /// Checks the options and begins a run with them.
    pub(crate) fn open(core: &'r Core, options: &'r Options) -> Result<RunContext<'r>> {
        options.check()?;
        let watch = (core.blocks(), core.limit_bytes());
        options.timeline.iter().for_each(|timeline| timeline.watch(watch.0, watch.1));
        Ok(RunContext {
            core,
            options,
            pool: core.pool().within(options.share.clone()),
            progress: options.progress.clone().unwrap_or_default(),
            failure: Failure::new(&options.cancel).raising(options.failed.clone()),
            stages: Mutex::default(),
        })
    }

    /// Does a stage's work and notes its time. A panic of the job's code on this thread becomes an
    /// error that names the stage; on workers it was one before.
    pub(crate) fn time<R>(&self, stage: Stage, work: impl FnOnce() -> Result<R>) -> Result<R> {
        let mut work = Some(work);
        let mut result = None;
        self.time_any(stage, &mut || {
            result = work.take().map(|work| work()).transpose()?;
            Ok(())
        })?;
        let Some(result) = result else { unreachable!("work without an error has a result") };
        Ok(result)
    }

    /// As `time`, compiled once for all kinds of work.
    fn time_any(&self, stage: Stage, work: &mut dyn FnMut() -> Result<()>) -> Result<()> {
        let timeline = self.options.timeline.as_ref();
        self.progress.enter(stage);
        let (began, cpu_began) = (Instant::now(), process_cpu());
        let name = stage.name();
        let traced = tracing::debug_span!(target: "tegula::stage", "stage", name).entered();
        let entered = Lanes::new(timeline, stage).enter();
        let result = guard(|| Place::stage(&format!("the {name} stage")), work);
        let cpu = process_cpu().saturating_sub(cpu_began);
        drop(entered);
        timeline.iter().for_each(|timeline| timeline.add_stage(stage, began));
        let wall = began.elapsed();
        let (wall_s, cpu_s) = (wall.as_secs_f64(), cpu.as_secs_f64());
        tracing::info!(target: "tegula::stage", name, wall_s, cpu_s, done = result.is_ok());
        drop(traced);
        self.stages.lock().push(StageTime { stage, wall, cpu });
        result
    }

    /// Does the plan stage: recognises the input's formats, and cuts it into tiles and splits.
    pub(crate) fn plan(&self, input: Input, cut: Cut, cutting: Cutting) -> Result<Plan> {
        let plan = self.time(Stage::Plan, || {
            let input = recognise(input, self.options.plain, &self.pool, &self.failure)?;
            Plan::new(input, cut, cutting)
        })?;
        self.progress.plan(plan.files, plan.bytes, self.core.limit_bytes());
        Ok(plan)
    }

    /// Begins the grid of the tiles of a plan, if the options ask for one.
    pub(crate) fn tiling(&self, plan: &Plan) -> Option<Arc<Tiling>> {
        let grid = self.options.grid.as_ref()?;
        let workers = self.core.pool().workers();
        Some(Arc::new(Tiling::begin(grid, plan, workers)))
    }

    /// Returns the parts of the engine that a state needs.
    pub(crate) fn parts(&self) -> EngineParts<'_> {
        let RunContext { core, ref pool, ref failure, .. } = *self;
        EngineParts { pool, blocks: core.blocks(), failure }
    }

    /// Ends the run: gives memory back, and returns the figures that every run has.
    pub(crate) fn close(self) -> Stats {
        self.core.trim();
        Stats {
            stages: self.stages.into_inner(),
            workers: self.core.pool().workers(),
            memory_counted_peak: self.core.blocks().budget().peak(),
            memory_resident_peak: resident_peak_bytes(),
            ..Stats::default()
        }
    }

    /// As `close`, with the figures of the run's plan.
    pub(crate) fn close_planned(self, plan: &Plan) -> Stats {
        Stats {
            simd: Simd::detect().name(),
            files: plan.files,
            files_passed_over: plan.passed_over,
            compressed: plan.tally.figures(),
            tiles: plan.tiles(),
            tile_bytes: plan.tile_bytes,
            split_bytes: plan.split_bytes,
            direct_bytes: plan.direct_bytes(),
            ..self.close()
        }
    }
}
