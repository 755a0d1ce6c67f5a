//! Runs for applications that consist of several consecutive jobs: an engine, the options of each run, and
//! the sum of their figures. Knows no job.

use tegula::{Engine, Input, Job, Options, Output, Result, Stats};
use tegula_machine::memory::Reserved;
#[cfg(feature = "nodes")]
use tegula_nodes::{Machines, Shares, Task};

/// Returns what a state keeps about a job, from the job's note.
pub type About<'a> = dyn Fn(&[u8]) -> Vec<u8> + 'a;

/// The runs of one application on one engine. With [`Options::state`], each job that has an identity has a
/// state of its own, numbered in the order of the runs ([`State::step`](tegula::State::step)); other jobs
/// run again.
pub struct Runs<'e> {
    engine: &'e Engine,
    options: Options,
    #[cfg(feature = "nodes")]
    machines: Option<&'e mut Machines>,
    /// Jobs that were run with a state.
    saved: usize,
    /// Returns what a state keeps about a job, from the job's note.
    about: Option<&'e About<'e>>,
    stats: Stats,
    /// Memory that the application holds until its end.
    held: Vec<Reserved>,
}

impl<'e> Runs<'e> {
    /// Creates runs with these options, none done yet.
    pub fn new(engine: &'e Engine, options: Options) -> Runs<'e> {
        Runs {
            engine,
            options,
            #[cfg(feature = "nodes")]
            machines: None,
            saved: 0,
            about: None,
            stats: Stats::default(),
            held: Vec::new(),
        }
    }

    /// Counts memory that a matrix takes, as part of the engine's limit, as long as what is returned lives.
    ///
    /// # Errors
    /// Returns [`Error::Memory`](tegula::Error::Memory) if the limit does not allow it.
    pub fn reserve(&self, bytes: usize) -> Result<Reserved> {
        let mut counted = self.engine.reserve(0, "a matrix")?;
        // A refusal counts what is in use already, such as other matrices.
        counted.cover(bytes)?;
        Ok(counted)
    }

    /// Counts it until the end of all runs.
    pub fn keep(&mut self, held: Reserved) {
        self.held.push(held);
    }

    /// Lets the jobs run on these machines.
    #[cfg(feature = "nodes")]
    pub fn over(self, machines: &'e mut Machines) -> Runs<'e> {
        Runs { machines: Some(machines), ..self }
    }

    /// Lets states keep, about each job with a note, what `about` returns for it ([`State::about`](tegula::State::about)).
    pub fn about(self, about: &'e About<'e>) -> Runs<'e> {
        Runs { about: Some(about), ..self }
    }

    /// Runs a job.
    ///
    /// # Errors
    /// Returns the errors of [`JobRun::run`](tegula::JobRun::run).
    pub fn job<J: Job>(&mut self, job: &J, input: Input) -> Result<Output<J>> {
        self.noted(job, input, &[])
    }

    /// Runs a job with a note for its state: what its answer needs beside its pairs.
    ///
    /// # Errors
    /// Returns the errors of [`JobRun::run`](tegula::JobRun::run).
    pub fn noted<J: Job>(&mut self, job: &J, input: Input, note: &[u8]) -> Result<Output<J>> {
        let state = match (&self.options.state, job.state()) {
            (Some(state), Some(_)) => {
                self.saved += 1;
                let state = state.step(self.saved);
                match self.about.filter(|_| !note.is_empty()) {
                    Some(about) => state.map(|state| state.about(about(note))),
                    None => state,
                }
            }
            _ => None,
        };
        let options = Options { state, ..self.options.clone() };
        let output = self.run(job, input, &options)?;
        self.stats.add(output.stats());
        Ok(output)
    }

    fn run<J: Job>(&mut self, job: &J, input: Input, options: &Options) -> Result<Output<J>> {
        #[cfg(feature = "nodes")]
        if let Some(machines) = &mut self.machines {
            // The next job may depend on this one's answer.
            let task = Task { engine: self.engine, job, input, options, parts: None };
            return machines.run(task, Shares::Answer);
        }
        self.engine.job(job).options(options).run(input)
    }

    /// Runs `count` numbered tasks on all workers. Their results are in the application's memory, so they
    /// have no state.
    ///
    /// # Errors
    /// Returns the errors of [`Engine::tasks`].
    pub fn tasks(&mut self, count: usize, task: impl Fn(usize) -> Result<()> + Sync) -> Result<()> {
        let stats = self.engine.tasks(count, &self.options, |_, number| task(number))?;
        self.stats.add(&stats);
        Ok(())
    }

    /// Runs `work` with the options that `change` makes of these.
    #[cfg(feature = "offload")]
    pub(crate) fn with<R>(
        &mut self,
        change: impl FnOnce(&Options) -> Options,
        work: impl FnOnce(&mut Runs<'e>) -> R,
    ) -> R {
        let changed = change(&self.options);
        let before = std::mem::replace(&mut self.options, changed);
        let result = work(self);
        self.options = before;
        result
    }

    /// Number of workers that tasks run on.
    pub fn workers(&self) -> usize {
        self.engine.workers()
    }

    /// Returns whether devices work beside the cores.
    pub fn has_devices(&self) -> bool {
        !self.options.devices.is_empty()
    }

    /// Runs `work` without devices and on this machine alone: for jobs for which no device has a kernel and whose
    /// maps fill memory of the application, such as those that read the input of others.
    pub fn on_cores<R>(&mut self, work: impl FnOnce(&mut Runs<'e>) -> R) -> R {
        let devices = std::mem::take(&mut self.options.devices);
        let alone = std::mem::take(&mut self.options.devices_alone);
        #[cfg(feature = "nodes")]
        let machines = self.machines.take();
        let result = work(self);
        #[cfg(feature = "nodes")]
        {
            self.machines = machines;
        }
        (self.options.devices, self.options.devices_alone) = (devices, alone);
        result
    }

    /// Returns the sum of the figures of all runs.
    pub fn stats(&self) -> &Stats {
        &self.stats
    }
}
