//! SIGINT, SIGTERM and SIGHUP: the first asks the run to stop, the second ends the program.
//!
//! A run that is asked to stop finishes the splits that its workers have, and returns. If it does not
//! return, because a write blocks that nobody reads, the program exits without it after `GRACE`, unless
//! an output file is open that would be left half-written.

use crate::exit::INTERRUPTED;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;
use tegula::{Cancel, Error, Result};

/// The time that a run has to return: well under the second that a user waits.
const GRACE: Duration = Duration::from_millis(700);

/// Raised while a file is open that only the run can remove.
#[derive(Clone, Default)]
pub(crate) struct FileOpen(Arc<AtomicBool>);

impl FileOpen {
    pub(crate) fn set(&self, open: bool) {
        self.0.store(open, Ordering::SeqCst);
    }
}

/// Asks the run to stop.
#[derive(Clone)]
pub(crate) struct Stop {
    pub(crate) cancel: Cancel,
    pub(crate) file: FileOpen,
}

impl Stop {
    /// Raises the run's flag, and ends the program if the run does not return.
    pub(crate) fn stop(&self) {
        self.cancel.cancel();
        let file = self.file.clone();
        thread::spawn(move || {
            thread::sleep(GRACE);
            if !file.0.load(Ordering::SeqCst) {
                process::exit(i32::from(INTERRUPTED));
            }
        });
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
            process::exit(i32::from(INTERRUPTED));
        }
    };
    thread::Builder::new().name("signals".to_owned()).spawn(handle).map_err(fault)?;
    Ok(())
}

/// Returns those signals that the parent process did not have ignored, as `nohup` does.
pub(crate) fn not_ignored() -> impl Iterator<Item = i32> {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    [SIGINT, SIGTERM, SIGHUP].into_iter().filter(move |signal| mask >> (signal - 1) & 1 == 0)
}
