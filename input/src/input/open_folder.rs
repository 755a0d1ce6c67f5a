//! A folder that stays open while its files are read one after the other: to look a name up in it costs
//! less than to walk the path to it for each file. Descriptors are few, and files need them first, so
//! only a part of those the process may have is ever held for folders; who gets none walks the path.

use super::files::{FolderId, Folders, open_file};
use rustix::fs::{Mode, OFlags, open, openat};
use rustix::io::retry_on_intr;
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The process may hold one such folder for this many of the files that it may have open.
const DESCRIPTORS_PER_FOLDER: u64 = 8;
/// Such folders of all readers, because the limit on descriptors is the process's.
static HELD: AtomicU64 = AtomicU64::new(0);

/// The folder that one reader holds open.
#[derive(Debug, Default)]
pub struct OpenFolder(Option<Held>);

#[derive(Debug)]
struct Held {
    /// Identifies the folder, together with `folder`.
    above: Arc<Folders>,
    folder: FolderId,
    descriptor: OwnedFd,
    _permit: Permit,
}

impl OpenFolder {
    /// Opens a file of a folder.
    pub(super) fn open(
        &mut self,
        above: &Arc<Folders>,
        folder: FolderId,
        name: &OsStr,
    ) -> io::Result<File> {
        let is_held = |held: &Held| held.folder == folder && Arc::ptr_eq(&held.above, above);
        if !self.0.as_ref().is_some_and(is_held) {
            self.0 = None;
            self.0 = Held::new(above, folder);
        }
        match &self.0 {
            Some(held) => {
                // As `open_file`: a pipe would wait for its writer.
                let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
                let opened =
                    retry_on_intr(|| openat(&held.descriptor, name, flags, Mode::empty()))?;
                Ok(opened.into())
            }
            None => open_file(&above.path(folder).join(name)),
        }
    }
}

impl Held {
    /// `None` if there is no descriptor for it, or it cannot be opened: opening the file says why.
    fn new(above: &Arc<Folders>, folder: FolderId) -> Option<Held> {
        let permit = Permit::take()?;
        // To look names up in it, nobody need be allowed to list it.
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let descriptor = open(above.path(folder), flags, Mode::empty()).ok()?;
        Some(Held { above: Arc::clone(above), folder, descriptor, _permit: permit })
    }
}

/// The right to hold one more folder. Given back when dropped.
#[derive(Debug)]
struct Permit;

impl Permit {
    fn take() -> Option<Permit> {
        let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
        let most = limit.unwrap_or(u64::MAX) / DESCRIPTORS_PER_FOLDER;
        let one_more = |held: u64| (held < most).then_some(held + 1);
        HELD.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more).ok().map(|_| Permit)
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        HELD.fetch_sub(1, Ordering::Relaxed);
    }
}
