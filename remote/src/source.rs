//! The engine's side: ranges of files by their URLs, each tried until it is whole, refused, or given up. A
//! try continues where the one before it broke off.

use crate::address::Address;
use crate::fault::Fault;
use crate::retry::{FRUIT_BYTES, Patience, Tries};
use crate::runtime::block_on;
use crate::store::{Entry, Store, Wanted};
use std::io;
use std::path::Path;
use tegula::RangeSource;
use twox_hash::XxHash3_64;

/// Files of one store that were listed.
#[derive(Debug)]
pub(crate) struct Source<S> {
    store: S,
    /// The common beginning of the files' URLs.
    root: String,
    /// The version of each file, by the hash of its path and in its order: 16 bytes a file.
    versions: Vec<(u64, u64)>,
    patience: Patience,
}

impl<S: Store> Source<S> {
    pub(crate) fn new(store: S, address: &Address, files: &[Entry], patience: Patience) -> Self {
        let hashed = |file: &Entry| (XxHash3_64::oneshot(file.path.as_bytes()), file.version);
        let mut versions: Vec<_> = files.iter().map(hashed).collect();
        versions.sort_unstable();
        Source { store, root: format!("{}/", address.root), versions, patience }
    }

    /// Returns the path of a file below the root.
    fn path<'n>(&self, name: &'n Path) -> Option<&'n str> {
        name.to_str()?.strip_prefix(&self.root)
    }

    async fn read(&self, path: &str, offset: u64, into: &mut [u8]) -> Result<(), (Fault, u64)> {
        let Some(version) = self.version(path) else { return Err((Fault::Missing, offset)) };
        let wanted = Wanted { path, version, offset, patience: self.patience };
        read_whole(&self.store, &wanted, into).await
    }

    /// Returns the version that was listed. Of two paths with one hash, either will do: the store says no to
    /// the wrong one, and such a pair is one in 2^64.
    fn version(&self, path: &str) -> Option<u64> {
        let hash = XxHash3_64::oneshot(path.as_bytes());
        let at = self.versions.partition_point(|&(other, _)| other < hash);
        self.versions.get(at).filter(|(other, _)| *other == hash).map(|&(_, version)| version)
    }
}

/// Fills `into`. Returns the fault that ends the tries, and the offset that they came to.
pub(crate) async fn read_whole<S: Store>(
    store: &S,
    wanted: &Wanted<'_>,
    into: &mut [u8],
) -> Result<(), (Fault, u64)> {
    let &Wanted { path, version, offset, patience } = wanted;
    let mut tries = Tries::new(patience);
    let mut got = 0;
    while got < into.len() {
        let before = got;
        let wanted = Wanted { path, version, offset: offset + got as u64, patience };
        let mut more = 0;
        let result = store.read(&wanted, &mut into[before..], &mut more).await;
        got += more;
        let fault = match result {
            Err(fault) => fault,
            Ok(()) if got < into.len() => Fault::lost("the answer ended early"),
            Ok(()) => break,
        };
        let again = tries.again(fault, more >= FRUIT_BYTES).await;
        again.map_err(|fault| (fault, offset + got as u64))?;
    }
    Ok(())
}

impl<S: Store> RangeSource for Source<S> {
    fn read_at(&self, name: &Path, offset: u64, into: &mut [u8]) -> io::Result<()> {
        let path = self.path(name).ok_or(io::ErrorKind::NotFound)?;
        block_on(self.read(path, offset, into))?.map_err(|(fault, at)| fault.of_reading(name, at))
    }

    fn stamp(&self, name: &Path) -> u64 {
        self.path(name).and_then(|path| self.version(path)).unwrap_or_default()
    }
}
