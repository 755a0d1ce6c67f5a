//! The failure of a run: the first thing that went wrong, and the flag by which all workers learn of
//! it. Of several failures the one earliest in the input is kept. A step that was ended because the run stops says
//! nothing of why, so it comes after all others.

use crate::cancel::Cancel;
use crate::error::{Error, Place, Result};
use crate::sync::Mutex;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};

/// Shared by the workers of one run.
pub struct Failure {
    raised: AtomicBool,
    first: Mutex<Option<(u64, Error)>>,
    cancel: Cancel,
    /// The flag of those who wait for something else than the run.
    failed: Option<Cancel>,
}

impl Failure {
    pub fn new(cancel: &Cancel) -> Failure {
        let (raised, first) = (AtomicBool::new(false), Mutex::new(None));
        Failure { raised, first, cancel: cancel.clone(), failed: None }
    }

    /// Such that the first failure raises this flag, too.
    pub fn raising(self, failed: Option<Cancel>) -> Failure {
        Failure { failed, ..self }
    }

    /// Records that step number `at` failed.
    fn record(&self, at: u64, error: Error) {
        let rank = |at: u64, error: &Error| (matches!(error, Error::Cancelled), at);
        let mut first = self.first.lock();
        if first.as_ref().is_none_or(|(kept, of)| rank(at, &error) < rank(*kept, of)) {
            *first = Some((at, error));
        }
        drop(first);
        self.raised.store(true, Ordering::Relaxed);
        // After the reason is kept, because those who see it end their steps as cancelled.
        self.failed.iter().for_each(Cancel::cancel);
    }

    /// Does step number `at` of a stage. Records an error or a panic and returns `None`.
    pub fn attempt<R>(&self, at: u64, stage: &str, work: impl FnOnce() -> Result<R>) -> Option<R> {
        let mut work = Some(work);
        let mut result = None;
        self.attempt_any(at, stage, &mut || {
            result = work.take().map(|work| work()).transpose()?;
            Ok(())
        });
        result
    }

    /// As [`attempt`](Failure::attempt), compiled once for all kinds of work.
    fn attempt_any(&self, at: u64, stage: &str, work: &mut dyn FnMut() -> Result<()>) {
        if let Err(error) = guard(|| Place::stage(stage), work) {
            self.record(at, error);
        }
    }

    /// Returns whether workers should stop: something failed, or the run was cancelled.
    pub fn stops(&self) -> bool {
        self.raised.load(Ordering::Relaxed) || self.cancel.is_cancelled()
    }

    /// As [`stops`](Failure::stops), of steps before number `at`: while nothing before it has failed, these may still do so.
    pub fn stops_before(&self, at: u64) -> bool {
        let is_later = || self.first.lock().as_ref().is_some_and(|(first, _)| *first >= at);
        self.stops() && (self.cancel.is_cancelled() || !is_later())
    }

    /// Returns the number of the step in which a record was refused, if the run stops because of it; steps
    /// before it may still refuse an earlier record. 0 if the run stops for any other reason.
    pub fn refused_at(&self) -> u64 {
        let first = self.first.lock();
        match *first {
            Some((at, Error::Record { .. })) if !self.cancel.is_cancelled() => at,
            _ => 0,
        }
    }

    /// Returns the error of the run if it should stop.
    pub fn check(&self) -> Result<()> {
        if let Some((_, error)) = self.first.lock().take() {
            return Err(error);
        }
        if self.cancel.is_cancelled() { Err(Error::Cancelled) } else { Ok(()) }
    }
}

/// Does some work that may call the job's code; a panic becomes an error that names `place`.
pub fn guard<R>(place: impl FnOnce() -> Place, work: impl FnOnce() -> Result<R>) -> Result<R> {
    // State that the work left half-changed is dropped or not read again, because the job has failed.
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| Err(panicked(place(), &*panic)))
}

fn panicked(place: Place, panic: &(dyn Any + Send)) -> Error {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let message = text.or_else(|| panic.downcast_ref::<String>().cloned());
    Error::Panicked { place, message: message.unwrap_or_else(|| "no message".to_owned()) }
}
