//! `tegula hadoop`: what programs that run Hadoop's own command ask of it. `jar` runs a streaming job, `fs` works on a
//! folder that stands for HDFS, `version` names one.

use crate::flags::Show;
use crate::streaming::{Told, carry_out, run_flags, takes_value};
use clap::Args;
use std::cell::Cell;
use std::io::{self, BufWriter, Write};
use std::process;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;
use tegula::{Error, Progress, Result};
use tegula_streaming::{CommandLine, Hdfs, Log};

#[derive(Args)]
#[command(disable_help_flag = true)]
pub(crate) struct Flags {
    /// version, fs with a command of Hadoop's, or jar with a streaming jar and the options of a job.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "WORD")]
    words: Vec<String>,
}

/// The version whose output programs find here.
const VERSION: &str = "Hadoop 3.5.0";
/// How often progress is told.
const TOLD_EVERY: Duration = Duration::from_millis(500);

pub(crate) fn run(flags: &Flags) -> Result<()> {
    let words: Vec<&str> = flags.words.iter().map(String::as_str).collect();
    match words[..] {
        ["version", ..] => {
            let written = writeln!(io::stdout(), "{VERSION}");
            written
                .map_err(|cause| tegula::OutputError::from_write("standard output", cause).into())
        }
        ["fs" | "dfs", ..] => {
            let mut out = BufWriter::new(io::stdout());
            let code = Hdfs::of_environment().shell(&flags.words[1..], &mut out);
            if code == 0 {
                return Ok(());
            }
            let _ = out.flush();
            process::exit(i32::from(code))
        }
        ["jar", _, first, ..] if first.starts_with('-') => jar(&flags.words[2..]),
        ["jar", jar, ..] => {
            let cause = format!(
                "jar {jar}: this runs streaming jobs alone, whose options begin with -; Java programs run on the Hadoop \
                 engine: hadoop/bin/tegula-hadoop {}",
                flags.words.join(" ")
            );
            Err(Error::Option { option: "hadoop", cause })
        }
        _ => {
            let cause =
                "write version, fs and a command, or jar, a streaming jar and the options of a job";
            Err(Error::Option { option: "hadoop", cause: cause.to_owned() })
        }
    }
}

/// Runs a streaming job, and tells of it as Hadoop's client does.
fn jar(words: &[String]) -> Result<()> {
    let hdfs = Hdfs::of_environment();
    let mut line = CommandLine::parse(words, &takes_value)?;
    let output = line.output().unwrap_or_default().to_owned();
    line.rename_paths(|path| hdfs.resolve(path));
    let mut run_flags = run_flags(&line)?;
    // Programs read standard error, even where it is a terminal.
    run_flags.progress.progress = Show::Off;
    let log = Arc::new(Mutex::new(Log::new(io::stderr())));
    let lock = || log.lock().unwrap_or_else(PoisonError::into_inner);
    let (ended, end) = channel::<()>();
    let end = Cell::new(Some(end));
    let follow = |progress: Arc<Progress>| {
        let Some(end) = end.take() else { return };
        let log = Arc::clone(&log);
        thread::spawn(move || {
            while let Err(RecvTimeoutError::Timeout) = end.recv_timeout(TOLD_EVERY) {
                log.lock().unwrap_or_else(PoisonError::into_inner).progress(&progress);
            }
        });
    };
    let result = carry_out(line, &run_flags, &|told| match told {
        Told::Began(job, progress) => {
            lock().began(job);
            follow(progress);
        }
        Told::Done(report) => lock().done(report, &output),
    });
    drop(ended);
    if let Err(error) = &result {
        lock().failed(error);
    }
    result
}
