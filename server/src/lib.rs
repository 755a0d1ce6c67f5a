//! `tegula serve`: a server that runs many jobs, each in a process of its own, on parts of the machine that grow and
//! shrink, and shows them live. docs/serve.md says how to use it, docs/api.md what it understands.
//!
//! `supervisor/` is the heart of it: jobs come in, are ordered (`queue.rs`), begin when memory and a
//! core are free, share the cores (`parts.rs`), tell what they do (`events.rs`), and are kept in a folder (`store.rs`).
//! `connections.rs`, `http.rs` and `sse.rs` are its doors. This is the only asynchronous code, and no job runs in it.

mod auth;
mod child;
mod connections;
mod events;
mod fields;
mod http;
mod impatient;
mod job;
mod metrics;
mod page;
mod parts;
mod queue;
mod roots;
mod socket;
mod sse;
mod store;
mod supervisor;

pub use auth::token_in;
pub use job::Request;
pub use parts::{Cores, Demand, divide, usual_at_once};
pub use roots::Roots;

use std::fmt;
use std::io::{PipeReader, PipeWriter, Write};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// What a server is started with.
#[derive(Clone, Debug)]
pub struct Config {
    /// Its folder.
    pub home: PathBuf,
    /// Where it listens.
    pub listen: Listen,
    /// Names by which it may be asked, beside its address.
    pub hosts: Vec<String>,
    /// The program that runs the jobs.
    pub program: PathBuf,
    /// The interpreter that runs jobs in Python.
    pub python: PathBuf,
    /// What jobs may read.
    pub roots: Roots,
    /// The token of its one user; not used if there are `tokens`.
    pub token: String,
    /// Lines of users (docs/serve.md).
    pub tokens: Option<String>,
    /// Workers of each job, which are the cores that are divided; the machine's if it is not given.
    pub workers: Option<usize>,
    /// Jobs that run at once; three eighths of the cores, 2 to 32, if it is not given.
    pub jobs_at_once: Option<usize>,
    /// Memory of all jobs together; three quarters of the machine's if it is not given.
    pub memory_bytes: Option<u64>,
    /// Jobs that may wait.
    pub queue_most: usize,
    /// How long jobs that are over are kept.
    pub keep: Duration,
    /// The most bytes that jobs that are over may have; the oldest are removed.
    pub keep_bytes: Option<u64>,
    /// How long a client may take for a header, and then for a body, and to read some of what it is sent.
    pub send_within: Duration,
    /// Whether commands may bring code of their own.
    pub allow_code: bool,
    /// The numbers of the signals that end it.
    pub signals: Vec<i32>,
}

/// Where a server listens.
#[derive(Clone, Debug, PartialEq)]
pub enum Listen {
    /// On an address.
    Tcp(SocketAddr),
    /// On a socket in the file system.
    Unix(PathBuf),
}

/// What a command line says, as far as a server needs to know.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Checked {
    /// The arguments that name input.
    pub inputs: Vec<String>,
    /// Whether it can save a state.
    pub saves: bool,
    /// Whether its cores can change while it runs.
    pub shares: bool,
    /// Whether it brings code of its own.
    pub has_code: bool,
}

/// Why a command line is refused.
#[derive(Clone, Debug, PartialEq)]
pub enum Refused {
    /// It makes no sense.
    Malformed(String),
    /// It makes sense, but not here.
    Forbidden(String),
}

/// Reads a command line without the program's name.
pub type Check = fn(&[String]) -> Result<Checked, Refused>;

/// Why a server cannot begin, or go on.
#[derive(Clone, Debug, PartialEq)]
pub struct Fault(pub String);

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Fault {}

/// A run that is to be watched without a server of jobs.
#[derive(Debug)]
pub struct Watched {
    /// Its command line without the program's name.
    pub command: Vec<String>,
    /// Where its relative paths begin.
    pub folder: PathBuf,
    /// Its workers.
    pub workers: usize,
    /// Whether a share of its workers has an effect on it.
    pub shares: bool,
    /// Its limit on memory; 0 if it has none.
    pub memory_bytes: u64,
    /// Where it tells what it does.
    pub events: PipeReader,
    /// Where it obeys.
    pub control: PipeWriter,
}

/// Serves the page for one run, until a signal comes or this process ends. Nothing else runs there.
///
/// # Errors
/// [`Fault`] if the folder or the address cannot be had.
pub fn watch(config: Config, watched: Watched, ready: impl FnOnce(&Listen)) -> Result<(), Fault> {
    let nothing: Check = |_| Err(Refused::Forbidden("this page is of one run".to_owned()));
    run(connections::serve(config, nothing, Some(watched), ready))
}

/// Serves until a signal ends it; `ready` is told the address when it listens. Jobs that run then end with it, and go on
/// when a server is started with the same folder.
///
/// # Errors
/// [`Fault`] if the folder or the address cannot be had.
pub fn serve(config: Config, check: Check, ready: impl FnOnce(&Listen)) -> Result<(), Fault> {
    run(connections::serve(config, check, None, ready))
}

fn run(serving: impl Future<Output = Result<(), Fault>>) -> Result<(), Fault> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|cause| Fault(format!("cannot start the server: {cause}")))?;
    let result = runtime.block_on(serving);
    // Reads of files may be under way; nobody waits for them.
    runtime.shutdown_background();
    result
}

/// Writes one line to standard error, which nobody may read.
fn say(message: &str) {
    let _ = writeln!(std::io::stderr(), "tegula serve: {}", message.replace(['\n', '\r'], " "));
}
