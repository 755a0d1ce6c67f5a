//! Copies of values that point at a store, where the store does not last: runs are merged pair by pair, and
//! the store of a pair is reset with the next one. Code that keeps such values keeps copies.

use crate::aggregate::Aggregate;
use crate::error::MemoryError;
use crate::memory::{ChunkPool, ValueStore};
use crate::partial::{Answers, Form};
use std::sync::Arc;

/// A store of its own, with the copies.
pub(super) struct Copies {
    store: ValueStore,
    chunks: Arc<ChunkPool>,
    form: Vec<u8>,
}

impl Copies {
    /// None for values that point at nothing.
    pub(super) fn if_needed<C: Aggregate>(chunks: &Arc<ChunkPool>) -> Option<Copies> {
        Answers::<C>::POINTS.then(|| Copies::new(chunks))
    }

    pub(super) fn new(chunks: &Arc<ChunkPool>) -> Copies {
        let store = ValueStore::new(chunks);
        Copies { store, chunks: Arc::clone(chunks), form: Vec::new() }
    }

    /// Returns the same value, all of it here.
    pub(super) fn copy<C: Aggregate>(
        &mut self,
        value: &C::Reduced,
    ) -> Result<C::Reduced, MemoryError> {
        self.form.clear();
        C::encode_reduced(value, &mut self.form);
        let copied = C::decode_reduced(&mut &self.form[..], &mut self.store);
        self.store.check()?;
        // A value's own form is always one.
        Ok(copied.unwrap_or(*value))
    }

    /// Lets go of all but these values.
    pub(super) fn thin<'v, C: Aggregate>(
        &mut self,
        kept: impl Iterator<Item = &'v mut C::Reduced>,
    ) -> Result<(), MemoryError> {
        let mut fewer = Copies::new(&self.chunks);
        for value in kept {
            *value = fewer.copy::<C>(value)?;
        }
        *self = fewer;
        Ok(())
    }

    pub(super) fn into_store(self) -> ValueStore {
        self.store
    }
}
