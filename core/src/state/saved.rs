//! Reading the saved pairs of a state: at any moment, while a run uses it, and without the input, which may
//! be on another machine.

use super::folder::unusable;
use super::folds::{Choice, Taking, tile_of};
use super::manifest::{Manifest, Piece};
use super::report::StateReport;
use super::restoring::restore;
use super::snapshot::SnapshotReader;
use super::stock::Stock;
use super::terms::{difference_of_job, digest_of};
use super::{EngineParts, State, fingerprint, tiles};
use crate::aggregate::Aggregate;
use crate::error::{Result, StateError};
use crate::facts::JobFacts;
use crate::input::FileList;
use crate::memory::ChunkPool;
use crate::partial::Partial;
use crate::progress::Progress;
use crate::storage::Storage;
use std::collections::HashSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;

/// The files that the manifest of one moment names. They may be gone a moment later.
pub(crate) struct SavedPartials {
    storage: Arc<dyn Storage>,
    identity: u128,
    /// The pieces that count.
    takings: Vec<Taking>,
    /// The input's files, as they were named.
    pub(crate) files: FileList,
    pub(crate) report: StateReport,
}

impl SavedPartials {
    /// Looks at a state of that job, saved with whatever options.
    ///
    /// # Errors
    /// [`StateError::Missing`] if nothing was saved there, [`StateError::OtherJob`], and those of the disk.
    pub(crate) fn look(state: &State, facts: &JobFacts) -> Result<SavedPartials> {
        let storage = state.storage()?;
        let path = || storage.path().to_path_buf();
        let identity = facts.identity.as_ref().ok_or(StateError::NoIdentity)?;
        let Some(manifest) = Manifest::read(&*storage).map_err(unusable)? else {
            return Err(StateError::Missing { path: path() }.into());
        };
        if let Some(difference) = difference_of_job(&manifest.identity, identity) {
            return Err(StateError::OtherJob { path: path(), difference }.into());
        }
        let identity = digest_of(&manifest.identity);
        let mut takings = Vec::new();
        let (files, there) = match manifest.tiles {
            None => {
                takings.extend(manifest.snapshots.iter().map(Taking::whole));
                (fingerprint::files(&*storage, manifest.input_digest)?, None)
            }
            Some(number) => {
                let hashing = tiles::hashing_of(&manifest).unwrap_or_default();
                let remembered = tiles::read(&*storage, number, hashing)?;
                let there: HashSet<u64> =
                    remembered.tiles().iter().map(|tile| tile.number).collect();
                let has_inverse = facts.has_inverse;
                let tiles = remembered.tiles().iter().map(|tile| (tile.number, &tile.place));
                // Lists of values need to know the order of splits alone.
                let split_bytes = tiles::split_bytes_of(&manifest).unwrap_or(u64::MAX);
                let standings = tiles::standings(tiles, split_bytes);
                let stock = Stock::of(&manifest);
                let choice = Choice::of(&stock, &there, has_inverse);
                takings = choice.takings(&stock, |number| standings.get(&number).copied());
                let mut files = FileList::default();
                for file in 0..remembered.files() {
                    let (path, bytes) = (remembered.path(file), remembered.bytes(file));
                    files.add_path(OsStr::from_bytes(path), bytes);
                }
                (files, Some(there))
            }
        };
        // Tiles that are gone may still be there to be taken out.
        let counts = |piece: &&Piece| match &there {
            Some(there) => tile_of(piece).is_some_and(|tile| there.contains(&tile)),
            None => true,
        };
        let mapped_bytes = manifest.pieces().filter(counts).map(|piece| piece.figures.bytes).sum();
        let id = storage.path().file_name().unwrap_or_default().to_string_lossy().into_owned();
        let report = StateReport { mapped_bytes, ..StateReport::of(&id, manifest) };
        Ok(SavedPartials { storage, identity, takings, files, report })
    }

    /// Takes in the saved pairs.
    pub(crate) fn restore<C: Aggregate>(
        &self,
        into: (&Partial<C::Accumulator>, &Arc<ChunkPool>),
        block_bytes: usize,
        progress: &Progress,
        parts: EngineParts<'_>,
    ) -> Result<()> {
        let open = |taking: &Taking| {
            SnapshotReader::open(&*self.storage, taking, self.identity, into.1, block_bytes)
        };
        restore::<C>(&self.takings, &open, into, progress, parts)
    }
}
