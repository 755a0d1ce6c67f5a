//! Advice in terms of the command line: which flags or commands help after an error of the engine, whose
//! own messages name none.

use crate::arguments::is_url;
use tegula::{Error, InputError, MemoryError, StateError, StorageError};

/// Returns the flags that help after an error, if there are any.
pub fn of(error: &Error) -> Option<&'static str> {
    match error {
        Error::Input(error) => of_input(error),
        Error::Memory(MemoryError::Budget { .. } | MemoryError::TooSmall { .. }) => {
            Some("--memory gives more, -j fewer workers")
        }
        Error::Storage(
            StorageError::Folder { path, .. }
            | StorageError::Full { path, .. }
            | StorageError::Access { path, .. },
        ) => match is_url(path.as_os_str()) {
            true => Some("--state names where the state is"),
            false => Some("--scratch names another folder for scratch files"),
        },
        Error::State(error) => of_state(error),
        Error::Option { option: "in_order", .. } => Some("--show-in-order asks for them"),
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
        StateError::Folder { .. } => Some("--state names the folder"),
        StateError::OtherJob { .. } => {
            Some("--job names another job, `tegula state rm` removes this one's state")
        }
        StateError::OtherTiles { .. } => Some(
            "--incremental runs the job as incremental, --job names another job, `tegula state rm` removes this \
             one's state",
        ),
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
