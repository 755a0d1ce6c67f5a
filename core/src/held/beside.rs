//! Pairs beside a holding, and their counts, which travel with them.

use crate::aggregate::Aggregate;
use crate::bad::Found;
use crate::coverage::Coverage;
use crate::encoding::{Reading, put_number};
use crate::error::{Result, StorageError};
use crate::partial::Partial;
use crate::state::Figures;

/// Pairs that are not committed.
pub(crate) struct Beside<C: Aggregate> {
    pub(super) partial: Partial<C::Accumulator>,
    pub(crate) counts: Counts,
    /// What was mapped for it, if saves are to name that.
    pub(super) coverage: Coverage,
}

/// The counts of maps.
#[derive(Default)]
pub(crate) struct Counts {
    pub(crate) figures: Figures,
    /// The records that they refused.
    pub(super) bad: Found,
}

impl<C: Aggregate> Beside<C> {
    pub(crate) fn note(&mut self, counts: &[u8]) -> Result<()> {
        let counts = Counts::decode(counts).ok_or_else(|| damaged(0, "counts are cut short"))?;
        self.counts.add(&counts);
        Ok(())
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
