//! Companions: processes that run a Python function on splits, one for each engine worker that wants one.
//!
//! A worker writes its split into a nameless file in memory (memfd) and 16 bytes into a socket, and sleeps; its
//! companion reads the split, lets the function map it, writes packed columns into a second such file, and 16 bytes
//! back. Both files are reused for every split and have no name, so nothing outlives a kill. A zygote, one Python process with a single
//! thread, imports what the function needs and forks companions, so the engine's process never forks and imports
//! are paid once.
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
use std::io::{self, IoSlice, Read, Write};
use std::mem::MaybeUninit;
use std::ops::Range;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command};
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

impl Caller {
    /// Lets the function map a part of a split, and puts what it wrote into `packed`.
    pub(crate) fn call(
        &self,
        split: &Split<'_>,
        part: Range<usize>,
        packed: &mut Vec<u8>,
    ) -> Result<()> {
        let start = part.start;
        let bytes = &split.bytes()[part];
        let is_mapped = match self {
            Caller::Processes(companions) => {
                let fault = |cause: Cause| at(split, start, cause);
                companions.call(Request::Map, bytes, packed, &fault)?
            }
            Caller::Threads(callable) => call_here(callable, Request::Map, bytes, packed)
                .map_err(|error| at(split, start, error))?,
        };
        if is_mapped {
            return Ok(());
        }
        let offset = packed.split_off_front();
        let raised = Raised::decode(packed);
        let record = usize::try_from(offset).ok().and_then(|offset| bytes.get(offset..));
        match record {
            Some(record) => split.bad(record, raised)?,
            None => return Err(at(split, start, raised)),
        }
        Err(at(split, start, "a bad record was not skipped by the function's process"))
    }

    /// Lets the function reduce the values of some keys, and puts what it returned into `packed`.
    pub(crate) fn reduce(&self, request: &[u8], packed: &mut Vec<u8>) -> Result<()> {
        let fault = |cause: Cause| Error::Record { place: Place::stage("reduce"), cause };
        let is_reduced = match self {
            Caller::Processes(companions) => {
                companions.call(Request::Reduce, request, packed, &fault)?
            }
            Caller::Threads(callable) => call_here(callable, Request::Reduce, request, packed)
                .map_err(|error| fault(error.into()))?,
        };
        if is_reduced {
            return Ok(());
        }
        packed.split_off_front();
        Err(fault(Raised::decode(packed).into()))
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

trait SplitOffFront {
    /// Takes an offset off the front; the whole split's if there is none.
    fn split_off_front(&mut self) -> u64;
}

impl SplitOffFront for Vec<u8> {
    fn split_off_front(&mut self) -> u64 {
        let Some(offset) = self.first_chunk().map(|bytes| u64::from_le_bytes(*bytes)) else {
            return WHOLE_SPLIT;
        };
        self.drain(..8);
        offset
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

/// The companions of one run. Dropping them ends their processes.
pub(crate) struct Companions {
    zygote: Mutex<Zygote>,
    zygote_pid: i32,
    idle: Mutex<Vec<Companion>>,
    seating: Seating,
    all: Mutex<Vec<Pid>>,
    is_killed: AtomicBool,
    kept: Kept,
}

struct Zygote {
    child: Child,
    /// `None` when its end is wanted.
    control: Option<UnixStream>,
    /// Whether it could load the function; `None` until it has said so.
    loaded: Option<Result<(), Raised>>,
}

struct Companion {
    /// The thread that it runs beside, if it does.
    worker: Option<ThreadId>,
    pid: Pid,
    socket: UnixStream,
    input: File,
    output: File,
}

impl Companions {
    /// Starts a zygote: `python` runs the file `zygote`, which is given `program`, and starts to load it.
    ///
    /// The system ends the zygote when the calling thread ends, so this is to be a thread that outlives the run.
    pub(crate) fn start(
        python: &str,
        zygote: &str,
        program: &[u8],
        kept: Kept,
        seating: Seating,
    ) -> Result<Companions> {
        let failed = |cause| Error::System { action: "start a Python process", cause };
        let (control, theirs) = UnixStream::pair().map_err(failed)?;
        let child = Command::new(python)
            .args(["-P", zygote, &std::process::id().to_string()])
            .stdin(OwnedFd::from(theirs))
            .spawn()
            .map_err(failed)?;
        let zygote_pid = child.id().cast_signed();
        let mut zygote = Zygote { child, control: Some(control), loaded: None };
        zygote.send(b'I', program, &[]).map_err(failed)?;
        Ok(Companions {
            zygote: Mutex::new(zygote),
            zygote_pid,
            idle: Mutex::default(),
            seating,
            all: Mutex::default(),
            is_killed: AtomicBool::new(false),
            kept,
        })
    }

    /// Hands a request to a companion. Returns whether it did it; else `packed` is what it raised. `fault` makes an
    /// error with the request's place.
    fn call(
        &self,
        request: Request,
        bytes: &[u8],
        packed: &mut Vec<u8>,
        fault: &dyn Fn(Cause) -> Error,
    ) -> Result<bool> {
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
        match companion.call(request, bytes, packed, self.kept) {
            Ok(status) => {
                self.idle.lock().push(companion);
                Ok(status == 0)
            }
            Err(cause) => Err(fault(self.why_dead(&companion, &cause, bytes.len()).into())),
        }
    }

    fn fork(&self, worker: Option<ThreadId>) -> Result<Companion, Cause> {
        let mut zygote = self.zygote.lock();
        if self.is_killed.load(Ordering::Acquire) {
            return Err("interrupted".into());
        }
        let gone = |cause: io::Error| -> Cause {
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
        Ok(Companion { worker, pid, socket, input, output })
    }

    /// Says why a companion no longer answers.
    fn why_dead(&self, companion: &Companion, cause: &io::Error, bytes: usize) -> String {
        if self.is_killed.load(Ordering::Acquire) {
            return "interrupted".to_owned();
        }
        let code = self.zygote.lock().exit_code(companion.pid);
        let how = match code {
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

    fn kill(&self) {
        self.is_killed.store(true, Ordering::Release);
        // The zygote waits for none of them before it is asked to, so each number is still theirs.
        for pid in self.all.lock().iter() {
            let _: Result<(), Errno> = kill_process(*pid, Signal::KILL);
        }
    }
}

impl Drop for Companions {
    fn drop(&mut self) {
        self.idle.lock().clear();
        let mut zygote = self.zygote.lock();
        zygote.control = None;
        let began = Instant::now();
        while !matches!(zygote.child.try_wait(), Ok(Some(_))) {
            if began.elapsed() > GRACE {
                let _ = zygote.child.kill();
                let _ = zygote.child.wait();
                // Its children are told by the system.
                return;
            }
            thread::sleep(Duration::from_millis(1));
        }
    }
}

impl Zygote {
    /// Sends a request: its letter, the length of its payload as 8 bytes, the payload.
    fn send(
        &mut self,
        letter: u8,
        payload: &[u8],
        files: &[std::os::fd::BorrowedFd<'_>],
    ) -> io::Result<()> {
        let control = self.control.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
        let mut head = [letter; 9];
        head[1..].copy_from_slice(&(payload.len() as u64).to_le_bytes());
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(3))];
        let mut beside = SendAncillaryBuffer::new(&mut space);
        if !files.is_empty() {
            beside.push(SendAncillaryMessage::ScmRights(files));
        }
        let sent = sendmsg(&*control, &[IoSlice::new(&head)], &mut beside, SendFlags::NOSIGNAL)?;
        control.write_all(&head[sent..])?;
        control.write_all(payload)
    }

    /// Waits for a reply: its status, the length of its payload as 8 bytes, the payload.
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

    fn reply(&mut self) -> io::Result<(u8, Vec<u8>)> {
        let control = self.control.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
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
        packed: &mut Vec<u8>,
        kept: Kept,
    ) -> io::Result<u64> {
        self.input.write_all_at(bytes, 0)?;
        let mut message = [0; 16];
        message[..8].copy_from_slice(&(bytes.len() as u64).to_le_bytes());
        message[8] = request as u8;
        self.socket.write_all(&message)?;
        self.socket.read_exact(&mut message)?;
        let (status, length) = message.split_at(8);
        let number = |bytes: &[u8]| bytes.try_into().map(u64::from_le_bytes).unwrap_or_default();
        let (status, length) = (number(status), number(length) as usize);
        packed.resize(length, 0);
        self.output.read_exact_at(packed, 0)?;
        for (file, used) in [(&self.input, bytes.len()), (&self.output, length)] {
            if used > kept.0 {
                file.set_len(0)?;
            }
        }
        Ok(status)
    }
}
