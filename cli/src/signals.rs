//! SIGINT, SIGTERM and SIGHUP: the first asks the run to stop, the second ends the program.
//!
//! A run that is asked to stop finishes the splits that its workers have, and returns. If it does not
//! return, because a write blocks that nobody reads, the program exits without it after `GRACE`, unless
//! an output file is open that would be left half-written.

use crate::exit::INTERRUPTED;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use std::{fs, process, thread};
use tegula::{Cancel, Error, Result};

/// The time that a run has to return: well under the second that a user waits.
const GRACE: Duration = Duration::from_millis(700);

/// Counts the open files that only the run can remove.
#[derive(Clone, Default)]
pub(crate) struct FilesOpen(Arc<AtomicUsize>);

/// A file that only the run can remove. It is closed when this is dropped.
#[must_use]
pub(crate) struct FileOpen(FilesOpen);

impl FilesOpen {
    pub(crate) fn open(&self) -> FileOpen {
        self.0.fetch_add(1, Ordering::SeqCst);
        FileOpen(self.clone())
    }
}

impl Drop for FileOpen {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// A folder that is removed when the program ends, also if the run does not return.
#[derive(Clone, Default)]
pub(crate) struct TemporaryFolder(Arc<Mutex<Option<PathBuf>>>);

impl TemporaryFolder {
    #[cfg(feature = "serve")]
    pub(crate) fn set(&self, folder: PathBuf) {
        if let Ok(mut kept) = self.0.lock() {
            *kept = Some(folder);
        }
    }

    /// Removes the folder, or waits until another thread has removed it.
    pub(crate) fn remove(&self) {
        if let Ok(mut kept) = self.0.lock()
            && let Some(folder) = kept.take()
        {
            let _ = fs::remove_dir_all(folder);
        }
    }
}

/// Asks the run to stop.
#[derive(Clone)]
pub(crate) struct Stop {
    pub(crate) cancel: Cancel,
    pub(crate) files: FilesOpen,
    pub(crate) temporary: TemporaryFolder,
}

impl Stop {
    /// Raises the run's flag, and ends the program if the run does not return.
    pub(crate) fn stop(&self) {
        self.cancel.cancel();
        let stop = self.clone();
        thread::spawn(move || {
            thread::sleep(GRACE);
            if stop.files.0.load(Ordering::SeqCst) == 0 {
                stop.exit();
            }
        });
    }

    /// Ends the program without the run.
    fn exit(&self) -> ! {
        self.temporary.remove();
        process::exit(i32::from(INTERRUPTED))
    }
}

/// Stops the run at the first signal, from a thread that lives as long as the program.
pub(crate) fn watch(stop: Stop) -> Result<()> {
    let fault = |cause| Error::System { action: "watch for signals", cause };
    let mut signals = Signals::new(not_ignored()).map_err(fault)?;
    let handle = move || {
        let mut signals = signals.forever();
        if signals.next().is_none() {
            return;
        }
        stop.stop();
        if signals.next().is_some() {
            stop.exit();
        }
    };
    thread::Builder::new().name("signals".to_owned()).spawn(handle).map_err(fault)?;
    Ok(())
}

/// Returns those signals that the parent process did not have ignored, as `nohup` does.
pub(crate) fn not_ignored() -> impl Iterator<Item = i32> {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    [SIGINT, SIGTERM, SIGHUP].into_iter().filter(move |signal| mask >> (signal - 1) & 1 == 0)
}
