//! A value for each worker of a stage: made by the worker when it first needs it (so on its own core and
//! memory node), used by no other.

use crate::error::Result;
use crate::sync::Mutex;
use crossbeam_utils::CachePadded;

/// A value per worker, each in a lock that only its worker takes while the stage runs.
#[allow(missing_debug_implementations, reason = "no part of the interface")]
pub struct PerWorker<T> {
    values: Vec<CachePadded<Mutex<Option<T>>>>,
}

impl<T> PerWorker<T> {
    #[doc(hidden)]
    pub fn new(workers: usize) -> PerWorker<T> {
        let mut values = Vec::with_capacity(workers);
        for _ in 0..workers {
            values.push(CachePadded::new(Mutex::new(None)));
        }
        PerWorker { values }
    }

    /// Works with the worker's value, made by `make` the first time.
    pub fn with<R>(
        &self,
        worker: usize,
        make: impl FnOnce() -> Result<T>,
        work: impl FnOnce(&mut T) -> Result<R>,
    ) -> Result<R> {
        let mut value = self.values[worker].lock();
        match &mut *value {
            Some(value) => work(value),
            none => work(none.insert(make()?)),
        }
    }

    /// Returns the values that were made.
    pub fn into_values(self) -> Vec<T> {
        let mut made = Vec::with_capacity(self.values.len());
        for value in &self.values {
            if let Some(value) = value.lock().take() {
                made.push(value);
            }
        }
        made
    }
}
