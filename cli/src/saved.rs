//! `tegula show`: the answers that a run has saved so far, from its state alone: while it runs in another
//! process, after it was killed, or on another machine. The state keeps the request of the command, so the
//! answers have the form that the command's own answer has.

use crate::arguments;
use crate::flags::{Look, Order, RunFlags};
use crate::request::Request;
use crate::show::{self, Most};
use crate::{Cli, Command};
use clap::{Args, Parser};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use tegula::state::{self, StateReport};
use tegula::{Error, Folders, Result, StateError};

#[derive(Args)]
pub(crate) struct Flags {
    /// The state's folder or URL, as the run has it, or a copy of it.
    #[arg(long, value_name = "DIR")]
    state: PathBuf,

    /// The job's name [default: the only one in the folder].
    #[arg(long, value_name = "ID")]
    job: Option<String>,

    /// Show only the N pairs with the largest values, or all.
    #[arg(long, value_name = "N|all", value_parser = show::most, default_value = "10")]
    top: Most,

    /// Order of the answer: by key, by value (largest first), or none [default: value; with --top all:
    /// key].
    #[arg(long, value_enum, hide_default_value = true)]
    order: Option<Order>,

    /// Write to FILE instead of standard output.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// The number of workers [default: one for each processor].
    #[arg(short = 'j', long, value_name = "N", value_parser = crate::flags::count)]
    workers: Option<usize>,

    /// Memory that the whole process may hold [default: no limit].
    #[arg(long, value_name = "SIZE", value_parser = crate::size::parse)]
    memory: Option<u64>,
}

/// Shows the answers of a request whose state the flags name.
type Present = fn(&Request, &RunFlags) -> Result<()>;

/// The commands whose answers can be shown.
const PRESENT: &[(&str, Present)] = &[
    #[cfg(feature = "grep")]
    ("grep", crate::grep::show),
    #[cfg(feature = "histogram")]
    ("histogram", crate::histogram::show),
    #[cfg(feature = "index")]
    ("index", crate::index::show),
    #[cfg(feature = "kmeans")]
    ("kmeans", crate::kmeans::show),
    #[cfg(feature = "linreg")]
    ("linreg", crate::linreg::show),
    #[cfg(feature = "logstats")]
    ("logstats", crate::logstats::show),
    #[cfg(feature = "stations")]
    ("stations", crate::stations::show),
    #[cfg(feature = "stringmatch")]
    ("stringmatch", crate::stringmatch::show),
    #[cfg(feature = "top")]
    ("top", crate::top::show),
    #[cfg(feature = "wordcount")]
    ("wordcount", crate::wordcount::show),
];

/// Those whose answer is one document, which needs all pairs.
const WHOLE: &[&str] = &["histogram", "kmeans", "linreg"];

/// Those that run several jobs, each with a state of its own.
const SEVERAL: &[&str] = &["kmeans", "linreg", "offload"];

pub(crate) fn run(flags: &Flags) -> Result<()> {
    let folders = arguments::folders(&flags.state, None)?;
    let jobs = state::jobs_of(&*folders)?;
    let job = match &flags.job {
        Some(job) => job.clone(),
        None => only_job(&*folders, &jobs)?,
    };
    let report = report(&*folders, &jobs, &job)?;
    let refuse = |cause: String| Err(Error::Option { option: "--state", cause });
    let path = flags.state.join(&report.id);
    let request = match Request::parse(&report.about) {
        None => of_arguments(&report.about)?,
        request => request,
    };
    let Some(request) = request else {
        let again = match report.done {
            true => "the run is complete, so it only prints its answer",
            false => "it resumes, and its answers can be shown from then on",
        };
        return refuse(format!(
            "{} does not say which command made it: another version of this program did, or another \
             program; run the command again with this --state and --job: {again}",
            path.display()
        ));
    };
    let name = &request.command;
    let Some((_, present)) = PRESENT.iter().find(|(command, _)| command == name) else {
        return refuse(match crate::feature_left_out(name) {
            Some(feature) => crate::built_without(name, feature),
            None => format!("the answers of {name} are not shown from a state"),
        });
    };
    let Flags { state, output, workers, memory, order, top, .. } = flags;
    let look = match WHOLE.contains(&&**name) {
        true => Look { top: Most::All, order: None },
        false => Look { top: *top, order: *order },
    };
    let run = RunFlags {
        output: output.clone(),
        workers: *workers,
        memory: *memory,
        state: Some(state.clone()),
        job: Some(report.id),
        groups: "auto".into(),
        look: Some(look),
        ..RunFlags::default()
    };
    present(&request, &run)
}

/// Returns the request of a command that a version of 23 November 2026 or earlier has kept: its arguments, with a
/// zero byte between them. They are still arguments of that command. Files of keys and words are read again.
fn of_arguments(kept: &[u8]) -> Result<Option<Request>> {
    let arguments = kept.split(|&byte| byte == 0).map(OsStr::from_bytes);
    let Ok(cli) = Cli::try_parse_from([OsStr::new("tegula")].into_iter().chain(arguments)) else {
        return Ok(None);
    };
    let request = match &cli.command {
        #[cfg(feature = "grep")]
        Command::Grep(flags) => crate::grep::request(flags),
        #[cfg(feature = "index")]
        Command::Index(flags) => crate::index::request(flags),
        #[cfg(feature = "logstats")]
        Command::Logstats(flags) => crate::logstats::request(flags),
        #[cfg(feature = "stations")]
        Command::Stations(flags) => crate::stations::request(flags),
        #[cfg(feature = "stringmatch")]
        Command::Stringmatch(flags) => crate::stringmatch::request(flags),
        #[cfg(feature = "top")]
        Command::Top(flags) => crate::top::request(flags),
        #[cfg(feature = "wordcount")]
        Command::Wordcount(flags) => crate::wordcount::request(flags),
        _ => return Ok(None),
    };
    request.map(Some)
}

/// Looks up the state of a job. A command of several jobs saves each under its name and a number: of those, the last
/// that is done is meant, or the last one if none is.
fn report(folders: &dyn Folders, jobs: &[String], job: &str) -> Result<StateReport> {
    let path = folders.path().join(job);
    if jobs.iter().any(|one| one == job) {
        return state::report(folders, job)?.ok_or_else(|| StateError::Missing { path }.into());
    }
    let mut found: Option<StateReport> = None;
    for step in steps(folders, jobs, job).names {
        let report = state::report(folders, &step)?;
        let is_better =
            |report: &StateReport| report.done || found.as_ref().is_none_or(|one| !one.done);
        found = report.filter(is_better).or(found);
    }
    found.ok_or_else(|| StateError::Missing { path }.into())
}

/// Returns the names of those jobs of a folder that `job` names: its own, or those that one command has run under it.
/// `also_damaged`: also such as may be of one command, because none of them can be read.
pub(crate) fn named(folders: &dyn Folders, job: &str, also_damaged: bool) -> Vec<String> {
    // Whoever asks for a job whose folder cannot be listed learns why.
    let jobs = state::jobs_of(folders).unwrap_or_default();
    let has_own = jobs.iter().any(|one| one == job);
    let steps = steps(folders, &jobs, job);
    match !has_own && (steps.is_certain || also_damaged && steps.are_damaged) {
        true => steps.names,
        false => vec![job.to_owned()],
    }
}

/// The states of a command of several jobs: a name, a dot and a number each. A job of another command may have such a name,
/// too, and is none of them.
struct Steps {
    /// By number.
    names: Vec<String>,
    /// Whether one of them says that it is of such a command. What is damaged, or kept by another program, does not say.
    is_certain: bool,
    /// Whether none of them can be read, for faults that whoever asks for the command has to learn.
    are_damaged: bool,
}

fn steps(folders: &dyn Folders, jobs: &[String], job: &str) -> Steps {
    let number = |name: &String| name.strip_prefix(job)?.strip_prefix('.')?.parse::<u64>().ok();
    let mut numbered: Vec<_> = jobs.iter().filter_map(|one| Some((number(one)?, one))).collect();
    numbered.sort_unstable();
    let mut steps = Steps { names: Vec::new(), is_certain: false, are_damaged: false };
    let mut is_one_read = false;
    for (_, name) in numbered {
        let report = state::report(folders, name);
        steps.are_damaged |= report.is_err();
        let report = report.ok().flatten();
        is_one_read |= report.is_some();
        let request = report.and_then(|report| Request::parse(&report.about));
        let is_step = request.map(|request| SEVERAL.contains(&&*request.command));
        steps.is_certain |= is_step == Some(true);
        if is_step != Some(false) {
            steps.names.push(name.clone());
        }
    }
    steps.are_damaged &= !is_one_read;
    steps
}

/// Returns the only job of a folder. The jobs of one command count as one.
fn only_job(folders: &dyn Folders, jobs: &[String]) -> Result<String> {
    let all = jobs;
    let mut jobs = all.to_vec();
    for name in all.iter().filter_map(|job| job.strip_suffix(".1")) {
        let steps = steps(folders, all, name);
        if steps.is_certain && !all.iter().any(|job| job == name) {
            jobs.retain(|job| !steps.names.contains(job));
            jobs.push(name.to_owned());
        }
    }
    match &*jobs {
        [job] => Ok(job.clone()),
        [] => Err(StateError::Missing { path: folders.path().to_path_buf() }.into()),
        [..] => {
            let path = folders.path().display();
            let cause = format!("{path} has several: {}", jobs.join(", "));
            Err(Error::Option { option: "--job", cause })
        }
    }
}
