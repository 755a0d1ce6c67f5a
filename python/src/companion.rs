//! Companions: processes that run a Python function on splits, one for each engine worker that wants one.
//!
//! A worker writes its split into a nameless file in memory (memfd) and a note into a socket, and sleeps; its
//! companion reads the split part by part, lets the function map each, writes packed columns into a second such file,
//! and a note back. Both files are reused for every split and have no name, so nothing outlives a kill. A zygote, one
//! Python process with a single thread, imports what the function needs and forks companions, so the engine's process
//! never forks and imports are paid once.
//!
//! The worker copies what the companion wrote (`pread`) and checks it; it maps no memory that the companion could
//! change or cut off.

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::io::Errno;
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use rustix::process::{Pid, Signal, kill_process};
use rustix::thread::{sched_getaffinity, sched_setaffinity};
use std::fmt;
use std::fs::File;
use std::io::{self, ErrorKind, IoSlice, Read, Write};
use std::iter;
use std::mem::MaybeUninit;
use std::net::Shutdown;
use std::ops::Range;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};
use tegula::{Error, Place, Result, Split};
use tegula_machine::sync::Mutex;

/// Bytes of memory that each buffer between a worker and its companion may keep from split to split.
const KEPT_BYTES_MOST: usize = 64 << 20;
const KEPT_BYTES_LEAST: usize = 64 << 10;
/// A buffer's part of each worker's share of a limit on memory.
const LIMIT_DIVISOR: u64 = 64;
/// A worker's buffers: the file that its companion reads, the file that it writes, and the worker's copy of that.
const BUFFERS_BY_WORKER: usize = 3;
/// How long a zygote may take to end its companions and itself before it is killed.
const GRACE: Duration = Duration::from_millis(500);
/// The offset that stands for the whole split.
const WHOLE_SPLIT: u64 = u64::MAX;

/// Why something failed.
type Cause = Box<dyn std::error::Error + Send + Sync>;

/// Where companions run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Seating {
    /// Each on the processors of one worker, which sleeps meanwhile. To wake a thread of another processor takes both
    /// of them 50 µs, one of the same processor 10 µs. For runs with a worker for each processor.
    Beside,
    /// Where the system likes: fewer workers than processors leave some for threads that the function starts.
    Anywhere,
}

/// Who runs the function.
pub(crate) enum Caller {
    Processes(Companions),
    /// A callable that takes a split's bytes and returns a status and what a companion would have written. It runs
    /// in this process, on the engine's worker.
    Threads(Py<PyAny>),
}

/// The bytes that each buffer of a run may keep from split to split. The rest that a larger split takes is given back after it.
#[derive(Clone, Copy)]
pub(crate) struct Kept(usize);

impl Kept {
    /// Returns what fits a limit on memory, which many workers share.
    pub(crate) fn within(limit: Option<u64>, workers: usize) -> Kept {
        let share = limit.map_or(u64::MAX, |limit| limit / workers as u64 / LIMIT_DIVISOR);
        let share = usize::try_from(share).unwrap_or(usize::MAX);
        Kept(share.clamp(KEPT_BYTES_LEAST, KEPT_BYTES_MOST))
    }

    /// Returns what the buffers of many workers come to.
    pub(crate) fn bytes(self, workers: usize) -> usize {
        self.0 * BUFFERS_BY_WORKER * workers
    }

    /// Gives back the memory of a buffer that is too large to be kept.
    pub(crate) fn trim(self, buffer: &mut Vec<u8>) {
        if buffer.capacity() > self.0 {
            *buffer = Vec::new();
        }
    }
}

/// An exception of Python's, on its way to the caller.
#[derive(Clone, Debug)]
pub(crate) struct Raised {
    /// The exception, pickled; empty if it cannot be.
    pub(crate) pickle: Vec<u8>,
    /// Its traceback as text.
    pub(crate) text: String,
    /// Whether the function could not even be loaded, which is no record's fault.
    pub(crate) at_start: bool,
}

/// The kinds of work that a function is asked for.
#[derive(Clone, Copy, Debug)]
enum Request {
    Map = 0,
    Reduce = 1,
}

impl fmt::Display for Raised {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text.lines().last().unwrap_or("the function raised an exception"))
    }
}

impl std::error::Error for Raised {}

impl Raised {
    /// Reads the length of the text as 4 bytes, the text, and the pickle.
    fn decode(bytes: &[u8]) -> Raised {
        let (text, pickle) = bytes
            .split_first_chunk::<4>()
            .and_then(|(length, rest)| rest.split_at_checked(u32::from_le_bytes(*length) as usize))
            .unwrap_or_default();
        let text = String::from_utf8_lossy(text).into_owned();
        Raised { pickle: pickle.to_vec(), text, at_start: false }
    }
}

/// The parts of a split that the function maps one by one.
pub(crate) struct SplitParts<'a, 's> {
    split: &'a Split<'s>,
    /// Where each part ends, from the split's begin.
    ends: &'a [usize],
}

impl<'a, 's> SplitParts<'a, 's> {
    pub(crate) fn new(split: &'a Split<'s>, ends: &'a [usize]) -> SplitParts<'a, 's> {
        SplitParts { split, ends }
    }

    fn ranges(&self) -> impl Iterator<Item = Range<usize>> {
        let begins = iter::once(0).chain(self.ends.iter().copied());
        begins.zip(self.ends).map(|(begin, &end)| begin..end)
    }

    /// Says why the function did not map the part that begins at `start`, by what it wrote: the offset of a record, and
    /// what was raised.
    fn failure(&self, start: usize, wrote: &[u8]) -> Error {
        let split = self.split;
        let (offset, raised) = match wrote.split_first_chunk() {
            Some((offset, raised)) => (u64::from_le_bytes(*offset), Raised::decode(raised)),
            None => (WHOLE_SPLIT, Raised::decode(&[])),
        };
        let offset = usize::try_from(offset).ok().and_then(|offset| start.checked_add(offset));
        match offset.and_then(|offset| split.bytes().get(offset..)) {
            Some(record) => {
                let unskipped = "a bad record was not skipped by the function's process";
                split.bad(record, raised).err().unwrap_or_else(|| at(split, start, unskipped))
            }
            None => at(split, start, raised),
        }
    }
}

impl Caller {
    /// Lets the function map parts of a split, and gives `take` what it wrote of each, with the part's begin. `packed` is
    /// a buffer for that.
    pub(crate) fn map(
        &self,
        parts: &SplitParts<'_, '_>,
        packed: &mut Vec<u8>,
        mut take: impl FnMut(usize, &[u8]) -> Result<()>,
    ) -> Result<()> {
        let split = parts.split;
        match self {
            Caller::Processes(companions) => companions.map(parts, packed, take),
            Caller::Threads(callable) => parts.ranges().try_for_each(|part| {
                let start = part.start;
                let is_mapped = call_here(callable, Request::Map, &split.bytes()[part], packed)
                    .map_err(|error| at(split, start, error))?;
                if is_mapped { take(start, packed) } else { Err(parts.failure(start, packed)) }
            }),
        }
    }

    /// Lets the function reduce the values of some keys, and puts what it returned into `packed`.
    pub(crate) fn reduce(&self, request: &[u8], packed: &mut Vec<u8>) -> Result<()> {
        let fault = |cause: Cause| Error::Record { place: Place::stage("reduce"), cause };
        let is_reduced = match self {
            Caller::Processes(companions) => {
                let mut lengths = [request.len() as u64];
                companions.call(Request::Reduce, request, &mut lengths, packed, &fault)? == 0
            }
            Caller::Threads(callable) => call_here(callable, Request::Reduce, request, packed)
                .map_err(|error| fault(error.into()))?,
        };
        if is_reduced {
            return Ok(());
        }
        // Without the offset of a record.
        Err(fault(Raised::decode(packed.get(8..).unwrap_or_default()).into()))
    }

    /// Ends what still runs, for an interrupted run. Functions in threads run on to their return.
    pub(crate) fn kill(&self) {
        match self {
            Caller::Processes(companions) => companions.kill(),
            Caller::Threads(_) => {}
        }
    }

    /// Returns the memory of the processes in bytes, of which pages that several share count once.
    pub(crate) fn resident_bytes(&self) -> u64 {
        match self {
            Caller::Processes(companions) => companions.resident_bytes(),
            Caller::Threads(_) => 0,
        }
    }
}

/// Calls the function in this process. Returns whether it mapped the split.
fn call_here(
    callable: &Py<PyAny>,
    request: Request,
    bytes: &[u8],
    packed: &mut Vec<u8>,
) -> PyResult<bool> {
    Python::attach(|py| {
        let answer = callable.call1(py, (request as u8, PyBytes::new(py, bytes)))?;
        let (status, columns): (u64, Bound<'_, PyBytes>) = answer.extract(py)?;
        packed.clear();
        packed.extend_from_slice(columns.as_bytes());
        Ok(status == 0)
    })
}

/// Returns the memory of a process in bytes, its part of the pages that it shares with others; 0 if it has ended.
fn proportional_bytes(pid: i32) -> u64 {
    let rollup = std::fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).unwrap_or_default();
    let found =
        rollup.lines().find_map(|line| line.strip_prefix("Pss:")?.split_whitespace().next());
    found.and_then(|number| number.parse::<u64>().ok()).unwrap_or(0) << 10
}

/// Returns an error about the part of a split that begins at `start`.
fn at(split: &Split<'_>, start: usize, cause: impl Into<Cause>) -> Error {
    let offset = Some(split.offset() + start as u64);
    let place = Place { source: split.path(), line: None, offset };
    Error::Record { place, cause: cause.into() }
}

/// A zygote that waits for its function, and imports what every function needs meanwhile.
#[pyclass(frozen, name = "Zygote", module = "tegula._tegula")]
pub(crate) struct Waiting(Mutex<Option<io::Result<Zygote>>>);

#[pymethods]
impl Waiting {
    /// Starts a zygote: `python` runs the file `file`, which is given `setting`. A run says why it could not start.
    ///
    /// The system ends the zygote when the calling thread ends, so this is to be a thread that outlives the run.
    #[new]
    fn new(python: &str, file: &str, setting: &[u8]) -> Waiting {
        Waiting(Mutex::new(Some(Zygote::start(python, file, setting))))
    }

    /// Ends the zygote, if no run has taken it.
    fn close(&self) {
        if let Some(Ok(mut zygote)) = self.0.lock().take() {
            let _ = zygote.child.kill();
        }
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.close();
    }
}

/// The companions of one run. Dropping them ends their processes.
pub(crate) struct Companions {
    zygote: Mutex<Zygote>,
    zygote_pid: i32,
    /// The zygote's, for an end while a worker waits for a reply.
    control: Arc<UnixStream>,
    idle: Mutex<Vec<Companion>>,
    seating: Seating,
    all: Mutex<Vec<Pid>>,
    is_killed: AtomicBool,
    kept: Kept,
}

struct Zygote {
    child: Child,
    control: Arc<UnixStream>,
    /// Whether it could load the function; `None` until it has said so.
    loaded: Option<Result<(), Raised>>,
}

struct Companion {
    /// The thread that it runs beside, if it does.
    worker: Option<ThreadId>,
    pid: Pid,
    socket: UnixStream,
    /// What is said over the socket: see `serve` of `_zygote.py`.
    note: Vec<u8>,
    input: File,
    output: File,
}

impl Companions {
    /// Gives `program` to a zygote, which starts to load it.
    pub(crate) fn start(
        zygote: &Waiting,
        program: &[u8],
        kept: Kept,
        seating: Seating,
    ) -> Result<Companions> {
        let failed = |cause| Error::System { action: "start a Python process", cause };
        let taken = zygote.0.lock().take();
        let mut zygote =
            taken.unwrap_or_else(|| Err(ErrorKind::NotFound.into())).map_err(failed)?;
        zygote.send(b'I', program, &[]).map_err(failed)?;
        Ok(Companions {
            zygote_pid: zygote.child.id().cast_signed(),
            control: Arc::clone(&zygote.control),
            zygote: Mutex::new(zygote),
            idle: Mutex::default(),
            seating,
            all: Mutex::default(),
            is_killed: AtomicBool::new(false),
            kept,
        })
    }

    /// Lets a companion map parts of a split, as many at a time as its buffers may keep: see [`Caller::map`].
    fn map(
        &self,
        parts: &SplitParts<'_, '_>,
        packed: &mut Vec<u8>,
        mut take: impl FnMut(usize, &[u8]) -> Result<()>,
    ) -> Result<()> {
        let split = parts.split;
        let (mut ends, mut begin) = (parts.ends, 0_usize);
        let mut lengths = Vec::with_capacity(ends.len());
        while let Some(&first) = ends.first() {
            let most = first.max(begin.saturating_add(self.kept.0));
            let (some, rest) = ends.split_at(ends.partition_point(|&end| end <= most));
            ends = rest;
            let end = some.last().copied().unwrap_or(first);
            let begins = || iter::once(begin).chain(some.iter().copied());
            lengths.clear();
            lengths.extend(begins().zip(some).map(|(begin, end)| (end - begin) as u64));
            let fault = |cause: Cause| at(split, begin, cause);
            let bytes = &split.bytes()[begin..end];
            let failed = self.call(Request::Map, bytes, &mut lengths, packed, &fault)?;
            let mut wrote = packed.as_slice();
            for (number, (begin, &length)) in (1_u64..).zip(begins().zip(&lengths)) {
                let (of_part, rest) = wrote.split_at_checked(length as usize).unwrap_or_default();
                wrote = rest;
                if number == failed {
                    return Err(parts.failure(begin, of_part));
                }
                take(begin, of_part)?;
            }
            begin = end;
        }
        Ok(())
    }

    /// Hands a request to a companion. `lengths` are the bytes of its parts, and then what was written of each into
    /// `packed`. Returns the number of the part that failed, from 1; 0 if none did. `fault` makes an error with the
    /// request's place.
    fn call(
        &self,
        request: Request,
        bytes: &[u8],
        lengths: &mut [u64],
        packed: &mut Vec<u8>,
        fault: &dyn Fn(Cause) -> Error,
    ) -> Result<u64> {
        let worker = (self.seating == Seating::Beside).then(|| thread::current().id());
        let idle = {
            let mut idle = self.idle.lock();
            let at = idle.iter().rposition(|companion| companion.worker == worker);
            at.map(|at| idle.swap_remove(at))
        };
        let mut companion = match idle {
            Some(companion) => companion,
            None => self.fork(worker).map_err(fault)?,
        };
        match companion.call(request, bytes, lengths, packed, self.kept) {
            Ok(failed) => {
                self.idle.lock().push(companion);
                Ok(failed)
            }
            Err(cause) => {
                // It lives if its files could not be written, and would wait for ever.
                let _ = companion.socket.shutdown(Shutdown::Both);
                Err(fault(self.why_dead(&companion, &cause, bytes.len()).into()))
            }
        }
    }

    fn fork(&self, worker: Option<ThreadId>) -> Result<Companion, Cause> {
        let mut zygote = self.zygote.lock();
        if self.is_killed.load(Ordering::Acquire) {
            return Err("interrupted".into());
        }
        let gone = |cause: io::Error| -> Cause {
            if self.is_killed.load(Ordering::Acquire) {
                return "interrupted".into();
            }
            let advice = "it was killed, perhaps because memory was short; run again";
            format!("the process that starts those of the function has ended ({cause}): {advice}")
                .into()
        };
        // Each worker that asks is told the same: the first of them in the input fails the run.
        zygote.load().map_err(gone)?.map_err(Cause::from)?;
        let file = |name| memfd_create(name, MemfdFlags::CLOEXEC).map(File::from);
        let (input, output) = (file("tegula split")?, file("tegula pairs")?);
        let (socket, theirs) = UnixStream::pair()?;
        let files = [theirs.as_fd(), input.as_fd(), output.as_fd()];
        zygote.send(b'F', &[], &files).map_err(gone)?;
        let (_, payload) = zygote.reply().map_err(gone)?;
        let pid = payload.first_chunk().map(|bytes| i32::from_le_bytes(*bytes));
        let pid = pid.and_then(Pid::from_raw).ok_or("the zygote could not fork")?;
        self.all.lock().push(pid);
        if worker.is_some() {
            // Where this is refused, it runs anywhere.
            let _ = sched_getaffinity(None).and_then(|own| sched_setaffinity(Some(pid), &own));
        }
        Ok(Companion { worker, pid, socket, note: Vec::new(), input, output })
    }

    /// Says why a companion no longer answers.
    fn why_dead(&self, companion: &Companion, cause: &io::Error, bytes: usize) -> String {
        if self.is_killed.load(Ordering::Acquire) {
            return "interrupted".to_owned();
        }
        let code = self.zygote.lock().exit_code(companion.pid);
        let ends = [ErrorKind::UnexpectedEof, ErrorKind::ConnectionReset, ErrorKind::BrokenPipe];
        let how = match code {
            _ if !ends.contains(&cause.kind()) => {
                format!("could not be given its input, or its answer not be read ({cause})")
            }
            Some(code @ ..0) => {
                let signal = -code;
                let hint = match signal {
                    9 => {
                        "; the system kills with this signal where memory is short: give less to each \
                          worker, or fewer workers"
                    }
                    11 => "; code in C that the function calls went wrong",
                    _ => "",
                };
                format!("was killed by signal {signal}{hint}")
            }
            Some(code) => format!("ended with exit code {code}; a function must return, not exit"),
            None => format!("does not answer ({cause})"),
        };
        format!("the process that ran the function {how} (it had {bytes} bytes from here on)")
    }

    fn resident_bytes(&self) -> u64 {
        let pids = self.all.lock().iter().map(|pid| pid.as_raw_nonzero().get()).collect::<Vec<_>>();
        pids.into_iter().chain([self.zygote_pid]).map(proportional_bytes).sum()
    }

    /// Ends companions, and the zygote, which may be in the middle of an import or of a setup that never ends.
    fn kill(&self) {
        if self.is_killed.swap(true, Ordering::AcqRel) {
            return;
        }
        // The zygote waits for none of them before it is asked to, so each number is still theirs.
        for pid in self.all.lock().iter() {
            let _: Result<(), Errno> = kill_process(*pid, Signal::KILL);
        }
        // The worker that waits for a reply sees an end. So does the zygote, which ends companions that it forks meanwhile.
        let _ = self.control.shutdown(Shutdown::Both);
    }
}

impl Drop for Companions {
    fn drop(&mut self) {
        self.idle.lock().clear();
    }
}

impl Drop for Zygote {
    fn drop(&mut self) {
        let _ = self.control.shutdown(Shutdown::Both);
        let began = Instant::now();
        while !matches!(self.child.try_wait(), Ok(Some(_))) {
            if began.elapsed() > GRACE {
                let _ = self.child.kill();
                let _ = self.child.wait();
                // Its children are told by the system.
                return;
            }
            thread::sleep(Duration::from_millis(1));
        }
    }
}

impl Zygote {
    fn start(python: &str, file: &str, setting: &[u8]) -> io::Result<Zygote> {
        let (control, theirs) = UnixStream::pair()?;
        let child = Command::new(python)
            .args(["-P", file, &std::process::id().to_string()])
            .stdin(OwnedFd::from(theirs))
            .spawn()?;
        let mut zygote = Zygote { child, control: Arc::new(control), loaded: None };
        zygote.send(b'S', setting, &[])?;
        Ok(zygote)
    }

    /// Sends a request: its letter, the length of its payload as 8 bytes, the payload.
    fn send(
        &mut self,
        letter: u8,
        payload: &[u8],
        files: &[std::os::fd::BorrowedFd<'_>],
    ) -> io::Result<()> {
        let mut control = &*self.control;
        let mut head = [letter; 9];
        head[1..].copy_from_slice(&(payload.len() as u64).to_le_bytes());
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(3))];
        let mut beside = SendAncillaryBuffer::new(&mut space);
        if !files.is_empty() {
            beside.push(SendAncillaryMessage::ScmRights(files));
        }
        let sent = sendmsg(control, &[IoSlice::new(&head)], &mut beside, SendFlags::NOSIGNAL)?;
        control.write_all(&head[sent..])?;
        control.write_all(payload)
    }

    /// Waits until the function is loaded, or returns what was raised instead.
    fn load(&mut self) -> io::Result<Result<(), Raised>> {
        if let Some(loaded) = &self.loaded {
            return Ok(loaded.clone());
        }
        let (status, payload) = self.reply()?;
        let loaded = match status {
            0 => Ok(()),
            _ => Err(Raised { at_start: true, ..Raised::decode(&payload) }),
        };
        Ok(self.loaded.insert(loaded).clone())
    }

    /// Waits for a reply: its status, the length of its payload as 8 bytes, the payload.
    fn reply(&mut self) -> io::Result<(u8, Vec<u8>)> {
        let mut control = &*self.control;
        let mut head = [0; 9];
        control.read_exact(&mut head)?;
        let [status, length @ ..] = head;
        let mut payload = vec![0; u64::from_le_bytes(length) as usize];
        control.read_exact(&mut payload)?;
        Ok((status, payload))
    }

    /// Returns a companion's exit code, or its signal below 0, when it has ended.
    fn exit_code(&mut self, pid: Pid) -> Option<i32> {
        self.send(b'W', &pid.as_raw_nonzero().get().to_le_bytes(), &[]).ok()?;
        let (_, payload) = self.reply().ok()?;
        payload.first_chunk().map(|bytes| i32::from_le_bytes(*bytes))
    }
}

impl Companion {
    fn call(
        &mut self,
        request: Request,
        bytes: &[u8],
        lengths: &mut [u64],
        packed: &mut Vec<u8>,
        kept: Kept,
    ) -> io::Result<u64> {
        self.input.write_all_at(bytes, 0)?;
        let numbers = [request as u64, lengths.len() as u64];
        self.note.clear();
        self.note.extend(numbers.iter().chain(&*lengths).flat_map(|number| number.to_le_bytes()));
        self.socket.write_all(&self.note)?;
        self.note.truncate(8 + 8 * lengths.len());
        self.socket.read_exact(&mut self.note)?;
        let mut numbers = self.note.as_chunks().0.iter().copied().map(u64::from_le_bytes);
        let failed = numbers.next().unwrap_or_default();
        lengths.iter_mut().zip(numbers).for_each(|(length, number)| *length = number);
        let length = lengths.iter().try_fold(0_u64, |sum, length| sum.checked_add(*length));
        let length = length.ok_or(ErrorKind::InvalidData)? as usize;
        packed.resize(length, 0);
        self.output.read_exact_at(packed, 0)?;
        for (file, used) in [(&self.input, bytes.len()), (&self.output, length)] {
            if used > kept.0 {
                file.set_len(0)?;
            }
        }
        Ok(failed)
    }
}
