//! The files that a command writes. Two flags cannot name the same one, because one would take the place of the other. None
//! may be a file of the input or one that another flag reads, which would be lost; except the answer's, which is replaced when
//! all has been read.

use crate::events::EventsTo;
use crate::flags::{RunFlags, groups_file};
use std::cell::Cell;
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use tegula::{Error, Result};

/// The most links that lead to a file.
const LINKS_MOST: u32 = 40;

/// The files of one command.
#[derive(Default)]
pub(super) struct Written {
    /// With the flag that names each; the answer's is the first.
    files: Vec<(&'static str, PathBuf)>,
    /// Files that flags and arguments name to be read, beside the input.
    read: Vec<(&'static str, PathBuf)>,
    /// Whether none of them is a file of the input, as far as is known.
    is_apart: Cell<bool>,
}

/// Files that a command reads beside its input, each with the flag or argument that names it.
pub(crate) type Reads<'p> = &'p [(&'static str, &'p Path)];

/// What makes two files the same.
#[derive(PartialEq)]
enum Identity {
    /// Device and inode of a file that is there.
    There(u64, u64),
    /// The path of one that is not, links followed.
    Coming(PathBuf),
}

impl Written {
    /// Returns the files that the flags of every command name, for one that reads these.
    pub(super) fn of(flags: &RunFlags, reads: Reads<'_>) -> Result<Written> {
        let mut written = Written::default();
        match &flags.output {
            Some(path) => written.add("-o", path)?,
            None => written.add("standard output", &descriptor(1))?,
        }
        // After the answer's, which may take the place of one of them.
        let groups = groups_file(&flags.groups).map(|path| ("--groups", path));
        let read = reads.iter().copied().chain(groups);
        written.read = read.map(|(name, path)| (name, path.to_path_buf())).collect();
        if flags.events == Some(EventsTo::Fd(1)) && flags.output.is_none() {
            let cause = "the answer goes to standard output; give it a file, -o FILE".to_owned();
            return Err(Error::Option { option: "--events", cause });
        }
        if let Some(to) = &flags.events {
            written.add("--events", &to.path())?;
        }
        if let Some(path) = &flags.stats_json {
            written.add("--stats-json", path)?;
        }
        if let Some(file) = &flags.timeline {
            written.add("--timeline", &file.path)?;
        }
        Ok(written)
    }

    /// Adds the file of a flag, unless it is that of another one. Devices and pipes can take what several write.
    pub(super) fn add(&mut self, option: &'static str, path: &Path) -> Result<()> {
        let identity = identity(path);
        let is_same = |other: &Path| identity.is_some() && self::identity(other) == identity;
        let mut others = self.files.iter().chain(&self.read);
        if let Some((other, _)) = others.find(|(_, other)| is_same(other)) {
            let cause = format!("{} is also the file of {other}; name another", path.display());
            return Err(Error::Option { option, cause });
        }
        self.files.push((option, path.to_path_buf()));
        Ok(())
    }

    /// Refuses files of the input among those that are emptied or replaced.
    pub(super) fn refuse(&self, mut input: impl Iterator<Item = PathBuf>) -> Result<()> {
        let beside = self.files.iter().skip(1);
        let there = |(option, path): &'_ (&'static str, PathBuf)| match identity(path) {
            Some(Identity::There(device, inode)) => Some((*option, path.clone(), (device, inode))),
            _ => None,
        };
        let there: Vec<_> = beside.filter_map(there).collect();
        let found = |name: PathBuf| {
            let file = there_of(&name)?;
            there.iter().find(|(.., place)| *place == file)
        };
        if !there.is_empty()
            && let Some((option, path, _)) = input.find_map(found)
        {
            let cause = format!("{} is a file of the input; name another", path.display());
            return Err(Error::Option { option, cause });
        }
        Ok(())
    }

    /// Notes that no file of the input was refused.
    pub(super) fn are_apart(&self) {
        self.is_apart.set(true);
    }

    /// Returns whether the files may be written.
    pub(super) fn is_apart(&self) -> bool {
        self.is_apart.get()
    }
}

/// Returns the path of an open file.
pub(crate) fn descriptor(fd: u32) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{fd}"))
}

/// Returns device and inode of what has this path, if there is anything.
pub(super) fn there_of(path: &Path) -> Option<(u64, u64)> {
    fs::metadata(path).ok().as_ref().map(inode_of)
}

/// Returns device and inode.
pub(super) fn inode_of(file: &Metadata) -> (u64, u64) {
    (file.dev(), file.ino())
}

/// Returns the identity of a regular file that is there, or will be.
fn identity(path: &Path) -> Option<Identity> {
    match fs::metadata(path) {
        Ok(file) => file.is_file().then(|| Identity::There(file.dev(), file.ino())),
        Err(_) => coming(path).map(Identity::Coming),
    }
}

/// Returns where a file will be that is opened by this path. Links to nothing are followed.
fn coming(path: &Path) -> Option<PathBuf> {
    let mut path = path.to_path_buf();
    for _ in 0..LINKS_MOST {
        let Ok(to) = fs::read_link(&path) else { break };
        path = path.parent()?.join(to);
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = fs::canonicalize(folder.unwrap_or(Path::new("."))).ok()?;
    Some(folder.join(path.file_name()?))
}
