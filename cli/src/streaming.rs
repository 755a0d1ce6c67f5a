//! `tegula streaming`: a Hadoop Streaming job. Hadoop's options, with a single dash, are read by `tegula-streaming`;
//! those with two dashes are the flags of every command that runs jobs, and read as such.

use crate::arguments;
use crate::exit;
use crate::flags::RunFlags;
#[cfg(feature = "nodes")]
use crate::nodes;
use crate::request::Request;
use crate::run::{self, Run};
use clap::error::ErrorKind;
use clap::{Args, Command, FromArgMatches};
use std::ffi::OsString;
use std::io::{self, Write};
use std::sync::Arc;
use tegula::{Error, Input, Progress, Result};
use tegula_streaming::{CommandLine, Host, Report, Settings, TaskFailed, help};

#[derive(Args)]
#[command(disable_help_flag = true)]
pub(crate) struct Flags {
    /// Hadoop's options, with a single dash, and flags for the run, with two.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "OPTION")]
    words: Vec<String>,
}

/// Flags of other commands that have no meaning here, each with what to use instead.
const LEFT_OUT: &[(&str, &str)] = &[
    ("output", "-output names the folder of the answer"),
    ("skip-bad", "a command decides itself what it does with a bad line"),
];

pub(crate) fn run(flags: &Flags) -> Result<()> {
    let line = CommandLine::parse(&flags.words, &takes_value)?;
    if line.wants_help() {
        return show_help();
    }
    let run_flags = run_flags(&line)?;
    let is_verbose = line.is_verbose();
    if is_verbose {
        let _ = io::stderr().write_all(line.properties().as_bytes());
    }
    carry_out(line, &run_flags, &|told| {
        let Told::Done(report) = told else { return };
        let of_commands = report.counters.of_commands();
        let counters = if is_verbose { &report.counters } else { &of_commands };
        if !counters.is_empty() {
            // Nobody can be told that standard error is closed.
            let _ = write!(io::stderr(), "{counters}");
        }
        exit::say(&format!("the answer is in {}", report.output.display()));
    })
}

/// What is told of a job while it runs.
pub(crate) enum Told<'t> {
    /// It has begun, under this name.
    Began(&'t str, Arc<Progress>),
    Done(&'t Report),
}

/// Runs the job of a command line, and tells of it.
pub(crate) fn carry_out(
    line: CommandLine,
    flags: &RunFlags,
    tell: &dyn Fn(Told<'_>),
) -> Result<()> {
    #[cfg(feature = "nodes")]
    nodes::refuse(flags, true, "commands run on this machine; leave it out")?;
    let settings = Settings::of(line)?;
    run::command(flags, Request::of("streaming"), |run| {
        let report = run_job(run, settings, flags, tell)?;
        run.add_stats(&report.stats);
        tell(Told::Done(&report));
        Ok(())
    })
}

fn run_job(
    run: &Run<'_>,
    settings: Settings,
    flags: &RunFlags,
    tell: &dyn Fn(Told<'_>),
) -> Result<Report> {
    let scratch = flags.scratch.clone().unwrap_or_else(std::env::temp_dir);
    let options = run.options();
    let progress = options.progress.clone().unwrap_or_default();
    let host = Host {
        engine: run.engine(),
        options: &options,
        is_incremental: flags.incremental,
        memory_bytes: flags.memory,
        scratch: &scratch,
        listed: &|files| run.begin_over(files),
        began: &|job| tell(Told::Began(job, Arc::clone(&progress))),
    };
    let result = run.keep_file_open(|| settings.run(host, &others));
    if let Err(Error::Record { cause, .. }) = &result
        && let Some(failed) = cause.downcast_ref::<TaskFailed>()
    {
        let _ = io::stderr().write_all(failed.last_words());
    }
    result
}

/// Looks up input that is no path of this machine's.
fn others(text: &str) -> Result<Input> {
    arguments::input(&[OsString::from(text)])
}

/// Returns the flags for runs as they are.
fn command() -> Command {
    let command = Command::new("tegula streaming").no_binary_name(true).disable_help_flag(true);
    let command = RunFlags::augment_args(command);
    LEFT_OUT.iter().fold(command, |command, (name, _)| {
        command.mut_arg(name.replace('-', "_"), |flag| flag.hide(true))
    })
}

/// Returns whether a value follows a flag; `None` if there is no such flag.
pub(crate) fn takes_value(name: &str) -> Option<bool> {
    let command = command();
    let flag = command.get_arguments().find(|flag| flag.get_long() == Some(name))?;
    Some(flag.get_action().takes_values())
}

/// Returns the flags for the run that a command line has.
pub(crate) fn run_flags(line: &CommandLine) -> Result<RunFlags> {
    let matches = command().try_get_matches_from(line.engine_flags());
    let flags = matches.and_then(|matches| RunFlags::from_arg_matches(&matches));
    let refused = |cause: String| Error::Option { option: "streaming", cause };
    let flags = flags.map_err(|error| match error.kind() {
        ErrorKind::DisplayHelp => refused("-help lists the options".to_owned()),
        _ => {
            let text = error.to_string();
            let first = text.lines().next().unwrap_or_default();
            refused(first.strip_prefix("error: ").unwrap_or(first).to_owned())
        }
    })?;
    for (name, instead) in LEFT_OUT {
        let is_given = line.engine_flags().iter().any(|word| {
            word.strip_prefix("--").is_some_and(|word| word.split('=').next() == Some(name))
        });
        if is_given {
            return Err(refused(format!("--{name}: {instead}")));
        }
    }
    Ok(flags)
}

fn show_help() -> Result<()> {
    let mut text = help();
    text.push_str("\nFlags of tegula:\n");
    let mut command = command();
    let flags = command.render_help().to_string();
    let flags = flags.lines().filter(|line| line.starts_with(' ') || line.is_empty());
    for line in flags {
        text.push_str(line);
        text.push('\n');
    }
    let written = io::stdout().write_all(text.as_bytes());
    written.map_err(|cause| tegula::OutputError::from_write("standard output", cause).into())
}
