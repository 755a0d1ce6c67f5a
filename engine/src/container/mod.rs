//! Containers: where a worker combines what its maps emit, without locks, until it hands the pairs
//! over to a partial. The map loop is generic over [`Container`]; choices are named types.
//!
//! The key's way in is the same for all: a map emits into the [`Emitter`]'s batch, which loads and
//! hashes keys and asks for their slots ahead of time, then probes them together. So the misses of a
//! batch overlap, and no job needs to know.

mod class;
mod emitter;
mod hash;
mod slot;
mod table;
#[cfg(test)]
mod tests;

pub(crate) use emitter::{Emitter, OVERREAD_BYTES};
pub(crate) use slot::{
    Entry, LONG_KEY_BYTES, LongKey, MediumKey, ShortKey, SlotKey, hash_bytes, head,
};
pub(crate) use table::Table;
