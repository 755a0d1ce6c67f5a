//! Errors of the engine, which knows no flags, have the advice of the command line.

use std::path::PathBuf;
use tegula::{Error, InputError, MemoryError, StateError, StorageError};
use tegula_cli::parts::advice_of;

#[test]
fn errors_have_the_advice_of_their_kind() {
    let path = PathBuf::from("a.gz");
    let truncated = InputError::Truncated { path: path.clone(), format: "gzip", offset: 1 };
    let compressed =
        InputError::CoresOnly { path: path.clone(), kind: "compressed files", advice: "" };
    let full = |path: &str| {
        let (path, cause) = (PathBuf::from(path), std::io::ErrorKind::StorageFull.into());
        StorageError::Full { path, cause }
    };
    let cause = std::io::ErrorKind::FileTooLarge.into();
    let access = StorageError::Access { action: "be written", path: path.clone(), cause };
    let budget = MemoryError::Budget { purpose: "keys", needed_bytes: 2, limit_bytes: 1 };
    for (error, flag) in [
        (Error::from(truncated), Some("--plain")),
        (compressed.into(), Some("--plain")),
        (budget.into(), Some("--memory")),
        (full("/tmp").into(), Some("--scratch")),
        (full("s3://bucket/states").into(), Some("--state")),
        (access.into(), Some("--scratch")),
        (StateError::Missing { path: path.clone() }.into(), Some("tegula state ls")),
        (StateError::InUse { path: path.clone() }.into(), Some("--job")),
        (InputError::Missing { path }.into(), None),
        (Error::Cancelled, None),
    ] {
        let advice = advice_of(&error);
        assert_eq!(advice.is_some(), flag.is_some(), "{error}");
        assert!(flag.is_none_or(|flag| advice.is_some_and(|advice| advice.contains(flag))));
    }
}
