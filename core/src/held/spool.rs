//! Pairs that a holding has folded out, one per key: blocks of the partial's byte form by partition, which other
//! machines take in whatever division. The first mebibyte is in memory, the rest in the engine's scratch storage.

use super::beside::damaged;
use crate::error::Result;
use crate::partial::{PARTITIONS, front_block};
use crate::storage::Scratch;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

const HELD_BYTES: usize = 1 << 20;
/// Blocks are shown together up to about these bytes.
const SHOWN_BYTES: usize = 1 << 20;

/// Pairs that a holding had, outside of it. Their space is free again when it is dropped.
pub struct Spool {
    scratch: Arc<Scratch>,
    parts: Vec<Part>,
    held_bytes: usize,
    bytes: u64,
    counts: Vec<u8>,
}

/// The blocks of a partition.
#[derive(Clone, Default)]
struct Part {
    held: Vec<u8>,
    /// The places of blocks in the scratch storage, one each.
    stored: Vec<Range<u64>>,
}

impl Spool {
    pub(super) fn new(scratch: &Arc<Scratch>, counts: Vec<u8>) -> Spool {
        let (scratch, parts) = (Arc::clone(scratch), vec![Part::default(); PARTITIONS]);
        Spool { scratch, parts, held_bytes: 0, bytes: 0, counts }
    }

    pub(super) fn put(&mut self, block: &[u8]) -> Result<()> {
        let part = front_block(block).and_then(|(number, _)| self.parts.get_mut(number));
        let part = part.ok_or_else(|| damaged(self.bytes, "a block is of no partition"))?;
        if self.held_bytes + block.len() <= HELD_BYTES {
            part.held.extend_from_slice(block);
            self.held_bytes += block.len();
        } else {
            part.stored.push(self.scratch.append(block)?);
        }
        self.bytes += block.len() as u64;
        Ok(())
    }

    /// Returns the bytes of all blocks.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the counts of the maps that made the pairs, for [`Mapped::note`](super::Mapped::note).
    pub fn counts(&self) -> &[u8] {
        &self.counts
    }

    /// Shows `see` the pairs of some partitions: whole blocks, about a mebibyte at a time.
    ///
    /// # Errors
    /// Those of `see` and of the disk.
    pub fn read(
        &self,
        partitions: Range<usize>,
        see: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        let mut piece = Vec::new();
        for part in self.parts.get(partitions).unwrap_or_default() {
            piece.extend_from_slice(&part.held);
            for place in &part.stored {
                if piece.len() >= SHOWN_BYTES {
                    see(&piece)?;
                    piece.clear();
                }
                let at = piece.len();
                piece.resize(at + (place.end - place.start) as usize, 0);
                self.scratch.read(place.start, &mut piece[at..])?;
            }
            if piece.len() >= SHOWN_BYTES {
                see(&piece)?;
                piece.clear();
            }
        }
        if piece.is_empty() { Ok(()) } else { see(&piece) }
    }
}

impl Drop for Spool {
    fn drop(&mut self) {
        // Space that is not given back is free at the end of the run.
        let _ = self.parts.iter().try_for_each(|part| self.scratch.free(&part.stored));
    }
}

impl fmt::Debug for Spool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Spool").field("bytes", &self.bytes).finish_non_exhaustive()
    }
}
