//! The machine under the engine, which knows no job: processors and caches, threads, memory with a budget,
//! storage, timelines of threads, and the types of errors.
//!
//! This crate is internal to Tegula. Its interface is the crate `tegula`; everything else may change.

#![warn(missing_debug_implementations)]
#![allow(clippy::len_without_is_empty, reason = "no caller asks")]

pub mod cancel;
mod control_group;
#[allow(missing_docs, missing_debug_implementations, reason = "no part of the interface")]
pub mod encoding;
pub mod error;
#[allow(missing_docs, missing_debug_implementations, reason = "no part of the interface")]
pub mod failure;
#[allow(missing_docs, missing_debug_implementations, reason = "no part of the interface")]
pub mod memory;
pub mod process;
pub mod progress;
pub mod relocation;
pub mod schedule;
pub mod sizing;
pub mod storage;
#[allow(missing_docs, missing_debug_implementations, reason = "no part of the interface")]
pub mod sync;
pub mod timeline;
pub mod topology;
