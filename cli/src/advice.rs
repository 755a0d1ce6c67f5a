//! Advice in terms of the command line: which flags or commands help after an error of the engine, whose
//! own messages name none.

use tegula::{Error, InputError, MemoryError, StateError, StorageError};

/// Returns the flags that help after an error, if there are any.
pub(crate) fn of(error: &Error) -> Option<&'static str> {
    match error {
        Error::Input(error) => of_input(error),
        Error::Memory(MemoryError::Budget { .. } | MemoryError::TooSmall { .. }) => {
            Some("--memory gives more, -j fewer workers")
        }
        Error::Storage(
            StorageError::Folder { .. } | StorageError::Full { .. } | StorageError::Access { .. },
        ) => Some("--scratch names another folder for scratch files"),
        Error::State(error) => of_state(error),
        _ => None,
    }
}

fn of_input(error: &InputError) -> Option<&'static str> {
    let is_compressed = match error {
        InputError::Truncated { .. } | InputError::Damaged { .. } | InputError::Misnamed { .. } => {
            true
        }
        InputError::CoresOnly { kind, .. } => kind.starts_with("compressed"),
        _ => false,
    };
    is_compressed.then_some("--plain reads compressed files as they are")
}

fn of_state(error: &StateError) -> Option<&'static str> {
    match error {
        StateError::InUse { .. } | StateError::Name { .. } => Some("--job names the job"),
        StateError::OtherJob { .. } => {
            Some("--job names another job, `tegula state rm` removes this one's state")
        }
        StateError::OtherInput { .. } => Some(
            "--job names another job, `tegula state rm` removes this one's state, --incremental begins one \
             whose input may change",
        ),
        StateError::Missing { .. } => Some("`tegula state ls` lists the jobs of a folder"),
        StateError::Stream { .. } | StateError::InOrder => {
            Some("without --state the run saves nothing")
        }
        StateError::Packed => Some(
            "--plain reads compressed files as they are; --incremental needs files that are not compressed",
        ),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    #[test]
    fn errors_have_the_advice_of_their_kind() {
        let path = PathBuf::from("a.gz");
        let truncated = InputError::Truncated { path: path.clone(), format: "gzip", offset: 1 };
        let budget = MemoryError::Budget { purpose: "keys", needed_bytes: 2, limit_bytes: 1 };
        for (error, flag) in [
            (Error::from(truncated), Some("--plain")),
            (budget.into(), Some("--memory")),
            (StateError::Missing { path: path.clone() }.into(), Some("tegula state ls")),
            (StateError::InUse { path: path.clone() }.into(), Some("--job")),
            (InputError::Missing { path }.into(), None),
            (Error::Cancelled, None),
        ] {
            let advice = of(&error);
            assert_eq!(advice.is_some(), flag.is_some(), "{error}");
            assert!(flag.is_none_or(|flag| advice.is_some_and(|advice| advice.contains(flag))));
        }
    }
}
