//! One folder's entries, sorted by name bytes: the only place where folders are read. The whole
//! folder is read before anything below it, so that one folder is open at a time however deep the
//! tree, and names lie in one arena, so that a folder of a million files costs no million boxes.

use crate::error::InputError;
use std::ffi::OsStr;
use std::fs::{self, DirEntry};
use std::io;
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The entries of a folder.
#[derive(Debug, Default)]
pub(super) struct Listing {
    entries: Vec<(Range<usize>, Kind)>,
    names: Vec<u8>,
}

/// The kind of an entry, links not followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A regular file, with its length in bytes.
    File(u64),
    Folder,
    Link,
    /// A pipe, socket or device.
    Special,
}

impl Listing {
    /// Lists the entries of `folder` whose name `keep` accepts.
    pub(super) fn read(
        folder: &Path,
        keep: impl Fn(&OsStr) -> bool,
    ) -> Result<Listing, InputError> {
        let mut listing = Listing::default();
        let fault = |cause| InputError::from_io(folder, cause);
        for entry in fs::read_dir(folder).map_err(fault)? {
            let entry = entry.map_err(fault)?;
            let name = entry.file_name();
            if !keep(&name) {
                continue;
            }
            match kind(&entry) {
                Ok(kind) => listing.push(&name, kind),
                // It went away between two calls: it was never there.
                Err(cause) if cause.kind() == io::ErrorKind::NotFound => {}
                Err(cause) => return Err(InputError::from_io(entry.path(), cause)),
            }
        }
        let Listing { entries, names } = &mut listing;
        entries.sort_unstable_by(|(a, _), (b, _)| names[a.clone()].cmp(&names[b.clone()]));
        Ok(listing)
    }

    /// Returns the entries by ascending name bytes.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&OsStr, Kind)> {
        self.entries
            .iter()
            .map(|(name, kind)| (OsStr::from_bytes(&self.names[name.clone()]), *kind))
    }

    fn push(&mut self, name: &OsStr, kind: Kind) {
        let start = self.names.len();
        self.names.extend_from_slice(name.as_bytes());
        self.entries.push((start..self.names.len(), kind));
    }
}

fn kind(entry: &DirEntry) -> io::Result<Kind> {
    let kind = entry.file_type()?;
    Ok(if kind.is_file() {
        Kind::File(entry.metadata()?.len())
    } else if kind.is_dir() {
        Kind::Folder
    } else if kind.is_symlink() {
        Kind::Link
    } else {
        Kind::Special
    })
}
