//! Object stores, by their common protocol of keys and ranges: S3 and compatible stores, Google Cloud
//! Storage, Azure. Settings are those that the stores' own tools read from the environment. Without
//! credentials there, requests are not signed, which is enough for public objects.
//!
//! Every answer says which version of the object it is of (its ETag). It is compared with the one
//! that was listed, before any byte of it is taken.

use crate::address::Address;
use crate::answer::Advice;
use crate::fault::Fault;
use crate::retry::{Patience, Tries, no_answer};
use crate::settings::Settings;
use crate::store::{Child, Entry, Store, Wanted, version};
use futures_util::StreamExt;
use object_store::path::Path;
use object_store::{GetOptions, GetRange, ObjectMeta, ObjectStore, ObjectStoreExt};
use std::sync::Arc;
use tokio::time::timeout;

/// A bucket.
#[derive(Debug)]
pub(crate) struct Objects {
    store: Arc<dyn ObjectStore>,
    advice: Advice,
}

impl Objects {
    /// Connects to nothing yet.
    pub(crate) fn new(
        settings: &Settings,
        address: &Address,
        patience: Patience,
    ) -> Result<Objects, Fault> {
        let advice = Advice::new(address.scheme);
        let store = crate::bucket::open(settings, address, patience);
        Ok(Objects { store: store.map_err(|cause| advice.fault(cause))?, advice })
    }

    fn path(&self, path: &str) -> Result<Path, Fault> {
        Path::parse(path).map_err(|cause| {
            Fault::refused(cause.to_string(), "names with empty parts cannot be read; rename it")
        })
    }
}

impl Store for Objects {
    async fn file(&self, path: &str) -> Result<Option<Entry>, Fault> {
        match self.store.head(&self.path(path)?).await {
            Ok(meta) => Ok(Some(entry(&meta))),
            Err(object_store::Error::NotFound { .. }) => Ok(None),
            Err(cause) => Err(self.advice.fault(cause)),
        }
    }

    async fn children(&self, folder: &str) -> Result<Option<Vec<Child>>, Fault> {
        let prefix = self.path(folder)?;
        let found = self.store.list_with_delimiter(Some(&prefix)).await;
        let found = found.map_err(|cause| self.advice.fault(cause))?;
        let folders = found.common_prefixes.iter().map(|path| Child::Folder(path.to_string()));
        let files = found.objects.iter().map(|meta| Child::File(entry(meta)));
        let children: Vec<_> = folders.chain(files).collect();
        Ok((!children.is_empty()).then_some(children))
    }

    async fn tree(&self, folder: &str, patience: Patience) -> Result<Option<Vec<Entry>>, Fault> {
        let prefix = self.path(folder)?;
        let stall = patience.stall();
        let mut tries = Tries::new(patience);
        let mut files: Vec<Entry> = Vec::new();
        loop {
            let before = files.len();
            let last = files.last().map(|file| Path::parse(&file.path));
            let mut list = match last {
                Some(Ok(last)) => self.store.list_with_offset(Some(&prefix), &last),
                _ => self.store.list(Some(&prefix)),
            };
            let fault = loop {
                match timeout(stall, list.next()).await {
                    Ok(Some(Ok(meta))) => files.push(entry(&meta)),
                    Ok(Some(Err(cause))) => break self.advice.fault(cause),
                    Ok(None) if files.is_empty() && !folder.is_empty() => return Ok(None),
                    Ok(None) => return Ok(Some(files)),
                    Err(_) => break Fault::lost(no_answer(stall)),
                }
            };
            tries.again(fault, files.len() > before).await?;
        }
    }

    async fn read(
        &self,
        wanted: &Wanted<'_>,
        into: &mut [u8],
        got: &mut usize,
    ) -> Result<(), Fault> {
        let path = self.path(wanted.path)?;
        let stall = wanted.patience.stall();
        let range = wanted.offset..wanted.offset + into.len() as u64;
        let options = GetOptions { range: Some(GetRange::Bounded(range)), ..GetOptions::default() };
        let Ok(answer) = timeout(stall, self.store.get_opts(&path, options)).await else {
            return Err(Fault::lost(no_answer(stall)));
        };
        let answer = match answer {
            Ok(answer) => answer,
            Err(cause) => return Err(self.why(&path, wanted, cause).await),
        };
        if !is_same(&answer.meta, wanted.version) {
            return Err(Fault::Changed);
        }
        let mut body = answer.into_stream();
        loop {
            let Ok(next) = timeout(stall, body.next()).await else {
                return Err(Fault::lost(no_answer(stall)));
            };
            let Some(piece) = next else { return Ok(()) };
            let piece = piece.map_err(|cause| self.advice.fault(cause))?;
            let Some(place) = into.get_mut(*got..*got + piece.len()) else {
                return Err(Fault::lost("more bytes came than were asked for"));
            };
            place.copy_from_slice(&piece);
            *got += piece.len();
        }
    }
}

impl Objects {
    /// Why a range was refused: a shorter object has none there, and each store says so otherwise.
    async fn why(&self, path: &Path, wanted: &Wanted<'_>, cause: object_store::Error) -> Fault {
        let fault = self.advice.fault(cause);
        if !matches!(fault, Fault::Refused { .. }) {
            return fault;
        }
        match timeout(wanted.patience.stall(), self.store.head(path)).await {
            Ok(Ok(meta)) if !is_same(&meta, wanted.version) => Fault::Changed,
            _ => fault,
        }
    }
}

/// Returns the entry of an object.
fn entry(meta: &ObjectMeta) -> Entry {
    let [by_tag, by_time] = versions(meta);
    let version = by_tag.or(by_time).unwrap_or_default();
    Entry { path: meta.location.to_string(), bytes: meta.size, version }
}

/// Returns whether an answer is of the version that was listed.
fn is_same(meta: &ObjectMeta, listed: u64) -> bool {
    versions(meta).contains(&Some(listed))
}

/// Returns the version of an object by its ETag, and by its time for stores that do not list ETags. Answers
/// give times to the second, lists more precisely.
fn versions(meta: &ObjectMeta) -> [Option<u64>; 2] {
    // Azure quotes ETags in one kind of answer and not in the other.
    let tag = meta.e_tag.as_ref().map(|tag| version(meta.size, tag.trim_matches('"')));
    [tag, Some(version(meta.size, &meta.last_modified.timestamp().to_string()))]
}
