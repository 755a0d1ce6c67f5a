//! `tegula show`: the answers of what a run has saved so far, from its state alone: while it runs in another
//! process, after it was killed, or on another machine. The state has kept the command that made it; that
//! command is carried out again, but for its map stage, so its answers come in its own form.

use crate::flags::{Order, RunFlags};
use crate::show::{self, Most};
use crate::{Cli, Command, carry_out};
use clap::{Args, Parser};
use std::env;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use tegula::{Error, Result, StateError, state};

/// What stands between the arguments of a command that is kept.
const BETWEEN: u8 = 0;

#[derive(Args)]
pub(crate) struct Flags {
    /// The state's folder, as the run has it, or a copy of it.
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

    /// How many workers [default: one for each processor].
    #[arg(short = 'j', long, value_name = "N", value_parser = crate::flags::count)]
    workers: Option<usize>,

    /// Memory that the whole process may hold [default: no limit].
    #[arg(long, value_name = "SIZE", value_parser = crate::size::parse)]
    memory: Option<u64>,
}

/// That a command is to show what its state holds, and how much of it.
#[derive(Clone, Copy)]
pub(crate) struct Look {
    pub(crate) top: Most,
    pub(crate) order: Option<Order>,
}

/// This process's command, in the form in which a state keeps it.
pub(crate) fn this_command() -> Vec<u8> {
    let arguments: Vec<OsString> = env::args_os().skip(1).collect();
    let arguments: Vec<&[u8]> = arguments.iter().map(|argument| argument.as_bytes()).collect();
    arguments.join(&BETWEEN)
}

pub(crate) fn run(flags: &Flags) -> Result<()> {
    let job = match &flags.job {
        Some(job) => job.clone(),
        None => only_job(&flags.state)?,
    };
    let path = flags.state.join(&job);
    let Some(report) = state::report(&flags.state, &job)? else {
        return Err(StateError::Missing { path }.into());
    };
    let refuse = |cause: String| Error::Option { option: "--state", cause };
    let arguments = report.about.split(|&byte| byte == BETWEEN);
    let arguments = arguments.map(|argument| OsString::from_vec(argument.to_vec()));
    let name = OsStr::new("tegula").to_owned();
    let cli = Cli::try_parse_from([name].into_iter().chain(arguments)).map_err(|_| {
        refuse(format!("{} was not made by a command of this program", path.display()))
    })?;
    let mut command = cli.command;
    let Some(run) = command.run_flags() else {
        let made = report.identity.fields().find(|(field, _)| *field == "job");
        let made = made.map_or("another command", |(_, job)| job);
        return Err(refuse(format!("the answers of {made} are not shown from a state")));
    };
    let Flags { state, output, workers, memory, order, top, .. } = flags;
    (run.state, run.job) = (Some(state.clone()), Some(job));
    run.look = Some(Look { top: *top, order: *order });
    run.output.clone_from(output);
    (run.workers, run.memory) = (*workers, *memory);
    // What was only meant for that run, or that machine.
    (run.timeline, run.stats, run.stats_json) = (None, false, None);
    (run.scratch, run.groups) = (None, "auto".into());
    carry_out(command)
}

fn only_job(folder: &Path) -> Result<String> {
    let jobs = state::jobs_of(folder)?;
    match &*jobs {
        [job] => Ok(job.clone()),
        [] => Err(StateError::Missing { path: folder.to_path_buf() }.into()),
        [..] => {
            let cause = format!("{} has several: {}", folder.display(), jobs.join(", "));
            Err(Error::Option { option: "--job", cause })
        }
    }
}

impl Command {
    /// The flags of a command whose answers can be shown from a state.
    fn run_flags(&mut self) -> Option<&mut RunFlags> {
        match self {
            Command::Index(flags) => Some(&mut flags.run),
            Command::Wordcount(flags) => Some(&mut flags.run),
            Command::Stations(flags) => Some(&mut flags.run),
            Command::Logstats(flags) => Some(&mut flags.run),
            Command::Grep(flags) => Some(&mut flags.run),
            Command::Top(flags) => Some(&mut flags.run),
            Command::Stringmatch(flags) => Some(&mut flags.run),
            _ => None,
        }
    }
}
