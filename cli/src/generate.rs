//! `tegula generate`: input for the ready-made jobs, drawn by a seed: the same seed gives the same bytes.

use crate::making::MakeFlags;
use clap::{Args, Subcommand};
use std::path::PathBuf;
use tegula::{Error, InputError, Result};
use tegula_apps::logstats::LoginLines;
use tegula_apps::stations::Measurements;

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Lines of name;temperature, for `tegula stations`.
    Stations {
        /// A list of stations, lines of name;mean [default: the 413 of the One Billion Row Challenge].
        #[arg(long, value_name = "FILE")]
        list: Option<PathBuf>,

        #[command(flatten)]
        lines: Lines,
    },
    /// A log of users who come and go, lines of "user login|logout seconds", for `tegula logstats`.
    Logins {
        /// The number of users.
        #[arg(long, value_name = "N", value_parser = users, default_value = "1000")]
        users: usize,

        #[command(flatten)]
        lines: Lines,
    },
}

#[derive(Args)]
pub(crate) struct Lines {
    /// How many lines to write.
    #[arg(value_name = "N")]
    count: u64,

    /// The seed that the lines are drawn by. The same seed gives the same lines.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    #[command(flatten)]
    make: MakeFlags,
}

/// The most users of a log: each takes a byte.
const USERS_MOST: usize = 1_000_000_000;

/// Bytes that are written at a time.
const BLOCK_BYTES: usize = 1 << 20;

pub(crate) fn run(command: &Command) -> Result<()> {
    match command {
        Command::Stations { list, lines } => {
            let mut measurements = match list {
                Some(path) => from_list(path, lines.seed)?,
                None => Measurements::new(lines.seed),
            };
            lines.write(|out| measurements.line(out))
        }
        Command::Logins { users, lines } => {
            let mut log = LoginLines::new(lines.count, *users, lines.seed);
            lines.write(|out| log.line(out))
        }
    }
}

/// Parses a number of users; the error is a message for the user.
fn users(text: &str) -> Result<usize, String> {
    let users = crate::flags::count(text)?;
    match users {
        0..=USERS_MOST => Ok(users),
        _ => Err(format!("give at most {USERS_MOST}")),
    }
}

fn from_list(path: &PathBuf, seed: u64) -> Result<Measurements> {
    let list = std::fs::read_to_string(path).map_err(|cause| InputError::from_io(path, cause))?;
    Measurements::from_list(&list, seed).map_err(|cause| Error::Option {
        option: "--list",
        cause: format!("{}: {cause}", path.display()),
    })
}

impl Lines {
    /// Writes the lines that `line` appends one by one.
    fn write(&self, mut line: impl FnMut(&mut Vec<u8>)) -> Result<()> {
        self.make.write(self.count, |maker| {
            let (mut block, mut lines) = (Vec::with_capacity(BLOCK_BYTES), 0);
            for _ in 0..self.count {
                line(&mut block);
                lines += 1;
                if block.len() >= BLOCK_BYTES {
                    maker.write(lines, &block)?;
                    block.clear();
                    lines = 0;
                }
            }
            maker.write(lines, &block)
        })
    }
}
