//! Files without a name (`O_TMPFILE`): they are gone when the process ends, in whatever way. Where there are none,
//! files have hidden names for a while.

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

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

/// Returns the result of `make` on the path of a hidden name in `folder` that no file has, and that path.
pub(super) fn hidden<T>(
    folder: &Path,
    prefix: &OsStr,
    make: impl Fn(&Path) -> io::Result<T>,
) -> io::Result<(T, PathBuf)> {
    let mut number = 0;
    loop {
        let mut name = prefix.to_os_string();
        name.push(format!(".tegula-{}-{number}", std::process::id()));
        let path = folder.join(name);
        match make(&path) {
            Ok(made) => return Ok((made, path)),
            Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists => number += 1,
            Err(cause) => return Err(cause),
        }
    }
}
