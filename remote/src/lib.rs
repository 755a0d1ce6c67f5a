//! Input and states that are kept elsewhere: in object stores (`s3://`, `gs://`, `az://`) and in HDFS
//! (`hdfs://`). A URL goes in, with settings from the environment; an [`Input`] comes out, whose
//! files are listed, with their lengths, and are read by ranges from as many threads as the engine
//! reads with. A lost connection is tried again, within bounds; a file that changed is an error,
//! never a mixture of the old and the new. [`folders`] are where runs save their partials.
//!
//! A `Store` makes one request and classifies its failure (`fault.rs`). `source.rs` and `retry.rs` try
//! again for all stores alike, `find.rs` lists the files that a URL names in the order of a local tree, and
//! `gate.rs` holds requests back as long as a busy store asks. `folders.rs` has the files of states, `lease.rs` the
//! right to change them. Asynchronous code runs on a small runtime of
//! its own inside of `read_at`, which blocks; no other crate knows of it. The version in each answer is
//! compared with the listed one before its bytes are taken.
//!
//! ```no_run
//! # fn main() -> tegula::Result<()> {
//! let mut input = tegula_remote::input("s3://bucket/logs/2026-*/")?;
//! input.append(tegula::Input::paths(["more.txt"])?);
//! # Ok(())
//! # }
//! ```

mod address;
mod answer;
mod bucket;
mod fault;
mod find;
mod folders;
mod gate;
mod hdfs;
mod lease;
mod object;
mod pattern;
mod retry;
mod runtime;
mod settings;
mod source;
mod store;

/// The parts of a client of HTTP, for [`Settings::over`].
pub mod http {
    pub use object_store::Result;
    pub use object_store::client::{
        ClientOptions, HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest,
        HttpResponse, HttpResponseBody, HttpService,
    };
}

pub use settings::Settings;

use std::path::Path;
use std::sync::Arc;
use tegula::{Folders, Input, Result};

/// Returns the input that a URL names: a file, a folder with all files below it in the order of names, or the
/// matches of a pattern (`*`, `?`, `[...]`, `**`), as for local paths. Settings come from the environment.
///
/// # Errors
/// [`InputError`](tegula::InputError): if the URL is malformed or names no file, the server does not answer
/// or refuses, or settings are wrong.
pub fn input(url: &str) -> Result<Input> {
    Settings::from_env().input(url)
}

/// Returns the folders that a URL names, for the states of runs ([`State::within`](tegula::State::within)). Bytes that
/// are not uploaded yet, and those of files that are read, are in files without names in the folder `scratch`. Settings
/// come from the environment.
///
/// A run uploads a snapshot when it saves it, from a thread of its own; nothing of a snapshot or manifest is seen
/// before it is complete. A run that resumes anywhere fetches the snapshots whole. Since stores have no locks, a run
/// holds a lease: the next one waits up to `TEGULA_STATE_LEASE_SECONDS` (20) to see that a run which was killed on
/// another machine does not renew its own.
///
/// # Errors
/// [`InputError`](tegula::InputError) if the URL is malformed or settings are wrong. Nothing is connected to yet.
pub fn folders(url: &str, scratch: &Path) -> Result<Arc<dyn Folders>> {
    Settings::from_env().folders(url, scratch)
}
