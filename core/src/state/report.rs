//! Reports a state for people: its jobs, their contents, whether they are intact; and removes states.

use super::LOCK;
use super::folder::{StateFolder, is_state, unusable};
use super::manifest::{Manifest, Snapshot, snapshot_name};
use super::{fingerprint, pieces, tiles};
use crate::error::{Result, StateError, StorageError};
use crate::identity::Identity;
use crate::storage::{Folders, Storage};
use std::io::ErrorKind;
use std::sync::Arc;

/// The contents of the state of one job.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct StateReport {
    /// Its name.
    pub id: String,
    /// Its identity.
    pub identity: Identity,
    /// Data that the caller kept with it ([`State::about`](super::State::about)).
    pub about: Vec<u8>,
    /// Whether all of the input is covered.
    pub done: bool,
    /// Files of the input, and their bytes (compressed, if they are).
    pub files: u64,
    /// See `files`.
    pub input_bytes: u64,
    /// Input bytes (decompressed) whose pairs are here.
    pub mapped_bytes: u64,
    /// Snapshots, with their names and lengths in bytes.
    pub snapshots: Vec<(String, u64)>,
    /// Pairs in them.
    pub pairs: u64,
}

/// Returns the names of the jobs in a state, in their order.
///
/// # Errors
/// [`StateError::Missing`] if there is no such folder, and [`StateError::Folder`] if it cannot be read.
pub fn jobs_of(state: &dyn Folders) -> Result<Vec<String>> {
    let names = state.names().map_err(|fault| match fault {
        StorageError::Missing { path } => StateError::Missing { path }.into(),
        fault => unusable(fault),
    })?;
    let mut jobs = Vec::new();
    for name in names {
        let is_job = match is_state(&*state.folder(&name)) {
            // Its report says so, and hides no other job.
            Err(StorageError::Folder { cause, .. })
                if cause.kind() == ErrorKind::PermissionDenied =>
            {
                true
            }
            is_job => is_job.map_err(unusable)?,
        };
        jobs.extend(is_job.then_some(name));
    }
    Ok(jobs)
}

/// Returns the report of a job's state; `None` if no run began there.
///
/// # Errors
/// [`StateError::Missing`], [`StorageError::Damaged`] and others of the disk.
pub fn report(state: &dyn Folders, id: &str) -> Result<Option<StateReport>> {
    let storage = StateFolder::storage_of(state, id)?;
    let manifest = Manifest::read(&*storage).map_err(unusable)?;
    Ok(manifest.map(|manifest| StateReport::of(id, manifest)))
}

impl StateReport {
    pub(super) fn of(id: &str, manifest: Manifest) -> StateReport {
        let pairs = manifest.snapshots.iter().map(Snapshot::pairs).sum();
        let mapped_bytes = manifest.pieces().map(|piece| piece.figures.bytes).sum();
        let Manifest { identity, about, done, files, input_bytes, snapshots, .. } = manifest;
        let named = |snapshot: &Snapshot| (snapshot_name(snapshot.number), snapshot.bytes);
        let snapshots = snapshots.iter().map(named).collect();
        let id = id.to_owned();
        StateReport {
            id,
            identity,
            about,
            done,
            files,
            input_bytes,
            mapped_bytes,
            snapshots,
            pairs,
        }
    }
}

/// Reads all of a job's state and compares its checksums. Returns the bytes of its snapshots.
///
/// # Errors
/// [`StateError::Missing`], [`StorageError::Damaged`] for the first file that differs from what was written,
/// and others of the disk.
pub fn verify(state: &dyn Folders, id: &str) -> Result<u64> {
    verify_in(&*StateFolder::storage_of(state, id)?).map_err(unusable)
}

fn verify_in(storage: &dyn Storage) -> Result<u64> {
    let Some(manifest) = Manifest::read(storage)? else { return Ok(0) };
    manifest.coverage().map_err(|cause| {
        let path = storage.path().to_path_buf();
        StorageError::Damaged { path, offset: 0, cause }
    })?;
    match manifest.tiles {
        Some(number) => {
            let hashing = tiles::hashing_of(&manifest).unwrap_or_default();
            tiles::read(storage, number, hashing)?;
        }
        None => drop(fingerprint::kept(storage, manifest.input_digest)?),
    }
    match pieces::own(storage) {
        // Not every state has a file of its job's own.
        Ok(_) | Err(StorageError::Missing { .. }) => {}
        Err(fault) => return Err(fault.into()),
    }
    let mut bytes = 0;
    for snapshot in &manifest.snapshots {
        snapshot.verify(&*storage.open(&snapshot_name(snapshot.number))?)?;
        bytes += snapshot.bytes;
    }
    Ok(bytes)
}

/// Returns the names of the files that belong to a job's state in storage of its own, in their order.
///
/// # Errors
/// [`StorageError::Damaged`] and others of the disk.
pub fn files_of(storage: &dyn Storage) -> Result<Vec<String>> {
    let mut files = vec![LOCK.to_owned()];
    files.extend(Manifest::read(storage)?.iter().flat_map(Manifest::files_named));
    // Not every state has a file of its job's own.
    let there = storage.list()?;
    files.retain(|name| name != pieces::NAME || there.contains(name));
    files.sort_unstable();
    Ok(files)
}

/// Removes a job's state, the manifest first, so that an interrupted removal leaves an empty state.
///
/// # Errors
/// [`StateError::Missing`], [`StateError::InUse`], and others of the disk.
pub fn remove(state: &dyn Folders, id: &str) -> Result<()> {
    let storage = StateFolder::storage_of(state, id)?;
    let folder = StateFolder::of(Arc::clone(&storage))?;
    folder.clear()?;
    // Held until it is gone: a run that waits for it sees that it locked a file without a name.
    storage.remove(LOCK)?;
    drop(folder);
    Ok(state.remove(id)?)
}
