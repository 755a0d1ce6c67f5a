//! A folder in memory, in which targets write files. It is removed when its process ends. A process that is killed leaves
//! it to the next one: as long as a process lives, it has the lock on its folder.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::LazyLock;

const ROOT: &str = "/dev/shm";
const PREFIX: &str = "tegula-fuzz-";

struct Held {
    path: PathBuf,
    _lock: File,
}

static FOLDER: LazyLock<Held> = LazyLock::new(|| {
    let held = begin().unwrap();
    // SAFETY: the function takes nothing, does not unwind, and stays where it is.
    let kept = unsafe { libc::atexit(remove) };
    assert_eq!(kept, 0, "no function can be called at the end of the process");
    held
});

/// Makes the folder of this process, and removes those that no process has.
fn begin() -> io::Result<Held> {
    // Another process must not find the folder before it is locked.
    let root = File::open(ROOT)?;
    root.lock()?;
    for entry in fs::read_dir(ROOT)? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with(PREFIX) && is_free(&entry.path()) {
            fs::remove_dir_all(entry.path())?;
        }
    }
    let path = Path::new(ROOT).join(format!("{PREFIX}{}", process::id()));
    fs::create_dir(&path)?;
    let lock = File::open(&path)?;
    lock.lock()?;
    Ok(Held { path, _lock: lock })
}

/// Whether no process has the lock. The folder may be another user's, or be removed meanwhile.
fn is_free(folder: &Path) -> bool {
    File::open(folder).is_ok_and(|folder| folder.try_lock().is_ok())
}

extern "C" fn remove() {
    let _ = fs::remove_dir_all(&FOLDER.path);
}

/// Returns the path of a file in memory with these bytes; there is one of each name.
pub(crate) fn file(name: &str, bytes: &[u8]) -> PathBuf {
    let path = FOLDER.path.join(name);
    fs::write(&path, bytes).unwrap();
    path
}

/// Returns an empty folder in memory.
pub(crate) fn folder(name: &str) -> PathBuf {
    let path = FOLDER.path.join(name);
    let _ = fs::remove_dir_all(&path);
    fs::create_dir(&path).unwrap();
    path
}
