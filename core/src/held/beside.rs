//! Pairs beside a holding, and their counts, which travel with them.

use crate::aggregate::Aggregate;
use crate::bad::Found;
use crate::coverage::Coverage;
use crate::encoding::{Reading, put_number};
use crate::error::{Result, StorageError};
use crate::partial::Partial;
use crate::state::Figures;
use std::any::Any;
use std::fmt;

/// Pairs beside a holding: of tiles that were mapped, or of blocks that came from another one. When it is dropped,
/// they are gone.
pub struct Mapped {
    /// The partial, whose type depends on the job.
    partial: Box<dyn Any + Send + Sync>,
    pub(super) counts: Counts,
    /// What was mapped for it, if saves are to name that.
    pub(super) coverage: Coverage,
}

/// The counts of maps.
#[derive(Default)]
pub(super) struct Counts {
    pub(super) figures: Figures,
    /// The records that they refused.
    pub(super) bad: Found,
}

impl Mapped {
    pub(super) fn of<C: Aggregate>(
        partial: Partial<C::Accumulator>,
        counts: Counts,
        coverage: Coverage,
    ) -> Mapped {
        Mapped { partial: Box::new(partial), counts, coverage }
    }

    /// Returns the pairs, of a job with this aggregate.
    pub(super) fn partial<C: Aggregate>(&self) -> Result<&Partial<C::Accumulator>> {
        let partial = self.partial.downcast_ref();
        Ok(partial.ok_or_else(|| damaged(0, "they are of a job with another aggregate"))?)
    }

    /// Returns the pairs, which nothing else has any more.
    pub(super) fn into_partial<C: Aggregate>(self) -> Result<Partial<C::Accumulator>> {
        let partial = self.partial.downcast().map(|partial| *partial);
        Ok(partial.map_err(|_| damaged(0, "they are of a job with another aggregate"))?)
    }

    /// Returns the bytes of input that were mapped for it, as files hold them.
    pub fn bytes(&self) -> u64 {
        self.counts.figures.bytes
    }

    /// Adds the counts of another holding, whose blocks these are.
    ///
    /// # Errors
    /// [`StorageError::Damaged`] if the bytes are no counts.
    pub fn note(&mut self, counts: &[u8]) -> Result<()> {
        let counts = Counts::decode(counts).ok_or_else(|| damaged(0, "counts are cut short"))?;
        self.counts.add(&counts);
        Ok(())
    }
}

impl fmt::Debug for Mapped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mapped").field("bytes", &self.bytes()).finish_non_exhaustive()
    }
}

impl Counts {
    pub(super) fn add(&mut self, other: &Counts) {
        self.figures.add(other.figures);
        self.bad.add(&other.bad);
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        let Figures { bytes, splits, emitted } = self.figures;
        let mut out = Vec::new();
        [bytes, splits, emitted].into_iter().for_each(|figure| put_number(figure, &mut out));
        self.bad.encode(&mut out);
        out
    }

    fn decode(bytes: &[u8]) -> Option<Counts> {
        let from = &mut Reading::new(bytes);
        let (bytes, splits, emitted) = (from.number()?, from.number()?, from.number()?);
        let bad = Found::decode(from)?;
        let figures = Figures { bytes, splits, emitted };
        from.is_at_end().then_some(Counts { figures, bad })
    }
}

/// Returns the error of bytes that another holding cannot have sent.
pub(crate) fn damaged(offset: u64, cause: &'static str) -> StorageError {
    StorageError::Damaged { path: "pairs of another machine".into(), offset, cause }
}
