//! Something of its own for each worker of a stage: made by the worker when it first needs it (so on
//! its own core and memory node), used by no other.

use crate::error::Result;
use crate::sync::Mutex;
use crossbeam_utils::CachePadded;

/// A value per worker, each behind a lock that only its worker takes while the stage runs.
pub(crate) struct PerWorker<T> {
    values: Vec<CachePadded<Mutex<Option<T>>>>,
}

impl<T> PerWorker<T> {
    pub(crate) fn new(workers: usize) -> PerWorker<T> {
        PerWorker { values: (0..workers).map(|_| CachePadded::new(Mutex::new(None))).collect() }
    }

    /// Works with the worker's value, made by `make` the first time.
    pub(crate) fn with<R>(
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

    /// The values that were made.
    pub(crate) fn into_values(self) -> impl Iterator<Item = T> {
        self.values.into_iter().filter_map(|value| value.into_inner().into_inner())
    }
}
