//! The end of the program: the exit code, and the one line with the reason.

use crate::advice;
use std::io::Write;
use tegula::{Error, OutputError, Result};

/// The end of the help.
pub(crate) const HELP: &str = "\
Exit codes: 0 done, also when the reader of standard output went away; 1 the job failed; \
2 wrong usage; 130 interrupted.
A first interrupt stops the job and leaves no file; a second one stops the program at once.";

const DONE: u8 = 0;
const FAILED: u8 = 1;

/// An option has a value that makes no sense. clap exits with the same code.
const WRONG_USAGE: u8 = 2;

/// Interrupted: 128 plus the number of the signal that Ctrl-C sends, as in shells.
pub(crate) const INTERRUPTED: u8 = 130;

/// Prints the error on standard error, and returns the exit code.
pub(crate) fn code(result: Result<()>) -> u8 {
    match result {
        Ok(()) | Err(Error::Output(OutputError::Closed { .. })) => DONE,
        Err(Error::Cancelled) => INTERRUPTED,
        Err(Error::Device(error)) => {
            // A compiler's messages are several lines and make no sense as one.
            let _ = writeln!(std::io::stderr(), "tegula: {error}");
            FAILED
        }
        Err(error) => {
            let mut message = error.to_string();
            if let Some(advice) = advice::of(&error) {
                message = format!("{message} ({advice})");
            }
            if let Error::Option { .. } = error {
                return wrong_usage(&message);
            }
            say(&message);
            FAILED
        }
    }
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
