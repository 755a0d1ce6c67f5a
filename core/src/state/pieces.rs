//! The state of a run whose partials are bytes of its own form, such as the records of a sort by range: pieces of
//! snapshots, which the saver names in the manifest as those of a job, and one file that holds what all pieces depend
//! on.

use super::folder::{StateFolder, read_all, replace};
use super::manifest::{Figures, Manifest, Piece, Snapshot, snapshot_name};
use super::saver::{Saver, SaverThread};
use super::saving::find;
use super::snapshot::{HEAD_BYTES, Written, head};
use super::terms::{Terms, digest_of, identity_of};
use super::{Keep, SaveEvery, State};
use crate::coverage::Coverage;
use crate::encoding::{Digest, body_of, framed};
use crate::error::{Result, StorageError};
use crate::identity::Identity;
use crate::plan::Plan;
use crate::storage::{Storage, StoredFile};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

/// The name of the job's own file, and of the next one while it is written.
pub(super) const NAME: &str = "job";
pub(super) const NEXT: &str = "job.next";
/// Its first bytes; the last one is the version.
const MAGIC: [u8; 4] = *b"TgJ\x01";

/// The state of one run.
pub(crate) struct PieceState {
    // Dropped in this order: the saver ends, then the lock goes.
    _thread: SaverThread,
    saver: Arc<Saver>,
    found: Vec<Snapshot>,
    coverage: Coverage,
    figures: Figures,
    pub(crate) keep: Keep,
    pub(crate) save_every: SaveEvery,
    folder: StateFolder,
}

/// A piece that is being written, in a snapshot of its own.
pub(crate) struct GrowingPiece {
    pub(crate) file: Arc<dyn StoredFile>,
    number: u64,
    at: u64,
    digest: Digest,
}

/// A piece that was saved.
pub(crate) struct WrittenPiece {
    pub(crate) file: Arc<dyn StoredFile>,
    /// Its bytes in the file.
    pub(crate) bytes: Range<u64>,
}

impl PieceState {
    /// Opens a state: empty, or with the pieces of an earlier run of the same job over the same input.
    ///
    /// # Errors
    /// [`StateError`](crate::error::StateError) if the state is in use or of something else, [`StorageError`].
    pub(crate) fn open(
        state: &State,
        identity: &Identity,
        plan: &Plan,
        terms: Terms,
    ) -> Result<PieceState> {
        let identity = identity_of(identity, plan, terms, None);
        let (folder, mut manifest) = find(state, &identity, plan)?;
        if std::mem::take(&mut manifest.done) && manifest.snapshots.is_empty() {
            // The answer of the last run was elsewhere.
            manifest.write(&*folder.storage)?;
        }
        let coverage = manifest.coverage().map_err(|cause| {
            let path = folder.storage.path().to_path_buf();
            StorageError::Damaged { path, offset: 0, cause }
        })?;
        let mut figures = Figures::default();
        manifest.pieces().for_each(|piece| figures.add(piece.figures));
        let (found, storage) = (manifest.snapshots.clone(), Arc::clone(&folder.storage));
        let saver = Arc::new(Saver::new(storage, manifest, digest_of(&identity)));
        let (keep, save_every) = (state.keep, state.save_every);
        let thread = saver.start()?;
        Ok(PieceState {
            _thread: thread,
            saver,
            found,
            coverage,
            figures,
            keep,
            save_every,
            folder,
        })
    }

    /// Returns the part of the input that the pieces are of.
    pub(crate) fn coverage(&self) -> &Coverage {
        &self.coverage
    }

    /// Returns the counts of the pieces.
    pub(crate) fn figures(&self) -> Figures {
        self.figures
    }

    pub(crate) fn saved_bytes(&self) -> u64 {
        self.saver.saved_bytes()
    }

    /// Returns the job's own file; `None` if no run has written it.
    pub(crate) fn own(&self) -> Result<Option<Vec<u8>>> {
        match own(self.storage()) {
            Err(StorageError::Missing { .. }) if self.found.is_empty() => Ok(None),
            own => Ok(Some(own?)),
        }
    }

    /// Writes the job's own file, on which all pieces depend from now on.
    pub(crate) fn set_own(&self, body: &[u8]) -> Result<()> {
        let write = |file: &dyn StoredFile| file.write_all_at(&framed(MAGIC, body), 0);
        Ok(replace(self.storage(), NEXT, NAME, write)?)
    }

    /// Gives `take` each piece that was found, in the order in which they were saved, when its snapshot is known to be
    /// intact.
    pub(crate) fn each_found(
        &self,
        mut take: impl FnMut(WrittenPiece) -> Result<()>,
    ) -> Result<()> {
        for snapshot in &self.found {
            let file: Arc<dyn StoredFile> =
                self.storage().open(&snapshot_name(snapshot.number))?.into();
            snapshot.verify(&*file)?;
            for piece in &snapshot.pieces {
                take(WrittenPiece { file: Arc::clone(&file), bytes: piece.blocks.clone() })?;
            }
        }
        Ok(())
    }

    /// Begins a piece.
    pub(crate) fn begin(&self) -> Result<GrowingPiece> {
        let number = self.saver.next_number();
        let file: Arc<dyn StoredFile> = self.storage().create(&snapshot_name(number))?.into();
        let mut piece = GrowingPiece { file, number, at: 0, digest: Digest::default() };
        piece.write(&head(self.saver.identity_digest(), number))?;
        Ok(piece)
    }

    /// Ends a piece, which the saver names from then on.
    pub(crate) fn end(&self, piece: GrowingPiece, of: Coverage, records: u64, figures: Figures) {
        let GrowingPiece { file, number, at, digest } = piece;
        let blocks = HEAD_BYTES as u64..at;
        let piece = Piece { blocks, pairs: records, coverage: of, figures, ..Piece::default() };
        let snapshot = Snapshot { number, bytes: at, digest: digest.sum(), pieces: vec![piece] };
        self.saver.save(vec![Written { file, snapshot }], &Coverage::default());
    }

    /// Removes a piece that could not be written, as far as possible: a disk that is full has its room back.
    pub(crate) fn abandon(&self, piece: &GrowingPiece) {
        let _ = self.storage().remove(&snapshot_name(piece.number));
    }

    /// Returns whether the saver keeps up.
    pub(crate) fn has_room(&self) -> bool {
        self.saver.has_room()
    }

    /// Returns the first error of the saver since the last call.
    pub(crate) fn check(&self) -> Result<()> {
        self.saver.check()
    }

    /// Ends the state of a run whose answer is complete: its pieces go, unless they are to be kept.
    pub(crate) fn finish(&self) -> Result<()> {
        let keep = self.keep;
        self.saver.change(Vec::new(), &mut |manifest: &mut Manifest| {
            if keep == Keep::Result {
                manifest.snapshots.clear();
            }
            manifest.done = keep != Keep::Nothing;
        })?;
        self.folder.end();
        Ok(())
    }

    /// Returns the state's folder, for messages.
    pub(crate) fn path(&self) -> &Path {
        self.storage().path()
    }

    fn storage(&self) -> &dyn Storage {
        &*self.folder.storage
    }
}

/// Returns the file of a job's own in its state.
///
/// # Errors
/// [`StorageError::Missing`] if there is none, [`StorageError::Damaged`], and others of the disk.
pub(super) fn own(storage: &dyn Storage) -> Result<Vec<u8>, StorageError> {
    let file = storage.open(NAME)?;
    let body = body_of(MAGIC, &read_all(&*file)?).map(<[u8]>::to_vec);
    body.map_err(|cause| {
        let path = file.path().to_path_buf();
        StorageError::Damaged { path, offset: 0, cause }
    })
}

impl GrowingPiece {
    /// Appends bytes. Returns where they begin in the file.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<u64> {
        self.file.write_all_at(bytes, self.at)?;
        self.digest.add(bytes);
        self.at += bytes.len() as u64;
        Ok(self.at - bytes.len() as u64)
    }
}
