//! Why a task failed, and how the others learn that one has.

use std::fmt;
use std::sync::{Mutex, PoisonError};
use tegula::{Cancel, Error, Result};

/// A task of a job failed: its command did, or it could not be run.
#[derive(Debug)]
pub struct TaskFailed {
    /// The task, its command and what became of it.
    pub(crate) message: String,
    /// The end of what it said on standard error.
    pub(crate) last_words: Vec<u8>,
    /// The attempt that failed, as Hadoop names it.
    pub(crate) attempt: String,
}

impl TaskFailed {
    pub(crate) fn new(message: impl Into<String>) -> TaskFailed {
        TaskFailed { message: message.into(), last_words: Vec::new(), attempt: String::new() }
    }

    /// Returns the attempt that failed, as Hadoop names it.
    pub fn attempt(&self) -> &str {
        &self.attempt
    }

    /// Returns the end of what the command said on standard error.
    pub fn last_words(&self) -> &[u8] {
        &self.last_words
    }
}

impl fmt::Display for TaskFailed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        if self.last_words.is_empty() { Ok(()) } else { f.write_str("; its last words are above") }
    }
}

impl std::error::Error for TaskFailed {}

/// The error of the first task of a run that failed. The others end then, wherever they are: a command that works on for an
/// hour would keep the message back for an hour.
#[derive(Debug)]
pub(crate) struct FirstFailure {
    raised: Cancel,
    error: Mutex<Option<Error>>,
}

impl FirstFailure {
    /// `raised` is also raised by the engine, when it fails beside the tasks: where input is damaged.
    pub(crate) fn new(raised: Cancel) -> FirstFailure {
        FirstFailure { raised, error: Mutex::new(None) }
    }

    /// Returns the flag that is raised when the run has failed.
    pub(crate) fn flag(&self) -> &Cancel {
        &self.raised
    }

    /// Notes how a task ended. Of one that failed or was ended for another one's failure, it returns
    /// [`Error::Cancelled`], whose reason [`reason`](FirstFailure::reason) has.
    pub(crate) fn note<T>(&self, ended: Result<T>) -> Result<T> {
        ended.map_err(|error| {
            if !matches!(error, Error::Cancelled) {
                self.error.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
                self.raised.cancel();
            }
            Error::Cancelled
        })
    }

    /// Returns the error of a run whose tasks ended with this one.
    pub(crate) fn reason(&self, error: Error) -> Error {
        match error {
            Error::Cancelled => {
                let first = self.error.lock().unwrap_or_else(PoisonError::into_inner).take();
                first.unwrap_or(Error::Cancelled)
            }
            error => error,
        }
    }
}
