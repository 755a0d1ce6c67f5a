//! Portions of an answer: pairs that follow each other, few enough that many threads share an answer evenly.
//! A writer formats them side by side; a reader into columns does the same.

use super::Finished;
use crate::aggregate::Aggregate;
use crate::error::Result;
use crate::merge::Piece;
use crate::partial::{Answers, RunReader, read_run};
use crate::slots::PairRef;

/// The pairs of a portion in memory: some hundreds of kilobytes of text, if a pair is a word and a number.
const PORTION_PAIRS: usize = 8 << 10;
/// The portions per worker at least of an answer that is written, if it has so many pairs. A pair may be a long list,
/// and a writer whose text is not next waits with it.
const PORTIONS_PER_WRITER: usize = 64;

/// The order of the shown pairs differs from their order in memory; the pair this far ahead of the shown one
/// is prefetched.
const AHEAD: usize = 16;

/// Pairs that follow each other in one answer: see [`Output::portions`](crate::Output::portions).
#[derive(Clone, Copy, Debug)]
pub struct Portion {
    piece: usize,
    /// The first pair of a piece in memory; the number of the extent of one on disk.
    first: usize,
    /// The number of pairs of a piece in memory.
    pairs: usize,
}

impl<C: Aggregate> Finished<C> {
    pub(super) fn portions(&self) -> Vec<Portion> {
        self.portions_of(PORTION_PAIRS)
    }

    /// As `portions`, to be written by all workers.
    pub(super) fn portions_to_write(&self) -> Vec<Portion> {
        let all: u64 = self.pieces.iter().map(Piece::pairs).sum();
        let some = all as usize / (PORTIONS_PER_WRITER * self.pool.workers());
        self.portions_of(some.clamp(1, PORTION_PAIRS))
    }

    fn portions_of(&self, most: usize) -> Vec<Portion> {
        let mut portions = Vec::new();
        for (piece, of) in self.pieces.iter().enumerate() {
            match of {
                Piece::Held(held) => {
                    let len = held.pairs.len();
                    portions.extend((0..len).step_by(most).map(|first| {
                        let pairs = most.min(len - first);
                        Portion { piece, first, pairs }
                    }));
                }
                Piece::Stored(run) => {
                    let extents = 0..run.extents.len();
                    portions.extend(extents.map(|first| Portion { piece, first, pairs: 0 }));
                }
            }
        }
        portions
    }

    /// Shows the pairs of a portion in order until `see` fails. The reader is made when one is needed.
    pub(super) fn for_each_in(
        &self,
        Portion { piece, first, pairs }: Portion,
        reader: &mut Option<RunReader<Answers<C>>>,
        mut see: impl FnMut(PairRef<'_, C::Reduced>) -> Result<()>,
    ) -> Result<()> {
        match &self.pieces[piece] {
            Piece::Held(held) => {
                let len = held.pairs.len();
                (first..len.min(first + pairs)).try_for_each(|place| {
                    held.pairs.prefetch(held.number_at((place + AHEAD).min(len - 1)));
                    held.pairs.prefetch_key(held.number_at((place + AHEAD / 2).min(len - 1)));
                    see(held.pairs.get(held.number_at(place)))
                })
            }
            Piece::Stored(run) => {
                let reader = self.stored.reader::<C>(reader)?;
                read_run(reader, run.number, std::slice::from_ref(&run.extents[first]), see)
            }
        }
    }
}
