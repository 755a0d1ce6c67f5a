//! From a job to its written answer: a line for each pair, or whatever the command makes of it; with shows meanwhile if
//! the flags ask for them; and not at all where the file is the answer already.

use super::{Run, timed};
use crate::flags::AnswerFlags;
use crate::format::Line;
#[cfg(feature = "nodes")]
use crate::nodes;
#[cfg(feature = "nodes")]
use crate::session;
use crate::session::{AnswerOf, Sink};
use crate::show::Shows;
use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;
use tegula::state::AnswerFile;
use tegula::{Input, Job, Key, Output, Renewed, Result, Shown, Stage};
#[cfg(feature = "nodes")]
use tegula_nodes::{Parts, Shares, Task};

/// How often an answer is shown to those who watch it by `--events`.
const SHOWN_EVERY: Duration = Duration::from_secs(2);
/// With less memory than this, an answer that nobody asked to be shown is not: a show needs some of it.
const WATCHED_MEMORY_LEAST: u64 = 256 << 20;

impl<'a> Run<'a> {
    /// Runs `job` over the input that `paths` name and writes its pairs, one line each: `fill`
    /// puts a pair into its line.
    pub(crate) fn pairs<J: Job>(
        &mut self,
        job: &J,
        paths: &[OsString],
        answer: &AnswerFlags,
        fill: impl Fn(<J::Key as Key>::Borrowed<'_>, AnswerOf<'_, J>, &mut Line<'_>) + Sync,
    ) -> Result<()> {
        self.writes("--show-to", answer.show.when.show_to.as_ref())?;
        let input = self.input(paths)?;
        let format = |key: <J::Key as Key>::Borrowed<'_>, value: AnswerOf<'_, J>, out: &mut _| {
            let mut line = Line::begin(answer.format, out);
            fill(key, value, &mut line);
            line.end();
        };
        #[cfg(feature = "nodes")]
        if let Some(folder) = &self.flags.parts {
            let write = |output: Output<J>, path: &Path, cancel: &_| {
                session::write_part(&output, path, cancel, format).map(|()| output)
            };
            let parts = Parts { folder, ending: "", write: &write };
            return self.parts(job, input, answer, parts);
        }
        let watched = self.watched_answer(answer);
        let answer_shown = watched.as_ref().unwrap_or(answer);
        let show = |shows: &mut Shows<'_>, shown: &Shown<'_, J>| shows.write(shown, &fill);
        let write = |sink: &mut Sink<'_>, output: &Output<J>| sink.pairs(output, format);
        self.answer(job, input, answer_shown, show, write)
    }

    /// Runs a job and has `write` write its answer where the flags say; if they ask for shows, `show` writes each of
    /// them. A file that is the answer of the last run, to the same command over the same input, is left as it is, also if
    /// `--events` would show another.
    pub(crate) fn answer<J: Job>(
        &mut self,
        job: &J,
        input: Input,
        answer: &AnswerFlags,
        show: impl Fn(&mut Shows<'_>, &Shown<'_, J>) -> Result<()> + Sync,
        write: impl FnOnce(&mut Sink<'_>, &Output<J>) -> Result<()>,
    ) -> Result<()> {
        let Some(path) = self.renewed(answer) else {
            let output = self.showing(job, input, answer, show)?;
            return self.write(|sink| write(sink, &output));
        };
        let form = self.request.form();
        let (options, file) = (answer.apply(self.options()), AnswerFile { path, form: &form });
        let (when, (_, memory)) = (&answer.show.when, self.flags.resources());
        let Run { session, progress, timeline, .. } = self;
        let mut shows = match when.show {
            Some(every) => Some((every, when.open(answer.format, self.events.as_ref(), memory)?)),
            None => None,
        };
        let mut job_run = self.engine.job(job).options(&options);
        if let Some((every, shows)) = &mut shows {
            let shown = answer.show.of(*every, answer, |shown| show(shows, shown));
            job_run = job_run.show(shown.lets_stand());
        }
        let mut wrote = None;
        let renewed = job_run.renew(input, file, |output| {
            progress.enter(Stage::Output);
            let (written, time) = timed(timeline.as_ref(), Stage::Output, || {
                session.write(Some(path), |sink| write(sink, output))
            });
            wrote = Some(time);
            written
        })?;
        match &renewed {
            Renewed::Written(output) => self.stats.add(output.stats()),
            Renewed::Stands(stats) => self.stats.add(stats),
        }
        wrote.into_iter().for_each(|time| self.stats.add_time(time));
        Ok(())
    }

    /// Returns the file of an answer that may be left as it is.
    fn renewed(&self, answer: &AnswerFlags) -> Option<&'a Path> {
        let flags = self.flags;
        let is_alone = !flags.has_nodes() && !flags.is_node();
        #[cfg(feature = "nodes")]
        let is_alone = is_alone && flags.parts.is_none();
        let may_stand = flags.state.is_some() && flags.look.is_none() && is_alone;
        let when = &answer.show.when;
        let is_shown = when.show.is_some() && !when.is_watched;
        flags.output.as_deref().filter(|_| may_stand && !is_shown)
    }

    /// Runs a job whose answer nodes write.
    #[cfg(feature = "nodes")]
    fn parts<J: Job>(
        &mut self,
        job: &J,
        input: Input,
        answer: &AnswerFlags,
        parts: Parts<'_, J>,
    ) -> Result<()> {
        if answer.show.when.show.is_some() {
            self.refuse_shows_over_nodes()?;
        }
        let options = answer.apply(self.options());
        nodes::check_parts(self.flags, &options)?;
        // The program waits for the hidden folder to be removed.
        let _open = self.session.stop().files.open();
        let task = Task { engine: &self.engine, job, input, options: &options, parts: Some(parts) };
        let output = self.machines.run(task, Shares::Nothing)?;
        self.stats.add(output.stats());
        Ok(())
    }

    /// Returns the flags of an answer whose shows are made for `--events` alone, if it is to have such.
    fn watched_answer(&self, answer: &AnswerFlags) -> Option<AnswerFlags> {
        let is_small = self.flags.memory.is_some_and(|bytes| bytes < WATCHED_MEMORY_LEAST);
        let is_watched = self.events.is_some() && answer.show.when.show.is_none();
        let is_shown =
            is_watched && !is_small && !self.flags.incremental && !self.flags.has_nodes();
        is_shown.then(|| answer.watched(SHOWN_EVERY))
    }
}
