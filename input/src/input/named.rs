//! One path that a person named: its kind decides how it is read. Links are followed here, and faults that
//! opening would show are shown now, before any work is done.

use super::{Input, StreamSource};
use crate::error::InputError;
use rustix::fs::{Access, FsWord, access, statfs};
use std::fs::{self, FileType};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

impl Input {
    /// Adds the file, folder or stream that `path` names.
    pub(super) fn add_named(&mut self, path: &Path) -> Result<(), InputError> {
        let fault = |cause| InputError::from_io(path, cause);
        let found = fs::metadata(path).map_err(fault)?;
        if found.is_dir() {
            return self.add_tree(path);
        }
        if let Some(kind) = unreadable(found.file_type()) {
            return Err(InputError::Unreadable { path: path.to_path_buf(), kind });
        }
        access(path, Access::READ_OK).map_err(|cause| fault(cause.into()))?;
        if found.is_file() && !length_lies(path, found.len()) {
            self.files().add_file(None, path.as_os_str(), found.len());
        } else {
            self.add_stream(StreamSource::path(path));
        }
        Ok(())
    }
}

fn unreadable(kind: FileType) -> Option<&'static str> {
    if kind.is_socket() {
        Some("a socket")
    } else if kind.is_block_device() {
        Some("a block device")
    } else {
        None
    }
}

/// File systems whose files are made while they are read, with lengths of 0 or 4096 whatever they
/// hold: proc, sysfs, debugfs, tracefs, configfs, securityfs, cgroup, cgroup2, bpf (the magic numbers
/// of `linux/magic.h`).
const MADE_WHILE_READ: [FsWord; 9] = [
    0x9fa0,
    0x6265_6572,
    0x6462_6720,
    0x7472_6163,
    0x6265_6570,
    0x7363_6673,
    0x0027_e0eb,
    0x6367_7270,
    0xcafe_4a11,
];

/// File systems in user space: some give 0 for lengths they do not know.
const FUSE: FsWord = 0x6573_5546;

/// Returns whether a file's length in bytes may differ from the bytes that reading it gives.
pub(super) fn length_lies(path: &Path, bytes: u64) -> bool {
    statfs(path).is_ok_and(|system| {
        MADE_WHILE_READ.contains(&system.f_type) || (system.f_type == FUSE && bytes == 0)
    })
}
