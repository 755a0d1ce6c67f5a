//! `--show` of a command that goes on in rounds: the answer at the end of a round, on standard error or in a file.
//! Each show is one line that says which round it is, then the answer in its own form.

use crate::show;
use clap::Args;
use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;
use std::time::Instant;
use tegula::{OutputError, Result};

/// The flags for showing answers at the ends of rounds.
#[derive(Args)]
pub(crate) struct RoundFlags {
    /// Show the answer so far when a round has ended: after each (every=round), or after every N-th
    /// (every=5rounds), and after the last.
    #[arg(long, value_name = "every=round|Nrounds", value_parser = every, help_heading = "Shows")]
    pub(crate) show: Option<usize>,

    /// Write shows to FILE instead of standard error, each when it is made.
    #[arg(long, value_name = "FILE", requires = "show", help_heading = "Shows")]
    pub(crate) show_to: Option<PathBuf>,
}

/// Writes the shows of a run in rounds.
pub(crate) struct Rounds {
    every: usize,
    began: Instant,
    to: Option<(File, PathBuf)>,
}

impl RoundFlags {
    /// Opens the place of the shows, if the flags ask for some.
    pub(crate) fn open(&self) -> Result<Option<Rounds>> {
        let Some(every) = self.show else { return Ok(None) };
        let create = |path: &PathBuf| match File::create(path) {
            Ok(file) => Ok((file, path.clone())),
            Err(cause) => Err(OutputError::Create { path: path.clone(), cause }),
        };
        let to = self.show_to.as_ref().map(create).transpose()?;
        Ok(Some(Rounds { every, began: Instant::now(), to }))
    }
}

impl Rounds {
    /// Shows the answer of a round, if it is this one's turn.
    pub(crate) fn show(&mut self, round: usize, is_last: bool, answer: &[u8]) -> Result<()> {
        if !is_last && !round.is_multiple_of(self.every) {
            return Ok(());
        }
        let last = if is_last { ", complete" } else { "" };
        let seconds = self.began.elapsed().as_secs_f64();
        let mut text = format!("# show, round {round}, {seconds:.1} s{last}\n").into_bytes();
        text.extend_from_slice(answer);
        match &mut self.to {
            Some((file, path)) => show::write_to(file, path, &text),
            // A closed standard error does not change the job.
            None => {
                let _ = io::stderr().write_all(&text);
                Ok(())
            }
        }
    }
}

/// Parses `every=round` or `every=5rounds`; the error is a message for the user.
fn every(text: &str) -> Result<usize, String> {
    const HINT: &str = "write every=round, or every= and a number of rounds (5rounds)";
    let rounds = text.strip_prefix("every=").ok_or(HINT)?;
    if rounds == "round" {
        return Ok(1);
    }
    let number = rounds.strip_suffix("rounds").ok_or(HINT)?;
    crate::flags::count(number).map_err(|_| HINT.to_owned())
}
