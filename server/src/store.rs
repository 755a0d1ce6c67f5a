//! The server's folder: a folder for each job, with its record, its answer, its log and its state. Each file is written
//! whole (`AtomicFile`), and the folders are all there is: no database, no index. One server uses a folder at a time.
//!
//! ```text
//! HOME/lock                  held while a server runs
//! HOME/session.key           the key of the page's cookies
//! HOME/highest               the highest number of a job when jobs were last removed
//! HOME/jobs/17/job.json      the record (`job.rs`)
//!              program       a job in Python, as its package sent it
//!              view.json     what was known when its last attempt ended (`events.rs`)
//!              places.json   where the cells of its grid are
//!              log           its standard error
//!              answer        its answer, when it is complete
//!              timeline.svg  the work of its threads
//!              state/        from where it goes on
//!              scratch/      its scratch files, which have no names
//! ```

use crate::Fault;
use crate::fields::Fields;
use crate::job::Job;
use rustix::fs::{CWD, FlockOperation, RenameFlags, flock, renameat_with};
use rustix::io::Errno;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::num::NonZero;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::thread;
use tegula::output::AtomicFile;

/// The most threads that read records at the start.
const READERS_MOST: usize = 8;

/// The folder of a server, locked.
#[derive(Debug)]
pub(crate) struct Store {
    home: PathBuf,
    _lock: File,
}

/// A job's folder.
#[derive(Clone, Debug)]
pub(crate) struct Folder(PathBuf);

impl Store {
    /// Opens a folder, or makes it, and locks it.
    ///
    /// # Errors
    /// [`Fault`] if another server uses it, or it cannot be written.
    pub(crate) fn open(home: &Path) -> Result<Store, Fault> {
        let jobs = home.join("jobs");
        let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(&jobs);
        made.map_err(|cause| fault("make the folder", &jobs, &cause))?;
        let path = home.join("lock");
        let lock = File::options().create(true).truncate(false).write(true).mode(0o600).open(&path);
        let lock = lock.map_err(|cause| fault("open", &path, &cause))?;
        match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Store { home: home.to_path_buf(), _lock: lock }),
            Err(Errno::WOULDBLOCK) => Err(Fault(format!(
                "{}: another server uses this folder; stop it, or give another folder (--home)",
                home.display()
            ))),
            Err(cause) => Err(fault("lock", &path, &cause.into())),
        }
    }

    /// Returns the folder of a job.
    pub(crate) fn folder(&self, id: u64) -> Folder {
        Folder(self.home.join("jobs").join(id.to_string()))
    }

    /// Reads all records, and the highest number that a job has had. A folder without a readable record is passed over,
    /// with a line on standard error.
    pub(crate) fn read_all(&self) -> Result<(Vec<Job>, u64), Fault> {
        let path = self.home.join("jobs");
        let entries = fs::read_dir(&path).map_err(|cause| fault("list", &path, &cause))?;
        let names = entries.flatten().map(|entry| entry.file_name());
        let ids: Vec<u64> = names.filter_map(|name| name.to_str()?.parse().ok()).collect();
        let read = |ids: &[u64]| ids.iter().filter_map(|&id| self.read(id)).collect::<Vec<Job>>();
        // Ten thousand files take one thread a second.
        let threads = thread::available_parallelism().map_or(1, NonZero::get).min(READERS_MOST);
        let mut jobs = thread::scope(|scope| {
            let parts = ids.chunks(ids.len().div_ceil(threads).max(1));
            let readers: Vec<_> = parts.map(|part| scope.spawn(|| read(part))).collect();
            let all = readers.into_iter().filter_map(|reader| reader.join().ok());
            all.flatten().collect::<Vec<Job>>()
        });
        jobs.sort_by_key(|job| job.id);
        let highest = fs::read_to_string(self.home.join("highest")).unwrap_or_default();
        let highest = highest.trim().parse().unwrap_or(0);
        Ok((jobs, ids.into_iter().fold(highest, u64::max)))
    }

    /// Notes the highest number that a job has had, whose folder may be removed.
    pub(crate) fn note_highest(&self, id: u64) -> Result<(), Fault> {
        write_whole(&self.home.join("highest"), format!("{id}\n").as_bytes())
    }

    /// Reads a record; a folder without one is passed over, with a line on standard error.
    fn read(&self, id: u64) -> Option<Job> {
        let folder = self.folder(id);
        let job = folder.read().ok().filter(|job| job.id == id);
        match &job {
            // A server that was killed may not have come to it.
            Some(job) if job.state.is_over() => folder.remove_state(),
            Some(_) => {}
            None => crate::say(&format!("{}: no record of a job is here", folder.0.display())),
        }
        job
    }

    /// Returns the secret key of this folder, made when it is first needed.
    pub(crate) fn key(&self) -> Result<[u8; 32], Fault> {
        let path = self.home.join("session.key");
        if let Ok(key) = fs::read(&path)
            && let Ok(key) = key.try_into()
        {
            return Ok(key);
        }
        let key = random()?;
        write_secret(&path, &key)?;
        Ok(key)
    }
}

impl Folder {
    /// Makes the folder of a new job.
    pub(crate) fn make(&self) -> io::Result<()> {
        fs::DirBuilder::new().mode(0o700).create(&self.0)
    }

    /// Returns the path of a file in it.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn read(&self) -> io::Result<Job> {
        Ok(serde_json::from_slice(&fs::read(self.path("job.json"))?)?)
    }

    /// Writes the record. When this returns, it outlives a loss of power.
    pub(crate) fn write(&self, job: &Job) -> Result<(), Fault> {
        self.write_whole("job.json", &serde_json::to_vec(job).unwrap_or_default())
    }

    /// Writes the first record of a job, of which nobody knows yet: a half one is passed over at the next start.
    pub(crate) fn write_new(&self, job: &Job) -> Result<(), Fault> {
        let path = self.path("job.json");
        let written = fs::write(&path, serde_json::to_vec(job).unwrap_or_default());
        written.map_err(|cause| fault("write", &path, &cause))
    }

    /// Writes what is known of the last attempt.
    pub(crate) fn write_view(&self, view: &Fields) -> Result<(), Fault> {
        self.write_whole("view.json", &serde_json::to_vec(view).unwrap_or_default())
    }

    /// Writes a job in Python.
    pub(crate) fn write_program(&self, program: &str) -> Result<(), Fault> {
        self.write_whole("program", program.as_bytes())
    }

    /// Reads a job in Python.
    pub(crate) fn read_program(&self) -> Result<String, Fault> {
        let path = self.path("program");
        fs::read_to_string(&path).map_err(|cause| fault("read", &path, &cause))
    }

    fn write_whole(&self, name: &str, text: &[u8]) -> Result<(), Fault> {
        write_whole(&self.path(name), text)
    }

    /// Returns what was known when the last attempt ended.
    pub(crate) fn read_view(&self) -> Fields {
        let text = fs::read(self.path("view.json")).unwrap_or_default();
        serde_json::from_slice(&text).unwrap_or_default()
    }

    /// Writes where the cells of the last grid are.
    pub(crate) fn write_places(&self, places: &str) -> Result<(), Fault> {
        self.write_whole("places.json", places.as_bytes())
    }

    /// Returns the size of the log.
    pub(crate) fn log_bytes(&self) -> u64 {
        fs::metadata(self.path("log")).map_or(0, |log| log.len())
    }

    /// Returns the last bytes of the log, as text.
    pub(crate) fn log_tail(&self, most: u64) -> String {
        let bytes = fs::read(self.path("log")).unwrap_or_default();
        let from = bytes.len().saturating_sub(usize::try_from(most).unwrap_or(usize::MAX));
        String::from_utf8_lossy(&bytes[from..]).into_owned()
    }

    /// Returns the bytes of all its files.
    pub(crate) fn bytes(&self) -> u64 {
        fn below(folder: &Path) -> u64 {
            let entries = fs::read_dir(folder).into_iter().flatten().flatten();
            let bytes = entries.map(|entry| match entry.metadata() {
                Ok(found) if found.is_dir() => below(&entry.path()),
                Ok(found) => found.len(),
                Err(_) => 0,
            });
            bytes.sum()
        }
        below(&self.0)
    }

    /// Removes what there is of a job that cannot be kept.
    pub(crate) fn remove_new(&self) {
        let _ = fs::remove_dir_all(&self.0);
    }

    /// Removes the state, which a job that is over does not need. It is renamed first: if this process is killed
    /// meanwhile, no later run of the job finds a part of it.
    pub(crate) fn remove_state(&self) {
        let removed = self.path("state.removed");
        let _ = fs::remove_dir_all(&removed);
        let _ = fs::rename(self.path("state"), &removed);
        for path in [removed, self.path("scratch")] {
            let _ = fs::remove_dir_all(path);
        }
    }

    /// Removes all of it.
    pub(crate) fn remove(&self) -> io::Result<()> {
        // Without a record, the rest is passed over at the next start.
        fs::remove_file(self.path("job.json"))?;
        fs::remove_dir_all(&self.0)
    }
}

/// Writes a file whole, or not at all.
fn write_whole(path: &Path, text: &[u8]) -> Result<(), Fault> {
    let write = || -> Result<(), tegula::OutputError> {
        let mut file = AtomicFile::create(path)?;
        let written = file.write_all(text);
        written.map_err(|cause| tegula::OutputError::Write { path: path.to_path_buf(), cause })?;
        file.commit()
    };
    write().map_err(|error| Fault(error.to_string()))
}

/// Writes a file that only its owner can read, in the place of one that is there.
pub(crate) fn write_secret(path: &Path, bytes: &[u8]) -> Result<(), Fault> {
    write_private(path, bytes, |hidden| fs::rename(hidden, path))
}

/// As [`write_secret`], where there is no file.
pub(crate) fn new_secret(path: &Path, bytes: &[u8]) -> Result<(), Fault> {
    write_private(path, bytes, |hidden| {
        match renameat_with(CWD, hidden, CWD, path, RenameFlags::NOREPLACE) {
            // Not all file systems can.
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => fs::hard_link(hidden, path),
            named => Ok(named?),
        }
    })
}

/// Writes a file with a hidden name beside `path`, and lets `name` give it its own: a half secret would be neither used
/// nor replaced at the next start.
fn write_private(
    path: &Path,
    bytes: &[u8],
    name: impl FnOnce(&Path) -> io::Result<()>,
) -> Result<(), Fault> {
    let [a, b, c, d, ..] = random()?;
    let hidden = path.with_file_name(format!(".tegula-{:08x}", u32::from_le_bytes([a, b, c, d])));
    let write = || -> io::Result<()> {
        let mut file = File::options().create_new(true).write(true).mode(0o600).open(&hidden)?;
        let written = file.write_all(bytes).and_then(|()| file.sync_all());
        let named = written.and_then(|()| name(&hidden));
        // It is still there if that failed, or if the file has both names.
        let _ = fs::remove_file(&hidden);
        named
    };
    write().map_err(|cause| fault("write", path, &cause))
}

/// Returns random bytes of the system.
pub(crate) fn random() -> Result<[u8; 32], Fault> {
    let path = Path::new("/dev/urandom");
    let mut bytes = [0; 32];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut bytes));
    read.map_err(|cause| fault("read", path, &cause))?;
    Ok(bytes)
}

fn fault(action: &str, path: &Path, cause: &io::Error) -> Fault {
    Fault(format!("{}: cannot {action}: {cause}", path.display()))
}
