//! Files that a job ships: each task finds them in its folder, by their links.

use crate::command::words;
use crate::conf::refused;
use crate::input::without_scheme;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tegula::{Identity, InputError, OutputError, Result};

/// A file, folder or archive.
#[derive(Clone, Debug)]
pub(crate) struct Shipped {
    path: PathBuf,
    /// Its name in the folder of a task.
    link: String,
    is_archive: bool,
}

impl Shipped {
    /// Looks up the files and archives of a job, each `path` or `path#link`. One that is shipped twice counts once.
    ///
    /// # Errors
    /// [`InputError`] of a path, [`Error::Option`](tegula::Error::Option) for one of another file system.
    pub(crate) fn all(files: &[String], archives: &[String]) -> Result<Vec<Shipped>> {
        let mut links = BTreeSet::new();
        let mut shipped = Vec::new();
        let kinds = files.iter().map(|file| (file, false));
        for (text, is_archive) in kinds.chain(archives.iter().map(|archive| (archive, true))) {
            let item = Shipped::of(text, is_archive)?;
            if links.insert(item.link.clone()) {
                shipped.push(item);
            }
        }
        Ok(shipped)
    }

    fn of(text: &str, is_archive: bool) -> Result<Shipped> {
        let option = if is_archive { "-archives" } else { "-files" };
        let (path, link) = text.split_once('#').unwrap_or((text, ""));
        let path = without_scheme(path);
        if path.contains("://") {
            let cause = format!("{path}: copy it to this machine, and give its path");
            return Err(refused(option, cause));
        }
        let path = fs::canonicalize(path).map_err(|cause| InputError::from_io(path, cause))?;
        let name = Path::new(text.split('#').next().unwrap_or_default()).file_name();
        let name =
            name.or_else(|| path.file_name()).map(OsStr::to_string_lossy).unwrap_or_default();
        let link = if link.is_empty() { name.into_owned() } else { link.to_owned() };
        if link.contains('/') || link == "." || link == ".." {
            let cause = format!("{text}: a link is a plain name, without /");
            return Err(refused(option, cause));
        }
        Ok(Shipped { path, link, is_archive })
    }

    /// Adds its content to a job's identity.
    pub(crate) fn identify(&self, identity: Identity) -> Result<Identity> {
        with_content(identity, &format!("file {}", self.link), &self.path)
    }
}

/// Returns files in the order of their links, of which each is another.
pub(crate) fn by_link(shipped: &[Shipped]) -> Vec<&Shipped> {
    let mut sorted: Vec<&Shipped> = shipped.iter().collect();
    sorted.sort_by(|one, other| one.link.cmp(&other.link));
    sorted
}

/// Adds the content of a file or folder to a job's identity.
pub(crate) fn with_content(identity: Identity, name: &str, path: &Path) -> Result<Identity> {
    let added = identity.with_written(name, |to| write_all(path, to));
    Ok(added.map_err(|cause| InputError::from_io(path, cause))?)
}

fn write_all(path: &Path, to: &mut dyn Write) -> io::Result<()> {
    if !fs::metadata(path)?.is_dir() {
        io::copy(&mut File::open(path)?, to)?;
        return Ok(());
    }
    let mut entries: Vec<PathBuf> =
        fs::read_dir(path)?.map(|entry| Ok(entry?.path())).collect::<io::Result<_>>()?;
    entries.sort();
    for entry in entries {
        // Compiled by Python from what is beside it.
        if entry.file_name().is_some_and(|name| name == "__pycache__") {
            continue;
        }
        to.write_all(entry.file_name().unwrap_or_default().as_encoded_bytes())?;
        to.write_all(&[0])?;
        write_all(&entry, to)?;
    }
    Ok(())
}

/// What tasks find in their folders: links by name, each with its target.
#[derive(Debug, Default)]
pub(crate) struct Links(Vec<(String, PathBuf)>);

impl Links {
    /// Prepares a job's files in the folder of its run: archives are unpacked there. A file that `programs` name and
    /// that is not executable is copied there and made so, as Hadoop does.
    pub(crate) fn prepare(shipped: &[Shipped], programs: &[&str], folder: &Path) -> Result<Links> {
        let mut links = Vec::new();
        for (number, item) in shipped.iter().enumerate() {
            let path = folder.join(format!("shipped-{number}"));
            let target = if item.is_archive {
                unpack(&item.path, &path)?;
                path
            } else if programs.contains(&item.link.as_str()) && !is_executable(&item.path) {
                let copied = fs::copy(&item.path, &path)
                    .and_then(|_| fs::set_permissions(&path, fs::Permissions::from_mode(0o755)));
                copied.map_err(|cause| OutputError::Write { path: path.clone(), cause })?;
                path
            } else {
                item.path.clone()
            };
            links.push((item.link.clone(), target));
        }
        Ok(Links(links))
    }

    /// Makes the links in the folder of a task.
    pub(crate) fn make(&self, folder: &Path) -> io::Result<()> {
        self.0.iter().try_for_each(|(link, target)| symlink(target, folder.join(link)))
    }
}

/// Returns the command of a job's mapper, combiner or reducer with the path of a shipped program made its link, as
/// Hadoop does: `-mapper dir/m.py -file dir/m.py` runs `m.py` in the task's folder.
pub(crate) fn unqualified(command: &[String], shipped: &[Shipped]) -> Vec<String> {
    let mut command = command.to_vec();
    if let Some(program) = command.first_mut()
        && program.contains('/')
        && let Ok(path) = fs::canonicalize(&*program)
        && let Some(item) = shipped.iter().find(|item| !item.is_archive && item.path == path)
    {
        program.clone_from(&item.link);
    }
    command
}

fn is_executable(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|found| found.permissions().mode() & 0o111 != 0)
}

/// Unpacks an archive into a new folder, by the program for its kind.
fn unpack(archive: &Path, folder: &Path) -> Result<()> {
    fs::create_dir(folder).map_err(|cause| OutputError::Create { path: folder.into(), cause })?;
    let name = archive.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    let is_zip = name.ends_with(".zip") || name.ends_with(".jar");
    let (archive_word, folder_word) = (archive.as_os_str(), folder.as_os_str());
    let word = OsStr::new;
    let tries: &[(&str, &[&OsStr])] = if is_zip {
        &[
            ("unzip", &[word("-qo"), archive_word, word("-d"), folder_word]),
            ("python3", &[word("-m"), word("zipfile"), word("-e"), archive_word, folder_word]),
        ]
    } else {
        &[("tar", &[word("-xf"), archive_word, word("-C"), folder_word])]
    };
    let mut fault = String::new();
    for (program, words) in tries {
        match Command::new(program).args(*words).stdin(Stdio::null()).output() {
            Ok(done) if done.status.success() => return Ok(()),
            Ok(done) => {
                let said = String::from_utf8_lossy(&done.stderr);
                fault = format!("{program}: {}", said.lines().next().unwrap_or("it failed"));
                break;
            }
            Err(cause) => fault = format!("{program}: {cause}"),
        }
    }
    let (path, advice) =
        (archive.to_path_buf(), "give a .tar, .tar.gz, .tgz, .zip or .jar".to_owned());
    Err(InputError::Refused { path, cause: format!("it cannot be unpacked: {fault}"), advice }
        .into())
}

/// Returns the words of a command that are paths of files, for a job's identity.
pub(crate) fn files_named(command: &[String]) -> impl Iterator<Item = PathBuf> {
    let all = command.iter().flat_map(|word| words(word));
    all.map(PathBuf::from).filter(|path| path.is_absolute() && path.is_file())
}
