//! Walks over folders, depth first, by name, each file at most once. All below a folder goes into the list, except
//! that links and special files are counted and left alone, so that a walk neither loops nor blocks on a pipe. A
//! walk for a pattern follows the links that it matches, but `**` follows none, so it cannot run in circles.

use super::Input;
use super::files::FolderId;
use super::listing::{Kind, Listing};
use super::named::length_lies;
use super::pattern::{Parts, Pattern, is_pattern};
use crate::error::InputError;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

impl Input {
    /// Adds the files below `path`, a folder as given.
    pub(super) fn add_tree(&mut self, path: &Path) -> Result<(), InputError> {
        let folder = self.files().add_folder(None, path.as_os_str());
        self.walk(path, folder)
    }

    /// Recursion is as deep as the tree, which the longest path of the system bounds.
    fn walk(&mut self, path: &Path, folder: FolderId) -> Result<(), InputError> {
        for (name, kind) in Listing::read(path, |_| true)?.iter() {
            match kind {
                Kind::File(bytes) => self.files().add_file(Some(folder), name, bytes),
                Kind::Folder => {
                    let below = self.files().add_folder(Some(folder), name);
                    self.walk(&path.join(name), below)?;
                }
                Kind::Link | Kind::Special => self.passed_over += 1,
            }
        }
        Ok(())
    }

    /// Adds the files that `argument` matches.
    pub(super) fn add_pattern(&mut self, argument: &OsStr) -> Result<(), InputError> {
        let shown = || argument.display().to_string();
        let fault = |cause: String| InputError::Pattern { pattern: shown(), cause };
        let bytes = argument.as_bytes();
        let mut names = Vec::new();
        let mut is_below = false;
        for name in bytes.split(|&byte| byte == b'/').map(OsStr::from_bytes) {
            is_below |= is_pattern(name);
            if is_below && name == ".." {
                return Err(fault("`..` cannot follow a wildcard".to_owned()));
            }
            let is_nothing = name.is_empty() || is_below && name == ".";
            names.extend((!is_nothing).then_some(name));
        }
        let parsed = Pattern::parse(names.into_iter(), bytes.ends_with(b"/"));
        let (base_names, pattern) = parsed.map_err(fault)?;
        let mut base = PathBuf::from(if bytes.starts_with(b"/") { "/" } else { "" });
        base.extend(base_names);
        let mut walk = Walk { pattern: &pattern, input: self, matches: 0 };
        walk.base(&base)?;
        match walk.matches {
            0 => Err(InputError::NoMatch { pattern: shown() }),
            _ => Ok(()),
        }
    }
}

/// A walk for the matches of a pattern.
struct Walk<'a> {
    pattern: &'a Pattern,
    input: &'a mut Input,
    matches: u64,
}

impl Walk<'_> {
    /// Begins at the folder before the first wildcard.
    fn base(&mut self, base: &Path) -> Result<(), InputError> {
        // A folder to read must have a name; the shown path stays as it was given.
        let path = if base.as_os_str().is_empty() { Path::new(".") } else { base };
        match fs::metadata(path) {
            Ok(found) if found.is_dir() && self.pattern.takes_folder(Parts::FIRST) => {
                self.matches += 1;
                self.input.add_tree(path)
            }
            Ok(found) if found.is_dir() => self.folder(path, base, Parts::FIRST),
            Err(cause)
                if !matches!(
                    cause.kind(),
                    io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
                ) =>
            {
                Err(InputError::from_io(path, cause))
            }
            Ok(_) | Err(_) => Ok(()),
        }
    }

    /// Takes the matches in the folder at `path`; `shown` is the beginning of the paths of its entries.
    fn folder(&mut self, path: &Path, shown: &Path, parts: Parts) -> Result<(), InputError> {
        let pattern = self.pattern;
        let listing = Listing::read(path, |name| !pattern.after(parts, name, true).is_none())?;
        let files_lie = length_lies(path, 0);
        for (name, kind) in listing.iter() {
            let child = shown.join(name);
            let after = pattern.after(parts, name, kind == Kind::Folder);
            let is_folder = match kind {
                Kind::Link => fs::metadata(&child).is_ok_and(|found| found.is_dir()),
                kind => kind == Kind::Folder,
            };
            if is_folder && pattern.takes_folder(after) {
                self.matches += 1;
                self.input.add_tree(&child)?;
            } else if is_folder && !after.is_none() {
                self.folder(&child, &child, after)?;
            } else if !is_folder && pattern.takes_file(after) {
                self.file(name, kind, &child, shown, files_lie)?;
            }
        }
        Ok(())
    }

    /// Takes an entry that is no folder.
    fn file(
        &mut self,
        name: &OsStr,
        kind: Kind,
        path: &Path,
        folder: &Path,
        lies: bool,
    ) -> Result<(), InputError> {
        let special = match kind {
            Kind::Link => fs::metadata(path).is_ok_and(|found| !found.is_file()),
            kind => kind == Kind::Special,
        };
        if special {
            self.input.passed_over += 1;
            return Ok(());
        }
        self.matches += 1;
        match kind {
            Kind::File(bytes) if !lies => {
                let files = self.input.files();
                let folder = (!folder.as_os_str().is_empty()).then(|| files.folder_at(folder));
                files.add_file(folder, name, bytes);
                Ok(())
            }
            _ => self.input.add_named(path),
        }
    }
}
