//! A job as the server keeps it: what was asked for, and what became of it. Its form in a file is its form in answers,
//! but for a few fields of the server's own.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

/// What a person asks for.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// A command line without the program's name.
    pub command: Vec<String>,
    /// Where its relative paths begin; the first root if it is not given.
    #[serde(default)]
    pub folder: Option<PathBuf>,
    /// A job in Python, as its package sends it; then the command is `python` and the paths that it reads.
    #[serde(default)]
    pub program: Option<String>,
    /// A line for people; the command if it is not given.
    #[serde(default)]
    pub name: Option<String>,
    /// Jobs of a higher one begin first.
    #[serde(default)]
    pub priority: i32,
    /// The limit on its memory.
    #[serde(default)]
    pub memory_bytes: Option<u64>,
    /// The cores without which it does not begin.
    #[serde(default)]
    pub least: Option<usize>,
    /// The cores that it may use.
    #[serde(default)]
    pub most: Option<usize>,
}

/// Where a job is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum State {
    /// It waits.
    Queued,
    /// A process works on it.
    Running,
    /// Its answer is complete.
    Done,
    /// It ended with an error.
    Failed,
    /// Somebody cancelled it.
    Cancelled,
}

impl State {
    /// All states.
    pub(crate) const ALL: [State; 5] =
        [State::Queued, State::Running, State::Done, State::Failed, State::Cancelled];

    /// Returns the state's name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            State::Queued => "queued",
            State::Running => "running",
            State::Done => "done",
            State::Failed => "failed",
            State::Cancelled => "cancelled",
        }
    }

    /// Returns whether nothing more will happen.
    pub(crate) fn is_over(self) -> bool {
        self > State::Running
    }
}

/// The record of a job.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Job {
    /// Its number, from 1.
    pub(crate) id: u64,
    /// A line for people.
    pub(crate) name: String,
    /// The command line without the program's name.
    pub(crate) command: Vec<String>,
    /// Where its relative paths begin.
    pub(crate) folder: PathBuf,
    /// Who submitted it.
    pub user: String,
    /// Where it is in its life.
    pub(crate) state: State,
    /// Jobs of a higher one begin first.
    pub(crate) priority: i32,
    /// Seconds since 1970.
    pub(crate) created_at_s: f64,
    /// When it was first started.
    pub(crate) started_at_s: Option<f64>,
    /// When it was over.
    pub(crate) ended_at_s: Option<f64>,
    /// How long it ran, all attempts that have ended.
    pub(crate) elapsed_s: f64,
    /// How often it was started.
    pub(crate) attempts: u32,
    /// The limit on its memory.
    pub(crate) memory_bytes: u64,
    /// The cores without which it does not begin.
    pub(crate) least: usize,
    /// The cores that it may use.
    pub(crate) most: usize,
    /// Somebody has cancelled it.
    pub(crate) cancelling: bool,
    /// The exit code of its process.
    pub(crate) code: Option<i32>,
    /// The signal that ended its process.
    pub(crate) signal: Option<i32>,
    /// Why it ended so.
    pub(crate) message: Option<String>,
    /// The size of its answer.
    pub(crate) answer_bytes: Option<u64>,
    /// The size of its log.
    #[serde(default)]
    pub(crate) log_bytes: u64,
    /// The newest figures.
    pub(crate) progress: Option<Value>,
    /// What the server alone knows.
    pub(crate) own: Own,
}

/// The parts of a record that are not shown.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Own {
    /// How often a signal has ended its process.
    pub(crate) crashes: u32,
    /// Its process, and when that began, in the kernel's ticks.
    pub(crate) pid: Option<u32>,
    /// See `pid`.
    pub(crate) pid_began: Option<u64>,
    /// Whether its command can save a state.
    pub(crate) saves: bool,
    /// Whether its cores can change while it runs.
    pub(crate) shares: bool,
    /// The arguments that name input; none of a record that is older than this field.
    #[serde(default)]
    pub(crate) inputs: Option<Vec<String>>,
    /// Whether it is a job in Python.
    #[serde(default)]
    pub(crate) is_python: bool,
    /// What the request said of its limits; none of a record that is older than this field.
    #[serde(default)]
    pub(crate) asked: Option<Asked>,
}

/// The limits of a request; the server decides those that it leaves open.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Asked {
    pub(crate) memory_bytes: Option<u64>,
    pub(crate) least: Option<usize>,
    pub(crate) most: Option<usize>,
}

impl Asked {
    pub(crate) fn of(request: &Request) -> Asked {
        let Request { memory_bytes, least, most, .. } = *request;
        Asked { memory_bytes, least, most }
    }
}

/// The figures of a progress line that a summary has.
const PROGRESS: [&str; 7] =
    ["stage", "bytes_planned", "bytes_done", "bytes_per_s", "left_s", "memory_bytes", "keys_held"];

/// What of a job changes while it runs or waits, beside its record.
#[derive(Clone, Debug, Default)]
pub(crate) struct Present {
    /// The cores that it may use.
    pub(crate) cores: Option<String>,
    /// Its place in the queue, from 1.
    pub(crate) place: Option<usize>,
    /// Seconds since its process began.
    pub(crate) running_s: f64,
}

impl Job {
    /// Returns a job that waits. What the request leaves open is 0.
    pub(crate) fn new(id: u64, request: Request, folder: PathBuf, user: String) -> Job {
        let Request { command, name, priority, memory_bytes, least, most, .. } = request;
        Job {
            id,
            name: name.unwrap_or_else(|| command.join(" ")),
            command,
            folder,
            user,
            state: State::Queued,
            priority,
            created_at_s: now_s(),
            started_at_s: None,
            ended_at_s: None,
            elapsed_s: 0.0,
            attempts: 0,
            memory_bytes: memory_bytes.unwrap_or(0),
            least: least.unwrap_or(0),
            most: most.unwrap_or(0),
            cancelling: false,
            code: None,
            signal: None,
            message: None,
            answer_bytes: None,
            log_bytes: 0,
            progress: None,
            own: Own::default(),
        }
    }

    /// Asks for no more than a server has, which may be less than an earlier one had. Returns whether it asked for more.
    pub(crate) fn fit(&mut self, memory_bytes: u64, cores: usize) -> bool {
        let asked = (self.memory_bytes, self.least, self.most);
        self.memory_bytes = self.memory_bytes.min(memory_bytes);
        (self.least, self.most) = (self.least.min(cores), self.most.min(cores));
        asked != (self.memory_bytes, self.least, self.most)
    }

    /// Notes that it is over, because somebody has cancelled it.
    pub(crate) fn cancelled(&mut self) {
        (self.state, self.cancelling) = (State::Cancelled, false);
        self.ended_at_s = Some(now_s());
    }

    /// Returns the summary of the job (docs/api.md).
    pub(crate) fn summary(&self, present: &Present) -> Map<String, Value> {
        let Ok(Value::Object(mut summary)) = serde_json::to_value(self) else { return Map::new() };
        summary.remove("own");
        summary.insert("elapsed_s".to_owned(), json!(self.elapsed_s + present.running_s));
        summary.insert("cores".to_owned(), json!(present.cores));
        summary.insert("place".to_owned(), json!(present.place));
        summary.insert("progress".to_owned(), self.progress.as_ref().map_or(Value::Null, short));
        summary
    }
}

/// Returns seconds since 1970.
pub(crate) fn now_s() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64()
}

/// Returns the figures of a progress line that a summary has.
pub(crate) fn short(progress: &Value) -> Value {
    let figures = PROGRESS.iter().map(|&name| (name.to_owned(), progress[name].clone()));
    Value::Object(figures.collect())
}
