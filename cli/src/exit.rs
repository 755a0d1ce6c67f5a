//! The end of the program: the exit code, and the one line with the reason.

use crate::advice;
use std::io::Write;
use tegula::{Error, OutputError, Result, StateError};

/// The end of the help.
pub(crate) const HELP: &str = "\
Exit codes: 0 done, also when the reader of standard output went away; 1 the job failed; \
2 wrong usage; 130 interrupted.
A first interrupt stops the job and leaves no file; a second one stops the program at once.";

pub(crate) const DONE: u8 = 0;
const FAILED: u8 = 1;

/// An option has a value that makes no sense. clap exits with the same code.
pub(crate) const WRONG_USAGE: u8 = 2;

/// Interrupted: 128 plus the number of the signal that Ctrl-C sends, as in shells.
pub(crate) const INTERRUPTED: u8 = 130;

/// How a command ended.
pub(crate) struct Outcome {
    pub(crate) code: u8,
    /// The reason, if it is to be told.
    pub(crate) message: Option<String>,
}

/// Returns the exit code of a command that ended so, and the reason.
pub(crate) fn outcome(result: &Result<()>) -> Outcome {
    let (code, message) = match result {
        Ok(()) | Err(Error::Output(OutputError::Closed { .. })) => (DONE, None),
        Err(Error::Cancelled) => (INTERRUPTED, None),
        Err(error) => {
            let mut message = error.to_string();
            if let Some(advice) = advice::of(error) {
                message = format!("{message} ({advice})");
            }
            let is_usage =
                matches!(error, Error::Option { .. } | Error::State(StateError::Name { .. }));
            (if is_usage { WRONG_USAGE } else { FAILED }, Some(message))
        }
    };
    Outcome { code, message }
}

/// Returns whether a command has done its work: its answer is written, or the reader of that has left.
pub(crate) fn is_done(result: &Result<()>) -> bool {
    outcome(result).code == DONE
}

/// Prints the error on standard error, and returns the exit code.
pub(crate) fn code(result: &Result<()>) -> u8 {
    let Outcome { code, message } = outcome(result);
    match (result, &message) {
        (Err(Error::Device(error)), _) => {
            // A compiler's messages are several lines and make no sense as one.
            let _ = writeln!(std::io::stderr(), "tegula: {error}");
        }
        (_, Some(message)) => say(message),
        (_, None) => {}
    }
    code
}

/// Says on standard error why the command line is refused, and returns the exit code.
pub(crate) fn wrong_usage(message: &str) -> u8 {
    say(message);
    WRONG_USAGE
}

/// Writes one line to standard error. Nobody can be told that standard error is closed.
pub(crate) fn say(message: &str) {
    let line = message.replace(['\n', '\r'], " ");
    let _ = writeln!(std::io::stderr(), "tegula: {line}");
}
