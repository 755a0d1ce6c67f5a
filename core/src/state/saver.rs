//! The saver: a thread beside the workers that makes snapshots durable. It syncs the files that workers have
//! written, names them in the next manifest and syncs that. So a manifest names complete files only, and no
//! worker waits for a sync.

use super::manifest::Manifest;
use super::snapshot::Written;
use crate::coverage::Coverage;
use crate::error::{Error, Result, StorageError};
use crate::map::Tiling;
use crate::storage::Storage;
use crate::sync::{Condvar, Mutex};
use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Snapshots that may wait to be saved; beyond that, the pairs of workers join their next ones.
const WAITING_MOST: usize = 8;
/// The pause of the saver, in terms of the time that it last needed to name snapshots, as long as it keeps
/// up. Snapshots that arrive meanwhile are named together, the group commit of databases (DeWitt et al.,
/// Implementation Techniques for Main Memory Database Systems, 1984, under recovery). So it is busy for a
/// thirtieth of the time at most, for tiles of any size.
const REST: u32 = 30;
/// The longest pause: a kill may cost a worker this much more than its work since its last save.
const REST_MOST: Duration = Duration::from_secs(1);

/// The data that workers, the saver's thread and the run share.
pub(crate) struct Saver {
    storage: Arc<dyn Storage>,
    identity_digest: u128,
    next: AtomicU64,
    /// Bytes of snapshots that were synced and named.
    saved_bytes: AtomicU64,
    queue: Mutex<Queue>,
    /// Told when something was queued, or done.
    changed: Condvar,
    has_failed: AtomicBool,
    /// The grid of the run's tiles, if it has one.
    tiling: OnceLock<Arc<Tiling>>,
}

struct Queue {
    manifest: Manifest,
    waiting: Vec<Written>,
    /// What these cover, for the grid.
    coverage: Coverage,
    is_busy: bool,
    is_ending: bool,
    /// Those who wait until all is saved.
    awaited: usize,
    rests_until: Instant,
    fault: Option<StorageError>,
}

/// The saver's thread. When this is dropped, it ends after the queued snapshots.
pub(super) struct SaverThread {
    saver: Arc<Saver>,
    thread: Option<JoinHandle<()>>,
}

impl Saver {
    pub(super) fn new(
        storage: Arc<dyn Storage>,
        manifest: Manifest,
        identity_digest: u128,
    ) -> Saver {
        let first = storage.first_number(manifest.next);
        Saver::numbering(storage, manifest, identity_digest, first)
    }

    fn numbering(
        storage: Arc<dyn Storage>,
        manifest: Manifest,
        identity_digest: u128,
        first: u64,
    ) -> Saver {
        Saver {
            storage,
            identity_digest,
            next: AtomicU64::new(first),
            saved_bytes: AtomicU64::new(0),
            queue: Mutex::new(Queue {
                manifest,
                waiting: Vec::new(),
                coverage: Coverage::default(),
                is_busy: false,
                is_ending: false,
                awaited: 0,
                rests_until: Instant::now(),
                fault: None,
            }),
            changed: Condvar::new(),
            has_failed: AtomicBool::new(false),
            tiling: OnceLock::new(),
        }
    }

    /// Returns a saver for writers on a machine that names nothing itself, whose files are numbered from `first` on.
    pub(super) fn unnaming(
        storage: Arc<dyn Storage>,
        identity_digest: u128,
        first: u64,
    ) -> Arc<Saver> {
        Arc::new(Saver::numbering(storage, Manifest::nothing(first), identity_digest, first))
    }

    /// Notes that others have used the numbers before `next`.
    pub(super) fn skip_to(&self, next: u64) {
        self.next.fetch_max(next, Ordering::Relaxed);
    }

    /// Starts the thread.
    pub(super) fn start(self: &Arc<Saver>) -> Result<SaverThread> {
        let saver = Arc::clone(self);
        let thread = thread::Builder::new().name("saver".to_owned()).spawn(move || saver.serve());
        let thread = thread.map_err(|cause| Error::System { action: "start the saver", cause })?;
        Ok(SaverThread { saver: Arc::clone(self), thread: Some(thread) })
    }

    pub(super) fn storage(&self) -> &dyn Storage {
        &*self.storage
    }

    pub(super) fn identity_digest(&self) -> u128 {
        self.identity_digest
    }

    pub(super) fn next_number(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    pub(super) fn saved_bytes(&self) -> u64 {
        self.saved_bytes.load(Ordering::Relaxed)
    }

    /// Returns whether more may be queued: each waiting snapshot is an open file.
    pub(super) fn has_room(&self) -> bool {
        self.queue.lock().waiting.len() < WAITING_MOST
    }

    /// Returns the present manifest.
    pub(super) fn manifest(&self) -> Manifest {
        self.queue.lock().manifest.clone()
    }

    /// Tells the grid of the run's tiles what is saved from now on.
    pub(super) fn tell(&self, tiling: &Arc<Tiling>) {
        let _ = self.tiling.set(Arc::clone(tiling));
    }

    /// Returns whether a grid wants to know what is saved.
    pub(super) fn tells(&self) -> bool {
        self.tiling.get().is_some()
    }

    /// Queues snapshots that one manifest must name together, and what they cover.
    pub(super) fn save(&self, written: Vec<Written>, coverage: &Coverage) {
        let mut queue = self.queue.lock();
        queue.waiting.extend(written);
        queue.coverage.add_all(coverage);
        drop(queue);
        self.changed.notify_all();
    }

    /// Returns the first error since the last call.
    pub(super) fn check(&self) -> Result<()> {
        if !self.has_failed.load(Ordering::Relaxed) {
            return Ok(());
        }
        self.queue.lock().fault.take().map_or(Ok(()), |fault| Err(fault.into()))
    }

    /// Waits until all that was queued is saved.
    pub(super) fn wait(&self) -> Result<()> {
        let mut queue = self.queue.lock();
        queue.awaited += 1;
        self.changed.notify_all();
        let is_busy = |queue: &mut Queue| {
            queue.fault.is_none() && (queue.is_busy || !queue.waiting.is_empty())
        };
        queue = self.changed.wait_while(queue, is_busy);
        queue.awaited -= 1;
        drop(queue);
        self.check()
    }

    /// Changes the manifest, when all that was queued is saved, and names these snapshots, too. Files that are not
    /// named any more are removed then.
    pub(super) fn change(
        &self,
        written: Vec<Written>,
        change: &mut dyn FnMut(&mut Manifest),
    ) -> Result<()> {
        self.wait()?;
        let mut queue = self.queue.lock();
        let mut manifest = queue.manifest.clone();
        change(&mut manifest);
        self.commit(&mut manifest, written)?;
        let before = std::mem::replace(&mut queue.manifest, manifest).files_named();
        let named: HashSet<String> = queue.manifest.files_named().into_iter().collect();
        drop(queue);
        let mut gone = before.iter().filter(|file| !named.contains(*file));
        Ok(gone.try_for_each(|file| self.storage.remove(file))?)
    }

    fn serve(&self) {
        let mut queue = self.queue.lock();
        loop {
            while let Some(pause) = queue.pause(Instant::now()) {
                queue = self.changed.wait_timeout(queue, pause);
            }
            let written = std::mem::take(&mut queue.waiting);
            let coverage = std::mem::take(&mut queue.coverage);
            if written.is_empty() {
                return;
            }
            queue.is_busy = true;
            let mut manifest = queue.manifest.clone();
            drop(queue);
            let began = Instant::now();
            let committed = self.commit(&mut manifest, written);
            queue = self.queue.lock();
            queue.is_busy = false;
            queue.rests_until = Instant::now() + (began.elapsed() * REST).min(REST_MOST);
            match committed {
                Ok(()) => {
                    queue.manifest = manifest;
                    self.tiling.get().iter().for_each(|tiling| tiling.saved(&coverage));
                }
                Err(fault) => {
                    queue.fault.get_or_insert(fault);
                    self.has_failed.store(true, Ordering::Relaxed);
                }
            }
            self.changed.notify_all();
        }
    }

    /// Makes snapshots last, then names them.
    fn commit(&self, manifest: &mut Manifest, written: Vec<Written>) -> Result<(), StorageError> {
        let mut bytes = 0;
        for Written { file, snapshot } in written {
            file.sync()?;
            bytes += snapshot.bytes;
            manifest.snapshots.push(snapshot);
        }
        manifest.next = self.next.load(Ordering::Relaxed);
        manifest.write(self.storage())?;
        self.saved_bytes.fetch_add(bytes, Ordering::Relaxed);
        Ok(())
    }
}

impl Queue {
    /// Returns how long the saver waits if nothing changes; `None` if it continues now.
    fn pause(&self, now: Instant) -> Option<Duration> {
        if self.is_ending {
            return None;
        }
        if self.waiting.is_empty() {
            return Some(Duration::MAX);
        }
        let rest = self.rests_until.saturating_duration_since(now);
        let is_urgent = self.awaited > 0 || self.waiting.len() >= WAITING_MOST;
        (!is_urgent && !rest.is_zero()).then_some(rest)
    }
}

impl Drop for SaverThread {
    fn drop(&mut self) {
        self.saver.queue.lock().is_ending = true;
        self.saver.changed.notify_all();
        if let Some(thread) = self.thread.take() {
            // Its panic would be a bug; the run has its own end.
            let _ = thread.join();
        }
    }
}
