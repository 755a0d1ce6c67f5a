//! The primitives that the scheduler is built of: the standard ones, or loom's when it explores the
//! interleavings of the tests in this folder.

#[cfg(loom)]
pub(super) use loom::{
    sync::atomic::{AtomicU64, Ordering},
    sync::{Arc, Condvar, Mutex, MutexGuard},
};
/// A figure that nobody acts on, so that there is nothing in it for loom to explore.
pub(super) use std::sync::atomic::AtomicU64 as Count;
#[cfg(not(loom))]
pub(super) use std::{
    sync::atomic::{AtomicU64, Ordering},
    sync::{Arc, Condvar, Mutex, MutexGuard},
};
