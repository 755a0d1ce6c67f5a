//! Why a task failed.

use std::error::Error;
use std::fmt;

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

impl Error for TaskFailed {}
