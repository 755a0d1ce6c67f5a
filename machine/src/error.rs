//! Errors: one enum per kind of operation, folded into one [`Error`].
//!
//! Every message names the path or the record, the cause, and the action that the person can take. A fault of the
//! engine itself is a panic. A run turns a panic into [`Error::Panicked`], so that no worker is lost.

mod device;

pub use device::DeviceError;

use rustix::io::Errno;
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// The result of anything that a user's data, machine or code can make fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a job did not give its answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The input could not be found or read.
    #[error(transparent)]
    Input(#[from] InputError),
    /// The output could not be written.
    #[error(transparent)]
    Output(#[from] OutputError),
    /// The memory budget was reached.
    #[error(transparent)]
    Memory(#[from] MemoryError),
    /// Pairs that do not fit in memory, or that outlive a run, could not be kept on disk.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// A state cannot serve this run.
    #[error(transparent)]
    State(#[from] StateError),
    /// A device that was asked for cannot be used.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The job's map refused a record.
    #[error("{place}: {cause}")]
    Record {
        /// Where the record starts.
        place: Place,
        /// The reason that the map gave.
        cause: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The job's own code panicked.
    #[error(
        "the job's code panicked at {place}: {message}; the job is stopped, nothing was written"
    )]
    Panicked {
        /// The part of the input, or the stage, in which it happened.
        place: Place,
        /// The panic's message.
        message: String,
    },
    /// An option has a value that cannot be meant.
    #[error("{option}: {cause}")]
    Option {
        /// The option's name.
        option: &'static str,
        /// The fault of its value, and the values that are valid.
        cause: String,
    },
    /// The job was cancelled through its [`Cancel`](crate::cancel::Cancel).
    #[error("cancelled")]
    Cancelled,
    /// The operating system refused something the engine needs to start.
    #[error("cannot {action}: {cause}")]
    System {
        /// The operation that failed.
        action: &'static str,
        /// The system's error.
        cause: io::Error,
    },
}

/// A place in the input: a path, and a line and a byte offset in it; or the name of a stage.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The file (or `standard input`, or the stage's name).
    pub source: PathBuf,
    /// Number of the line in the file, from 1, where records are lines and it could be counted.
    pub line: Option<u64>,
    /// Offset of the first byte concerned, in bytes from the start of the file.
    pub offset: Option<u64>,
}

impl Place {
    /// Returns a place outside the input: a stage of the run, by its name.
    pub fn stage(name: &str) -> Place {
        Place { source: PathBuf::from(name), line: None, offset: None }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.source.display())?;
        self.line.map_or(Ok(()), |line| write!(f, ", line {line}"))?;
        self.offset.map_or(Ok(()), |offset| write!(f, ", byte {offset}"))
    }
}

/// Faults of the input.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InputError {
    /// No such file or folder.
    #[error("{}: no such file or folder; check the path", .path.display())]
    Missing {
        /// The path as given or as found in a folder.
        path: PathBuf,
    },
    /// The file or folder may not be read.
    #[error("{}: permission denied; make it readable or leave it out", .path.display())]
    Denied {
        /// The path.
        path: PathBuf,
    },
    /// A pattern matches nothing.
    #[error(
        "{pattern}: the pattern matches no file; check it, or quote it if the shell should not expand it"
    )]
    NoMatch {
        /// The pattern as given.
        pattern: String,
    },
    /// A pattern is malformed.
    #[error("{pattern}: not a valid pattern: {cause}")]
    Pattern {
        /// The pattern as given.
        pattern: String,
        /// Where and why it is malformed.
        cause: String,
    },
    /// Something that cannot be read as bytes (a socket, a block device).
    #[error("{}: {kind} cannot be read as input; give a file, a folder, a pipe or -", .path.display())]
    Unreadable {
        /// The path.
        path: PathBuf,
        /// The kind of the file or source.
        kind: &'static str,
    },
    /// A link that leads back to itself.
    #[error("{}: a loop of symbolic links; mend or leave out the link", .path.display())]
    Loop {
        /// The path of the link.
        path: PathBuf,
    },
    /// The file became shorter than it was when the job was planned.
    #[error("{}: the file shrank while it was read ({planned} bytes when the job began, {found} now); run again when nobody writes to it", .path.display())]
    Shrank {
        /// The path.
        path: PathBuf,
        /// Length at plan time, in bytes.
        planned: u64,
        /// Length found, in bytes.
        found: u64,
    },
    /// The file was there when the job was planned and is there no longer.
    #[error("{}: the file vanished after the job began; run again when nobody removes files", .path.display())]
    Vanished {
        /// The path.
        path: PathBuf,
    },
    /// A file kept elsewhere is another one than when the job was planned.
    #[error("{}: it changed after the job began; run again when nobody writes to it", .path.display())]
    Changed {
        /// The name of the file.
        path: PathBuf,
    },
    /// Where files are kept elsewhere, nobody answers, or answers break off, however often it is tried.
    #[error(
        "{}: {}no answer after {tries} tries in {:.1} s: {cause}; check the network and the server, \
         then run again",
        .path.display(),
        .offset.map(|offset| format!("byte {offset}: ")).unwrap_or_default(),
        .elapsed.as_secs_f64()
    )]
    Lost {
        /// The name of the file or folder.
        path: PathBuf,
        /// Where in the file reading stopped, in bytes from its start.
        offset: Option<u64>,
        /// The number of tries, the first included.
        tries: u32,
        /// The duration of all tries.
        elapsed: Duration,
        /// The error of the last try.
        cause: String,
    },
    /// A file or folder kept elsewhere that cannot be had, however often it is tried.
    #[error("{}: {cause}; {advice}", .path.display())]
    Refused {
        /// The name as given, or as found.
        path: PathBuf,
        /// Why not.
        cause: String,
        /// Advice to the user.
        advice: String,
    },
    /// Input that devices cannot be given, of a job that only devices may do.
    #[error("{}: {kind} do not reach devices, and only these may do this job; {advice}", .path.display())]
    CoresOnly {
        /// The path, or the name of standard input.
        path: PathBuf,
        /// The kind of the file or source.
        kind: &'static str,
        /// Advice to the user.
        advice: &'static str,
    },
    /// A file of fixed-size records whose length is no multiple of the record's.
    #[error("{}: {length} bytes is no multiple of the record size {record}; the file is cut short or has another record size", .path.display())]
    Ragged {
        /// The path.
        path: PathBuf,
        /// Length of the file, in bytes.
        length: u64,
        /// Size of a record, in bytes.
        record: u64,
    },
    /// A compressed file that ends too early.
    #[error("{}: the {format} data is cut short: it ends at byte {offset} of the file; get the whole file, or read it as it is", .path.display())]
    Truncated {
        /// The path.
        path: PathBuf,
        /// The format, as `gzip`.
        format: &'static str,
        /// Where the data ends, in compressed bytes from the file's start.
        offset: u64,
    },
    /// A compressed file that cannot be decompressed, or whose checksum differs from that of the decompressed
    /// bytes.
    #[error("{}: the {format} data is damaged near byte {offset} of the file: {cause}; get the file anew, or read it as it is", .path.display())]
    Damaged {
        /// The path.
        path: PathBuf,
        /// The format, as `gzip`.
        format: &'static str,
        /// Up to where the data was used, in compressed bytes from the file's start: the damage is
        /// there, or not far before.
        offset: u64,
        /// The fault.
        cause: String,
    },
    /// A file with the name of a compressed file and without the first bytes of one.
    #[error("{}: is named as {format} data, but has no {format} header: it is cut short, damaged or misnamed; rename it, or read it as it is", .path.display())]
    Misnamed {
        /// The path.
        path: PathBuf,
        /// The format that the name says, as `gzip`.
        format: &'static str,
    },
    /// Any other answer of the operating system.
    #[error("{}: cannot be read: {cause}", .path.display())]
    Read {
        /// The path.
        path: PathBuf,
        /// The system's error.
        cause: io::Error,
    },
}

impl InputError {
    /// Sorts an answer of the operating system about `path` into the kinds above. A cause that holds
    /// an `InputError`, which a `RangeSource` may make, is taken as that.
    pub fn from_io(path: impl Into<PathBuf>, cause: io::Error) -> InputError {
        let path = path.into();
        let cause = match cause.downcast::<InputError>() {
            Ok(fault) => return fault,
            Err(cause) => cause,
        };
        match cause.kind() {
            io::ErrorKind::NotFound => InputError::Missing { path },
            io::ErrorKind::PermissionDenied => InputError::Denied { path },
            // The library's name for it is not stable yet.
            _ if cause.raw_os_error() == Some(Errno::LOOP.raw_os_error()) => {
                InputError::Loop { path }
            }
            _ => InputError::Read { path, cause },
        }
    }

    /// As [`from_io`](InputError::from_io), about a file that was there when it was listed.
    #[doc(hidden)]
    pub fn of_listed(path: PathBuf, cause: io::Error) -> InputError {
        match cause.kind() {
            io::ErrorKind::NotFound => InputError::Vanished { path },
            _ => InputError::from_io(path, cause),
        }
    }
}

/// Faults of the output.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OutputError {
    /// The output file cannot be made.
    #[error("{}: cannot be created: {cause}; choose a folder that exists and that you may write to", .path.display())]
    Create {
        /// The path as given.
        path: PathBuf,
        /// The system's error.
        cause: io::Error,
    },
    /// The output is a folder.
    #[error("{}: is a folder; name a file", .path.display())]
    IsFolder {
        /// The path as given.
        path: PathBuf,
    },
    /// Writing failed: most often a full disk.
    #[error("{}: cannot be written: {cause}; no partial file remains", .path.display())]
    Write {
        /// The path, or `standard output`.
        path: PathBuf,
        /// The system's error.
        cause: io::Error,
    },
    /// The reader of a pipe went away: an end that most programs keep quiet about.
    #[error("{}: the reader closed the pipe", .path.display())]
    Closed {
        /// The path, or `standard output`.
        path: PathBuf,
    },
}

impl OutputError {
    /// Sorts an answer of the operating system to a write into the kinds above.
    pub fn from_write(path: impl Into<PathBuf>, cause: io::Error) -> OutputError {
        let path = path.into();
        match cause.kind() {
            io::ErrorKind::BrokenPipe => OutputError::Closed { path },
            _ => OutputError::Write { path, cause },
        }
    }
}

/// Faults of memory.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MemoryError {
    /// The job needs more than its budget.
    #[error(
        "the memory budget of {limit_bytes} bytes is reached ({needed_bytes} bytes are needed for {purpose}), which cannot go to disk; give a larger budget or fewer workers"
    )]
    Budget {
        /// The use of the memory.
        purpose: &'static str,
        /// Bytes in use plus the bytes asked for.
        needed_bytes: u64,
        /// The budget.
        limit_bytes: u64,
    },
    /// The budget is less than the job can run with at all.
    #[error(
        "a memory budget of {limit_bytes} bytes is too small: with {workers} workers this job needs at least {least_bytes} bytes (fewer workers need less); give a larger budget"
    )]
    TooSmall {
        /// The budget.
        limit_bytes: u64,
        /// The least that will do.
        least_bytes: u64,
        /// Workers of the engine.
        workers: usize,
    },
    /// All pairs of an answer were asked for at once, and it is on disk.
    #[error(
        "the answer's {pairs} pairs are on disk because they do not fit in the memory budget: look at them one by one (Output::for_each), write them, or give a larger budget"
    )]
    OnDisk {
        /// Pairs of the answer.
        pairs: u64,
    },
    /// The operating system has no more.
    #[error(
        "the operating system gave no memory for {purpose} ({bytes} bytes): {cause}; close other programs or give a smaller input"
    )]
    System {
        /// The use of the memory.
        purpose: &'static str,
        /// The bytes asked for.
        bytes: u64,
        /// The system's error.
        cause: io::Error,
    },
}

/// Why a state (`State`) cannot serve a run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StateError {
    /// Another run uses it.
    #[error("{}: another run uses this state now; wait for its end, or name another job", .path.display())]
    InUse {
        /// The job's folder.
        path: PathBuf,
    },
    /// It is of another job, or of the same with other options.
    #[error("{}: the state is of another job: {difference}; name another job, or remove this state", .path.display())]
    OtherJob {
        /// The job's folder.
        path: PathBuf,
        /// The difference.
        difference: String,
    },
    /// It is of the same job, but of a run that knows its tiles in the other way.
    #[error("{}: {cause}; name another job, or remove this state", .path.display())]
    OtherTiles {
        /// The job's folder.
        path: PathBuf,
        /// How the state knows its tiles, and what can be done.
        cause: &'static str,
    },
    /// The input has changed.
    #[error("{}: the input has changed since this state was begun: {difference}; name another job, remove this state, or begin an incremental one", .path.display())]
    OtherInput {
        /// The job's folder.
        path: PathBuf,
        /// The difference.
        difference: String,
    },
    /// The folder holds no state.
    #[error("{}: no state is there", .path.display())]
    Missing {
        /// The job's folder.
        path: PathBuf,
    },
    /// The folder cannot be used at all.
    #[error("{}: cannot be used as a state's folder: {cause}; name a folder that you may write to", .path.display())]
    Folder {
        /// The folder of the job, or of all states.
        path: PathBuf,
        /// The system's error.
        cause: io::Error,
    },
    /// The job has no identity.
    #[error(
        "the job has no identity, so its partials could not be recognised: implement Resumable, or run it without a state"
    )]
    NoIdentity,
    /// A stream cannot be read again.
    #[error("{}: cannot be read a second time, so a state of it would be of no use; give files, or run without a state", .name.display())]
    Stream {
        /// The stream's name.
        name: PathBuf,
    },
    /// Compressed files have no tiles that could be found again.
    #[error(
        "compressed files have no tiles that could be found again: decompress them, read them as they are, or run without an incremental state"
    )]
    Packed,
    /// Values of compressed files are numbered as they come.
    #[error(
        "a job that keeps all values in the order of the input cannot be resumed over compressed files; decompress them, or run without a state"
    )]
    InOrder,
    /// A name that cannot be a folder's.
    #[error(
        "{id:?}: cannot be a job's name: give 1 to 200 letters, digits, dots, underscores and hyphens, no dot first"
    )]
    Name {
        /// The name.
        id: String,
    },
}

/// Faults of the engine's own files on disk: pairs moved out of memory, and states.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StorageError {
    /// The folder cannot be used at all.
    #[error("{}: cannot be used as scratch folder: {cause}; name a folder that exists and that you may write to", .path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// The system's error.
        cause: io::Error,
    },
    /// The disk is full, or the user's share of it.
    #[error("{}: no room on its disk: {cause}; free some, name a folder on another disk, or give a larger budget of memory if these are scratch files", .path.display())]
    Full {
        /// The file, or the folder of a file without a name.
        path: PathBuf,
        /// The system's error.
        cause: io::Error,
    },
    /// The process has as many files open as it may have.
    #[error("{}: too many files are open: {cause}; raise their limit (ulimit -n)", .path.display())]
    Open {
        /// The file, or its folder.
        path: PathBuf,
        /// The system's error.
        cause: io::Error,
    },
    /// A file that should be there is not.
    #[error("{}: no such file; it was removed, or this is another folder", .path.display())]
    Missing {
        /// The file.
        path: PathBuf,
    },
    /// A file that should be new is there.
    #[error("{}: is there already; remove it, or name another folder", .path.display())]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// A file ends before the last byte that was written to it.
    #[error("{}: ends at byte {found} where {wanted} were written; another program changed it, or the disk is failing", .path.display())]
    Short {
        /// The file, or the folder of a file without a name.
        path: PathBuf,
        /// The offset up to which there should be bytes.
        wanted: u64,
        /// The offset at which it ended.
        found: u64,
    },
    /// The bytes that were read differ from those that were written.
    #[error("{}: damaged at byte {offset}: {cause}; another program changed it, or the disk is failing", .path.display())]
    Damaged {
        /// The file, or the folder of a file without a name.
        path: PathBuf,
        /// Where the damaged block begins, in bytes.
        offset: u64,
        /// The fault.
        cause: &'static str,
    },
    /// A file was replaced while it was read.
    #[error("{}: another program changed it meanwhile; run again", .path.display())]
    Changed {
        /// The file.
        path: PathBuf,
    },
    /// Any other answer of the operating system.
    #[error("{}: cannot {action}: {cause}; look at the disk, or name another folder", .path.display())]
    Access {
        /// The operation that failed.
        action: &'static str,
        /// The file, or the folder of a file without a name.
        path: PathBuf,
        /// The system's error.
        cause: io::Error,
    },
}

impl StorageError {
    /// Sorts an answer of the operating system about `path`, which could not do `action`. An error that was sorted before
    /// stays as it is.
    pub fn from_io(
        action: &'static str,
        path: impl Into<PathBuf>,
        cause: io::Error,
    ) -> StorageError {
        let path = path.into();
        let cause = match cause.downcast::<StorageError>() {
            Ok(sorted) => return sorted,
            Err(cause) => cause,
        };
        match cause.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                StorageError::Full { path, cause }
            }
            _ if matches!(Errno::from_io_error(&cause), Some(Errno::MFILE | Errno::NFILE)) => {
                StorageError::Open { path, cause }
            }
            _ => StorageError::Access { action, path, cause },
        }
    }
}
