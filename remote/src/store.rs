//! The requests to a store of any kind: the file of a name, the names in a folder, and bytes of a file. One
//! request each, tried once; trying again is shared by all stores.

use crate::fault::Fault;
use crate::retry::Patience;
use std::fmt;
use twox_hash::XxHash3_64;

/// A store of files.
pub(crate) trait Store: fmt::Debug + Send + Sync {
    /// The file of this name; `None` where there is none, or a folder.
    async fn file(&self, path: &str) -> Result<Option<Entry>, Fault>;

    /// Returns the entries directly below a folder, in any order; `None` if there is no such folder.
    async fn children(&self, folder: &str) -> Result<Option<Vec<Child>>, Fault>;

    /// All files below a folder, in any order; `None` if there is no such folder. Tries again by
    /// itself, so that a long list does not begin anew.
    async fn tree(&self, folder: &str, patience: Patience) -> Result<Option<Vec<Entry>>, Fault>;

    /// Reads bytes of the file, from `offset` on, into `into`, as long as it is of that version. Adds the
    /// number of bytes so far to `got`, in order, even if the rest fails.
    async fn read(
        &self,
        wanted: &Wanted<'_>,
        into: &mut [u8],
        got: &mut usize,
    ) -> Result<(), Fault>;
}

/// A stretch of a file.
pub(crate) struct Wanted<'a> {
    pub(crate) path: &'a str,
    pub(crate) version: u64,
    pub(crate) offset: u64,
    pub(crate) patience: Patience,
}

/// A file that was listed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// Its name below the root.
    pub(crate) path: String,
    pub(crate) bytes: u64,
    /// A number that differs when the file's bytes differ: see [`version`].
    pub(crate) version: u64,
}

/// Something right below a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Child {
    File(Entry),
    /// A folder, by its path below the root.
    Folder(String),
}

/// Returns a number for a file's length and the store's own mark of its version.
pub(crate) fn version(bytes: u64, mark: &str) -> u64 {
    XxHash3_64::oneshot(format!("{bytes} {mark}").as_bytes())
}
