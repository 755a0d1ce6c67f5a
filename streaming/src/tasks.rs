//! The tasks of a run: each has a number, a folder with the job's files, and an environment, and runs commands.

use crate::command::{NoProgram, find};
use crate::counters::Counters;
use crate::failure::{FirstFailure, TaskFailed};
use crate::output::OutputFolder;
use crate::process::{Process, fault_of};
use crate::settings::{Reducer, Settings};
use crate::shipped::Links;
use crate::speech::Speech;
use crate::workplace::Workplace;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{SystemTime, UNIX_EPOCH};
use tegula::{Cancel, Error, InputError, Options, OutputError, Place, Result};

/// What the tasks of a run share.
pub(crate) struct Tasks<'r> {
    settings: &'r Settings,
    place: &'r Workplace,
    links: Links,
    cancel: &'r Cancel,
    failure: FirstFailure,
    environment: Vec<(String, String)>,
    /// The folder in which each task has one for files that go into the answer.
    outputs: PathBuf,
    /// `<time>_0001`, of which the job, its tasks and their attempts have their names.
    id: String,
}

/// A task, whose folder is gone with it.
pub(crate) struct Task {
    folder: PathBuf,
    outputs: PathBuf,
    environment: Vec<(String, String)>,
    place: Place,
    attempt: String,
}

/// The piece of input that a map task maps.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Source<'s> {
    pub(crate) path: &'s Path,
    pub(crate) file: u32,
    pub(crate) offset: u64,
    pub(crate) bytes: usize,
}

/// `ENOEXEC`.
const NOT_A_PROGRAM: i32 = 8;
/// `E2BIG`.
const TOO_LONG: i32 = 7;

impl<'r> Tasks<'r> {
    pub(crate) fn new(
        settings: &'r Settings,
        place: &'r Workplace,
        options: &'r Options,
        output: &OutputFolder,
    ) -> Result<Tasks<'r>> {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let id = format!("{}_0001", since.as_millis());
        let programs: Vec<&str> = [Some(&settings.mapper), settings.combiner.as_ref()]
            .into_iter()
            .flatten()
            .chain(match &settings.reducer {
                Reducer::Command(command) => Some(command),
                _ => None,
            })
            .filter_map(|command| command.first().map(String::as_str))
            .collect();
        let links = Links::prepare(&settings.shipped, &programs, place.folder())?;
        let environment = environment(settings, &id, place.folder(), output.path());
        let outputs = output.of_tasks();
        let (cancel, failed) = (&options.cancel, options.failed.clone());
        let failure = FirstFailure::new(failed.unwrap_or_default());
        Ok(Tasks { settings, place, links, cancel, failure, environment, outputs, id })
    }

    /// The first failure of the run's tasks.
    pub(crate) fn failure(&self) -> &FirstFailure {
        &self.failure
    }

    pub(crate) fn job_id(&self) -> String {
        format!("job_{}", self.id)
    }

    /// Begins a map task over a piece of input.
    pub(crate) fn map_task(&self, number: usize, source: Source<'_>) -> Result<Task> {
        let text = source.path.to_string_lossy();
        let path = match text.contains("://") {
            true => text.into_owned(),
            false => match fs::canonicalize(source.path) {
                Ok(path) => format!("file:{}", path.display()),
                Err(_) => text.into_owned(),
            },
        };
        let own = [
            ("mapreduce.map.input.file", "map.input.file", path),
            ("mapreduce.map.input.start", "map.input.start", source.offset.to_string()),
            ("mapreduce.map.input.length", "map.input.length", source.bytes.to_string()),
        ];
        let place =
            Place { source: source.path.to_path_buf(), line: None, offset: Some(source.offset) };
        self.task('m', number, own.into_iter(), place)
    }

    /// Begins a reduce task.
    pub(crate) fn reduce_task(&self, number: usize) -> Result<Task> {
        self.task('r', number, std::iter::empty(), Place::stage(&format!("part-{number:05}")))
    }

    fn task(
        &self,
        kind: char,
        number: usize,
        own: impl Iterator<Item = (&'static str, &'static str, String)>,
        place: Place,
    ) -> Result<Task> {
        let id = format!("{}_{kind}_{number:06}", self.id);
        let folder = self.place.folder().join(&id);
        let made = fs::create_dir(&folder).and_then(|()| self.links.make(&folder));
        made.map_err(|cause| OutputError::Create { path: folder.clone(), cause })?;
        let (is_map, attempt) = (kind == 'm', format!("attempt_{id}_0"));
        let outputs = self.outputs.join(&attempt);
        let names = [
            ("mapreduce.task.id", "mapred.tip.id", format!("task_{id}")),
            ("mapreduce.task.attempt.id", "mapred.task.id", attempt.clone()),
            ("mapreduce.task.partition", "mapred.task.partition", number.to_string()),
            ("mapreduce.task.ismap", "mapred.task.is.map", is_map.to_string()),
            (
                "mapreduce.task.output.dir",
                "mapred.work.output.dir",
                outputs.to_string_lossy().into_owned(),
            ),
        ];
        let both = names.into_iter().chain(own);
        let environment = both
            .flat_map(|(now, old, value)| [(variable(now), value.clone()), (variable(old), value)]);
        let environment = environment.collect();
        let task = Task { folder, outputs, environment, place, attempt };
        let made = fs::create_dir_all(&task.outputs);
        made.map_err(|cause| OutputError::Create { path: task.outputs.clone(), cause })?;
        Ok(task)
    }

    /// Starts a command of a task. `role` is what messages call it.
    pub(crate) fn start(&self, task: &Task, role: &str, command: &[String]) -> Result<Process> {
        if self.failure.flag().is_cancelled() {
            return Err(Error::Cancelled);
        }
        let (name, words) =
            command.split_first().map_or(("", &[][..]), |(name, words)| (name, words));
        let cannot = |why: String| {
            task.failed(format!("the {role} `{}` cannot be run: {why}", command.join(" ")))
        };
        let program = find(name, &task.folder).map_err(|fault| {
            cannot(match fault {
                NoProgram::Missing => {
                    format!("there is no program {name} on the PATH, and no such file is shipped by -files")
                }
                NoProgram::NotExecutable => format!("{name} is not executable; chmod +x {name}"),
            })
        })?;
        let mut run = Command::new(program);
        run.args(words).current_dir(&task.folder);
        let variables = self.environment.iter().chain(&task.environment);
        run.envs(variables.map(|(name, value)| (name, value)));
        run.envs(self.settings.environment.iter().map(|(name, value)| (name, value)));
        run.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = self.place.start(run).map_err(|cause| match cause.kind() {
            io::ErrorKind::ExecutableFileBusy => cannot(format!("{name} is being written")),
            _ if cause.raw_os_error() == Some(NOT_A_PROGRAM) => {
                cannot(format!("{name} is no program; begin a script with #! and its interpreter"))
            }
            _ if cause.raw_os_error() == Some(TOO_LONG) => cannot(self.too_long(task)),
            _ => cannot(cause.to_string()),
        })?;
        let settings = self.settings;
        let speech = Speech::new(&settings.reporter_prefix, settings.is_verbose);
        let stops = [self.cancel.clone(), self.failure.flag().clone()];
        let process = Process::new(child, speech, stops, settings.timeout);
        process.map_err(|cause| cannot(cause.to_string()))
    }

    /// Returns why the system finds the words and variables of a command too long.
    fn too_long(&self, task: &Task) -> String {
        let of_job = self.environment.iter().chain(&self.settings.environment);
        let variables = of_job.chain(&task.environment);
        let longest = variables.max_by_key(|(_, value)| value.len());
        let (name, bytes) = longest.map_or(("", 0), |(name, value)| (name.as_str(), value.len()));
        format!(
            "its words and variables are too long for the system; the longest is {name}, of {bytes} bytes; \
             -D stream.jobconf.truncate.limit=N shortens those of properties to N characters"
        )
    }

    /// Judges the end of a command, and returns its counters. `worked` is what feeding it and waiting for it gave.
    pub(crate) fn end(
        &self,
        task: &Task,
        role: &str,
        command: &[String],
        mut process: Process,
        worked: Result<ExitStatus>,
    ) -> Result<Counters> {
        process.speech.end();
        let why = match worked {
            Ok(status) => match fault_of(status) {
                Some(fault) if self.settings.fails_by_exit_code => fault,
                _ => return Ok(std::mem::take(&mut process.speech.counters)),
            },
            Err(Error::Record { cause, .. }) if cause.is::<TaskFailed>() => {
                format!("failed: {cause}")
            }
            Err(error) => return Err(error),
        };
        let message = format!("the {role} `{}` {why}", command.join(" "));
        let last_words = process.speech.last_words();
        let cause = Box::new(TaskFailed { message, last_words, attempt: task.attempt.clone() });
        Err(Error::Record { place: task.place.clone(), cause })
    }

    /// Runs a command of a task, which is started, over text that is all there, and returns its counters.
    pub(crate) fn run(
        &self,
        task: &Task,
        (role, command): (&str, &[String]),
        mut process: Process,
        text: &[u8],
        take: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<Counters> {
        process.awaken();
        let worked = process.feed(text, take).and_then(|()| process.finish(take));
        self.end(task, role, command, process, worked)
    }
}

impl Task {
    /// Returns the folder whose files go into the answer.
    pub(crate) fn outputs(&self) -> &Path {
        &self.outputs
    }

    /// Returns the name of a file or folder that is in there; `None` if there is none.
    pub(crate) fn output(&self) -> Result<Option<OsString>> {
        let mut entries = match fs::read_dir(&self.outputs) {
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(None),
            entries => entries.map_err(|cause| InputError::from_io(&self.outputs, cause))?,
        };
        let first = entries.next().transpose();
        let first = first.map_err(|cause| InputError::from_io(&self.outputs, cause))?;
        Ok(first.map(|entry| entry.file_name()))
    }

    /// Returns the error that the task ends with for this reason.
    pub(crate) fn failed(&self, message: String) -> Error {
        let cause = TaskFailed { attempt: self.attempt.clone(), ..TaskFailed::new(message) };
        Error::Record { place: self.place.clone(), cause: Box::new(cause) }
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        // They go with the folders of the run at the latest.
        for folder in [&self.folder, &self.outputs] {
            let _ = fs::remove_dir_all(folder);
        }
    }
}

/// Returns the environment that all tasks of a job have: its properties, with those that Hadoop sets itself.
fn environment(
    settings: &Settings,
    id: &str,
    folder: &Path,
    output: &Path,
) -> Vec<(String, String)> {
    let mut conf = settings.conf.clone();
    let mut set = |name: &str, value: String| {
        if conf.get(name).is_none() {
            conf.set(name, value);
        }
    };
    let user = std::env::var("USER").or_else(|_| std::env::var("LOGNAME")).unwrap_or_default();
    set("mapreduce.job.id", format!("job_{id}"));
    set("mapreduce.job.name", settings.mapper.join(" "));
    set("mapreduce.job.user.name", user);
    set("mapreduce.job.local.dir", folder.to_string_lossy().into_owned());
    set("mapreduce.input.fileinputformat.inputdir", settings.inputs.join(","));
    set("mapreduce.output.fileoutputformat.outputdir", output.to_string_lossy().into_owned());
    let reduces = if settings.reducer == Reducer::None { 0 } else { settings.parts };
    set("mapreduce.job.reduces", reduces.to_string());
    set("stream.map.streamprocessor", encoded(&settings.mapper.join(" ")));
    if let Reducer::Command(command) = &settings.reducer {
        set("stream.reduce.streamprocessor", encoded(&command.join(" ")));
    }
    let most =
        settings.conf.get("stream.jobconf.truncate.limit").and_then(|limit| limit.parse().ok());
    let shortened = |value: &str| match most {
        Some(most) if value.chars().count() > most => value.chars().take(most).collect(),
        _ => value.to_owned(),
    };
    let variables = conf.under_all_names();
    variables.map(|(name, value)| (variable(name), shortened(value))).collect()
}

/// Returns the variable of a property: letters and digits as they are, `_` for anything else.
fn variable(name: &str) -> String {
    name.chars().map(|one| if one.is_ascii_alphanumeric() { one } else { '_' }).collect()
}

/// Encodes a text as `URLEncoder` does.
fn encoded(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        match byte {
            b' ' => out.push('+'),
            b'.' | b'-' | b'*' | b'_' => out.push(char::from(byte)),
            _ if byte.is_ascii_alphanumeric() => out.push(char::from(byte)),
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}
