//! Small: a disk with room for some bytes in all, for tests. When they are written it is full, and answers as a file
//! system does: of a write, the first bytes still fit; then writes, new files, new names, longer files and syncs of files
//! fail with `ENOSPC`. What is there can be read, cut short and removed, and its names can be synced. Bytes that are removed give no room back, so the
//! room that a run needs is what it writes.

use rustix::io::Errno;
use std::io::{self, Write};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use tegula_machine::error::StorageError;
use tegula_machine::storage::{Storage, StoredFile};
use tegula_machine::sync::Mutex;

/// The room of a disk, which several folders and files may share.
#[derive(Clone, Debug)]
pub struct Room(Arc<Mutex<Taken>>);

#[derive(Debug)]
struct Taken {
    bytes: u64,
    /// Bytes whose space was given back.
    freed: u64,
    most: u64,
    /// Calls that failed because nothing is left.
    refused: u64,
}

/// A folder on a small disk.
#[derive(Debug)]
pub struct Small {
    inner: Arc<dyn Storage>,
    room: Room,
}

#[derive(Debug)]
struct SmallFile {
    inner: Box<dyn StoredFile>,
    room: Room,
}

/// A file on a small disk that is written in order.
#[derive(Debug)]
pub struct SmallSink<'w, W> {
    inner: &'w mut W,
    room: Room,
}

impl Room {
    /// Returns room for this many bytes.
    pub fn of(bytes: u64) -> Room {
        Room(Arc::new(Mutex::new(Taken { bytes: 0, freed: 0, most: bytes, refused: 0 })))
    }

    /// Returns room without an end, which counts what is written.
    pub fn without_end() -> Room {
        Room::of(u64::MAX)
    }

    /// Returns the bytes that were written.
    pub fn taken(&self) -> u64 {
        self.0.lock().bytes
    }

    /// Returns the bytes of files of which only these were given back; that leaves no more room.
    pub fn freed(&self) -> u64 {
        self.0.lock().freed
    }

    /// Returns the number of calls that failed because nothing was left.
    pub fn refused(&self) -> u64 {
        self.0.lock().refused
    }

    /// Takes room for a write; returns how many of the bytes fit, at least one.
    fn take(&self, bytes: usize) -> io::Result<usize> {
        let mut taken = self.0.lock();
        let fit = (taken.most - taken.bytes).min(bytes as u64);
        if fit == 0 && bytes > 0 {
            taken.refused += 1;
            return Err(Errno::NOSPC.into());
        }
        taken.bytes += fit;
        Ok(fit as usize)
    }

    /// Fails if less than this is left.
    fn need(&self, bytes: u64) -> io::Result<()> {
        let mut taken = self.0.lock();
        if taken.most - taken.bytes < bytes {
            taken.refused += 1;
            return Err(Errno::NOSPC.into());
        }
        Ok(())
    }
}

impl Small {
    /// Puts a folder on a disk with this room.
    pub fn new(inner: Arc<dyn Storage>, room: Room) -> Small {
        Small { inner, room }
    }

    fn wrap(&self, inner: Box<dyn StoredFile>) -> Box<dyn StoredFile> {
        Box::new(SmallFile { inner, room: self.room.clone() })
    }

    /// Fails if there is no room for a name.
    fn need(&self, action: &'static str, path: &Path) -> Result<(), StorageError> {
        self.room.need(1).map_err(|cause| StorageError::from_io(action, path, cause))
    }
}

impl Storage for Small {
    fn path(&self) -> &Path {
        self.inner.path()
    }

    fn scratch(&self) -> Result<Box<dyn StoredFile>, StorageError> {
        self.need("make a scratch file", self.path())?;
        Ok(self.wrap(self.inner.scratch()?))
    }

    fn create(&self, name: &str) -> Result<Box<dyn StoredFile>, StorageError> {
        self.need("make a file", &self.path().join(name))?;
        Ok(self.wrap(self.inner.create(name)?))
    }

    fn open(&self, name: &str) -> Result<Box<dyn StoredFile>, StorageError> {
        Ok(self.wrap(self.inner.open(name)?))
    }

    fn rename(&self, from: &str, to: &str) -> Result<(), StorageError> {
        self.need("rename a file", &self.path().join(from))?;
        self.inner.rename(from, to)
    }

    fn remove(&self, name: &str) -> Result<(), StorageError> {
        self.inner.remove(name)
    }

    fn list(&self) -> Result<Vec<String>, StorageError> {
        self.inner.list()
    }

    fn sync(&self) -> Result<(), StorageError> {
        self.inner.sync()
    }

    fn lock(&self, name: &str) -> Result<Option<Box<dyn StoredFile>>, StorageError> {
        if let Err(StorageError::Missing { .. }) = self.inner.open(name) {
            self.need("be locked", &self.path().join(name))?;
        }
        Ok(self.inner.lock(name)?.map(|file| self.wrap(file)))
    }
}

impl SmallFile {
    fn need(&self, action: &'static str, bytes: u64) -> Result<(), StorageError> {
        let path = || self.path().to_path_buf();
        self.room.need(bytes).map_err(|cause| StorageError::from_io(action, path(), cause))
    }
}

impl StoredFile for SmallFile {
    fn path(&self) -> &Path {
        self.inner.path()
    }

    fn read_at(&self, into: &mut [u8], offset: u64) -> io::Result<usize> {
        self.inner.read_at(into, offset)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        let fit = self.room.take(bytes.len())?;
        self.inner.write_at(&bytes[..fit], offset)
    }

    fn bytes(&self) -> Result<u64, StorageError> {
        self.inner.bytes()
    }

    /// Room for what is longer must be there, though it is taken only when it is written.
    fn set_bytes(&self, bytes: u64) -> Result<(), StorageError> {
        self.need("change its length", bytes.saturating_sub(self.inner.bytes()?))?;
        self.inner.set_bytes(bytes)
    }

    fn punch(&self, range: Range<u64>) -> Result<(), StorageError> {
        self.room.0.lock().freed += range.end - range.start;
        self.inner.punch(range)
    }

    /// Bytes that were written may find no room only now.
    fn sync(&self) -> Result<(), StorageError> {
        self.need("be synced", 1)?;
        self.inner.sync()
    }
}

impl<'w, W: Write> SmallSink<'w, W> {
    /// Puts a file on a disk with this room.
    pub fn new(inner: &'w mut W, room: Room) -> SmallSink<'w, W> {
        SmallSink { inner, room }
    }
}

impl<W: Write> Write for SmallSink<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let fit = self.room.take(bytes.len())?;
        self.inner.write(&bytes[..fit])
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tegula_machine::storage::Disk;

    #[test]
    fn a_full_disk_refuses_what_takes_room() {
        let folder = std::env::temp_dir().join(format!("tegula-small-{}", std::process::id()));
        std::fs::create_dir(&folder).unwrap();
        let room = Room::of(10);
        let small = Small::new(Arc::new(Disk::new(&folder)), room.clone());
        let file = small.create("a").unwrap();
        assert!(matches!(file.set_bytes(11), Err(StorageError::Full { .. })));
        assert_eq!(file.write_at(b"0123456", 0).unwrap(), 7);
        assert_eq!(file.write_at(b"789ab", 7).unwrap(), 3);
        assert_eq!((room.taken(), room.refused()), (10, 1));
        let full = file.write_all_at(b"b", 10).unwrap_err();
        assert!(matches!(&full, StorageError::Full { path, .. } if path.ends_with("a")), "{full}");
        for refused in [
            small.create("b").map(drop),
            small.scratch().map(drop),
            small.rename("a", "b"),
            small.lock("lock").map(drop),
            file.sync(),
        ] {
            assert!(matches!(refused, Err(StorageError::Full { .. })));
        }
        assert_eq!(
            SmallSink::new(&mut Vec::new(), room.clone()).write(b"c").unwrap_err().raw_os_error(),
            Some(28)
        );
        let mut read = [0; 10];
        small.open("a").unwrap().read_exact_at(&mut read, 0).unwrap();
        assert_eq!(&read, b"0123456789");
        file.punch(2..6).unwrap();
        assert_eq!((room.taken(), room.freed()), (10, 4));
        file.set_bytes(2).unwrap();
        small.sync().unwrap();
        small.remove("a").unwrap();
        assert!(small.list().unwrap().is_empty());
        std::fs::remove_dir(&folder).unwrap();
    }
}
