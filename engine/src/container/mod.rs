//! Containers: where a worker combines what its maps emit, without locks, until it hands the pairs
//! over to a partial. There is one so far, a hash table per size class of keys; others will be named
//! types beside it.
//!
//! A map emits into the [`Emitter`]'s batch, which loads and hashes keys and asks for their slots
//! ahead of time, then probes them together. So the misses of a batch overlap, and no job needs to
//! know.

mod class;
mod emitter;
mod hash;
mod slot;
mod table;
#[cfg(test)]
mod tests;

pub(crate) use emitter::{Emitter, OVERREAD_BYTES};
pub(crate) use slot::{
    ClassEntry, Entry, LONG_KEY_BYTES, LongKey, MediumKey, ShortKey, SlotKey, hash_bytes, head,
};
pub(crate) use table::Table;
