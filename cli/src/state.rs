//! `tegula state`: lists, shows, verifies and removes the states that runs have saved.

use crate::arguments;
use crate::exit;
use crate::saved;
use crate::session::Session;
use crate::size;
use clap::{Args, Subcommand};
use std::fmt::Write;
use std::path::PathBuf;
use std::sync::Arc;
use tegula::state::{self, StateReport};
use tegula::{Error, Folders, Result};

#[derive(Subcommand)]
pub(crate) enum Command {
    /// List the jobs of a state, and how far each is.
    Ls {
        /// The state's folder, or its URL.
        #[arg(value_name = "DIR")]
        folder: PathBuf,
    },
    /// Show a job's identity and its snapshots.
    Show(OfJob),
    /// Read all of a job's state (of every job, without --job) and compare its checksums.
    Verify(OfJob),
    /// Remove a job's state (every job's, without --job).
    Rm(OfJob),
}

#[derive(Args)]
pub(crate) struct OfJob {
    /// The state's folder, or its URL.
    #[arg(value_name = "DIR")]
    folder: PathBuf,

    /// The job's name [default: all jobs of the folder].
    #[arg(long, value_name = "ID")]
    job: Option<String>,
}

impl OfJob {
    /// Returns where the jobs are, and their names.
    fn jobs(&self, also_damaged: bool) -> Result<(Arc<dyn Folders>, Vec<String>)> {
        let folders = arguments::folders(&self.folder, None)?;
        let jobs = match &self.job {
            Some(job) => saved::named(&*folders, job, also_damaged),
            None => state::jobs_of(&*folders)?,
        };
        Ok((folders, jobs))
    }
}

pub(crate) fn run(command: &Command) -> Result<()> {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let faults = match command {
        Command::Ls { folder } => {
            let folders = arguments::folders(folder, None)?;
            of_each(&state::jobs_of(&*folders)?, |job| {
                let _ = match state::report(&*folders, job)? {
                    Some(report) => writeln!(text, "{job}\t{}", summary(&report)),
                    None => writeln!(text, "{job}\tnothing saved"),
                };
                Ok(())
            })
        }
        Command::Show(of) => {
            let (folders, jobs) = of.jobs(true)?;
            of_each(&jobs, |job| {
                match state::report(&*folders, job)? {
                    Some(report) => show(&report, &mut text),
                    None => text.push_str(&format!("{job}\n  nothing saved\n")),
                }
                Ok(())
            })
        }
        Command::Verify(of) => {
            let (folders, jobs) = of.jobs(true)?;
            of_each(&jobs, |job| {
                let bytes = state::verify(&*folders, job)?;
                let _ = writeln!(text, "{job}\twhole, {} read", size::show(bytes));
                Ok(())
            })
        }
        Command::Rm(of) => {
            // Nothing is removed on a guess.
            let (folders, jobs) = of.jobs(false)?;
            of_each(&jobs, |job| state::remove(&*folders, job))
        }
    };
    let written =
        Session::command(|session| session.write(None, |sink| sink.write(text.as_bytes())));
    // Faults are told, whatever becomes of the text.
    ended(faults).and(written)
}

/// Does something with each job, and returns the faults: one job's hides no other job.
fn of_each(jobs: &[String], mut of: impl FnMut(&str) -> Result<()>) -> Vec<Error> {
    jobs.iter().filter_map(|job| of(job).err()).collect()
}

/// Says all faults but the last, with which the command ends.
fn ended(mut faults: Vec<Error>) -> Result<()> {
    let Some(last) = faults.pop() else { return Ok(()) };
    for fault in faults {
        exit::code(&Err(fault));
    }
    Err(last)
}

fn summary(report: &StateReport) -> String {
    let bytes: u64 = report.snapshots.iter().map(|(_, bytes)| bytes).sum();
    let far = match (report.done, report.input_bytes) {
        (true, _) => "done".to_owned(),
        (false, 0) => "begun".to_owned(),
        (false, input) => {
            format!("{:.0} %", (100.0 * report.mapped_bytes as f64 / input as f64).min(100.0))
        }
    };
    let (count, input) = (report.snapshots.len(), size::show(report.input_bytes));
    format!("{far} of {input}, {count} snapshots, {} pairs, {}", report.pairs, size::show(bytes))
}

fn show(report: &StateReport, text: &mut String) {
    let _ = writeln!(text, "{}\n  {}", report.id, summary(report));
    for (name, value) in report.identity.fields() {
        let _ = writeln!(text, "  {name}: {value}");
    }
    let _ = writeln!(text, "  files: {}", report.files);
    for (name, bytes) in &report.snapshots {
        let _ = writeln!(text, "  {name}: {}", size::show(*bytes));
    }
}
