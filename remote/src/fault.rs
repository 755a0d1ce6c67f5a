//! Faults of one request, classified by the consequence: another try, or an error.

use std::error::Error;
use std::io;
use std::path::Path;
use std::time::Duration;
use tegula::{InputError, StorageError};

/// The reason why a request failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// There is no such file.
    Missing,
    /// The file is another one than was listed.
    Changed,
    /// A file that should be new is there.
    Exists,
    /// It cannot be had, and another try would not help.
    Refused { cause: String, advice: String },
    /// No answer, half of one, or one that asks to come back later.
    Lost { cause: String },
    /// Lost for good: all tries are used up.
    GaveUp { cause: String, tries: u32, elapsed: Duration },
}

impl Fault {
    pub(crate) fn lost(cause: impl Into<String>) -> Fault {
        Fault::Lost { cause: cause.into() }
    }

    pub(crate) fn refused(cause: impl Into<String>, advice: impl Into<String>) -> Fault {
        Fault::Refused { cause: cause.into(), advice: advice.into() }
    }

    /// Returns the error of looking for `path`.
    pub(crate) fn of_listing(self, path: &Path) -> InputError {
        self.about(path, None)
    }

    /// Returns the error of reading a file, as a source hands it to the engine.
    pub(crate) fn of_reading(self, path: &Path, offset: u64) -> io::Error {
        match self {
            Fault::Missing => io::ErrorKind::NotFound.into(),
            fault => io::Error::other(fault.about(path, Some(offset))),
        }
    }

    /// Returns the error of a state's file, which could not do `action`.
    pub(crate) fn of_storing(self, action: &'static str, path: &Path) -> StorageError {
        let path = path.to_path_buf();
        let cause = match self {
            Fault::Missing => return StorageError::Missing { path },
            Fault::Exists => return StorageError::Exists { path },
            Fault::Changed => return StorageError::Changed { path },
            Fault::Refused { cause, advice } => format!("{cause}; {advice}"),
            Fault::Lost { cause } => cause,
            Fault::GaveUp { cause, tries, elapsed } => {
                format!("{cause} (tried {tries} times in {:.1} s)", elapsed.as_secs_f64())
            }
        };
        StorageError::Access { action, path, cause: io::Error::other(cause) }
    }

    fn about(self, path: &Path, offset: Option<u64>) -> InputError {
        let path = path.to_path_buf();
        match self {
            Fault::Missing => InputError::Missing { path },
            Fault::Changed | Fault::Exists => InputError::Changed { path },
            Fault::Refused { cause, advice } => InputError::Refused { path, cause, advice },
            Fault::Lost { cause } => {
                InputError::Lost { path, offset, tries: 1, elapsed: Duration::ZERO, cause }
            }
            Fault::GaveUp { cause, tries, elapsed } => {
                InputError::Lost { path, offset, tries, elapsed, cause }
            }
        }
    }
}

/// Returns an error and its sources, outermost first.
pub(crate) fn chain<'e>(
    error: &'e (dyn Error + 'static),
) -> impl Iterator<Item = &'e (dyn Error + 'static)> {
    std::iter::successors(Some(error), |&error| error.source())
}

/// Returns the message of the last source of an error.
pub(crate) fn innermost(error: &(dyn Error + 'static)) -> String {
    chain(error).last().map(ToString::to_string).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_fault_is_an_error_of_a_listing_and_of_a_state() {
        let (path, lost) = (Path::new("s3://bucket/a"), Fault::lost("no answer"));
        let listing = |fault: Fault| fault.of_listing(path);
        assert!(matches!(listing(Fault::Missing), InputError::Missing { .. }));
        assert!(matches!(listing(Fault::Changed), InputError::Changed { .. }));
        assert!(matches!(listing(Fault::refused("no", "ask")), InputError::Refused { .. }));
        assert!(matches!(listing(lost.clone()), InputError::Lost { tries: 1, offset: None, .. }));
        let storing = |fault: Fault| fault.of_storing("be written", path);
        assert!(matches!(storing(Fault::Missing), StorageError::Missing { .. }));
        assert!(matches!(storing(Fault::Exists), StorageError::Exists { .. }));
        assert!(matches!(storing(Fault::Changed), StorageError::Changed { .. }));
        let (cause, tries, elapsed) = ("no answer".to_owned(), 3, Duration::from_millis(1500));
        let gave_up = Fault::GaveUp { cause, tries, elapsed };
        for (fault, says) in [
            (Fault::refused("no", "ask"), "no; ask"),
            (lost, "no answer"),
            (gave_up, "no answer (tried 3 times in 1.5 s)"),
        ] {
            let error = storing(fault).to_string();
            assert!(
                error.contains("s3://bucket/a: cannot be written") && error.contains(says),
                "{error}"
            );
        }
        assert_eq!(Fault::Missing.of_reading(path, 7).kind(), io::ErrorKind::NotFound);
    }
}
