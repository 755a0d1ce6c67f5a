//! One run of a job as its caller composes it: the job, its options, and shows. `run` takes it through the
//! stages of `run.rs`; `saved` gives the answers in a state.

use crate::compiled::Compiled;
use crate::container::Container;
use crate::core::Core;
use crate::device::Accelerator;
use crate::error::{Error, Result, StorageError};
use crate::facts::JobFacts;
use crate::input::Input;
use crate::job::{Job, comparison};
use crate::map::JobMappers;
use crate::options::{Options, Order};
use crate::output::Output;
use crate::reduce::Ranking;
use crate::run::{Ended, ErasedJob};
use crate::show::{Moment, Show, Showing};
use crate::state::{AnswerFile, Asked, SavedPartials, State, StateReport, note};
use crate::stats::Stats;
use std::fmt;
use std::sync::Arc;

/// A run of a job that has not begun: [`Engine::job`](crate::Engine::job) makes it, [`run`](JobRun::run)
/// begins it. Without further calls it keeps all pairs and orders them by key.
///
/// ```
/// # use tegula::{Emit, Job, Result, Split, Sum};
/// # struct Words;
/// # impl Job for Words {
/// #     type Key = [u8];
/// #     type Combine = Sum<u64>;
/// #     fn map<'s>(&self, split: Split<'s>, emit: &mut impl Emit<'s, Self>) -> Result<()> {
/// #         split.fields().for_each(|word| emit.emit(word, 1));
/// #         Ok(())
/// #     }
/// # }
/// # fn main() -> Result<()> {
/// use tegula::{Engine, Input, Order};
///
/// let input = Input::bytes("to be or not to be, to be");
/// let output = Engine::new()?.job(&Words).top(1).order(Order::Value).run(input)?;
/// assert_eq!(output.iter()?.collect::<Vec<_>>(), [(&b"to"[..], 3)]);
/// # Ok(())
/// # }
/// ```
#[must_use = "a run begins with `run`"]
pub struct JobRun<'r, J: Job> {
    core: &'r Arc<Core>,
    job: &'r J,
    options: Options,
    show: Option<Show<'r, J>>,
}

/// The answers from the saved part of a run.
#[non_exhaustive]
pub struct Saved<J: Job> {
    /// The contents of the state, and of which input: `mapped_bytes` of `input_bytes` are in the answers, and
    /// all of it if it is `done`.
    pub report: StateReport,
    /// The answers of that part of the input, in the order of the options.
    pub output: Output<J>,
}

/// A file that was brought up to date.
pub enum Renewed<J: Job> {
    /// The answer was made and written.
    Written(Box<Output<J>>),
    /// The file was the answer already. The figures are those of the run that made it, and the times of this one.
    Stands(Box<Stats>),
}

/// The most times that a state is read again because its run has changed it meanwhile; a run saves once a
/// second at most.
const LOOKS_MOST: u32 = 20;

impl<'r, J: Job> JobRun<'r, J> {
    pub(crate) fn new(core: &'r Arc<Core>, job: &'r J) -> JobRun<'r, J> {
        JobRun { core, job, options: Options::default(), show: None }
    }

    /// Replaces all options by these: for a program that keeps them as one value, and for those that have no
    /// method here. Methods that are called after this one change single options of the run.
    pub fn options(mut self, options: &Options) -> JobRun<'r, J> {
        self.options = options.clone();
        self
    }

    /// Sets the order of the answer: [`Options::order`].
    pub fn order(mut self, order: Order) -> JobRun<'r, J> {
        self.options.order = order;
        self
    }

    /// Keeps only the N pairs that come first by value: [`Options::top`].
    pub fn top(mut self, most: impl Into<Option<usize>>) -> JobRun<'r, J> {
        self.options.top = most.into();
        self
    }

    /// Sets where workers keep their pairs: [`Options::container`].
    pub fn container(mut self, container: Container) -> JobRun<'r, J> {
        self.options.container = container;
        self
    }

    /// Saves the run, so that it can resume after a kill: [`Options::state`].
    pub fn state(mut self, state: impl Into<Option<State>>) -> JobRun<'r, J> {
        self.options.state = state.into();
        self
    }

    /// Lets devices work beside the cores: [`Options::devices`].
    pub fn devices(mut self, devices: impl IntoIterator<Item = Arc<Accelerator>>) -> JobRun<'r, J> {
        self.options.devices = devices.into_iter().collect();
        self
    }

    /// Shows the answers so far while the job runs. An error of the show's function fails the job.
    pub fn show(mut self, show: Show<'r, J>) -> JobRun<'r, J> {
        self.show = Some(show);
        self
    }

    /// Runs the job over an input. Time is linear in the input, plus sorting of the distinct keys; memory
    /// holds the distinct keys with their values at most about twice, and a fixed amount per worker.
    ///
    /// # Errors
    /// See [`Error`]; the job leaves no files.
    pub fn run(self, input: Input) -> Result<Output<J>> {
        match self.end(input, None)? {
            Ended::Answer(answer, _) => Ok(Output::of(*answer)),
            Ended::Stands(_) => unreachable!("no file is named that could stand"),
        }
    }

    /// Brings a file up to date: runs the job and has `write` write the answer to it, unless the file is the answer already.
    /// It is, if the last run of the job's [`state`](JobRun::state) was done, its input was the same to the byte (by
    /// their times of change, if the state is not [incremental](State::incremental), or trusts them), and the file was
    /// written by this function, for the same options of the answer and in the same form, and has not been changed since.
    /// Then the run costs a look at the input: without times that are trusted, a hash of it. Without a state, each run
    /// writes.
    ///
    /// Another program that changes the file's contents in the moment after `write` returns, within the precision of
    /// the file system's clock (4 ms, say) and without changing its length, is not noticed.
    ///
    /// ```
    /// # use tegula::{Emit, Identity, Job, Resumable, Result, Split, Sum};
    /// # struct Words;
    /// # impl Job for Words {
    /// #     type Key = [u8];
    /// #     type Combine = Sum<u64>;
    /// #     fn state(&self) -> Option<&dyn Resumable> {
    /// #         Some(self)
    /// #     }
    /// #     fn map<'s>(&self, split: Split<'s>, emit: &mut impl Emit<'s, Self>) -> Result<()> {
    /// #         split.fields().for_each(|word| emit.emit(word, 1));
    /// #         Ok(())
    /// #     }
    /// # }
    /// # impl Resumable for Words {
    /// #     fn identity(&self) -> Identity {
    /// #         Identity::new("words", 1)
    /// #     }
    /// # }
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use tegula::output::AtomicFile;
    /// use tegula::state::{AnswerFile, Incremental, State};
    /// use tegula::{Cancel, Engine, Input, Renewed};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let (text, counts) = (folder.path().join("text"), folder.path().join("counts"));
    /// # std::fs::write(&text, "to be or not to be")?;
    /// let state = State::new(folder.path().join("state"), "words").incremental(Incremental::default());
    /// let file = AnswerFile { path: &counts, form: b"my program 1: word, tab, count" };
    /// let engine = Engine::new()?;
    /// for is_written in [true, false] {
    ///     let run = engine.job(&Words).state(state.clone());
    ///     let renewed = run.renew(Input::paths([&text])?, file, |output| {
    ///         let mut out = AtomicFile::create(&counts)?;
    ///         output.write(&mut out, &counts, &Cancel::new(), |word, count, line| {
    ///             line.extend_from_slice(word);
    ///             line.extend_from_slice(format!("\t{count}\n").as_bytes());
    ///         })?;
    ///         Ok(out.commit()?)
    ///     })?;
    ///     assert_eq!(matches!(renewed, Renewed::Written(_)), is_written);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// See [`Error`], and those of `write`. If the state cannot keep the note, the next run makes the answer again.
    pub fn renew(
        self,
        input: Input,
        file: AnswerFile<'_>,
        write: impl FnOnce(&Output<J>) -> Result<()>,
    ) -> Result<Renewed<J>> {
        let Options { order, top, ref state, .. } = self.options;
        let (state, asked) = (state.clone(), Asked::new(file, &format!("{order:?} {top:?}")));
        // Those who watch shows have not seen the answer that stands.
        let may_stand = self.show.as_ref().is_none_or(|show| show.lets_stand);
        let asked_now = may_stand.then_some(asked);
        let (answer, of_state) = match self.end(input, asked_now)? {
            Ended::Answer(answer, of_state) => (Box::new(Output::of(*answer)), of_state),
            Ended::Stands(stats) => return Ok(Renewed::Stands(stats)),
        };
        write(&answer)?;
        if let Some((state, of)) = state.zip(of_state) {
            let Stats { keys, key_value_bytes, .. } = *answer.stats();
            if let Err(error) = note(&state, of, asked, (keys, key_value_bytes)) {
                tracing::debug!(target: "tegula::state", %error, "the answer is not noted");
            }
        }
        Ok(Renewed::Written(answer))
    }

    fn end(self, input: Input, asked: Option<Asked<'_>>) -> Result<Ended<J::Combine>> {
        let JobRun { core, job, options, mut show } = self;
        let facts = JobFacts::of(job)?;
        options.container.check(facts.key_range)?;
        let mappers = JobMappers(job);
        let compare = comparison(job);
        let ranking = Ranking::new((!facts.is_largest_first).then_some(&compare));
        let mut see;
        let showing = match &mut show {
            Some(show) => {
                let wanted = show.wanted;
                see = |moment: &Moment<'_, J::Combine>| show.see(moment);
                Some(Showing { wanted, is_largest_first: facts.is_largest_first, see: &mut see })
            }
            None => None,
        };
        let job = ErasedJob { facts: &facts, mappers: &mappers, ranking };
        (Compiled::get().run)(core, job, input, &options, showing, asked)
    }

    /// Returns the answers of the pairs that a run of this job has saved so far in its
    /// [`state`](JobRun::state), with the order and the top of this one; its show does not apply. The saved
    /// run may be at work meanwhile, in another process, or have been killed. Its input is not read, so the
    /// state's folder can be a copy on another machine. The answers cover exactly the part of the input that
    /// was saved.
    ///
    /// # Errors
    /// [`StateError::Missing`](crate::error::StateError::Missing) if nothing was saved there,
    /// [`StateError::OtherJob`](crate::error::StateError::OtherJob) if it was by another job,
    /// [`Error::Option`] without a state, and those of the disk and of memory.
    pub fn saved(self) -> Result<Saved<J>> {
        let JobRun { core, job, options, .. } = self;
        let Some(state) = &options.state else {
            let cause = "name the state whose answers are to be shown".to_owned();
            return Err(Error::Option { option: "state", cause });
        };
        let facts = JobFacts::of(job)?;
        let compare = comparison(job);
        let ranking = Ranking::new((!facts.is_largest_first).then_some(&compare));
        let mut looks = 0;
        loop {
            looks += 1;
            let saved = SavedPartials::look(state, &facts)
                .and_then(|partials| (Compiled::get().saved)(core, ranking, &options, partials));
            match saved {
                // The run has saved more, and removed or replaced the files of the earlier save.
                Err(Error::Storage(
                    StorageError::Missing { .. } | StorageError::Changed { .. },
                )) if looks < LOOKS_MOST => {}
                saved => {
                    let (report, output) = saved?;
                    return Ok(Saved { report, output: Output::of(output) });
                }
            }
        }
    }
}

impl<J: Job> fmt::Debug for Saved<J> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Saved { report, output } = self;
        f.debug_struct("Saved").field("report", report).field("output", output).finish()
    }
}

impl<J: Job> fmt::Debug for Renewed<J> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Renewed::Written(output) => f.debug_tuple("Written").field(output).finish(),
            Renewed::Stands(stats) => f.debug_tuple("Stands").field(stats).finish(),
        }
    }
}

impl<J: Job> fmt::Debug for JobRun<'_, J> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("JobRun");
        out.field("options", &self.options).field("show", &self.show).finish_non_exhaustive()
    }
}
