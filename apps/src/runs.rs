//! Runs for applications that consist of several consecutive jobs: an engine, the options of each run, and
//! the sum of their figures. Knows no job.

use tegula::{Engine, Input, Job, Options, Output, Result, Stats};

/// The runs of one application on one engine. With [`Options::state`], each job that has an identity has a
/// state of its own, numbered in the order of the runs ([`State::step`](tegula::State::step)); other jobs
/// run again.
pub struct Runs<'e> {
    engine: &'e Engine,
    options: Options,
    /// Jobs that were run with a state.
    saved: usize,
    stats: Stats,
}

impl<'e> Runs<'e> {
    /// Creates runs with these options, none done yet.
    pub fn new(engine: &'e Engine, options: Options) -> Runs<'e> {
        Runs { engine, options, saved: 0, stats: Stats::default() }
    }

    /// Runs a job.
    ///
    /// # Errors
    /// Returns the errors of [`Engine::run_with`].
    pub fn job<J: Job>(&mut self, job: &J, input: Input) -> Result<Output<J>> {
        let state = match (&self.options.state, job.identity()) {
            (Some(state), Some(_)) => {
                self.saved += 1;
                state.step(self.saved)
            }
            _ => None,
        };
        let output =
            self.engine.run_with(job, input, &Options { state, ..self.options.clone() })?;
        self.stats.add(output.stats());
        Ok(output)
    }

    /// Runs a job whose records are tasks. Each task is a split of its own, so that workers share them
    /// however few they are. [`tasks`] makes such an input. The results are in the application's memory, so
    /// the job has no state.
    ///
    /// # Errors
    /// Returns the errors of [`Engine::run_with`].
    pub fn tasks<J: Job>(&mut self, job: &J, count: usize) -> Result<Output<J>> {
        let one = TASK_BYTES as u64;
        let options = Options { split_bytes: Some(one), state: None, ..self.options.clone() };
        let output = self.engine.run_with(job, tasks(count), &options)?;
        self.stats.add(output.stats());
        Ok(output)
    }

    /// Returns whether devices work beside the cores.
    pub fn has_devices(&self) -> bool {
        !self.options.devices.is_empty()
    }

    /// Runs `work` without devices: for jobs for which no device has a kernel, such as those that read the
    /// input of others.
    pub fn on_cores<R>(&mut self, work: impl FnOnce(&mut Runs<'e>) -> R) -> R {
        let devices = std::mem::take(&mut self.options.devices);
        let alone = std::mem::take(&mut self.options.devices_alone);
        let result = work(self);
        (self.options.devices, self.options.devices_alone) = (devices, alone);
        result
    }

    /// Returns the sum of the figures of all runs.
    pub fn stats(&self) -> &Stats {
        &self.stats
    }
}

/// Bytes of a task's record.
pub const TASK_BYTES: usize = 8;

/// Makes the input of a job whose records are tasks, numbered from 0: each number in 8 bytes,
/// little-endian. The job is cut by [`Cut::Fixed`](tegula::Cut::Fixed) at [`TASK_BYTES`] and reads
/// [`task_numbers`].
pub fn tasks(count: usize) -> Input {
    Input::bytes((0..count as u64).flat_map(u64::to_le_bytes).collect::<Vec<u8>>())
}

/// Iterates the numbers of the tasks in a split's bytes.
pub fn task_numbers(bytes: &[u8]) -> impl Iterator<Item = usize> {
    bytes.as_chunks().0.iter().map(|&number| u64::from_le_bytes(number) as usize)
}
