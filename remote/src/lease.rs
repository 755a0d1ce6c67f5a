//! A lease: the right of one run to change a state on a store that has no locks. It is a file with a number, made so
//! that the store lets only one of several runs make it (a condition on the absence of an object; a rename without
//! overwriting). Its content names the run and changes with each renewal. Who wants the state of a run that does
//! not renew its lease any more takes the next number; the run that lost it so finds that number, or its own file gone,
//! before it changes the manifest, and fails (leases after Gray and Cheriton, Leases: An Efficient Fault-Tolerant
//! Mechanism, 1989, with the number as a token against late writers).
//!
//! Times are those of one machine each: a waiting run measures how long a file has not changed, and compares no clocks.
//! The file has the time of its run's lease in it, by which others wait. A run that could not renew its lease in that time
//! takes the next number itself, and so finds out whether another run was faster.
//! A run on the same machine whose process is gone is not waited for.

use crate::folders::{Connection, below, name_of};
use crate::store::{Child, Entry, Store, UNFINISHED};
use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use tegula::StorageError;
use tegula_machine::sync::{Condvar, Mutex};

/// Before the number in the names of leases.
const NAME: &str = "lease-";
/// Renewals in the time after which a lease is lost.
const RENEWALS: u32 = 4;
/// Renewals that are tried in the time of one, if each fails at once.
const TRIES: u32 = 4;

/// Returns whether a file of that name is a lease, or one that is not finished.
pub(crate) fn is_hidden(name: &str) -> bool {
    number_of(name).is_some() || name.ends_with(UNFINISHED)
}

/// Returns the number in a name that a run has given a lease.
fn number_of(name: &str) -> Option<u64> {
    let number = name.strip_prefix(NAME)?.parse().ok()?;
    (name == name_with(number)).then_some(number)
}

fn name_with(number: u64) -> String {
    format!("{NAME}{number}")
}

/// A lease that is renewed until it is dropped.
#[derive(Debug)]
pub(crate) struct Lease<S: Store + 'static> {
    held: Arc<Held<S>>,
    renewing: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Held<S> {
    connection: Arc<Connection<S>>,
    folder: String,
    /// Locked while the file is read or written.
    number: Mutex<u64>,
    /// When the last writing of it that the store has answered began.
    written: Mutex<Instant>,
    writings: AtomicU64,
    /// Another run has the state, or had it.
    is_lost: AtomicBool,
    /// Its run, within this process and everywhere.
    run: u64,
    owner: String,
    is_over: Mutex<bool>,
    /// Told when it is over.
    ended: Condvar,
}

impl<S: Store + 'static> Lease<S> {
    /// Takes the lease of a folder; `None` if another run has it. Waits up to the time of a lease to see that a run
    /// which has it is alive. Removes what a run that was killed had not finished.
    pub(crate) fn take(
        connection: &Arc<Connection<S>>,
        folder: &str,
    ) -> Result<Option<Lease<S>>, StorageError> {
        let Some(number) = number_to_take(connection, folder)? else { return Ok(None) };
        let (run, owner) = owner();
        let held = Held {
            connection: Arc::clone(connection),
            folder: folder.to_owned(),
            number: Mutex::new(number),
            written: Mutex::new(Instant::now()),
            writings: AtomicU64::new(0),
            is_lost: AtomicBool::new(false),
            run,
            owner,
            is_over: Mutex::default(),
            ended: Condvar::new(),
        };
        if !held.create(number)? {
            return Ok(None);
        }
        for path in unfinished(connection, folder, number)? {
            forgive_missing(connection.remove(&path, None))?;
        }
        Lease::renewing(held).map(Some)
    }

    /// Starts the thread that renews.
    fn renewing(held: Held<S>) -> Result<Lease<S>, StorageError> {
        let held = Arc::new(held);
        let theirs = Arc::clone(&held);
        let thread = thread::Builder::new().name("lease".to_owned());
        let fault = |cause| StorageError::Access {
            action: "be renewed",
            path: held.connection.address.url(&held.folder),
            cause,
        };
        let renewing = thread.spawn(move || theirs.keep()).map_err(fault)?;
        Ok(Lease { held, renewing: Some(renewing) })
    }

    /// Returns an error if another run has the state by now. Otherwise there is time [left](Lease::left).
    pub(crate) fn check(&self) -> Result<(), StorageError> {
        let held = &self.held;
        if held.has_time()? {
            return Ok(());
        }
        let cause = "another run has taken this state over, because nothing was heard of this one for too long";
        let path = held.connection.address.url(&held.folder);
        Err(StorageError::Access { action: "be changed", path, cause: io::Error::other(cause) })
    }

    /// Returns the time in which no other run can take the state over.
    pub(crate) fn left(&self) -> Duration {
        self.held.left()
    }
}

impl<S: Store + 'static> Held<S> {
    fn path(&self, number: u64) -> String {
        below(&self.folder, &name_with(number))
    }

    fn content(&self) -> String {
        let writing = self.writings.fetch_add(1, Ordering::Relaxed);
        format!("{}\n{writing}\n{}\n", self.owner, self.connection.lease.as_secs())
    }

    fn left(&self) -> Duration {
        if self.is_lost.load(Ordering::Relaxed) {
            return Duration::ZERO;
        }
        (*self.written.lock() + self.connection.lease).saturating_duration_since(Instant::now())
    }

    /// Makes the lease of a number. Returns `false` if another run has.
    fn create(&self, number: u64) -> Result<bool, StorageError> {
        let path = self.path(number);
        match self.connection.create(&path, self.content().as_bytes()) {
            Ok(()) => Ok(true),
            // The answer of a try that made it may have been lost.
            Err(StorageError::Exists { .. }) => self.has(&self.connection, number),
            Err(fault) => Err(fault),
        }
    }

    /// Returns whether the lease of a number is there and this run's.
    fn has(&self, connection: &Connection<S>, number: u64) -> Result<bool, StorageError> {
        let content = content_of(connection, &self.path(number))?;
        Ok(content.is_some_and(|content| content.owner == self.owner))
    }

    /// Returns whether the lease of that number is this run's and no other has come after it. Goes on to the next number
    /// if this run has taken it and was not answered.
    fn has_newest(
        &self,
        connection: &Connection<S>,
        number: &mut u64,
    ) -> Result<bool, StorageError> {
        if self.is_lost.load(Ordering::Relaxed) {
            return Ok(false);
        }
        let newest = newest(&leases(connection, &self.folder)?).map(|(newest, _)| newest);
        let is_next = newest == number.checked_add(1);
        let has_newest = match newest {
            Some(newest) if newest == *number || is_next => self.has(connection, newest)?,
            _ => false,
        };
        if has_newest && is_next {
            return self.go_on(connection, number);
        }
        self.is_lost.store(!has_newest, Ordering::Relaxed);
        Ok(has_newest)
    }

    /// Returns whether this run has the state, and then sees to it that time is left.
    fn has_time(&self) -> Result<bool, StorageError> {
        let mut number = self.number.lock();
        if !self.has_newest(&self.connection, &mut number)? {
            return Ok(false);
        }
        Ok(self.left() > self.connection.lease / RENEWALS || self.take_next(&mut number)?)
    }

    /// Renews the lease by one try. Returns `false` if another run has the state.
    fn renew(&self) -> Result<bool, StorageError> {
        let mut number = self.number.lock();
        let time = self.connection.lease / RENEWALS;
        // So a look-up without an answer leaves time for another.
        if !self.has_newest(&self.connection.within_time(2 * time), &mut number)? {
            return Ok(false);
        }
        let (began, left) = (Instant::now(), self.left());
        if left <= time {
            return self.take_next(&mut number);
        }
        let content = self.content();
        // There is time for another try then.
        self.connection.within_time(time).put_once(&self.path(*number), content.as_bytes())?;
        *self.written.lock() = began;
        Ok(true)
    }

    /// Takes the lease of the next number, where another run may do so at this moment: the store lets one of them make
    /// it. Returns `false` if it was the other.
    fn take_next(&self, number: &mut u64) -> Result<bool, StorageError> {
        let began = Instant::now();
        if !self.create(number.saturating_add(1))? {
            self.is_lost.store(true, Ordering::Relaxed);
            return Ok(false);
        }
        let was_first = self.go_on(&self.connection, number)?;
        *self.written.lock() = began;
        Ok(was_first)
    }

    /// Goes on to the lease of the next number, which this run has made. Returns `false` if another run had taken that
    /// number before. If that cannot be found out, it is looked up again by [`Held::has_newest`].
    fn go_on(&self, connection: &Connection<S>, number: &mut u64) -> Result<bool, StorageError> {
        let next = number.saturating_add(1);
        // The other run removes the lease before its own, and may have ended since.
        let was_first = self.has(connection, *number)?;
        let dropped = if was_first { std::mem::replace(number, next) } else { next };
        self.is_lost.store(!was_first, Ordering::Relaxed);
        // One that is left is removed by the next run that takes the state.
        let _ = connection.remove(&self.path(dropped), None);
        Ok(was_first)
    }

    /// Renews the lease until it is over or lost. A renewal that fails is tried again soon.
    fn keep(&self) {
        let time = self.connection.lease / RENEWALS;
        let mut pause = time;
        loop {
            let is_over = self.is_over.lock();
            let is_over = self.ended.wait_timeout_while(is_over, pause, |is_over| !*is_over);
            if *is_over {
                return;
            }
            drop(is_over);
            pause = match self.renew() {
                Ok(true) => time,
                Ok(false) => return,
                Err(_) => time / TRIES,
            };
        }
    }
}

impl<S: Store + 'static> Drop for Lease<S> {
    /// Gives the state to the next run. If that fails, the next run waits as after a kill.
    fn drop(&mut self) {
        *self.held.is_over.lock() = true;
        self.held.ended.notify_all();
        self.renewing.take().map(JoinHandle::join);
        let mut number = self.held.number.lock();
        if matches!(self.held.has_newest(&self.held.connection, &mut number), Ok(true)) {
            let _ = self.held.connection.remove(&self.held.path(*number), None);
        }
    }
}

impl<S> Drop for Held<S> {
    fn drop(&mut self) {
        RUNS.lock().remove(&self.run);
    }
}

/// Returns the leases of a folder by number.
fn leases<S: Store + 'static>(
    connection: &Connection<S>,
    folder: &str,
) -> Result<Vec<(u64, Entry)>, StorageError> {
    let lease = |child: Child| match child {
        Child::File(entry) => Some((number_of(name_of(&entry.path))?, entry)),
        Child::Folder(_) => None,
    };
    Ok(connection.children(folder)?.unwrap_or_default().into_iter().filter_map(lease).collect())
}

fn newest(leases: &[(u64, Entry)]) -> Option<(u64, Entry)> {
    leases.iter().max_by_key(|(number, _)| *number).cloned()
}

/// Returns files that no run will finish, and leases before this one.
fn unfinished<S: Store + 'static>(
    connection: &Connection<S>,
    folder: &str,
    lease: u64,
) -> Result<Vec<String>, StorageError> {
    let is_old = |name: &str| {
        name.ends_with(UNFINISHED) || number_of(name).is_some_and(|number| number < lease)
    };
    let old = |child: Child| match child {
        Child::File(entry) if is_old(name_of(&entry.path)) => Some(entry.path),
        _ => None,
    };
    Ok(connection.children(folder)?.unwrap_or_default().into_iter().filter_map(old).collect())
}

/// Returns the number of the lease that this run may make; `None` if another run has the state.
fn number_to_take<S: Store + 'static>(
    connection: &Connection<S>,
    folder: &str,
) -> Result<Option<u64>, StorageError> {
    // One that is given up leaves no number: runs that begin then and those that have waited try for the same one.
    while let Some((number, entry)) = newest(&leases(connection, folder)?) {
        match watch(connection, folder, number, &entry)? {
            Standing::Alive => return Ok(None),
            Standing::GivenUp => {}
            Standing::Left => {
                let next = number.checked_add(1).ok_or_else(|| StorageError::Access {
                    action: "be locked",
                    path: connection.address.url(&entry.path),
                    cause: io::Error::other("no lease has a higher number; remove the file"),
                })?;
                return Ok(Some(next));
            }
        }
    }
    Ok(Some(1))
}

/// How a lease is found to be.
enum Standing {
    /// Its run has renewed it, or another run has taken it.
    Alive,
    /// There is none any more.
    GivenUp,
    /// Its run has left it behind.
    Left,
}

/// Watches a lease until something becomes of it, or the time of a lease is over.
fn watch<S: Store + 'static>(
    connection: &Connection<S>,
    folder: &str,
    number: u64,
    found: &Entry,
) -> Result<Standing, StorageError> {
    let content = content_of(connection, &found.path)?;
    if content.as_ref().is_some_and(|content| is_gone(&content.owner)) {
        return Ok(Standing::Left);
    }
    let time = content.and_then(|content| content.time).unwrap_or(connection.lease);
    let began = Instant::now();
    loop {
        thread::sleep(time.min(connection.lease) / RENEWALS / 2);
        // An answer that takes long tells what was there when it was asked for.
        let asked_after = began.elapsed();
        match newest(&leases(connection, folder)?) {
            None => return Ok(Standing::GivenUp),
            Some((now, entry)) if now != number || entry.version != found.version => {
                return Ok(Standing::Alive);
            }
            Some(_) if asked_after >= time => return Ok(Standing::Left),
            Some(_) => {}
        }
    }
}

/// What the file of a lease says.
struct LeaseContent {
    owner: String,
    /// The time after which the lease is lost; `None` in one of an earlier program.
    time: Option<Duration>,
}

impl LeaseContent {
    fn decode(content: &[u8]) -> LeaseContent {
        let content = String::from_utf8_lossy(content);
        let mut lines = content.lines();
        let owner = lines.next().unwrap_or_default().to_owned();
        let seconds = lines.nth(1).and_then(|seconds| seconds.parse::<u32>().ok());
        LeaseContent { owner, time: seconds.map(|seconds| Duration::from_secs(seconds.into())) }
    }
}

/// Returns what the file of a lease says; `None` if it is gone.
fn content_of<S: Store + 'static>(
    connection: &Connection<S>,
    path: &str,
) -> Result<Option<LeaseContent>, StorageError> {
    let mut content = Vec::new();
    // A renewal may replace it between the two requests.
    for _ in 0..3 {
        let Some(entry) = connection.file(path)? else { return Ok(None) };
        content.clear();
        let read = connection.read(&entry, |bytes, _| {
            content.extend_from_slice(bytes);
            Ok(())
        });
        match read {
            Ok(()) => break,
            Err(StorageError::Missing { .. }) => return Ok(None),
            Err(_) if connection.file(path)?.as_ref() != Some(&entry) => {}
            Err(fault) => return Err(fault),
        }
    }
    Ok(Some(LeaseContent::decode(&content)))
}

fn forgive_missing(removed: Result<(), StorageError>) -> Result<(), StorageError> {
    match removed {
        Err(StorageError::Missing { .. }) => Ok(()),
        removed => removed,
    }
}

/// The runs of this process that have leases.
static RUNS: Mutex<BTreeSet<u64>> = Mutex::new(BTreeSet::new());

/// Returns a number for a run of this process, and a name for it everywhere: the machine since its start, the space of
/// its processes, the process and its start, and the number.
fn owner() -> (u64, String) {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let run = NEXT.fetch_add(1, Ordering::Relaxed);
    RUNS.lock().insert(run);
    let id = process::id();
    let (place, start) = (place().unwrap_or_default(), started(id).unwrap_or_default());
    (run, format!("{place} {id} {start} {run}"))
}

/// Returns whether an owner was on this machine and is gone.
fn is_gone(owner: &str) -> bool {
    let fields: Vec<&str> = owner.split(' ').collect();
    let [place_of, id, start, run] = *fields else { return false };
    let (Ok(id), Ok(run)) = (id.parse(), run.parse()) else { return false };
    if place().is_none_or(|here| here != place_of) {
        return false;
    }
    has_ended(start, started(id).as_deref(), || is_there(id))
        || id == process::id() && !RUNS.lock().contains(&run)
}

/// Returns whether a process that began at `start` has ended. `now` is when the one of its number began, as far as that can
/// be seen: the system may hide it.
fn has_ended(start: &str, now: Option<&str>, is_there: impl FnOnce() -> bool) -> bool {
    match now {
        Some(now) if !start.is_empty() => now != start,
        _ => !is_there(),
    }
}

/// Returns whether there is a process of this number, also if it cannot be seen.
fn is_there(id: u32) -> bool {
    let id = i32::try_from(id).ok().and_then(Pid::from_raw);
    id.is_some_and(|id| test_kill_process(id) != Err(Errno::SRCH))
}

/// Names what process numbers are unique in; `None` where the system does not tell.
fn place() -> Option<String> {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let space = fs::read_link("/proc/self/ns/pid").ok()?;
    let boot = Some(boot.trim()).filter(|boot| !boot.is_empty())?;
    Some(format!("{boot}/{}", space.display()))
}

/// Returns when a process began, in ticks since the machine's start; `None` if there is none that can be seen.
fn started(id: u32) -> Option<String> {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    // The name, in parentheses, may have spaces.
    let (_, fields) = stat.rsplit_once(") ")?;
    fields.split(' ').nth(19).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_knows_its_own_process_and_one_that_is_gone() {
        let (run, own) = owner();
        assert!(!is_gone(&own) && own != owner().1);
        RUNS.lock().remove(&run);
        assert!(is_gone(&own));
        let fields: Vec<&str> = own.split(' ').collect();
        assert!(is_gone(&format!("{} {} 1 0", fields[0], fields[1])));
        let mut child = process::Command::new("true").spawn().unwrap();
        let ended = child.id();
        child.wait().unwrap();
        assert!(is_gone(&format!("{} {ended} 1 0", fields[0])));
        assert!(!is_gone(&format!("elsewhere {} 1 0", fields[1])));
        assert!(!is_gone("") && !is_gone("a b c d"));
    }

    /// As with `hidepid` of `/proc`, for the processes of other users.
    #[test]
    fn a_process_that_cannot_be_seen_is_not_gone() {
        assert!(!has_ended("5", None, || true) && has_ended("5", None, || false));
        assert!(!has_ended("5", Some("5"), || false) && has_ended("5", Some("6"), || true));
        // One that could not see itself.
        assert!(!has_ended("", Some("5"), || true));
        assert!(is_there(process::id()) && is_there(1));
    }

    /// Numbers of processes are not unique over machines.
    #[test]
    fn a_run_of_a_machine_without_a_name_is_not_gone() {
        assert!(!is_gone(" 1 1 0") && !is_gone("/pid:[4026531836] 1 1 0"));
    }

    #[test]
    fn a_lease_names_its_run_and_its_time() {
        let content = LeaseContent::decode(b"me 1\n7\n120\n");
        assert_eq!((&*content.owner, content.time), ("me 1", Some(Duration::from_secs(120))));
        // An earlier program's, and one that is being written.
        assert_eq!(LeaseContent::decode(b"me 1\n7\n").time, None);
        assert_eq!(LeaseContent::decode(b"").owner, "");
    }

    #[test]
    fn leases_have_numbers() {
        assert_eq!(
            (number_of("lease-12"), number_of("lease-x"), number_of("lock")),
            (Some(12), None, None)
        );
        // Each number has one name.
        assert_eq!((number_of("lease-+1"), number_of("lease-01")), (None, None));
    }
}
