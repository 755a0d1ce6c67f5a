//! States that are kept elsewhere: the folders and files of the engine's own, on a store. A file's bytes are in a
//! scratch file here until it is synced, which uploads it; a file that is opened is fetched when its first byte is
//! read, because a state is read whole. So a request moves megabytes, and the thread that saves waits for the store,
//! not the workers (Ostrich, section 5.1: snapshots go to a distributed file system).
//!
//! A store may have no locks, so a run that uses a state holds a lease (`lease.rs`).

use crate::address::Address;
use crate::fault::Fault;
use crate::lease::{self, Lease};
use crate::retry::{Patience, Tries, no_answer, retry};
use crate::runtime::block_on;
use crate::source::read_whole;
use crate::store::{Child, Content, Entry, PIECE_BYTES, Store, Wanted};
use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};
use tegula::StorageError;
use tegula_machine::storage::{Disk, Folders, Storage, StoredFile};
use tegula_machine::sync::Mutex;
use tokio::time::{timeout, timeout_at};

/// Numbers of files that a run passes over at most. Two runs with a million files each meet in one of 500,000 cases, and
/// there are enough numbers for 16 million runs.
const NUMBERS_PASSED_MOST: u64 = 1 << 40;

/// What all folders and files of a URL share.
#[derive(Debug)]
pub(crate) struct Connection<S> {
    pub(crate) store: Arc<S>,
    pub(crate) address: Address,
    pub(crate) patience: Patience,
    /// The end of all requests; none unless [limited](Connection::within_time).
    pub(crate) until: Option<Instant>,
    /// The time after which a run that is not heard of has lost its state.
    pub(crate) lease: Duration,
    /// Where the bytes are that are not uploaded yet, or were fetched.
    pub(crate) scratch: Arc<Disk>,
}

impl<S: Store + 'static> Connection<S> {
    /// Returns the same connection for requests that have `time` from now on, all of them and their tries together.
    pub(crate) fn within_time(&self, time: Duration) -> Connection<S> {
        Connection {
            store: Arc::clone(&self.store),
            address: self.address.clone(),
            // A user who waits less long for a request does so here, too.
            patience: Patience { time: self.patience.time.min(time), ..self.patience },
            until: Some(Instant::now() + time),
            lease: self.lease,
            scratch: Arc::clone(&self.scratch),
        }
    }

    /// Makes a request, several times if need be.
    pub(crate) fn ask<T>(
        &self,
        action: &'static str,
        path: &str,
        request: impl AsyncFnMut() -> Result<T, Fault>,
    ) -> Result<T, StorageError> {
        let answer = self.wait(action, path, retry(self.patience, request))?;
        answer.map_err(|fault| fault.of_storing(action, &self.address.url(path)))
    }

    fn wait<T>(
        &self,
        action: &'static str,
        path: &str,
        request: impl Future<Output = T>,
    ) -> Result<T, StorageError> {
        let fault = |cause| StorageError::Access { action, path: self.address.url(path), cause };
        let Some(until) = self.until else { return block_on(request).map_err(fault) };
        let answer = block_on(async { timeout_at(until.into(), request).await }).map_err(fault)?;
        answer.map_err(|_| fault(io::Error::other("no time is left for an answer")))
    }

    pub(crate) fn file(&self, path: &str) -> Result<Option<Entry>, StorageError> {
        self.ask("be looked for", path, async || self.store.file(path).await)
    }

    /// Returns what is directly in a folder; nothing if it is not there.
    pub(crate) fn children(&self, path: &str) -> Result<Option<Vec<Child>>, StorageError> {
        const ACTION: &str = "be listed";
        let answer = self.wait(ACTION, path, self.store.children(path, self.patience))?;
        answer.map_err(|fault| fault.of_storing(ACTION, &self.address.url(path)))
    }

    /// Makes a change that others see, several times if need be. Before each try, the lease is looked up, and no try goes
    /// on after it: another run may have the state by then.
    fn change<T>(
        &self,
        action: &'static str,
        path: &str,
        right: Option<&Lease<S>>,
        mut request: impl AsyncFnMut() -> Result<T, Fault>,
    ) -> Result<T, StorageError> {
        let mut tries = Tries::new(self.patience);
        loop {
            right.map_or(Ok(()), Lease::check)?;
            let fault = match self.wait(action, path, self.within(right, request()))? {
                Ok(value) => return Ok(value),
                Err(fault) => fault,
            };
            let again = self.wait(action, path, tries.again(fault, false))?;
            again.map_err(|fault| fault.of_storing(action, &self.address.url(path)))?;
        }
    }

    /// Waits for an answer as long as a try may take, and as this run has the state.
    async fn within<T>(
        &self,
        right: Option<&Lease<S>>,
        request: impl Future<Output = Result<T, Fault>>,
    ) -> Result<T, Fault> {
        let mut request = pin!(request);
        let (began, time) = (Instant::now(), self.patience.time);
        loop {
            let left = time.saturating_sub(began.elapsed());
            // It is renewed meanwhile.
            let left = right.map_or(left, |lease| lease.left().min(left));
            if left.is_zero() {
                return Err(Fault::lost(no_answer(began.elapsed())));
            }
            if let Ok(answer) = timeout(left, request.as_mut()).await {
                return answer;
            }
        }
    }

    /// As [`change`](Connection::change), of a request that takes away what it makes the file `to` of. `bytes` is its
    /// length.
    fn place(
        &self,
        action: &'static str,
        (from, to): (&str, &str),
        bytes: u64,
        right: Option<&Lease<S>>,
        mut request: impl AsyncFnMut() -> Result<(), Fault>,
    ) -> Result<(), StorageError> {
        let mut is_again = false;
        self.change(action, from, right, async || {
            let was_tried = std::mem::replace(&mut is_again, true);
            let placed = request().await;
            // The try before may have placed the file, and its answer was lost.
            if was_tried && placed == Err(Fault::Missing) {
                let there = self.store.file(to).await?;
                if there.is_some_and(|there| there.bytes == bytes) {
                    return Ok(());
                }
            }
            placed
        })
    }

    /// Uploads a file. A long one has the time for each of its pieces, so there is no limit on the whole.
    pub(crate) fn put(
        &self,
        path: &str,
        content: Content<'_>,
        right: Option<&Lease<S>>,
    ) -> Result<(), StorageError> {
        const ACTION: &str = "be uploaded";
        let (store, patience) = (&*self.store, self.patience);
        let sent = self.wait(ACTION, path, store.send(path, content, patience))?;
        let sent = sent.map_err(|fault| fault.of_storing(ACTION, &self.address.url(path)))?;
        let publish = async || store.publish(path, content, &sent).await;
        let put = self.place(ACTION, (path, path), content.bytes(), right, publish);
        if put.is_err() {
            // What fails here, too, is left to the next run, or to the rules of the bucket.
            let discarded = async { timeout(patience.stall(), store.discard(path, &sent)).await };
            let _ = self.wait(ACTION, path, discarded);
        }
        put
    }

    /// Uploads a small file by one try.
    pub(crate) fn put_once(&self, path: &str, bytes: &[u8]) -> Result<(), StorageError> {
        const ACTION: &str = "be uploaded";
        let (content, patience) = (Content::Bytes(bytes), Patience { tries: 1, ..self.patience });
        let put = async {
            let send = async || self.store.send(path, content, patience).await;
            let sent = retry(patience, send).await?;
            retry(patience, async || self.store.publish(path, content, &sent).await).await
        };
        let put = self.wait(ACTION, path, put)?;
        put.map_err(|fault| fault.of_storing(ACTION, &self.address.url(path)))
    }

    /// Makes a small file. [`StorageError::Exists`] if there is one.
    pub(crate) fn create(&self, path: &str, bytes: &[u8]) -> Result<(), StorageError> {
        let request = async || self.store.create(path, bytes, self.patience).await;
        self.ask("be uploaded", path, request)
    }

    /// As [`change`](Connection::change), of a request that removes something.
    fn take_away(
        &self,
        path: &str,
        right: Option<&Lease<S>>,
        mut request: impl AsyncFnMut() -> Result<(), Fault>,
    ) -> Result<(), StorageError> {
        let mut is_again = false;
        self.change("be removed", path, right, async || {
            let was_tried = std::mem::replace(&mut is_again, true);
            match request().await {
                // The try before removed it, and its answer was lost.
                Err(Fault::Missing) if was_tried => Ok(()),
                removed => removed,
            }
        })
    }

    /// Removes a file, as the run that has this right to the state if one is given.
    pub(crate) fn remove(&self, path: &str, right: Option<&Lease<S>>) -> Result<(), StorageError> {
        self.take_away(path, right, async || self.store.remove(path).await)
    }

    /// Reads all of a file of that version.
    pub(crate) fn read(
        &self,
        entry: &Entry,
        mut take: impl FnMut(&[u8], u64) -> Result<(), StorageError>,
    ) -> Result<(), StorageError> {
        const ACTION: &str = "be read";
        let Entry { path, bytes, version } = entry;
        let mut piece = vec![0; (*bytes).min(PIECE_BYTES) as usize];
        let mut offset = 0;
        while offset < *bytes {
            let part = &mut piece[..(bytes - offset).min(PIECE_BYTES) as usize];
            let wanted = Wanted { path, version: *version, offset, patience: self.patience };
            let answer = self.wait(ACTION, path, read_whole(&*self.store, &wanted, part))?;
            answer.map_err(|(fault, _)| fault.of_storing(ACTION, &self.address.url(path)))?;
            take(part, offset)?;
            offset += part.len() as u64;
        }
        Ok(())
    }
}

/// Returns the name of something in a folder.
pub(crate) fn below(folder: &str, name: &str) -> String {
    if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
}

pub(crate) fn name_of(path: &str) -> &str {
    path.trim_end_matches('/').rsplit('/').next().unwrap_or(path)
}

/// A folder of folders.
#[derive(Debug)]
pub(crate) struct RemoteFolders<S> {
    connection: Arc<Connection<S>>,
    url: PathBuf,
}

impl<S: Store + 'static> RemoteFolders<S> {
    pub(crate) fn new(connection: Connection<S>) -> RemoteFolders<S> {
        let url = connection.address.url(&connection.address.path);
        RemoteFolders { connection: Arc::new(connection), url }
    }

    fn below(&self, name: &str) -> String {
        below(&self.connection.address.path, name)
    }
}

impl<S: Store + 'static> Folders for RemoteFolders<S> {
    fn path(&self) -> &Path {
        &self.url
    }

    fn names(&self) -> Result<Vec<String>, StorageError> {
        let children = self.connection.children(&self.connection.address.path)?;
        let children = children.ok_or_else(|| StorageError::Missing { path: self.url.clone() })?;
        let folder = |child: &Child| match child {
            Child::Folder(path) => Some(name_of(path).to_owned()),
            Child::File(_) => None,
        };
        let mut names: Vec<String> = children.iter().filter_map(folder).collect();
        names.sort_unstable();
        Ok(names)
    }

    fn folder(&self, name: &str) -> Arc<dyn Storage> {
        let path = self.below(name);
        Arc::new(RemoteStorage {
            connection: Arc::clone(&self.connection),
            url: self.connection.address.url(&path),
            path,
            unsent: Arc::default(),
            lease: Mutex::default(),
        })
    }

    fn make(&self, name: &str) -> Result<Arc<dyn Storage>, StorageError> {
        let (connection, path) = (&self.connection, self.below(name));
        connection.ask("be made", &path, async || connection.store.make_folder(&path).await)?;
        Ok(self.folder(name))
    }

    fn remove(&self, name: &str) -> Result<(), StorageError> {
        let (connection, path) = (&self.connection, self.below(name));
        connection.take_away(&path, None, async || connection.store.remove_folder(&path).await)
    }
}

/// A folder of files.
#[derive(Debug)]
struct RemoteStorage<S: Store + 'static> {
    connection: Arc<Connection<S>>,
    /// Its name below the root, and all of its URL.
    path: String,
    url: PathBuf,
    /// Files that were made here and are not uploaded.
    unsent: Arc<Mutex<HashSet<String>>>,
    /// Held by the handle of the lock.
    lease: Mutex<Weak<Lease<S>>>,
}

impl<S: Store + 'static> RemoteStorage<S> {
    fn below(&self, name: &str) -> String {
        below(&self.path, name)
    }

    fn handle(&self, name: &str, body: Body, lease: Option<Arc<Lease<S>>>) -> Box<dyn StoredFile> {
        let path = self.below(name);
        Box::new(RemoteFile {
            connection: Arc::clone(&self.connection),
            unsent: Arc::clone(&self.unsent),
            url: self.connection.address.url(&path),
            path,
            body: Mutex::new(body),
            right: Weak::clone(&self.lease.lock()),
            _lease: lease,
        })
    }

    /// Returns the right to change the state, if this process has it.
    fn right(&self) -> Option<Arc<Lease<S>>> {
        self.lease.lock().upgrade()
    }
}

impl<S: Store + 'static> Storage for RemoteStorage<S> {
    fn path(&self) -> &Path {
        &self.url
    }

    fn scratch(&self) -> Result<Box<dyn StoredFile>, StorageError> {
        self.connection.scratch.scratch()
    }

    fn create(&self, name: &str) -> Result<Box<dyn StoredFile>, StorageError> {
        let path = self.below(name);
        let is_there = self.unsent.lock().contains(&path) || self.connection.file(&path)?.is_some();
        if is_there {
            return Err(StorageError::Exists { path: self.connection.address.url(&path) });
        }
        let body = Body::Here { file: self.scratch()?, is_unsent: true };
        self.unsent.lock().insert(path);
        Ok(self.handle(name, body, None))
    }

    fn open(&self, name: &str) -> Result<Box<dyn StoredFile>, StorageError> {
        let path = self.below(name);
        match self.connection.file(&path)? {
            Some(entry) => Ok(self.handle(name, Body::There(entry), None)),
            None => Err(StorageError::Missing { path: self.connection.address.url(&path) }),
        }
    }

    fn rename(&self, from: &str, to: &str) -> Result<(), StorageError> {
        let (from, to) = (self.below(from), self.below(to));
        let store = &self.connection.store;
        let Some(file) = self.connection.file(&from)? else {
            return Err(StorageError::Missing { path: self.connection.address.url(&from) });
        };
        let right = self.right();
        self.connection.place(
            "be renamed",
            (&from, &to),
            file.bytes,
            right.as_deref(),
            async || store.rename(&from, &to).await,
        )
    }

    fn remove(&self, name: &str) -> Result<(), StorageError> {
        let path = self.below(name);
        if self.unsent.lock().remove(&path) {
            return Ok(());
        }
        // Stores without folders do not say that there is no such file.
        if self.connection.file(&path)?.is_none() {
            return Err(StorageError::Missing { path: self.connection.address.url(&path) });
        }
        self.connection.remove(&path, self.right().as_deref())
    }

    fn list(&self) -> Result<Vec<String>, StorageError> {
        let file = |child: &Child| match child {
            Child::File(entry) => Some(name_of(&entry.path).to_owned()),
            Child::Folder(_) => None,
        };
        let children = self.connection.children(&self.path)?.unwrap_or_default();
        let mut names: Vec<String> = children.iter().filter_map(file).collect();
        names.retain(|name| !lease::is_hidden(name));
        names.extend(self.unsent.lock().iter().map(|path| name_of(path).to_owned()));
        names.sort_unstable();
        Ok(names)
    }

    /// A request that a run has sent may arrive after another run has taken the state over, so no two runs number
    /// their files alike: each passes over a random count of numbers.
    fn first_number(&self, next: u64) -> u64 {
        next.saturating_add(RandomState::new().hash_one(next) % NUMBERS_PASSED_MOST)
    }

    /// A store answers when a change is durable.
    fn sync(&self) -> Result<(), StorageError> {
        Ok(())
    }

    fn lock(&self, name: &str) -> Result<Option<Box<dyn StoredFile>>, StorageError> {
        let Some(lease) = Lease::take(&self.connection, &self.path)? else { return Ok(None) };
        let (lease, path) = (Arc::new(lease), self.below(name));
        *self.lease.lock() = Arc::downgrade(&lease);
        // Not before: a run that this one waited for may have removed the state, and this file with it.
        if self.connection.file(&path)?.is_none() {
            self.connection.put(&path, Content::Bytes(b""), Some(&lease))?;
        }
        let body = Body::Here { file: self.scratch()?, is_unsent: false };
        Ok(Some(self.handle(name, body, Some(lease))))
    }
}

/// An open file.
#[derive(Debug)]
struct RemoteFile<S: Store + 'static> {
    connection: Arc<Connection<S>>,
    unsent: Arc<Mutex<HashSet<String>>>,
    path: String,
    url: PathBuf,
    body: Mutex<Body>,
    /// The right to change the state, as far as this process has it.
    right: Weak<Lease<S>>,
    _lease: Option<Arc<Lease<S>>>,
}

/// Where the bytes of a file are.
#[derive(Debug)]
enum Body {
    /// In a scratch file, which may have bytes that the store lacks.
    Here {
        file: Box<dyn StoredFile>,
        is_unsent: bool,
    },
    There(Entry),
}

impl<S: Store + 'static> RemoteFile<S> {
    /// Gives the scratch file, which is fetched if need be.
    fn here<T>(
        &self,
        writes: bool,
        act: impl FnOnce(&dyn StoredFile) -> T,
    ) -> Result<T, StorageError> {
        let mut body = self.body.lock();
        if let Body::There(entry) = &*body {
            let file = self.connection.scratch.scratch()?;
            self.connection.read(entry, |bytes, offset| file.write_all_at(bytes, offset))?;
            *body = Body::Here { file, is_unsent: false };
        }
        match &mut *body {
            Body::Here { file, is_unsent } => {
                *is_unsent |= writes;
                Ok(act(&**file))
            }
            Body::There(_) => Err(StorageError::Missing { path: self.url.clone() }),
        }
    }
}

impl<S: Store + 'static> StoredFile for RemoteFile<S> {
    fn path(&self) -> &Path {
        &self.url
    }

    fn read_at(&self, into: &mut [u8], offset: u64) -> io::Result<usize> {
        self.here(false, |file| file.read_at(into, offset)).map_err(io::Error::other)?
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        self.here(true, |file| file.write_at(bytes, offset)).map_err(io::Error::other)?
    }

    fn bytes(&self) -> Result<u64, StorageError> {
        match &*self.body.lock() {
            Body::Here { file, .. } => file.bytes(),
            Body::There(entry) => Ok(entry.bytes),
        }
    }

    fn set_bytes(&self, bytes: u64) -> Result<(), StorageError> {
        self.here(true, |file| file.set_bytes(bytes))?
    }

    fn punch(&self, range: Range<u64>) -> Result<(), StorageError> {
        self.here(true, |file| file.punch(range))?
    }

    /// Uploads what was written.
    fn sync(&self) -> Result<(), StorageError> {
        let mut body = self.body.lock();
        if let Body::Here { file, is_unsent: is_unsent @ true } = &mut *body {
            let (bytes, right) = (file.bytes()?, self.right.upgrade());
            self.connection.put(&self.path, Content::File(&**file, bytes), right.as_deref())?;
            *is_unsent = false;
            self.unsent.lock().remove(&self.path);
        }
        Ok(())
    }
}

impl<S: Store + 'static> Drop for RemoteFile<S> {
    /// The bytes of a file that was never synced are gone, and so is its name.
    fn drop(&mut self) {
        if let Body::Here { is_unsent: true, .. } = &*self.body.lock() {
            self.unsent.lock().remove(&self.path);
        }
    }
}
