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
const LINES_MOST: usize = 256;
/// A longer file was not written here.
const BYTES_MOST: u64 = 1 << 20;

/// The file.
#[derive(Clone, Debug)]
pub(super) struct Sizes {
    path: PathBuf,
}

impl Sizes {
    pub(super) fn in_file(path: &Path) -> Sizes {
        Sizes { path: path.to_path_buf() }
    }

    /// Returns the best size for a kernel on a device, if one is known.
    pub(super) fn find(&self, caps: &Caps, kernel: &Kernel) -> Option<u64> {
        let hash = hash_of(caps, kernel);
        let text = self.text();
        let line = text.lines().find(|line| line.split('\t').nth(1) == Some(&hash))?;
        line.split('\t').next()?.parse().ok().filter(|&bytes| bytes > 0)
    }

    /// Keeps a size.
    pub(super) fn keep(&self, caps: &Caps, kernel: &Kernel, bytes: u64) {
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

#[cfg(test)]
mod tests {
    use super::super::{Device, Emulated, Model};
    use super::*;

    fn kernel(source: &str) -> Kernel {
        let (entry, file, source) = ("k".into(), "k.c".into(), source.to_owned().into());
        Kernel { entry, file, source, defines: Vec::new(), emulated: None }
    }

    #[test]
    fn sizes_are_found_again_by_device_and_kernel() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a folder/units");
        let sizes = Sizes::in_file(&path);
        let device =
            |name: &str| Emulated::new(Model { name: name.to_owned(), ..Model::default() });
        let (a, b) = (device("a\tdevice\n"), device("b"));
        assert_eq!(sizes.find(a.caps(), &kernel("1")), None);
        for (device, source, bytes) in [(&a, "1", 5), (&b, "1", 6), (&a, "2", 7), (&a, "1", 8)] {
            sizes.keep(device.caps(), &kernel(source), bytes);
        }
        let again = Sizes::in_file(&path);
        assert_eq!(again.find(a.caps(), &kernel("1")), Some(8));
        assert_eq!(again.find(b.caps(), &kernel("1")), Some(6));
        assert_eq!(again.find(a.caps(), &kernel("2")), Some(7));
        assert_eq!(again.find(b.caps(), &kernel("2")), None);
        for number in 0..LINES_MOST {
            sizes.keep(b.caps(), &kernel(&format!("more {number}")), 9);
        }
        assert_eq!(again.find(a.caps(), &kernel("1")), None);
        assert_eq!(fs::read_to_string(&path).unwrap().lines().count(), LINES_MOST);
        // Any other file is treated as missing, and is replaced.
        fs::write(&path, b"\xff\n9").unwrap();
        assert_eq!(again.find(b.caps(), &kernel("1")), None);
        sizes.keep(b.caps(), &kernel("1"), 3);
        assert_eq!(again.find(b.caps(), &kernel("1")), Some(3));
        // If nothing can be written, nothing is kept, and nothing fails.
        let nowhere = Sizes::in_file(Path::new("/proc/none/units"));
        nowhere.keep(b.caps(), &kernel("1"), 3);
        assert_eq!(nowhere.find(b.caps(), &kernel("1")), None);
    }
}
