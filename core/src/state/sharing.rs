//! A state into which several machines save. One of them, the driver, has opened it and names the files; the others
//! write snapshots beside its own, each under numbers that the driver has given out, and tell it of them. A snapshot
//! that the driver does not name is ignored, so what a lost machine writes later changes nothing.

use super::folds::Taking;
use super::manifest::{Figures, Piece, Snapshot, snapshot_name};
use super::restoring::restore;
use super::saver::Saver;
use super::saving::{Saving, lock};
use super::snapshot::{Keeps, SnapshotWriter, Written};
use super::terms::{Terms, digest_of, identity_of};
use super::{EngineParts, State};
use crate::aggregate::Aggregate;
use crate::bad::Found;
use crate::coverage::Coverage;
use crate::encoding::{Reading, put_number};
use crate::error::{Result, StateError, StorageError};
use crate::facts::JobFacts;
use crate::memory::ChunkPool;
use crate::partial::{Folder, PARTITIONS, Partial};
use crate::plan::Plan;
use crate::progress::Progress;
use crate::storage::Storage;
use std::sync::Arc;

/// Another machine's state, to write snapshots into.
pub(crate) struct SharedState {
    storage: Arc<dyn Storage>,
    identity: u128,
}

/// What a snapshot of tiles covers.
pub(crate) type Covered<'a> = (&'a Coverage, Figures, &'a Found);

impl SharedState {
    /// Finds the state that the driver has opened.
    ///
    /// # Errors
    /// [`StateError::Missing`](crate::error::StateError::Missing) if it has not.
    pub(crate) fn find(
        state: &State,
        facts: &JobFacts,
        plan: &Plan,
        terms: Terms,
    ) -> Result<SharedState> {
        let storage = state.storage()?;
        let identity = facts.identity.as_ref().ok_or(StateError::NoIdentity)?;
        let identity = digest_of(&identity_of(identity, plan, terms, None));
        Ok(SharedState { storage, identity })
    }

    /// Saves a partial in files that are numbered from `first` on. Returns the names, lengths and digests of what was
    /// written, for [`Saving::name`].
    pub(crate) fn save<C: Aggregate>(
        &self,
        first: u64,
        partial: &Partial<C::Accumulator>,
        (coverage, figures, bad): Covered<'_>,
        chunks: &Arc<ChunkPool>,
        block_bytes: usize,
    ) -> Result<Vec<u8>> {
        let saver = Saver::unnaming(Arc::clone(&self.storage), self.identity, first);
        let mut writer = SnapshotWriter::<C>::new(&saver, chunks, block_bytes, Keeps::Apart)?;
        let mut folder = Folder::<C>::new(chunks)?;
        let spill = partial.spill().filter(|spill| spill.began());
        let mut spiller = spill.map(|spill| spill.spiller::<C>(chunks)).transpose()?;
        for number in 0..PARTITIONS {
            match (spill, &mut spiller) {
                (Some(spill), Some(spiller)) => {
                    spill.spill(number, partial, &mut folder, spiller)?;
                    spiller.merge(partial.partition(number).runs.runs_mut(), &mut writer)?;
                }
                _ => folder.show(&mut partial.partition(number), &mut writer)?,
            }
        }
        let (coverage, bad) = (coverage.clone(), bad.clone());
        writer.end_piece(Piece { coverage, figures, bad, ..Piece::default() })?;
        let mut kept = Vec::new();
        let written = writer.take_written();
        put_number(written.len() as u64, &mut kept);
        for Written { file, snapshot } in &written {
            file.sync()?;
            snapshot.encode(&mut kept);
        }
        Ok(kept)
    }
}

impl<C: Aggregate> Saving<C> {
    /// Returns the first number that other machines may give to snapshots.
    pub(crate) fn first_free(&self) -> u64 {
        self.saver.next_number()
    }

    /// Returns whether all of the input was covered when the run began.
    pub(crate) fn was_done(&self) -> bool {
        self.was_done
    }

    /// Names snapshots that another machine has written.
    pub(crate) fn name(&self, kept: &[u8]) -> Result<()> {
        self.saver.check()?;
        let mut written = Vec::new();
        for snapshot in self.decoded(kept)? {
            self.saver.skip_to(snapshot.number + 1);
            let file = self.saver.storage().open(&snapshot_name(snapshot.number))?.into();
            written.push(Written { file, snapshot });
        }
        // A run over nodes has no grid, which would be told of them.
        self.saver.save(written, &Coverage::default());
        Ok(())
    }

    /// Takes in the pairs of snapshots that another machine has written. Returns the counts of their maps, and the records
    /// that were refused.
    pub(crate) fn take_kept(
        &self,
        kept: &[u8],
        into: (&Partial<C::Accumulator>, &Arc<ChunkPool>),
        progress: &Progress,
        parts: EngineParts<'_>,
    ) -> Result<(Figures, Found)> {
        let kept = self.decoded(kept)?;
        let takings: Vec<Taking> = kept.iter().map(Taking::whole).collect();
        let open = |taking: &Taking| self.read(taking, into.1);
        restore::<C>(&takings, &open, into, progress, parts)?;
        let (mut figures, mut bad) = (Figures::default(), Found::default());
        for piece in kept.iter().flat_map(|snapshot| &snapshot.pieces) {
            figures.add(piece.figures);
            bad.add(&piece.bad);
        }
        Ok((figures, bad))
    }

    /// Notes what was mapped beside the snapshots, for the end of the run.
    pub(crate) fn cover(&self, coverage: &Coverage) {
        if let Some(covering) = self.covering.first() {
            lock(covering).coverage.add_all(coverage);
        }
    }

    fn decoded(&self, kept: &[u8]) -> Result<Vec<Snapshot>> {
        let from = &mut Reading::new(kept);
        let count = from.number().unwrap_or(u64::MAX);
        let found: Option<Vec<Snapshot>> = (0..count).map(|_| Snapshot::decode(from)).collect();
        found.filter(|_| from.is_at_end()).ok_or_else(|| {
            let (path, cause) = (self.saver.storage().path().to_path_buf(), "a save is cut short");
            StorageError::Damaged { path, offset: 0, cause }.into()
        })
    }
}
