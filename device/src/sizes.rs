//! The best sizes of units, kept in a file from process to process, so that the next process begins near
//! them. One line per device and kernel: bytes, a tab, a hash of their identity, a tab, the device's name
//! for people. The file is a cache: if it cannot be read or written, nothing is known, and its contents
//! only move the start of a ramp.

use super::{Caps, Kernel};
use crate::storage::AtomicFile;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use twox_hash::XxHash3_128;

/// The most lines of a file; the oldest are dropped.
pub const LINES_MOST: usize = 256;
/// A longer file was not written here.
const BYTES_MOST: u64 = 1 << 20;

/// The file.
#[derive(Clone, Debug)]
pub struct Sizes {
    path: PathBuf,
}

impl Sizes {
    pub fn in_file(path: &Path) -> Sizes {
        Sizes { path: path.to_path_buf() }
    }

    /// Returns the best size for a kernel on a device, if one is known.
    pub fn find(&self, caps: &Caps, kernel: &Kernel) -> Option<u64> {
        let hash = hash_of(caps, kernel);
        let text = self.text();
        let line = text.lines().find(|line| line.split('\t').nth(1) == Some(&hash))?;
        line.split('\t').next()?.parse().ok().filter(|&bytes| bytes > 0)
    }

    /// Keeps a size.
    pub fn keep(&self, caps: &Caps, kernel: &Kernel, bytes: u64) {
        let hash = hash_of(caps, kernel);
        let name = caps.name.replace(['\t', '\n', '\r'], " ");
        let (before, ours) = (self.text(), format!("{bytes}\t{hash}\t{name}"));
        let others = before.lines().filter(|line| line.split('\t').nth(1) != Some(&hash));
        let mut lines: Vec<&str> = others.chain([ours.as_str()]).collect();
        lines.drain(..lines.len().saturating_sub(LINES_MOST));
        // If it cannot be written, sizes are found anew each time.
        let _ = self.path.parent().map(fs::create_dir_all);
        if let Ok(mut file) = AtomicFile::create(&self.path)
            && file.write_all((lines.join("\n") + "\n").as_bytes()).is_ok()
        {
            let _ = file.commit();
        }
    }

    fn text(&self) -> String {
        let is_ours = fs::metadata(&self.path).is_ok_and(|file| file.len() <= BYTES_MOST);
        is_ours.then(|| fs::read_to_string(&self.path).ok()).flatten().unwrap_or_default()
    }
}

/// Returns the identity of a kernel on a device as a hash.
fn hash_of(caps: &Caps, kernel: &Kernel) -> String {
    let Caps { name, backend, memory_bytes, compute_units, .. } = caps;
    let of = format!("{backend}\0{name}\0{memory_bytes}\0{compute_units}\0{}", kernel.told());
    format!("{:032x}", XxHash3_128::oneshot(of.as_bytes()))
}
