//! Faulty: storage with planned faults, for tests. It counts calls by kind, fails the Nth of a kind in the
//! given way, reads and writes fewer bytes than asked for, tears writes, and loses unsynced bytes when the
//! power goes. The same seed gives the same faults.
//!
//! Loss of power follows file systems that order changes of names among themselves and nothing else. Of the
//! names changed since the folder was last synced a first part stays; of the writes since a file was last
//! synced any part stays. Calls that change anything are made one at a time, so the power never goes between
//! a change and its undo record.

use rustix::io::Errno;
use std::fmt;
use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tegula_machine::error::StorageError;
use tegula_machine::storage::{Storage, StoredFile};
use tegula_machine::sync::{Mutex, MutexGuard};

/// A testing aid: wraps any storage. Clones are the same storage, so keep one to look at.
#[derive(Clone)]
pub struct Faulty {
    inner: Arc<dyn Storage>,
    state: Arc<Mutex<State>>,
    /// The least time that a write takes.
    write_time: Duration,
}

/// A kind of call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs, reason = "named after the methods that they are calls of")]
pub enum Call {
    Scratch,
    Create,
    Open,
    Rename,
    Remove,
    List,
    SyncFolder,
    ReadAt,
    WriteAt,
    Bytes,
    SetBytes,
    Punch,
    SyncFile,
}

/// A fault of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fault {
    /// The device fails (`EIO`), and nothing is done.
    Io,
    /// The disk is full (`ENOSPC`), and nothing is done.
    Full,
    /// A signal came first (`EINTR`), and nothing is done. Only reads and writes: where other calls
    /// know it, it is dealt with underneath.
    Interrupted,
    /// Fewer bytes are read or written than asked for, at least one. As [`Fault::Io`] for others.
    Short,
    /// Some of the bytes are written, and the call fails with `EIO`. As [`Fault::Io`] for others.
    Torn,
    /// One bit that is read is another, and nothing tells so. As [`Fault::Io`] for others than reads.
    Flipped,
    /// The power goes: unsynced bytes are lost in part, and this call and all after it fail. The remaining
    /// bytes are seen through the wrapped storage.
    PowerLoss,
    /// The process is killed (`SIGKILL`), and nothing is done.
    Kill,
}

struct Planned {
    call: Call,
    nth: u64,
    fault: Fault,
    for_good: bool,
}

struct State {
    random: u64,
    calls: [u64; Call::SyncFile as usize + 1],
    plan: Vec<Planned>,
    /// One in this number of reads and writes is short.
    short_one_in: Option<u64>,
    dead: bool,
    names: Vec<NameChange>,
    writes: Vec<Pending>,
    next_file: u64,
}

/// A change of names since the folder was last synced, with the data that undoes it.
enum NameChange {
    Created(String),
    Renamed { from: String, to: String, replaced: Option<Vec<u8>> },
    Removed(String, Vec<u8>),
}

/// A write since its file was last synced.
struct Pending {
    number: u64,
    file: Arc<dyn StoredFile>,
    offset: u64,
    new: Vec<u8>,
    old: Vec<u8>,
    old_bytes: u64,
}

struct FaultyFile {
    inner: Arc<dyn StoredFile>,
    number: u64,
    /// Anonymous files do not outlive the power anyway.
    named: bool,
    faulty: Faulty,
}

impl Faulty {
    /// Wraps `inner`, without faults so far. `seed` decides the random choices: the length of a short call,
    /// the bytes torn or lost.
    pub fn new(inner: Arc<dyn Storage>, seed: u64) -> Faulty {
        let state = State {
            random: seed,
            calls: [0; Call::SyncFile as usize + 1],
            plan: Vec::new(),
            short_one_in: None,
            dead: false,
            names: Vec::new(),
            writes: Vec::new(),
            next_file: 0,
        };
        Faulty { inner, state: Arc::new(Mutex::new(state)), write_time: Duration::ZERO }
    }

    /// Makes the `nth` call of a kind fail (counted from 1, earlier calls included).
    pub fn fail_once(self, call: Call, nth: u64, fault: Fault) -> Faulty {
        self.state.lock().plan.push(Planned { call, nth, fault, for_good: false });
        self
    }

    /// Makes the `nth` call of a kind and each after it fail.
    pub fn fail_from(self, call: Call, nth: u64, fault: Fault) -> Faulty {
        self.state.lock().plan.push(Planned { call, nth, fault, for_good: true });
        self
    }

    /// Makes one in `one_in` reads and writes, at random, move fewer bytes than asked for.
    pub fn short(self, one_in: u64) -> Faulty {
        self.state.lock().short_one_in = Some(one_in.max(1));
        self
    }

    /// Makes each write take this long at least, as on a slow disk. Writes of several threads wait side by side.
    pub fn slow(self, write_time: Duration) -> Faulty {
        Faulty { write_time, ..self }
    }

    /// Returns the number of calls of a kind, failed ones included.
    pub fn calls(&self, call: Call) -> u64 {
        self.state.lock().calls[call as usize]
    }

    /// The power goes now: see [`Fault::PowerLoss`].
    pub fn lose_power(&self) {
        self.state.lock().lose_power(&*self.inner);
    }

    /// Counts a call that moves no bytes, and fails it if that is planned. No other call is made while the
    /// returned guard is held.
    fn enter(
        &self,
        call: Call,
        action: &'static str,
        path: &Path,
    ) -> Result<MutexGuard<'_, State>, StorageError> {
        let mut state = self.state.lock();
        match state.count(call) {
            None | Some(Fault::Interrupted) => Ok(state),
            Some(fault) => {
                let cause = state.fail(fault, &*self.inner);
                Err(StorageError::from_io(action, path, cause))
            }
        }
    }

    fn wrap(
        &self,
        state: &mut State,
        inner: Box<dyn StoredFile>,
        named: bool,
    ) -> Box<dyn StoredFile> {
        state.next_file += 1;
        let number = state.next_file;
        Box::new(FaultyFile { inner: Arc::from(inner), number, named, faulty: self.clone() })
    }

    /// Returns the bytes of a file that is about to lose its name.
    fn content(&self, name: &str) -> Option<Vec<u8>> {
        let file = self.inner.open(name).ok()?;
        let mut bytes = vec![0; usize::try_from(file.bytes().ok()?).ok()?];
        file.read_exact_at(&mut bytes, 0).ok()?;
        Some(bytes)
    }
}

/// Ends this process as nothing in it can prevent.
fn kill() -> ! {
    let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
    loop {
        std::thread::park();
    }
}

impl State {
    fn count(&mut self, call: Call) -> Option<Fault> {
        self.calls[call as usize] += 1;
        let now = self.calls[call as usize];
        if self.dead {
            return Some(Fault::Io);
        }
        let planned = self.plan.iter().find(|planned| {
            planned.call == call && (planned.nth == now || planned.for_good && planned.nth < now)
        });
        if let Some(planned) = planned {
            return Some(planned.fault);
        }
        let one_in = self.short_one_in.filter(|_| matches!(call, Call::ReadAt | Call::WriteAt))?;
        self.random().is_multiple_of(one_in).then_some(Fault::Short)
    }

    /// Returns the next number of the generator SplitMix64 (Steele, Lea and Flood, 2014).
    fn random(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.random;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Makes a call fail; returns the error of the system.
    fn fail(&mut self, fault: Fault, storage: &dyn Storage) -> io::Error {
        match fault {
            Fault::Kill => kill(),
            Fault::Full => Errno::NOSPC,
            Fault::Interrupted => Errno::INTR,
            Fault::PowerLoss => {
                self.lose_power(storage);
                Errno::IO
            }
            Fault::Io | Fault::Short | Fault::Torn | Fault::Flipped => Errno::IO,
        }
        .into()
    }

    fn lose_power(&mut self, storage: &dyn Storage) {
        self.lose_writes();
        let stay = self.random() as usize % (self.names.len() + 1);
        for change in self.names.drain(stay..).rev() {
            undo(storage, change);
        }
    }

    fn lose_writes(&mut self) {
        self.dead = true;
        let writes: Vec<Pending> = self.writes.drain(..).collect();
        // A file may have gone since; then there is nothing to lose.
        for write in writes.iter().rev() {
            let _ = write.file.write_all_at(&write.old, write.offset);
            let _ = write.file.set_bytes(write.old_bytes);
        }
        for write in &writes {
            if self.random().is_multiple_of(2) {
                let _ = write.file.write_all_at(&write.new, write.offset);
            }
        }
    }
}

/// Undoes a change of names, after the later changes were undone.
fn undo(storage: &dyn Storage, change: NameChange) {
    let put_back = |name: &str, bytes: &[u8]| {
        if let Ok(file) = storage.create(name) {
            let _ = file.write_all_at(bytes, 0);
        }
    };
    match change {
        NameChange::Created(name) => {
            let _ = storage.remove(&name);
        }
        NameChange::Renamed { from, to, replaced } => {
            let _ = storage.rename(&to, &from);
            replaced.iter().for_each(|bytes| put_back(&to, bytes));
        }
        NameChange::Removed(name, bytes) => put_back(&name, &bytes),
    }
}

impl Storage for Faulty {
    fn path(&self) -> &Path {
        self.inner.path()
    }

    fn scratch(&self) -> Result<Box<dyn StoredFile>, StorageError> {
        let mut state = self.enter(Call::Scratch, "make a scratch file", self.path())?;
        Ok(self.wrap(&mut state, self.inner.scratch()?, false))
    }

    fn create(&self, name: &str) -> Result<Box<dyn StoredFile>, StorageError> {
        let mut state = self.enter(Call::Create, "make a file", self.path())?;
        let file = self.inner.create(name)?;
        state.names.push(NameChange::Created(name.to_owned()));
        Ok(self.wrap(&mut state, file, true))
    }

    fn open(&self, name: &str) -> Result<Box<dyn StoredFile>, StorageError> {
        let mut state = self.enter(Call::Open, "open a file", self.path())?;
        Ok(self.wrap(&mut state, self.inner.open(name)?, true))
    }

    fn rename(&self, from: &str, to: &str) -> Result<(), StorageError> {
        let mut state = self.enter(Call::Rename, "rename a file", self.path())?;
        let replaced = self.content(to);
        self.inner.rename(from, to)?;
        let (from, to) = (from.to_owned(), to.to_owned());
        state.names.push(NameChange::Renamed { from, to, replaced });
        Ok(())
    }

    fn remove(&self, name: &str) -> Result<(), StorageError> {
        let mut state = self.enter(Call::Remove, "remove a file", self.path())?;
        let bytes = self.content(name).unwrap_or_default();
        self.inner.remove(name)?;
        state.names.push(NameChange::Removed(name.to_owned(), bytes));
        Ok(())
    }

    fn list(&self) -> Result<Vec<String>, StorageError> {
        let _one_at_a_time = self.enter(Call::List, "be listed", self.path())?;
        self.inner.list()
    }

    fn sync(&self) -> Result<(), StorageError> {
        let mut state = self.enter(Call::SyncFolder, "be synced", self.path())?;
        self.inner.sync()?;
        state.names.clear();
        Ok(())
    }

    /// Nothing goes wrong with locks, and they hold over a loss of power.
    fn lock(&self, name: &str) -> Result<Option<Box<dyn StoredFile>>, StorageError> {
        self.inner.lock(name)
    }
}

impl StoredFile for FaultyFile {
    fn path(&self) -> &Path {
        self.inner.path()
    }

    fn read_at(&self, into: &mut [u8], offset: u64) -> io::Result<usize> {
        let (mut state, count, is_flipped) = self.part(Call::ReadAt, into.len())?;
        let count = self.inner.read_at(&mut into[..count], offset)?;
        if is_flipped && count > 0 {
            let bit = state.random() as usize % (count * 8);
            into[bit / 8] ^= 1 << (bit % 8);
        }
        Ok(count)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        std::thread::sleep(self.faulty.write_time);
        let (mut state, count, torn) = self.part(Call::WriteAt, bytes.len())?;
        self.keep(&mut state, &bytes[..count], offset)?;
        match self.inner.write_at(&bytes[..count], offset) {
            Ok(_) if torn => Err(Errno::IO.into()),
            written => written,
        }
    }

    fn bytes(&self) -> Result<u64, StorageError> {
        let _one_at_a_time = self.enter(Call::Bytes, "be looked at")?;
        self.inner.bytes()
    }

    fn set_bytes(&self, bytes: u64) -> Result<(), StorageError> {
        let _one_at_a_time = self.enter(Call::SetBytes, "change its length")?;
        self.inner.set_bytes(bytes)
    }

    fn punch(&self, range: Range<u64>) -> Result<(), StorageError> {
        let _one_at_a_time = self.enter(Call::Punch, "give space back")?;
        self.inner.punch(range)
    }

    fn sync(&self) -> Result<(), StorageError> {
        let mut state = self.enter(Call::SyncFile, "be synced")?;
        self.inner.sync()?;
        state.writes.retain(|write| write.number != self.number);
        Ok(())
    }
}

impl FaultyFile {
    fn enter(
        &self,
        call: Call,
        action: &'static str,
    ) -> Result<MutexGuard<'_, State>, StorageError> {
        self.faulty.enter(call, action, self.path())
    }

    /// Returns how many of `count` bytes a call may move, and whether these are spoilt: a write fails after that, and a
    /// bit of a read is another. As in [`Faulty::enter`], the guard keeps other calls away.
    fn part(&self, call: Call, count: usize) -> io::Result<(MutexGuard<'_, State>, usize, bool)> {
        let mut state = self.faulty.state.lock();
        let (count, is_spoilt) = match state.count(call) {
            None => (count, false),
            Some(Fault::Short) if count > 1 => (1 + state.random() as usize % (count - 1), false),
            Some(Fault::Short) => (count, false),
            Some(Fault::Flipped) if call == Call::ReadAt => (count, true),
            Some(Fault::Torn) if call == Call::WriteAt => {
                (state.random() as usize % (count + 1), true)
            }
            Some(fault) => return Err(state.fail(fault, &*self.faulty.inner)),
        };
        Ok((state, count, is_spoilt))
    }

    /// Notes the bytes that a write replaces, until they are synced.
    fn keep(&self, state: &mut State, new: &[u8], offset: u64) -> io::Result<()> {
        if !self.named {
            return Ok(());
        }
        let old_bytes = self.inner.bytes().map_err(io::Error::other)?;
        let overlap = old_bytes.saturating_sub(offset).min(new.len() as u64);
        let mut old = vec![0; overlap as usize];
        self.inner.read_exact_at(&mut old, offset).map_err(io::Error::other)?;
        let (number, file, new) = (self.number, Arc::clone(&self.inner), new.to_vec());
        state.writes.push(Pending { number, file, offset, new, old, old_bytes });
        Ok(())
    }
}

impl fmt::Debug for Faulty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Faulty").field("inner", &self.inner).finish_non_exhaustive()
    }
}

impl fmt::Debug for FaultyFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FaultyFile").field("inner", &self.inner).finish_non_exhaustive()
    }
}
