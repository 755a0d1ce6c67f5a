//! The answer of a job: pairs in order, held until they are written, looked at or dropped.

mod file;
mod write;

pub use file::AtomicFile;

use crate::combine::Combine;
use crate::engine::Core;
use crate::job::Job;
use crate::key::Key;
use crate::memory::ByteArena;
use crate::merge::Piece;
use crate::partial::PairRef;
use crate::stats::Stats;
use std::sync::Arc;

type Accumulator<J> = <<J as Job>::Combine as Combine>::Accumulator;
type Answer<J> = <<J as Job>::Combine as Combine>::Output;

/// The answer of a job, in the order that was asked for.
pub struct Output<J: Job> {
    pieces: Vec<Piece<Accumulator<J>>>,
    /// Bytes of keys that the pieces point at.
    _long_keys: Vec<ByteArena>,
    len: usize,
    stats: Stats,
    /// Dropped last, when the memory of the fields above has gone back to it.
    core: TrimmedCore,
}

/// The engine's core, which gives memory back to the system when an answer lets go of it.
struct TrimmedCore(Arc<Core>);

impl Drop for TrimmedCore {
    fn drop(&mut self) {
        self.0.trim();
    }
}

impl<J: Job> Output<J> {
    pub(crate) fn new(
        core: Arc<Core>,
        pieces: Vec<Piece<Accumulator<J>>>,
        long_keys: Vec<ByteArena>,
        stats: Stats,
    ) -> Self {
        let len = pieces.iter().map(|piece| piece.pairs.len()).sum();
        Output { pieces, _long_keys: long_keys, len, stats, core: TrimmedCore(core) }
    }

    /// Number of pairs.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// What the run did.
    pub fn stats(&self) -> &Stats {
        &self.stats
    }

    /// The pairs, in order.
    pub fn iter(&self) -> impl Iterator<Item = (<J::Key as Key>::Borrowed<'_>, Answer<J>)> {
        self.pieces.iter().flat_map(|piece| {
            (0..piece.pairs.len()).map(|place| show::<J>(piece.pairs.get(piece.number_at(place))))
        })
    }
}

fn show<J: Job>(pair: PairRef<'_, Accumulator<J>>) -> (<J::Key as Key>::Borrowed<'_>, Answer<J>) {
    (J::Key::view(pair.key), J::Combine::finish(pair.value))
}
