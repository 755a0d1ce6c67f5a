//! Runs one job from its flags to its written answer: what every command that runs a job shares.

use crate::flags::RunFlags;
use crate::signals::{self, FileOpen};
use crate::{format, progress, stats};
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tegula::output::AtomicFile;
use tegula::{
    Cancel, Combine, Engine, Error, Input, Job, Options, Output, OutputError, Progress, Result,
    Stage, StageTime, Stats, process_cpu,
};

/// Runs `job` over the input that `paths` name.
pub(crate) fn job<J>(job: &J, paths: &[OsString], flags: &RunFlags) -> Result<()>
where
    J: Job<Key = [u8]>,
    J::Combine: Combine<Output = u64>,
{
    let run =
        Run { flags, cancel: Cancel::new(), file: FileOpen::default(), progress: Arc::default() };
    signals::watch(run.cancel.clone(), run.file.clone())?;
    match run.whole(job, paths) {
        // Whatever an interrupted run ran into on its way home, the interrupt ended it.
        Err(_) if run.cancel.is_cancelled() => Err(Error::Cancelled),
        result => result,
    }
}

struct Run<'a> {
    flags: &'a RunFlags,
    cancel: Cancel,
    file: FileOpen,
    progress: Arc<Progress>,
}

impl Run<'_> {
    fn whole<J>(&self, job: &J, paths: &[OsString]) -> Result<()>
    where
        J: Job<Key = [u8]>,
        J::Combine: Combine<Output = u64>,
    {
        let flags = self.flags;
        // Better to fail now than after hours: makes each file once, and takes it away again.
        for path in [&flags.output, &flags.stats_json].into_iter().flatten() {
            AtomicFile::probe(path)?;
        }
        let shown = progress::show(Arc::clone(&self.progress), flags.progress);
        let mut engine = Engine::builder().workers(flags.workers).memory_bytes(flags.memory);
        if let Some(folder) = &flags.scratch {
            engine = engine.scratch(folder);
        }
        let engine = engine.build()?;
        let options = Options {
            order: flags.order(),
            top: flags.top,
            tile_bytes: flags.tile.0,
            progress: Some(Arc::clone(&self.progress)),
            cancel: self.cancel.clone(),
            ..Options::default()
        };
        let look_up = Clock::start();
        let input = Input::patterns(paths)?;
        let look_up = look_up.stop(Stage::Plan);
        let output = engine.run_with(job, input, &options)?;
        let mut stats = output.stats().clone();
        add_time(&mut stats, look_up);
        // A bar and the answer on one terminal would write over each other.
        let shown = shown.filter(|_| flags.output.is_some() || !io::stdout().is_terminal());
        add_time(&mut stats, self.write(&output)?);
        drop(shown);
        self.report(&stats)
    }

    /// The output stage.
    fn write<J>(&self, output: &Output<J>) -> Result<StageTime>
    where
        J: Job<Key = [u8]>,
        J::Combine: Combine<Output = u64>,
    {
        self.progress.enter(Stage::Output);
        let clock = Clock::start();
        let format = self.flags.format;
        let pair =
            |key: &[u8], count: u64, out: &mut Vec<u8>| format::pair(format, key, count, out);
        match &self.flags.output {
            Some(path) => {
                self.write_file(path, |file| output.write(file, path, &self.cancel, pair))?;
            }
            None => output.write(&mut stdout()?, Path::new(STDOUT), &self.cancel, pair)?,
        }
        Ok(clock.stop(Stage::Output))
    }

    /// Makes a file whole or not at all.
    fn write_file(
        &self,
        path: &Path,
        fill: impl FnOnce(&mut AtomicFile) -> Result<()>,
    ) -> Result<()> {
        self.file.set(true);
        let result = AtomicFile::create(path).map_err(Error::from).and_then(|mut file| {
            fill(&mut file)?;
            Ok(file.commit()?)
        });
        self.file.set(false);
        result
    }

    /// Says what the run did, where that is asked for.
    fn report(&self, stats: &Stats) -> Result<()> {
        if self.flags.stats {
            // A closed standard error takes nothing away from the answer.
            let _ = io::stderr().write_all(stats::table(stats).as_bytes());
        }
        match &self.flags.stats_json {
            Some(path) => self.write_file(path, |file| {
                let text = format!("{:#}\n", stats::json(stats));
                file.write_all(text.as_bytes())
                    .map_err(|cause| OutputError::from_write(path, cause).into())
            }),
            None => Ok(()),
        }
    }
}

/// Times the stages that lie outside the engine's run: looking up the input, and the output.
struct Clock {
    begin: Instant,
    cpu: Duration,
}

impl Clock {
    fn start() -> Clock {
        Clock { begin: Instant::now(), cpu: process_cpu() }
    }

    fn stop(self, stage: Stage) -> StageTime {
        let cpu = process_cpu().saturating_sub(self.cpu);
        StageTime { stage, wall: self.begin.elapsed(), cpu }
    }
}

fn add_time(stats: &mut Stats, time: StageTime) {
    match stats.stages.iter_mut().find(|known| known.stage == time.stage) {
        Some(known) => {
            known.wall += time.wall;
            known.cpu += time.cpu;
        }
        None => stats.stages.push(time),
    }
}

/// Writes a short text to standard output.
pub(crate) fn to_stdout(text: &[u8]) -> Result<()> {
    stdout()?.write_all(text).map_err(|cause| OutputError::from_write(STDOUT, cause).into())
}

const STDOUT: &str = "standard output";

/// Standard output without the standard library's buffer by lines: the engine writes large pieces.
fn stdout() -> Result<File> {
    let same = io::stdout().as_fd().try_clone_to_owned();
    let same = same.map_err(|cause| Error::System { action: "open standard output", cause })?;
    Ok(File::from(same))
}
