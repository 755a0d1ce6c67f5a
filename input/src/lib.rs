//! The input of a run, from paths and streams to records in a worker's buffer: the plan of tiles and splits,
//! the codecs, and readers ahead of the workers.
//!
//! This crate is internal to Tegula. Its interface is the crate `tegula`; everything else may change.

#![warn(missing_debug_implementations)]
#![allow(clippy::len_without_is_empty, reason = "no caller asks")]

pub mod bad;
#[allow(missing_docs, missing_debug_implementations, reason = "no part of the interface")]
pub mod codec;
#[allow(missing_docs, missing_debug_implementations, reason = "no part of the interface")]
pub mod ingest;
pub mod input;
#[allow(missing_docs, missing_debug_implementations, reason = "no part of the interface")]
pub mod origin;
#[allow(
    missing_docs,
    missing_debug_implementations,
    reason = "no part of the interface but for what the crate `tegula` names"
)]
pub mod plan;
pub mod split;
pub mod tokenize;
#[allow(missing_docs, missing_debug_implementations, reason = "no part of the interface")]
pub mod unit;

pub use tegula_machine::{
    cancel, encoding, error, failure, memory, process, progress, relocation, schedule, sizing,
    storage, sync, timeline, topology,
};
