//! Files without a name (`O_TMPFILE`): they are gone when the process ends, in whatever way.

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use std::fs::File;
use std::io;
use std::path::Path;

/// Opens a new file without a name in a folder, to read and write; `None` if the file system or the kernel
/// has no such files.
pub(crate) fn open(folder: &Path, mode: Mode) -> io::Result<Option<File>> {
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    match rustix::fs::open(folder, flags, mode) {
        Ok(file) => Ok(Some(File::from(file))),
        // The errors of file systems and kernels without such files.
        Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL | Errno::NOENT) => Ok(None),
        Err(cause) => Err(cause.into()),
    }
}
