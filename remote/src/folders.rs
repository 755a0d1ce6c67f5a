//! States that are kept elsewhere: the folders and files of the engine's own, on a store. A file's bytes are in a
//! scratch file here until it is synced, which uploads it; a file that is opened is fetched when its first byte is
//! read, because a state is read whole. So a request moves megabytes, and the thread that saves waits for the store,
//! not the workers (Ostrich, section 5.1: snapshots go to a distributed file system).
//!
//! A store may have no locks, so a run that uses a state holds a lease (`lease.rs`).

use crate::address::Address;
use crate::fault::Fault;
use crate::lease::{self, Lease};
use crate::retry::{Patience, Tries, retry};
use crate::runtime::block_on;
use crate::source::read_whole;
use crate::store::{Child, Content, Entry, PIECE_BYTES, Store, Wanted};
use std::collections::HashSet;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::time::Duration;
use tegula::StorageError;
use tegula_machine::storage::{Disk, Folders, Storage, StoredFile};
use tegula_machine::sync::Mutex;

/// What all folders and files of a URL share.
#[derive(Debug)]
pub(crate) struct Connection<S> {
    pub(crate) store: S,
    pub(crate) address: Address,
    pub(crate) patience: Patience,
    /// The time after which a run that is not heard of has lost its state.
    pub(crate) lease: Duration,
    /// Where the bytes are that are not uploaded yet, or were fetched.
    pub(crate) scratch: Disk,
}

impl<S: Store + 'static> Connection<S> {
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
        block_on(request).map_err(fault)
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

    /// Uploads a file. A long one has the time for each of its pieces, so there is no limit on the whole.
    pub(crate) fn put(
        &self,
        path: &str,
        content: Content<'_>,
        is_new: bool,
    ) -> Result<(), StorageError> {
        const ACTION: &str = "be uploaded";
        let patience = self.patience;
        let request = async {
            let mut tries = Tries::new(patience);
            loop {
                match self.store.put(path, content, is_new, patience).await {
                    Ok(()) => return Ok(()),
                    Err(fault) => tries.again(fault, false).await?,
                }
            }
        };
        let answer = self.wait(ACTION, path, request)?;
        answer.map_err(|fault: Fault| fault.of_storing(ACTION, &self.address.url(path)))
    }

    pub(crate) fn remove(&self, path: &str) -> Result<(), StorageError> {
        self.ask("be removed", path, async || self.store.remove(path).await)
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
            let answer = self.wait(ACTION, path, read_whole(&self.store, &wanted, part))?;
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
        let request = async || connection.store.remove_folder(&path).await;
        connection.ask("be removed", &path, request)
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

    /// Returns an error if another run has taken the state over.
    fn check_lease(&self) -> Result<(), StorageError> {
        let lease = self.lease.lock().upgrade();
        lease.map_or(Ok(()), |lease| lease.check())
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
        self.check_lease()?;
        let mut is_again = false;
        self.connection.ask("be renamed", &from, async || {
            let renamed = store.rename(&from, &to).await;
            // The try before may have renamed the file, and its answer was lost.
            if is_again && renamed == Err(Fault::Missing) {
                let there = store.file(&to).await?;
                if there.is_some_and(|there| there.bytes == file.bytes) {
                    return Ok(());
                }
            }
            is_again = true;
            renamed
        })
    }

    fn remove(&self, name: &str) -> Result<(), StorageError> {
        let path = self.below(name);
        if self.unsent.lock().remove(&path) {
            return Ok(());
        }
        // Another run's files have the same names.
        self.check_lease()?;
        // Stores without folders do not say that there is no such file.
        match self.connection.file(&path)? {
            Some(_) => self.connection.remove(&path),
            None => Err(StorageError::Missing { path: self.connection.address.url(&path) }),
        }
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

    /// A store answers when a change is durable.
    fn sync(&self) -> Result<(), StorageError> {
        Ok(())
    }

    fn lock(&self, name: &str) -> Result<Option<Box<dyn StoredFile>>, StorageError> {
        let path = self.below(name);
        if self.connection.file(&path)?.is_none() {
            self.connection.put(&path, Content::Bytes(b""), false)?;
        }
        let Some(lease) = Lease::take(&self.connection, &self.path)? else { return Ok(None) };
        let lease = Arc::new(lease);
        *self.lease.lock() = Arc::downgrade(&lease);
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
            // Another run would give its own files the same names.
            self.right.upgrade().map_or(Ok(()), |lease| lease.check())?;
            let bytes = file.bytes()?;
            self.connection.put(&self.path, Content::File(&**file, bytes), false)?;
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
