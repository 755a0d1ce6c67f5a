//! `tegula logstats`: one command for two kinds of logs, told apart by the key that is asked for.

use crate::flags::{AnswerFlags, RunFlags};
use crate::run;
use clap::{Args, ValueEnum};
use std::ffi::OsString;
use tegula::Result;
use tegula_apps::logstats::{Access, AccessKey, Logins};

#[derive(Args)]
pub(crate) struct Flags {
    /// Files, folders (with all below them), patterns (* ? [...] **), or - for standard input.
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<OsString>,

    /// What to add up by. user: the seconds that each user was online, from lines of "user
    /// login|logout seconds". The others: requests and bytes of a web server's log in Common or
    /// Combined Log Format, by client, by path without its query, by status, or by hour.
    #[arg(long, value_enum, default_value_t = By::User)]
    key: By,

    #[command(flatten)]
    answer: AnswerFlags,

    #[command(flatten)]
    pub(crate) run: RunFlags,
}

#[derive(Clone, Copy, ValueEnum)]
enum By {
    User,
    Host,
    Path,
    Status,
    Hour,
}

pub(crate) fn run(flags: &Flags) -> Result<()> {
    let (name, key) = match flags.key {
        By::User => return logins(flags),
        By::Host => ("host", AccessKey::Host),
        By::Path => ("path", AccessKey::Path),
        By::Status => ("status", AccessKey::Status),
        By::Hour => ("hour", AccessKey::Hour),
    };
    run::pairs(&Access { key }, &flags.paths, &flags.answer, &flags.run, |key, traffic, line| {
        line.bytes(name, key).total("requests", traffic.requests).total("bytes", traffic.bytes);
    })
}

fn logins(flags: &Flags) -> Result<()> {
    run::pairs(&Logins, &flags.paths, &flags.answer, &flags.run, |user, seconds, line| {
        line.bytes("user", user).total("seconds", seconds);
    })
}
