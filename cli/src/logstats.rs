//! `tegula logstats`: one command for two kinds of logs. The key that the user asks for says which.

use crate::flags::{AnswerFlags, RunFlags};
use crate::request::Request;
use crate::run::{self, Run};
use clap::{Args, ValueEnum};
use std::ffi::OsString;
use tegula::Result;
use tegula_apps::logstats::{Access, AccessKey, Logins};

#[derive(Args)]
pub(crate) struct Flags {
    /// Files, folders (with all below them), patterns (* ? [...] **), or - for standard input.
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<OsString>,

    /// The key to add up by. user: the seconds that each user was online, from lines of "user login|logout
    /// seconds". The others: requests and bytes of a web server's log in Common or Combined Log Format, by
    /// client, by path without its query, by status, or by hour.
    #[arg(long, value_enum, default_value_t = By::User)]
    key: By,

    #[command(flatten)]
    answer: AnswerFlags,

    #[command(flatten)]
    run: RunFlags,
}

#[derive(Clone, Copy, ValueEnum)]
enum By {
    User,
    Host,
    Path,
    Status,
    Hour,
}

pub(crate) fn request(flags: &Flags) -> Result<Request> {
    Ok(Request::of("logstats").choice("key", &flags.key).answer(&flags.answer))
}

pub(crate) fn run(flags: &Flags) -> Result<()> {
    run::command_over(&flags.run, request(flags)?, &flags.paths, |run| {
        answer(run, flags.key, &flags.paths, &flags.answer)
    })
}

#[cfg(feature = "state")]
pub(crate) fn show(request: &Request, flags: &RunFlags) -> Result<()> {
    let (key, kept) = (request.chosen("key")?, request.answer_flags()?);
    run::command(flags, request.clone(), |run| answer(run, key, &[], &kept))
}

fn answer(run: &mut Run<'_>, by: By, paths: &[OsString], flags: &AnswerFlags) -> Result<()> {
    let (name, key) = match by {
        By::User => {
            return run.pairs(&Logins, paths, flags, |user, seconds, line| {
                line.bytes("user", user).total("seconds", seconds);
            });
        }
        By::Host => ("host", AccessKey::Host),
        By::Path => ("path", AccessKey::Path),
        By::Status => ("status", AccessKey::Status),
        By::Hour => ("hour", AccessKey::Hour),
    };
    run.pairs(&Access { key }, paths, flags, |key, traffic, line| {
        line.bytes(name, key).total("requests", traffic.requests).total("bytes", traffic.bytes);
    })
}
