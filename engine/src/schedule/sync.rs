//! The primitives that the scheduler is built of: the standard ones, or loom's when it explores the
//! interleavings of the tests in this folder.

#[cfg(loom)]
pub(super) use loom::{
    sync::atomic::{AtomicU64, Ordering},
    sync::{Arc, Condvar, Mutex, MutexGuard},
};
#[cfg(not(loom))]
pub(super) use std::{
    sync::atomic::{AtomicU64, Ordering},
    sync::{Arc, Condvar, Mutex, MutexGuard},
};
