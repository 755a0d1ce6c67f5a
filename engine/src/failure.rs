//! The failure of a run: the first thing that went wrong, and the flag by which all workers learn of
//! it. Of several failures the one earliest in the input is kept.

use crate::cancel::Cancel;
use crate::error::{Error, Place, Result};
use std::any::Any;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// Shared by the workers of one run.
pub(crate) struct Failure {
    raised: AtomicBool,
    first: Mutex<Option<(u64, Error)>>,
    cancel: Cancel,
}

impl Failure {
    pub(crate) fn new(cancel: &Cancel) -> Failure {
        Failure { raised: AtomicBool::new(false), first: Mutex::new(None), cancel: cancel.clone() }
    }

    /// Records that step number `at` failed.
    pub(crate) fn record(&self, at: u64, error: Error) {
        let mut first = self.first.lock().unwrap_or_else(PoisonError::into_inner);
        if first.as_ref().is_none_or(|(earlier, _)| at < *earlier) {
            *first = Some((at, error));
        }
        self.raised.store(true, Ordering::Relaxed);
    }

    /// Whether workers should stop: something failed, or the run was cancelled.
    pub(crate) fn stops(&self) -> bool {
        self.raised.load(Ordering::Relaxed) || self.cancel.is_cancelled()
    }

    /// What the run is to return if it should stop.
    pub(crate) fn check(&self) -> Result<()> {
        if let Some((_, error)) = self.first.lock().unwrap_or_else(PoisonError::into_inner).take() {
            return Err(error);
        }
        if self.cancel.is_cancelled() { Err(Error::Cancelled) } else { Ok(()) }
    }
}

/// The error that a panic of the job's code becomes.
pub(crate) fn panicked(place: Place, panic: &(dyn Any + Send)) -> Error {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let message = text.or_else(|| panic.downcast_ref::<String>().cloned());
    Error::Panicked { place, message: message.unwrap_or_else(|| "no message".to_owned()) }
}
