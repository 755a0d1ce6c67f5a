//! The reducers: one for each part, as many at once as there are workers. Each gets the pairs of its part in order, so
//! no part is ever in memory as text.

use crate::counters::{BYTES_WRITTEN, Counters};
use crate::lines::LineCutter;
use crate::output::{OutputFolder, Part};
use crate::pairs::Pairs;
use crate::process::Process;
use crate::settings::{Reducer, Settings};
use crate::tasks::{Task, Tasks};
use std::ops::Range;
use std::sync::{Mutex, PoisonError};
use tegula::{Engine, Error, Options, Result};

/// Input that a reducer is given at once.
const BUFFER_BYTES: usize = 256 << 10;
/// What messages call the command.
const REDUCER: &str = "reducer";

/// Reducers of a short job, whose commands are started before it maps: an interpreter may take longer to start than all
/// the rest, and does so while those of the mappers start.
pub(crate) struct Early(Mutex<Vec<(usize, Task, Process)>>);

impl Early {
    /// Starts the reducers of the first `count` parts. What cannot be started now is when it is its turn, or fails then.
    pub(crate) fn start(tasks: &Tasks<'_>, settings: &Settings, count: usize) -> Early {
        let Reducer::Command(command) = &settings.reducer else { return Early(Mutex::default()) };
        let start = |part: usize| {
            let task = tasks.reduce_task(part).ok()?;
            let process = tasks.start(&task, REDUCER, command).ok()?;
            Some((part, task, process))
        };
        Early(Mutex::new((0..count).filter_map(start).collect()))
    }

    /// Returns the reducer of a part, if it has been started.
    fn take(&self, part: usize) -> Option<(Task, Process)> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let at = all.iter().position(|one| one.0 == part)?;
        let (_, task, mut process) = all.swap_remove(at);
        process.awaken();
        Some((task, process))
    }
}

/// Reduces all parts, and returns the counters of the whole job.
pub(crate) fn reduce(
    engine: &Engine,
    options: &Options,
    tasks: &Tasks<'_>,
    (settings, early): (&Settings, &Early),
    pairs: &Pairs<'_, '_>,
    output: &OutputFolder,
) -> Result<Counters> {
    let all = Mutex::new(pairs.counters()?);
    if settings.is_map_only() {
        return Ok(all.into_inner().unwrap_or_else(PoisonError::into_inner));
    }
    let bundles = pairs.bundles();
    let task = |_worker, bundle: usize| {
        let mut reducers = Reducers::new(tasks, (settings, early), output, bundles[bundle].clone());
        let taken = pairs
            .each(bundle, &mut |part, form, value| reducers.take(usize::from(part), form, value));
        let reduced = match taken {
            Ok(()) => reducers.finish(),
            Err(error) => Err(reducers.fail(error)),
        };
        let counters = tasks.failure().note(reduced)?;
        all.lock().unwrap_or_else(PoisonError::into_inner).add_all(&counters);
        Ok(())
    };
    let reduced = engine.tasks(bundles.len(), options, task);
    reduced.map_err(|error| tasks.failure().reason(error))?;
    Ok(all.into_inner().unwrap_or_else(PoisonError::into_inner))
}

/// The reducers of neighbouring parts, one after the other.
struct Reducers<'r> {
    tasks: &'r Tasks<'r>,
    settings: &'r Settings,
    early: &'r Early,
    output: &'r OutputFolder,
    /// The parts that come after the present one.
    parts: Range<usize>,
    now: Option<Reduction<'r>>,
    counters: Counters,
}

/// The reduction of one part.
struct Reduction<'r> {
    part: usize,
    /// The form of the last key.
    last: Vec<u8>,
    file: Part,
    run: Option<Run<'r>>,
    groups: u64,
    records: u64,
    written: u64,
}

/// A run of a reducer's command.
struct Run<'r> {
    command: &'r [String],
    task: Task,
    process: Process,
    cutter: LineCutter,
    input: Vec<u8>,
}

impl<'r> Reducers<'r> {
    fn new(
        tasks: &'r Tasks<'r>,
        (settings, early): (&'r Settings, &'r Early),
        output: &'r OutputFolder,
        parts: Range<usize>,
    ) -> Reducers<'r> {
        Reducers { tasks, settings, early, output, parts, now: None, counters: Counters::default() }
    }

    /// Takes a pair; parts ascend.
    fn take(&mut self, part: usize, form: &[u8], value: &[u8]) -> Result<()> {
        while self.now.as_ref().is_none_or(|now| now.part < part) && self.go_on()? {}
        match &mut self.now {
            Some(now) => now.take(self.settings, form, value),
            None => Ok(()),
        }
    }

    /// Reduces what is left. Returns what was counted.
    fn finish(mut self) -> Result<Counters> {
        while self.go_on()? {}
        Ok(self.counters)
    }

    /// Returns the error that ends the job, where pairs could not be taken.
    fn fail(self, error: Error) -> Error {
        match self.now.and_then(|now| now.run) {
            Some(Run { command, task, process, .. }) => {
                match self.tasks.end(&task, REDUCER, command, process, Err(error)) {
                    Err(error) => error,
                    Ok(_) => Error::Cancelled,
                }
            }
            None => error,
        }
    }

    /// Ends the present part and begins the next one; returns whether there is one.
    fn go_on(&mut self) -> Result<bool> {
        if let Some(now) = self.now.take() {
            self.counters.add_all(&now.finish(self.tasks, self.settings, self.output)?);
        }
        let Some(part) = self.parts.next() else { return Ok(false) };
        let Reducers { tasks, settings, early, output, .. } = *self;
        let file = output.part(part, settings.codec, settings.is_lazy)?;
        let run = match &settings.reducer {
            Reducer::Command(command) => {
                let (task, process) = match early.take(part) {
                    Some(started) => started,
                    None => {
                        let task = tasks.reduce_task(part)?;
                        let process = tasks.start(&task, REDUCER, command)?;
                        (task, process)
                    }
                };
                let cutter = LineCutter::new(settings.line_bytes_most);
                Some(Run {
                    command,
                    task,
                    process,
                    cutter,
                    input: Vec::with_capacity(BUFFER_BYTES),
                })
            }
            Reducer::Identity | Reducer::None => None,
        };
        let (last, groups, records, written) = (Vec::new(), 0, 0, 0);
        self.now = Some(Reduction { part, last, file, run, groups, records, written });
        Ok(true)
    }
}

impl Reduction<'_> {
    fn take(&mut self, settings: &Settings, form: &[u8], value: &[u8]) -> Result<()> {
        if self.groups == 0 || self.last != form {
            self.groups += 1;
            self.last.clear();
            self.last.extend_from_slice(form);
        }
        self.records += 1;
        let key = settings.order.key(form);
        let Some(run) = &mut self.run else {
            self.written += 1;
            return self.file.write(key, &settings.output_separator, value);
        };
        run.input.extend_from_slice(key);
        run.input.extend_from_slice(&settings.reduce_input_separator);
        run.input.extend_from_slice(value);
        run.input.push(b'\n');
        if run.input.len() < BUFFER_BYTES { Ok(()) } else { self.feed(settings) }
    }

    /// Gives the command the input that there is.
    fn feed(&mut self, settings: &Settings) -> Result<()> {
        let Reduction { run: Some(run), file, written, .. } = self else { return Ok(()) };
        let mut write = writer(settings, file, written);
        let Run { process, cutter, input, .. } = run;
        process.feed(input, &mut |bytes| cutter.feed(bytes, &mut write))?;
        input.clear();
        Ok(())
    }

    /// Ends the part. Returns what was counted.
    fn finish(
        mut self,
        tasks: &Tasks<'_>,
        settings: &Settings,
        output: &OutputFolder,
    ) -> Result<Counters> {
        let fed = self.feed(settings);
        let Reduction { run, mut file, groups, records, mut written, .. } = self;
        let mut counters = Counters::default();
        if let Some(Run { command, task, mut process, mut cutter, .. }) = run {
            let mut write = writer(settings, &mut file, &mut written);
            let worked = fed.and_then(|()| match records {
                // Of a reducer that gets nothing, Hadoop takes nothing.
                0 => process.finish(&mut |_| Ok(())),
                _ => process.finish(&mut |bytes| cutter.feed(bytes, &mut write)),
            });
            counters = tasks.end(&task, REDUCER, command, process, worked)?;
            cutter.finish(&mut write)?;
            output.take_files(task.outputs())?;
        }
        counters.count("Reduce input groups", groups);
        counters.count("Reduce input records", records);
        counters.count("Reduce output records", written);
        let bytes = i64::try_from(file.finish()?).unwrap_or(i64::MAX);
        counters.add(BYTES_WRITTEN.0, BYTES_WRITTEN.1, bytes);
        Ok(counters)
    }
}

/// Returns what writes the lines of a reducer to its part file.
fn writer<'w>(
    settings: &'w Settings,
    file: &'w mut Part,
    written: &'w mut u64,
) -> impl FnMut(&[u8]) -> Result<()> + 'w {
    |line| {
        *written += 1;
        let (key, value) = settings.reduce_output.split(line);
        file.write(key, &settings.output_separator, value)
    }
}
