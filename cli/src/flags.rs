//! The flags that several commands share: for running jobs, for choosing pairs of an answer, and for
//! progress.

use crate::arguments;
use crate::events::{self, EventsTo};
use crate::request::Request;
use crate::show::{Most, ShowFlags, ShowWhen};
use crate::size::{self, AutoSize};
use crate::timeline::{self, TimelineFile};
use clap::builder::{OsStringValueParser, TypedValueParser};
use clap::{Args, ValueEnum};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tegula::reuse::Hashing;
use tegula::{
    Every, Folders, Grouping, Incremental, Keep, Options, Pipeline, Reads, SaveEvery, State,
    Topology,
};

/// The pairs of a show for `--events`, unless the answer has a number of its own.
const SHOWN_PAIRS: usize = 10;
const SHOWN_PAIRS_MOST: usize = 100;

/// Which pairs of an answer to show, in which order and form.
#[derive(Args, Default)]
pub(crate) struct AnswerFlags {
    /// Keep only the N pairs with the largest values.
    #[arg(long, value_name = "N", value_parser = count, help_heading = "Answer")]
    pub(crate) top: Option<usize>,

    /// Order of the answer: by key (bytes ascending), by value (largest first), or none [default:
    /// key; with --top: value].
    #[arg(long, value_enum, hide_default_value = true, help_heading = "Answer")]
    pub(crate) order: Option<Order>,

    /// tsv: key, tab, value, the key's bytes as they are. jsonl: {"key":"...","value":N}, and
    /// "key_hex" instead of "key" where the key is not UTF-8.
    #[arg(long, value_enum, default_value_t = Format::Tsv, help_heading = "Answer")]
    pub(crate) format: Format,

    #[command(flatten)]
    pub(crate) show: ShowFlags,
}

/// The flags for running the jobs of a command, and for the place of their answer.
#[derive(Args, Default)]
pub(crate) struct RunFlags {
    /// Write the answer to FILE instead of standard output. FILE appears, or is replaced, only when
    /// the whole answer is written.
    #[arg(short, long, value_name = "FILE", help_heading = "Answer")]
    pub(crate) output: Option<PathBuf>,

    /// The number of workers [default: one for each processor this process may use, within its quota].
    #[arg(short = 'j', long, value_name = "N", value_parser = count, help_heading = "Run")]
    pub(crate) workers: Option<usize>,

    /// Groups of processors, each with a queue of tiles and memory of its own: those that share a
    /// last-level cache and a memory node (auto), N of the same size, or those of the machine that FILE
    /// describes.
    #[arg(long, value_name = "auto|N|FILE", default_value = "auto", help_heading = "Run")]
    pub(crate) groups: OsString,

    /// Size of a tile, the part of the input that is one sub-job. SIZE is in bytes or binary units
    /// (64k, 4M, 1GiB).
    #[arg(long, value_name = "auto|SIZE", value_parser = size::parse_or_auto, default_value = "auto", help_heading = "Run")]
    pub(crate) tile: AutoSize,

    /// Size of a split, the part of a tile that a worker takes. auto: small splits, and as many of them at
    /// a time as measurements show to be fastest.
    #[arg(long, value_name = "auto|SIZE", value_parser = size::parse_or_auto, default_value = "auto", help_heading = "Run")]
    pub(crate) split: AutoSize,

    /// Whether workers begin the next tile while the pairs of the last one are still combined (on), or
    /// wait for each other after every tile (off).
    #[arg(long, value_enum, default_value_t = PipelineFlag::On, help_heading = "Run")]
    pub(crate) pipeline: PipelineFlag,

    /// Memory that the whole process may hold; pairs beyond it go to scratch files. SIZE is in bytes or
    /// binary units [default: no limit].
    #[arg(long, value_name = "SIZE", value_parser = size::parse, help_heading = "Run")]
    pub(crate) memory: Option<u64>,

    /// Folder for scratch files [default: the system's for temporary files]. None of them is left there,
    /// however the run ends.
    #[arg(long, value_name = "DIR", help_heading = "Run")]
    pub(crate) scratch: Option<PathBuf>,

    /// Skip records that cannot be read, such as malformed lines. Their number and the places of the
    /// first ones are printed at the end. Without this flag, the first such record ends the job.
    #[arg(long, help_heading = "Run")]
    pub(crate) skip_bad: bool,

    /// Read compressed files as they are. Without this flag, gzip, zstd, bzip2 and LZ4 data is
    /// decompressed; it is known by file name or content.
    #[arg(long, help_heading = "Run")]
    pub(crate) plain: bool,

    /// How to read files that are not in the page cache: past it (direct), into it (cached), or past it
    /// only if the input is larger than half of the memory that is free for it (auto).
    #[arg(long, value_enum, default_value_t = ReadsFlag::Auto, help_heading = "Run")]
    pub(crate) reads: ReadsFlag,

    /// Save the run's partial answers in DIR, a folder or a URL (s3, gs, az, hdfs). After a kill, a loss of power or an
    /// error, the same command resumes the run; after a complete run it only reads the answer.
    #[arg(long, value_name = "DIR", requires = "job", help_heading = "State")]
    pub(crate) state: Option<PathBuf>,

    /// The job's name in the state's folder: letters, digits, dots, underscores and hyphens.
    #[arg(long, value_name = "ID", requires = "state", help_heading = "State")]
    pub(crate) job: Option<String>,

    /// How often a worker saves its pairs: as often as costs at most 1 % of the time (auto), after
    /// every N tiles (8tiles), or every N seconds (30s).
    #[arg(long, value_name = "auto|Ntiles|Ns", value_parser = save_every, default_value = "auto", requires = "state", help_heading = "State")]
    pub(crate) save_every: SaveEvery,

    /// What the state keeps when the run is done: the result, which replaces the snapshots; all snapshots
    /// (partials); or what the last save wrote, and nothing more.
    #[arg(long, value_enum, default_value_t = KeepFlag::Result, requires = "state", conflicts_with = "incremental", help_heading = "State")]
    pub(crate) keep: KeepFlag,

    /// Map only the tiles that the last run did not have. The input may have been changed, inserted to,
    /// deleted from, renamed or appended to since. Keeps all snapshots.
    #[arg(long, requires = "state", help_heading = "State")]
    pub(crate) incremental: bool,

    /// The hash of --incremental: XXH3, or BLAKE3 for input that an attacker may have made.
    #[arg(long, value_enum, default_value_t = HashFlag::Xxh3, requires = "incremental", help_heading = "State")]
    pub(crate) hash: HashFlag,

    /// Files only grow: the old part is checked by its length and at its ends, and is not read again.
    #[arg(long, requires = "incremental", help_heading = "State")]
    pub(crate) append_only: bool,

    /// Files with the same path, length and modification time are unchanged, and are not read again.
    #[arg(long, requires = "incremental", help_heading = "State")]
    pub(crate) trust_mtime: bool,

    /// Do the work on several nodes, which are processes on this machine: local:4 starts four, and local:4x1,1x2:512M
    /// four of one worker and one of two that may hold 512 MiB; local:1,1x1:64M:streamed has one that does not read the
    /// input, which the other sends, and 64M:streamed=1M in units of that size; up takes those that `tegula nodes up` has
    /// started; ray://auto and ray://host:port are the machines of a Ray cluster. The answer is the same.
    #[cfg(feature = "nodes")]
    #[arg(long, value_name = "local:N,...|up|ray://auto", value_parser = crate::nodes::parse, help_heading = "Run")]
    pub(crate) nodes: Option<crate::nodes::NodesFlag>,

    /// Put the pairs of all nodes together in this process if they have at most SIZE bytes [default: 64M]. More are
    /// exchanged between the nodes, which make the answer.
    #[cfg(feature = "nodes")]
    #[arg(long, value_name = "SIZE", value_parser = size::parse, requires = "nodes", help_heading = "Run")]
    pub(crate) gather: Option<u64>,

    /// Let each node write the keys that it has made the answer of to a file of its own in FOLDER, which appears only when
    /// all are written. One after the other, the files are the answer with --order none. FOLDER is not there yet, or
    /// empty, and all nodes reach it by the same path.
    #[cfg(feature = "nodes")]
    #[arg(
        long,
        value_name = "FOLDER",
        requires = "nodes",
        conflicts_with = "output",
        help_heading = "Answer"
    )]
    pub(crate) parts: Option<PathBuf>,

    /// Set in the processes that `--nodes` starts.
    #[cfg(feature = "nodes")]
    #[arg(long, value_name = "NODE", hide = true)]
    pub(crate) as_node: Option<crate::nodes::Shape>,

    #[command(flatten)]
    pub(crate) progress: ProgressFlag,

    /// Record the work of each thread over time, and the bytes that the process reads, writes and holds, and
    /// write it to FILE at the end: .svg is a picture, .json a trace for Perfetto or chrome://tracing. It is
    /// also written when the job fails or is interrupted.
    #[arg(long, value_name = "FILE", value_parser = OsStringValueParser::new().try_map(timeline::file), help_heading = "Watch")]
    pub(crate) timeline: Option<TimelineFile>,

    /// Tell other programs what the job does: write events to FILE, or to the open file descriptor FD, one JSON object
    /// a line.
    #[arg(long, value_name = "FD|FILE", value_parser = OsStringValueParser::new().try_map(events::to), help_heading = "Watch")]
    pub(crate) events: Option<EventsTo>,

    /// Obey other programs: read commands from the open file descriptor FD, one JSON object a line. They choose the
    /// workers that may take new work, and stop the job.
    #[arg(long, value_name = "FD", help_heading = "Watch")]
    pub(crate) control: Option<u32>,

    /// Show the run live on a page, whose address is printed on standard error.
    #[cfg(feature = "serve")]
    #[arg(long, conflicts_with_all = ["events", "control"], help_heading = "Watch")]
    pub(crate) watch: bool,

    /// Print a table of the run's statistics on standard error.
    #[arg(long, help_heading = "Watch")]
    pub(crate) stats: bool,

    /// Write the run's statistics to FILE, as JSON.
    #[arg(long, value_name = "FILE", help_heading = "Watch")]
    pub(crate) stats_json: Option<PathBuf>,

    /// Shows the contents of the state, instead of running anything.
    #[arg(skip)]
    pub(crate) look: Option<Look>,
}

/// The flag for progress.
#[derive(Args, Default)]
pub(crate) struct ProgressFlag {
    /// Progress on standard error: a bar where that is a terminal (auto), a line (plain) or a JSON
    /// object (json) every second, or nothing (off).
    #[arg(long, value_enum, default_value_t = Show::Auto, help_heading = "Watch")]
    pub(crate) progress: Show,
}

/// The number and the order of shown pairs of a state.
#[derive(Clone, Copy)]
pub(crate) struct Look {
    pub(crate) top: Most,
    pub(crate) order: Option<Order>,
}

impl Look {
    /// These options, with the order and the number of pairs to show.
    pub(crate) fn of(self, options: &Options) -> Options {
        let top = match self.top {
            Most::All => None,
            Most::Pairs(pairs) => Some(pairs),
        };
        Options { top, order: order_of(self.order, top), ..options.clone() }
    }
}

#[derive(Clone, Copy, PartialEq, Default, ValueEnum)]
pub(crate) enum PipelineFlag {
    #[default]
    On,
    Off,
}

impl From<PipelineFlag> for Pipeline {
    fn from(flag: PipelineFlag) -> Pipeline {
        match flag {
            PipelineFlag::On => Pipeline::On,
            PipelineFlag::Off => Pipeline::Off,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Default, ValueEnum)]
pub(crate) enum KeepFlag {
    #[default]
    Result,
    Partials,
    Nothing,
}

impl From<KeepFlag> for Keep {
    fn from(flag: KeepFlag) -> Keep {
        match flag {
            KeepFlag::Result => Keep::Result,
            KeepFlag::Partials => Keep::Partials,
            KeepFlag::Nothing => Keep::Nothing,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Default, ValueEnum)]
pub(crate) enum HashFlag {
    #[default]
    Xxh3,
    Blake3,
}

impl From<HashFlag> for Hashing {
    fn from(flag: HashFlag) -> Hashing {
        match flag {
            HashFlag::Xxh3 => Hashing::Xxh3,
            HashFlag::Blake3 => Hashing::Blake3,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Default, ValueEnum)]
pub(crate) enum ReadsFlag {
    #[default]
    Auto,
    Cached,
    Direct,
}

impl From<ReadsFlag> for Reads {
    fn from(flag: ReadsFlag) -> Reads {
        match flag {
            ReadsFlag::Auto => Reads::Auto,
            ReadsFlag::Cached => Reads::Cached,
            ReadsFlag::Direct => Reads::Direct,
        }
    }
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum Order {
    Key,
    Value,
    None,
}

/// The form of an answer's lines.
#[derive(Clone, Copy, Default, ValueEnum)]
#[allow(missing_docs, reason = "the program would show them as help")]
pub enum Format {
    #[default]
    Tsv,
    Jsonl,
}

#[derive(Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum Show {
    #[default]
    Auto,
    Plain,
    Json,
    Off,
}

impl AnswerFlags {
    /// Returns these flags with shows for `--events` alone.
    pub(crate) fn watched(&self, every: Duration) -> AnswerFlags {
        let most = self.top.unwrap_or(SHOWN_PAIRS).min(SHOWN_PAIRS_MOST);
        let when =
            ShowWhen { show: Some(Every::Time(every)), is_watched: true, ..ShowWhen::default() };
        let show = ShowFlags { when, show_top: Some(Most::Pairs(most)), show_by: None };
        AnswerFlags { show, ..*self }
    }

    /// Returns these options with the order and the number of pairs of the flags.
    pub(crate) fn apply(&self, options: Options) -> Options {
        Options { order: self.order(), top: self.top, ..options }
    }

    /// Returns the order of the answer; by value for a top list without an order.
    pub(crate) fn order(&self) -> tegula::Order {
        order_of(self.order, self.top)
    }
}

impl RunFlags {
    /// Returns whether this process is a node of another one, which alone writes what the flags ask for.
    pub(crate) fn is_node(&self) -> bool {
        #[cfg(feature = "nodes")]
        return self.as_node.is_some();
        #[cfg(not(feature = "nodes"))]
        false
    }

    /// Returns whether nodes do the work of this process.
    pub(crate) fn has_nodes(&self) -> bool {
        #[cfg(feature = "nodes")]
        return self.nodes.is_some();
        #[cfg(not(feature = "nodes"))]
        false
    }

    /// Returns the progress to show.
    pub(crate) fn progress(&self) -> Show {
        if self.is_node() { Show::Off } else { self.progress.progress }
    }

    /// Returns the workers and the memory of this process.
    pub(crate) fn resources(&self) -> (Option<usize>, Option<u64>) {
        #[cfg(feature = "nodes")]
        if let Some(shape) = self.as_node {
            return (shape.workers.or(self.workers), shape.memory.or(self.memory));
        }
        (self.workers, self.memory)
    }

    /// Returns the folders of states that the flags name.
    pub(crate) fn folders(&self) -> tegula::Result<Option<Arc<dyn Folders>>> {
        let state = self.state.as_ref();
        state.map(|state| arguments::folders(state, self.scratch.as_deref())).transpose()
    }

    /// Returns the state in which a run for `request` saves its partials in `folders`, if the flags name a job.
    pub(crate) fn state(&self, folders: &Arc<dyn Folders>, request: &Request) -> Option<State> {
        let job = self.job.as_ref()?;
        let state = State::within(Arc::clone(folders), job).save_every(self.save_every);
        let state = state.keep(self.keep.into()).about(request.to_bytes());
        if !self.incremental {
            return Some(state);
        }
        let hashing = self.hash.into();
        let (append_only, trust_mtime) = (self.append_only, self.trust_mtime);
        Some(state.incremental(Incremental { hashing, append_only, trust_mtime }))
    }
}

/// Returns the order of an answer that is cut to its `top`: by value, unless the user chose another.
fn order_of(order: Option<Order>, top: Option<usize>) -> tegula::Order {
    match (order, top) {
        (Some(Order::Key), _) | (None, None) => tegula::Order::Key,
        (Some(Order::Value), _) | (None, Some(_)) => tegula::Order::Value,
        (Some(Order::None), _) => tegula::Order::None,
    }
}

/// Parses `auto`, `8tiles` or `30s`.
fn save_every(text: &str) -> Result<SaveEvery, String> {
    const HINT: &str = "write auto, a number of tiles (8tiles) or of seconds (30s)";
    if text == "auto" {
        return Ok(SaveEvery::Auto);
    }
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    match (number.parse::<u64>(), unit) {
        (Ok(0), _) => Err("give at least 1".to_owned()),
        (Ok(tiles), "tiles" | "tile") => Ok(SaveEvery::Tiles(tiles)),
        (Ok(seconds), "s" | "") => Ok(SaveEvery::Time(Duration::from_secs(seconds))),
        _ => Err(HINT.to_owned()),
    }
}

/// Returns the file that describes groups; `None` for `auto` or a number.
pub(crate) fn groups_file(groups: &OsStr) -> Option<&Path> {
    let is_file = |text: &str| text != "auto" && text.parse::<usize>().is_err();
    groups.to_str().is_none_or(is_file).then(|| Path::new(groups))
}

/// Returns the groups for `auto`, a number, or the path of a description.
pub(crate) fn grouping(groups: &OsStr) -> tegula::Result<Grouping> {
    match groups.to_str().map(|text| (text, text.parse::<usize>())) {
        Some(("auto", _)) => Ok(Grouping::Auto),
        Some((_, Ok(count))) => Ok(Grouping::Count(count)),
        _ => Topology::from_file(Path::new(groups)).map(Grouping::Like),
    }
}

/// Parses a number that is at least 1.
pub(crate) fn count(text: &str) -> Result<usize, String> {
    match text.parse::<usize>() {
        Ok(count) if count > 0 => Ok(count),
        _ => Err("write a whole number, at least 1".to_owned()),
    }
}
