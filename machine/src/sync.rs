//! Locks whose data stays usable after a panic. Work that may call a job's code is guarded (`failure.rs`), and
//! each change under a lock of the engine leaves the data whole, so the standard library's poison would only
//! have to be taken off again at each lock.

use std::sync::{self, PoisonError, TryLockError};
use std::time::Duration;

pub use std::sync::MutexGuard;

/// As [`std::sync::Mutex`], without poison.
#[derive(Debug, Default)]
pub struct Mutex<T: ?Sized>(sync::Mutex<T>);

impl<T> Mutex<T> {
    pub const fn new(value: T) -> Mutex<T> {
        Mutex(sync::Mutex::new(value))
    }

    pub fn into_inner(self) -> T {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: ?Sized> Mutex<T> {
    pub fn get_mut(&mut self) -> &mut T {
        self.0.get_mut().unwrap_or_else(PoisonError::into_inner)
    }

    #[inline]
    pub fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// `None` while another thread holds it.
    pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        match self.0.try_lock() {
            Ok(guard) => Some(guard),
            Err(TryLockError::Poisoned(guard)) => Some(guard.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }
}

/// As [`std::sync::Condvar`], for a [`Mutex`] of this module.
#[derive(Debug, Default)]
pub struct Condvar(sync::Condvar);

impl Condvar {
    pub const fn new() -> Condvar {
        Condvar(sync::Condvar::new())
    }

    pub fn wait<'m, T>(&self, guard: MutexGuard<'m, T>) -> MutexGuard<'m, T> {
        self.0.wait(guard).unwrap_or_else(PoisonError::into_inner)
    }

    pub fn wait_while<'m, T>(
        &self,
        guard: MutexGuard<'m, T>,
        condition: impl FnMut(&mut T) -> bool,
    ) -> MutexGuard<'m, T> {
        self.0.wait_while(guard, condition).unwrap_or_else(PoisonError::into_inner)
    }

    pub fn wait_timeout<'m, T>(
        &self,
        guard: MutexGuard<'m, T>,
        time: Duration,
    ) -> MutexGuard<'m, T> {
        self.0.wait_timeout(guard, time).unwrap_or_else(PoisonError::into_inner).0
    }

    pub fn wait_timeout_while<'m, T>(
        &self,
        guard: MutexGuard<'m, T>,
        time: Duration,
        condition: impl FnMut(&mut T) -> bool,
    ) -> MutexGuard<'m, T> {
        let waited = self.0.wait_timeout_while(guard, time, condition);
        waited.unwrap_or_else(PoisonError::into_inner).0
    }

    pub fn notify_one(&self) {
        self.0.notify_one();
    }

    pub fn notify_all(&self) {
        self.0.notify_all();
    }
}
