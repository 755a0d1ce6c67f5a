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
        PerWorker { values: (0..workers).map(|_| CachePadded::new(Mutex::new(None))).collect() }
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
    pub fn into_values(self) -> impl Iterator<Item = T> {
        self.values.into_iter().filter_map(|value| value.into_inner().into_inner())
    }
}
