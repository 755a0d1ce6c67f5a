//! Patterns as a command line has them: `*`, `?`, `[...]` within a name, `**` for any number of folders. A
//! folder that matches is taken whole. A walk down from the folder before the first wildcard carries, as an
//! automaton does, the set of pattern parts that the next name may be, so it enters only folders that can hold a
//! match. Local paths (`walk.rs`) and URLs (the crate `tegula-remote`) are matched here.
//!
//! The `glob` crate matches the names; its own walk leaves out names that are not UTF-8, and data must not be left
//! out in silence. Here such a name is matched with its broken bytes each as one unknown character, so that `*`
//! finds it.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

/// The parts of a pattern from the first one with a wildcard on.
#[allow(missing_debug_implementations, reason = "no part of the interface")]
pub struct Pattern {
    parts: Vec<Part>,
    folders_only: bool,
}

enum Part {
    Literal(OsString),
    Name(glob::Pattern),
    /// `**`: no folder, one, or several.
    Folders,
}

/// Parts that the next name may be: bit `i` for part `i`, and one more for a pattern that is matched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parts(u64);

/// The bits of [`Parts`] beside the one for a matched pattern.
const PARTS_MOST: usize = 63;

impl Parts {
    /// The parts that the first name below the base may match.
    pub const FIRST: Parts = Parts(1);

    /// Returns whether no name can match any more.
    pub fn is_none(self) -> bool {
        self.0 == 0
    }
}

/// Returns whether a name or a path has anything to expand.
pub fn is_pattern(path: &OsStr) -> bool {
    path.as_bytes().iter().any(|byte| b"*?[".contains(byte))
}

impl Pattern {
    /// Parses the names of a path; with `folders_only`, files themselves do not match. Returns the names before
    /// the first wildcard, and the pattern of those below them.
    ///
    /// # Errors
    /// The reason why it is no pattern.
    pub fn parse<'p>(
        names: impl Iterator<Item = &'p OsStr>,
        folders_only: bool,
    ) -> Result<(Vec<&'p OsStr>, Pattern), String> {
        let (mut base, mut parts) = (Vec::new(), Vec::new());
        for name in names {
            if is_pattern(name) {
                parts.push(Part::of(name)?);
            } else if parts.is_empty() {
                base.push(name);
            } else {
                parts.push(Part::Literal(name.to_os_string()));
            }
        }
        match parts.len() > PARTS_MOST {
            true => Err(format!("more than {PARTS_MOST} parts after the first wildcard")),
            false => Ok((base, Pattern { parts, folders_only })),
        }
    }

    /// Returns the parts that may follow `name`, where it may be any of `parts`. If `is_folder`, `**` may match
    /// it and go on.
    pub fn after(&self, parts: Parts, name: &OsStr, is_folder: bool) -> Parts {
        let text = name.to_string_lossy();
        let mut after = 0;
        for (index, part) in self.reached(parts) {
            match part {
                Part::Literal(literal) if literal == name => after |= 1 << (index + 1),
                Part::Name(pattern) if pattern.matches(&text) => after |= 1 << (index + 1),
                Part::Folders if is_folder => after |= 1 << index,
                Part::Folders | Part::Literal(_) | Part::Name(_) => {}
            }
        }
        Parts(after)
    }

    /// Returns whether a folder is taken whole, if these parts may follow its name.
    pub fn takes_folder(&self, after: Parts) -> bool {
        self.is_matched(self.reach(after))
    }

    /// Returns whether a file is taken, if these parts may follow its name.
    pub fn takes_file(&self, after: Parts) -> bool {
        !self.folders_only && self.is_matched(after)
    }

    /// Returns whether any number of folders may follow, so that all below must be listed.
    pub fn goes_deep(&self, parts: Parts) -> bool {
        self.reached(parts).any(|(_, part)| matches!(part, Part::Folders))
    }

    /// Returns the parts that may begin, and their numbers.
    fn reached(&self, parts: Parts) -> impl Iterator<Item = (usize, &Part)> {
        let Parts(reached) = self.reach(parts);
        self.parts.iter().enumerate().filter(move |(index, _)| reached >> index & 1 == 1)
    }

    /// Adds the parts that may begin because a `**` matches no folder at all.
    fn reach(&self, parts: Parts) -> Parts {
        let folders =
            self.parts.iter().enumerate().filter(|(_, part)| matches!(part, Part::Folders));
        Parts(
            folders.fold(parts.0, |parts, (index, _)| parts | (parts >> index & 1) << (index + 1)),
        )
    }

    fn is_matched(&self, parts: Parts) -> bool {
        parts.0 >> self.parts.len() & 1 == 1
    }
}

impl Part {
    /// Parses a name with wildcards.
    fn of(name: &OsStr) -> Result<Part, String> {
        if name == "**" {
            return Ok(Part::Folders);
        }
        let text = name.to_str().ok_or("a name with wildcards must be UTF-8")?;
        let pattern =
            glob::Pattern::new(text).map_err(|cause| format!("`{text}`: {}", cause.msg))?;
        Ok(Part::Name(pattern))
    }
}
