//! The pairs of a run: keys, the aggregates of their values, tables, and partials with their byte form.
//!
//! This crate is internal to Tegula. Its interface is the crate `tegula`; everything else may change.

#![warn(missing_debug_implementations)]
#![allow(clippy::len_without_is_empty, reason = "no caller asks")]

pub mod aggregate;
pub mod combine;
pub mod identity;
pub mod key;
#[allow(missing_docs, missing_debug_implementations, reason = "no part of the interface")]
pub mod partial;
#[allow(missing_docs, missing_debug_implementations, reason = "no part of the interface")]
pub mod slots;

pub use tegula_machine::{
    cancel, encoding, error, failure, memory, process, progress, relocation, schedule, sizing,
    storage, sync, timeline, topology,
};
