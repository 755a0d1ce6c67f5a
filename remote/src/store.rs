//! The requests to a store of any kind: the file of a name, the names in a folder, bytes of a file, and changes of
//! files. One request each, tried once, except for lists; how to try again is shared by all stores.

use crate::fault::Fault;
use crate::retry::Patience;
use std::fmt;
use tegula_machine::storage::StoredFile;
use twox_hash::XxHash3_64;

/// A store of files.
pub(crate) trait Store: fmt::Debug + Send + Sync {
    /// What names bytes that were sent and that nobody sees yet.
    type Upload;

    /// Whether names may begin or end with a slash, which lists leave out.
    const LISTS_WITHOUT_SLASHES: bool;

    /// The file of this name; `None` where there is none, or a folder.
    async fn file(&self, path: &str) -> Result<Option<Entry>, Fault>;

    /// Returns the entries directly below a folder, in any order; `None` if there is no such folder. Tries again by
    /// itself, so that a long list does not begin anew.
    async fn children(&self, folder: &str, patience: Patience)
    -> Result<Option<Vec<Child>>, Fault>;

    /// Returns all files below a folder, as [`children`](Store::children) does.
    async fn tree(&self, folder: &str, patience: Patience) -> Result<Option<Vec<Entry>>, Fault>;

    /// Reads bytes of the file, from `offset` on, into `into`, as long as it is of that version. Adds the
    /// number of bytes so far to `got`, in order, even if the rest fails.
    async fn read(
        &self,
        wanted: &Wanted<'_>,
        into: &mut [u8],
        got: &mut usize,
    ) -> Result<(), Fault>;

    /// Makes a small file, and the folders above it. [`Fault::Exists`] if there is one.
    async fn create(&self, path: &str, bytes: &[u8], patience: Patience) -> Result<(), Fault>;

    /// Sends the bytes of a file, which nobody sees before they are published. Tries again by itself, so that a long
    /// upload has the time for each of its pieces.
    async fn send(
        &self,
        path: &str,
        content: Content<'_>,
        patience: Patience,
    ) -> Result<Self::Upload, Fault>;

    /// Makes a file of what was sent, and the folders above it. Others see all of it or nothing; a file that has that
    /// name is replaced at once.
    async fn publish(
        &self,
        path: &str,
        content: Content<'_>,
        upload: &Self::Upload,
    ) -> Result<(), Fault>;

    /// Removes what was sent and is not published.
    async fn discard(&self, path: &str, upload: &Self::Upload) -> Result<(), Fault>;

    /// Gives a file another name; a file that has that name is replaced at once.
    async fn rename(&self, from: &str, to: &str) -> Result<(), Fault>;

    /// Removes a file.
    async fn remove(&self, path: &str) -> Result<(), Fault>;

    /// Makes a folder and those above it, where the store has folders.
    async fn make_folder(&self, path: &str) -> Result<(), Fault>;

    /// Removes a folder, where the store has folders. One that is not empty is left.
    async fn remove_folder(&self, path: &str) -> Result<(), Fault>;
}

/// The bytes of a file to make.
#[derive(Clone, Copy)]
pub(crate) enum Content<'a> {
    Bytes(&'a [u8]),
    /// All bytes of a file here, of that length.
    File(&'a dyn StoredFile, u64),
}

/// The ending of a file that is not finished, on stores where a file has its name from the start.
pub(crate) const UNFINISHED: &str = ".unfinished";

/// Bytes that are sent at a time.
pub(crate) const PIECE_BYTES: u64 = 8 << 20;

impl Content<'_> {
    pub(crate) fn bytes(&self) -> u64 {
        match self {
            Content::Bytes(bytes) => bytes.len() as u64,
            Content::File(_, bytes) => *bytes,
        }
    }

    /// Returns the bytes from `offset` on, up to a piece of them.
    pub(crate) fn piece(&self, offset: u64) -> Result<Vec<u8>, Fault> {
        let end = self.bytes().min(offset + PIECE_BYTES);
        match self {
            Content::Bytes(bytes) => Ok(bytes[offset as usize..end as usize].to_vec()),
            Content::File(file, _) => {
                let mut piece = vec![0; (end - offset) as usize];
                let read = file.read_exact_at(&mut piece, offset);
                read.map_err(|fault| Fault::refused(fault.to_string(), "mend the scratch folder"))?;
                Ok(piece)
            }
        }
    }
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

/// Bytes of a path, which no store has more of: HDFS allows 8,000 characters, the others 2,048 bytes at most. So folders in
/// folders end, whatever a store answers.
const PATH_BYTES_MOST: usize = 32_000;
/// Characters of such a path in a message.
const PATH_SHOWN: usize = 200;

/// Checks a path in a list of a folder: what follows would read names that nobody asked for.
///
/// # Errors
/// If it is not below the folder.
pub(crate) fn check_below(folder: &str, path: &str) -> Result<(), Fault> {
    let is_below = match path.strip_prefix(folder) {
        Some(rest) if !folder.is_empty() => rest.len() > 1 && rest.starts_with('/'),
        rest => rest.is_some() && !path.is_empty(),
    };
    if is_below && path.len() <= PATH_BYTES_MOST {
        return Ok(());
    }
    let path: String = path.chars().take(PATH_SHOWN).collect();
    let cause = format!("the store lists `{path}` in the folder `{folder}`, where it cannot be");
    Err(Fault::refused(cause, "see the store's log"))
}

/// Returns a number for a file's length and the store's own mark of its version.
pub(crate) fn version(bytes: u64, mark: &str) -> u64 {
    XxHash3_64::oneshot(format!("{bytes} {mark}").as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_has_only_what_is_below_its_folder() {
        for (folder, path) in [("", "a"), ("", "a/b"), ("a", "a/b"), ("a/b", "a/b/c/d")] {
            assert_eq!(check_below(folder, path), Ok(()), "{folder} {path}");
        }
        for (folder, path) in [
            ("", ""),
            ("a", ""),
            ("a", "a"),
            ("a", "a/"),
            ("a", "ab/c"),
            ("a/b", "a/c"),
            ("é", "x"),
        ] {
            assert!(
                matches!(check_below(folder, path), Err(Fault::Refused { .. })),
                "{folder} {path}"
            );
        }
        assert!(check_below("a", &format!("a/{}", "b/".repeat(PATH_BYTES_MOST))).is_err());
    }
}
