//! Object stores, by their common protocol of keys and ranges: S3 and compatible stores, Google Cloud
//! Storage, Azure. Settings are those that the stores' own tools read from the environment. Without
//! credentials there, requests are not signed, which is enough for public objects.
//!
//! Every answer says which version of the object it is of (its ETag). It is compared with the one
//! that was listed, before any byte of it is taken.

use crate::address::Address;
use crate::answer::{Advice, UNNAMEABLE};
use crate::bucket::Bucket;
use crate::fault::Fault;
use crate::retry::{Patience, no_answer, retry};
use crate::settings::Settings;
use crate::store::{Child, Content, Entry, PIECE_BYTES, Store, Wanted, check_below, version};
use futures_util::{FutureExt, StreamExt};
use object_store::list::PaginatedListOptions;
use object_store::multipart::PartId;
use object_store::path::{DELIMITER, Path};
use object_store::{
    GetOptions, GetRange, ListResult, MultipartId, ObjectMeta, ObjectStoreExt, PutMode, PutOptions,
    PutPayload,
};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;

/// The parts of an object of more than one piece, which nobody sees before it is complete.
#[derive(Debug)]
pub(crate) struct Parts {
    id: MultipartId,
    sent: Vec<PartId>,
}

/// A bucket.
#[derive(Debug)]
pub(crate) struct Objects {
    store: Arc<dyn Bucket>,
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
        crate::bucket::check(settings, address.scheme)?;
        let fault = |cause| {
            let unparsed = crate::bucket::unparsed(settings, address.scheme, &cause);
            unparsed.unwrap_or_else(|| advice.fault(cause))
        };
        let store = crate::bucket::open(settings, address, patience).map_err(fault)?;
        Ok(Objects { store, advice })
    }

    fn path(&self, path: &str) -> Result<Path, Fault> {
        Path::parse(path).map_err(|cause| Fault::refused(cause.to_string(), UNNAMEABLE))
    }
}

impl Store for Objects {
    type Upload = Option<Parts>;

    const LISTS_WITHOUT_SLASHES: bool = true;

    async fn file(&self, path: &str) -> Result<Option<Entry>, Fault> {
        let path = self.path(path)?;
        match self.contained(self.store.head(&path)).await? {
            Ok(meta) => Ok(Some(entry(&meta))),
            Err(object_store::Error::NotFound { .. }) => Ok(None),
            Err(cause) => Err(self.advice.fault(cause)),
        }
    }

    async fn children(
        &self,
        folder: &str,
        patience: Patience,
    ) -> Result<Option<Vec<Child>>, Fault> {
        let (mut folders, mut files, mut is_there) = (BTreeSet::new(), Vec::new(), false);
        let take = |page: ListResult| {
            is_there |= !(page.common_prefixes.is_empty() && page.objects.is_empty());
            for path in &page.common_prefixes {
                check_below(folder, path.as_ref())?;
                folders.insert(path.to_string());
            }
            for meta in &page.objects {
                files.extend(listed(folder, meta)?.map(Child::File));
            }
            Ok(())
        };
        self.pages(folder, Some(DELIMITER), patience, take).await?;
        files.extend(folders.into_iter().map(Child::Folder));
        Ok(is_there.then_some(files))
    }

    async fn tree(&self, folder: &str, patience: Patience) -> Result<Option<Vec<Entry>>, Fault> {
        // The bucket itself is there.
        let (mut files, mut is_there) = (Vec::new(), folder.is_empty());
        let take = |page: ListResult| {
            is_there |= !page.objects.is_empty();
            for meta in &page.objects {
                files.extend(listed(folder, meta)?);
            }
            Ok(())
        };
        self.pages(folder, None, patience, take).await?;
        Ok(is_there.then_some(files))
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
        let request = self.contained(self.store.get_opts(&path, options));
        let Ok(answer) = timeout(stall, request).await else {
            return Err(Fault::lost(no_answer(stall)));
        };
        let answer = match answer? {
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

    async fn create(&self, path: &str, bytes: &[u8], _: Patience) -> Result<(), Fault> {
        let (path, payload) = (self.path(path)?, PutPayload::from(bytes.to_vec()));
        let created = self.store.put_opts(&path, payload, PutOptions::from(PutMode::Create));
        match self.asked(created).await {
            // What an object of that name is to a condition on its absence.
            Err(Fault::Changed) => Err(Fault::Exists),
            answer => answer.map(drop),
        }
    }

    /// An object of one piece is sent when it is published.
    async fn send(
        &self,
        path: &str,
        content: Content<'_>,
        patience: Patience,
    ) -> Result<Option<Parts>, Fault> {
        if content.bytes() <= PIECE_BYTES {
            return Ok(None);
        }
        let path = self.path(path)?;
        let begun = retry(patience, async || self.asked(self.store.create_multipart(&path)).await);
        let mut parts = Parts { id: begun.await?, sent: Vec::new() };
        match self.send_parts(&path, content, patience, &mut parts).await {
            Ok(()) => Ok(Some(parts)),
            Err(fault) => {
                // What fails here, too, is left to the rules of the bucket.
                let _ = timeout(patience.stall(), self.abort(&path, &parts)).await;
                Err(fault)
            }
        }
    }

    async fn publish(
        &self,
        path: &str,
        content: Content<'_>,
        upload: &Option<Parts>,
    ) -> Result<(), Fault> {
        let path = self.path(path)?;
        let Some(Parts { id, sent }) = upload else {
            let payload = PutPayload::from(content.piece(0)?);
            return self.asked(self.store.put(&path, payload)).await.map(drop);
        };
        self.asked(self.store.complete_multipart(&path, id, sent.clone())).await.map(drop)
    }

    async fn discard(&self, path: &str, upload: &Option<Parts>) -> Result<(), Fault> {
        let Some(parts) = upload else { return Ok(()) };
        self.abort(&self.path(path)?, parts).await
    }

    async fn rename(&self, from: &str, to: &str) -> Result<(), Fault> {
        let (from, to) = (self.path(from)?, self.path(to)?);
        self.asked(self.store.copy(&from, &to)).await?;
        // A try before this one may have come as far as here.
        match self.contained(self.store.delete(&from)).await? {
            Err(object_store::Error::NotFound { .. }) => Ok(()),
            answer => answer.map_err(|cause| self.advice.fault(cause)),
        }
    }

    async fn remove(&self, path: &str) -> Result<(), Fault> {
        self.asked(self.store.delete(&self.path(path)?)).await
    }

    async fn make_folder(&self, path: &str) -> Result<(), Fault> {
        self.path(path).map(drop)
    }

    async fn remove_folder(&self, path: &str) -> Result<(), Fault> {
        self.path(path).map(drop)
    }
}

impl Objects {
    /// Lists a folder by pages; with a delimiter, only what is directly in it. Each page is tried again by itself, from the
    /// mark that the page before ends with. So a list may have any number of pages, in any order.
    async fn pages(
        &self,
        folder: &str,
        delimiter: Option<&'static str>,
        patience: Patience,
        mut take: impl FnMut(ListResult) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        let path = self.path(folder)?;
        let prefix = (!folder.is_empty()).then(|| format!("{path}{DELIMITER}"));
        let mut mark = None;
        loop {
            let page = retry(patience, async || {
                let options = PaginatedListOptions {
                    delimiter: delimiter.map(Cow::Borrowed),
                    page_token: mark.clone(),
                    ..PaginatedListOptions::default()
                };
                let request = self.store.list_paginated(prefix.as_deref(), options);
                self.within(patience.stall(), request).await
            });
            let page = page.await?;
            take(page.result)?;
            match page.page_token.filter(|mark| !mark.is_empty()) {
                Some(next) => mark = Some(next),
                None => return Ok(()),
            }
        }
    }

    /// Sends the parts of an object, each with tries of its own.
    async fn send_parts(
        &self,
        path: &Path,
        content: Content<'_>,
        patience: Patience,
        Parts { id, sent }: &mut Parts,
    ) -> Result<(), Fault> {
        let mut at = 0;
        while at < content.bytes() {
            let piece = PutPayload::from(content.piece(at)?);
            at += piece.content_length() as u64;
            let part = retry(patience, async || {
                self.asked(self.store.put_part(path, id, sent.len(), piece.clone())).await
            });
            sent.push(part.await?);
        }
        Ok(())
    }

    /// Drops the parts, which the store otherwise keeps until the bucket's rules for unfinished uploads remove them.
    async fn abort(&self, path: &Path, parts: &Parts) -> Result<(), Fault> {
        self.asked(self.store.abort_multipart(path, &parts.id)).await
    }

    async fn asked<T>(
        &self,
        request: impl Future<Output = object_store::Result<T>>,
    ) -> Result<T, Fault> {
        self.contained(request).await?.map_err(|cause| self.advice.fault(cause))
    }

    /// Waits for the library, which panics where settings make no request of HTTP.
    async fn contained<T>(&self, request: impl Future<Output = T>) -> Result<T, Fault> {
        let answer = AssertUnwindSafe(request).catch_unwind().await;
        answer.map_err(|_| self.advice.refused("the settings make no request"))
    }

    /// Waits for an answer this long.
    async fn within<T>(
        &self,
        time: Duration,
        request: impl Future<Output = object_store::Result<T>>,
    ) -> Result<T, Fault> {
        match timeout(time, self.asked(request)).await {
            Ok(answer) => answer,
            Err(_) => Err(Fault::lost(no_answer(time))),
        }
    }

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

/// Returns the entry of an object in the list of a folder; `None` for the empty object that marks the folder itself.
///
/// # Errors
/// If the object is not below the folder, or marks it and has bytes, which cannot be asked for.
fn listed(folder: &str, meta: &ObjectMeta) -> Result<Option<Entry>, Fault> {
    let path = meta.location.as_ref();
    if path == folder {
        return match meta.size {
            0 => Ok(None),
            bytes => Err(Fault::refused(
                format!("the object `{path}/` has {bytes} bytes and the name of a folder"),
                "rename it",
            )),
        };
    }
    check_below(folder, path)?;
    Ok(Some(entry(meta)))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_with_the_name_of_a_folder_is_empty_or_refused() {
        let meta = |path: &str, size| ObjectMeta {
            location: Path::from(path),
            last_modified: Default::default(),
            size,
            e_tag: None,
            version: None,
        };
        assert_eq!(listed("folder", &meta("folder", 0)), Ok(None));
        let refused = listed("folder", &meta("folder", 3));
        let cause = "the object `folder/` has 3 bytes and the name of a folder";
        assert_eq!(refused, Err(Fault::refused(cause, "rename it")));
        let found = listed("folder", &meta("folder/a", 3)).unwrap().unwrap();
        assert_eq!((found.path.as_str(), found.bytes), ("folder/a", 3));
    }
}
