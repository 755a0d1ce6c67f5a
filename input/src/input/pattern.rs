//! Patterns as a command line has them: `*`, `?`, `[...]` within a name, `**` for any number of
//! folders. One walk over the folders that can still match, by name, each file at most once; a
//! folder that matches is taken whole. The walk carries, as an automaton does, the set of pattern
//! parts that the next name may be.
//!
//! The `glob` crate matches the names; its own walk leaves out names that are not UTF-8, and data
//! must not be left out in silence. Here such a name is matched with its broken bytes each as one
//! unknown character, so that `*` finds it.

use super::Input;
use super::listing::{Kind, Listing};
use super::named::length_lies;
use crate::error::InputError;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Returns whether an argument has anything to expand.
pub(super) fn is_pattern(argument: &OsStr) -> bool {
    argument.as_bytes().iter().any(|byte| b"*?[".contains(byte))
}

impl Input {
    /// Adds the files that `argument` matches.
    pub(super) fn add_pattern(&mut self, argument: &OsStr) -> Result<(), InputError> {
        let pattern = Pattern::parse(argument)?;
        let mut walk = Walk { pattern: &pattern, input: self, matches: 0 };
        walk.base()?;
        match walk.matches {
            0 => Err(InputError::NoMatch { pattern: argument.display().to_string() }),
            _ => Ok(()),
        }
    }
}

/// A pattern: the folder before the first wildcard, then the parts below it.
struct Pattern {
    base: PathBuf,
    parts: Vec<Part>,
    folders_only: bool,
}

enum Part {
    Literal(OsString),
    Name(glob::Pattern),
    /// `**`: no folder, one, or several.
    Folders,
}

/// Parts the next name may be: bit `i` for part `i`.
type Parts = u64;

impl Pattern {
    fn parse(argument: &OsStr) -> Result<Pattern, InputError> {
        let fault =
            |cause: String| InputError::Pattern { pattern: argument.display().to_string(), cause };
        let bytes = argument.as_bytes();
        let mut base = PathBuf::from(if bytes.starts_with(b"/") { "/" } else { "" });
        let mut parts: Vec<Part> = Vec::new();
        for name in bytes.split(|&byte| byte == b'/').filter(|name| !name.is_empty()) {
            let name = OsStr::from_bytes(name);
            let literal = !is_pattern(name);
            if literal && parts.is_empty() {
                base.push(name);
            } else if literal && name == ".." {
                return Err(fault("`..` cannot follow a wildcard".to_owned()));
            } else if literal && name != "." {
                parts.push(Part::Literal(name.to_os_string()));
            } else if name == "**" {
                parts.push(Part::Folders);
            } else if !literal {
                let text = name
                    .to_str()
                    .ok_or_else(|| fault("a name with wildcards must be UTF-8".to_owned()))?;
                parts.push(Part::Name(
                    glob::Pattern::new(text)
                        .map_err(|cause| fault(format!("`{text}`: {}", cause.msg)))?,
                ));
            }
        }
        if parts.len() >= Parts::BITS as usize {
            return Err(fault(format!(
                "more than {} parts after the first wildcard",
                Parts::BITS - 1
            )));
        }
        Ok(Pattern { base, parts, folders_only: bytes.ends_with(b"/") })
    }

    /// Returns the parts that the next name may match after `name`, where `name` may match any of `parts`.
    /// Bit `self.parts.len()` is set if the pattern is matched. `**` does not follow links to folders, so it
    /// cannot run in circles.
    fn after(&self, parts: Parts, name: &OsStr, kind: Option<Kind>) -> Parts {
        let text = name.to_string_lossy();
        let parts = self.reach(parts);
        let mut after = 0;
        for (index, part) in
            self.parts.iter().enumerate().filter(|(index, _)| parts >> index & 1 == 1)
        {
            match part {
                Part::Literal(literal) if literal == name => after |= 1 << (index + 1),
                Part::Name(pattern) if pattern.matches(&text) => after |= 1 << (index + 1),
                Part::Folders if kind.is_none_or(|kind| kind == Kind::Folder) => {
                    after |= 1 << index;
                }
                Part::Folders | Part::Literal(_) | Part::Name(_) => {}
            }
        }
        after
    }

    /// Adds the parts that may begin because a `**` matches no folder at all.
    fn reach(&self, parts: Parts) -> Parts {
        let folders =
            self.parts.iter().enumerate().filter(|(_, part)| matches!(part, Part::Folders));
        folders.fold(parts, |parts, (index, _)| parts | (parts >> index & 1) << (index + 1))
    }

    fn is_matched(&self, parts: Parts) -> bool {
        parts >> self.parts.len() & 1 == 1
    }
}

struct Walk<'a> {
    pattern: &'a Pattern,
    input: &'a mut Input,
    matches: u64,
}

impl Walk<'_> {
    /// Begins at the folder before the first wildcard.
    fn base(&mut self) -> Result<(), InputError> {
        let base = &self.pattern.base;
        // A folder to read must have a name; the shown path stays as it was given.
        let path = if base.as_os_str().is_empty() { Path::new(".") } else { base };
        match fs::metadata(path) {
            Ok(found) if found.is_dir() && self.pattern.is_matched(self.pattern.reach(1)) => {
                self.matches += 1;
                self.input.add_tree(path)
            }
            Ok(found) if found.is_dir() => self.folder(path, base, 1),
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
        let listing = Listing::read(path, |name| pattern.after(parts, name, None) != 0)?;
        let files_lie = length_lies(path, 0);
        for (name, kind) in listing.iter() {
            let child = shown.join(name);
            let after = pattern.after(parts, name, Some(kind));
            let is_folder = match kind {
                Kind::Link => fs::metadata(&child).is_ok_and(|found| found.is_dir()),
                kind => kind == Kind::Folder,
            };
            if is_folder && pattern.is_matched(pattern.reach(after)) {
                self.matches += 1;
                self.input.add_tree(&child)?;
            } else if is_folder && after != 0 {
                self.folder(&child, &child, after)?;
            } else if !is_folder && pattern.is_matched(after) && !pattern.folders_only {
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
