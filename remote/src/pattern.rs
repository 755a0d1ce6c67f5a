//! Patterns in URLs, with the meaning that they have in local paths: `*`, `?`, `[...]` within a name,
//! `**` for any number of folders, and a folder that matches is taken whole. Names are matched one by
//! one, down from the folder before the first wildcard, by the set of pattern parts that the next name
//! may be.

use crate::fault::Fault;

/// A pattern: the folder before the first wildcard, then the parts below it.
pub(crate) struct Pattern {
    pub(crate) base: String,
    parts: Vec<Part>,
    folders_only: bool,
}

enum Part {
    Literal(String),
    Name(glob::Pattern),
    /// `**`: no folder, one, or several.
    Folders,
}

/// Parts that the next name may be: bit `i` for part `i`, and one more for a pattern that is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Parts(u64);

impl Parts {
    /// The parts that the first name below the base may match.
    pub(crate) const FIRST: Parts = Parts(1);

    /// Returns whether no name can match any more.
    pub(crate) fn is_none(self) -> bool {
        self.0 == 0
    }
}

/// Returns whether a path has anything to expand.
pub(crate) fn is_pattern(path: &str) -> bool {
    path.contains(['*', '?', '['])
}

impl Pattern {
    /// Parses a path; with `folders_only`, files themselves do not match.
    pub(crate) fn parse(path: &str, folders_only: bool) -> Result<Pattern, Fault> {
        let refused =
            |cause: String| Fault::refused(format!("not a valid pattern: {cause}"), "mend it");
        let mut base = Vec::new();
        let mut parts = Vec::new();
        for name in path.split('/').filter(|name| !name.is_empty()) {
            if !is_pattern(name) && parts.is_empty() {
                base.push(name);
            } else if !is_pattern(name) {
                parts.push(Part::Literal(name.to_owned()));
            } else if name == "**" {
                parts.push(Part::Folders);
            } else {
                let pattern = glob::Pattern::new(name)
                    .map_err(|cause| refused(format!("`{name}`: {}", cause.msg)))?;
                parts.push(Part::Name(pattern));
            }
        }
        if parts.len() >= 63 {
            return Err(refused("more than 62 parts after the first wildcard".to_owned()));
        }
        Ok(Pattern { base: base.join("/"), parts, folders_only })
    }

    /// Returns the parts that may follow `name`, where it may be any of `parts`.
    pub(crate) fn after(&self, parts: Parts, name: &str, is_folder: bool) -> Parts {
        let reached = self.reach(parts);
        let mut after = 0;
        for (index, part) in self.parts.iter().enumerate().filter(|(at, _)| reached >> at & 1 == 1)
        {
            match part {
                Part::Literal(literal) if literal == name => after |= 1 << (index + 1),
                Part::Name(pattern) if pattern.matches(name) => after |= 1 << (index + 1),
                Part::Folders if is_folder => after |= 1 << index,
                Part::Literal(_) | Part::Name(_) | Part::Folders => {}
            }
        }
        Parts(after)
    }

    /// Returns whether a folder is taken whole, if these parts may follow its name.
    pub(crate) fn takes_folder(&self, after: Parts) -> bool {
        self.is_done(self.reach(after))
    }

    /// Returns whether a file is taken, if these parts may follow its name.
    pub(crate) fn takes_file(&self, after: Parts) -> bool {
        !self.folders_only && self.is_done(after.0)
    }

    /// Returns whether any number of folders may follow, so that all below must be listed.
    pub(crate) fn goes_deep(&self, parts: Parts) -> bool {
        let reached = self.reach(parts);
        self.parts
            .iter()
            .enumerate()
            .any(|(at, part)| reached >> at & 1 == 1 && matches!(part, Part::Folders))
    }

    /// Returns whether a file is taken, by its names below a folder where these parts may be: itself, or that
    /// folder, or one between.
    pub(crate) fn takes(&self, mut parts: Parts, path: &str) -> bool {
        if self.takes_folder(parts) {
            return true;
        }
        let mut names = path.split('/').peekable();
        while let Some(name) = names.next() {
            let is_folder = names.peek().is_some();
            parts = self.after(parts, name, is_folder);
            if is_folder && self.takes_folder(parts) {
                return true;
            }
        }
        self.takes_file(parts)
    }

    /// Adds the parts that may begin because a `**` matches no folder at all.
    fn reach(&self, parts: Parts) -> u64 {
        let folders =
            self.parts.iter().enumerate().filter(|(_, part)| matches!(part, Part::Folders));
        folders.fold(parts.0, |parts, (index, _)| parts | (parts >> index & 1) << (index + 1))
    }

    fn is_done(&self, parts: u64) -> bool {
        parts >> self.parts.len() & 1 == 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The cases of local patterns, over the same names.
    #[test]
    fn patterns_match_names_as_local_ones_do() {
        let names = [
            ".c.txt",
            "a.txt",
            "b.txt",
            "d.log",
            "sub/deep/f.txt",
            "sub/e.txt",
            "sub/g.log",
            "x.txt/h",
        ];
        for (given, folders_only, expected) in [
            ("*.txt", false, vec![".c.txt", "a.txt", "b.txt", "x.txt/h"]),
            ("?.txt", false, vec!["a.txt", "b.txt", "x.txt/h"]),
            ("[!a].txt", false, vec!["b.txt", "x.txt/h"]),
            ("[a-b].*", false, vec!["a.txt", "b.txt"]),
            ("*/e.txt", false, vec!["sub/e.txt"]),
            ("s*", true, vec!["sub/deep/f.txt", "sub/e.txt", "sub/g.log"]),
            ("*", true, vec!["sub/deep/f.txt", "sub/e.txt", "sub/g.log", "x.txt/h"]),
            ("s*/**", false, vec!["sub/deep/f.txt", "sub/e.txt", "sub/g.log"]),
            ("**/*.log", false, vec!["d.log", "sub/g.log"]),
            ("**/deep/*", false, vec!["sub/deep/f.txt"]),
            ("**/**/f.txt", false, vec!["sub/deep/f.txt"]),
            ("[ab]*/h", false, vec![]),
            ("**", false, names.to_vec()),
        ] {
            let pattern = Pattern::parse(given, folders_only).unwrap();
            assert!(pattern.base.is_empty());
            let taken: Vec<_> =
                names.into_iter().filter(|name| pattern.takes(Parts::FIRST, name)).collect();
            assert_eq!(taken, expected, "{given}");
        }
    }

    #[test]
    fn the_base_is_what_comes_before_the_first_wildcard() {
        let pattern = Pattern::parse("a/b/*/c/**/d", false).unwrap();
        assert_eq!(pattern.base, "a/b");
        assert!(!pattern.goes_deep(Parts::FIRST));
        let below = pattern.after(Parts::FIRST, "x", true);
        assert!(!below.is_none() && pattern.after(below, "e", true).is_none());
        assert!(pattern.goes_deep(pattern.after(below, "c", true)));
        assert!(pattern.takes(Parts::FIRST, "x/c/y/z/d"));
    }

    #[test]
    fn what_is_malformed_is_refused() {
        for bad in ["f[", "***", "f**", "[z-", &"*/".repeat(64)] {
            assert!(matches!(Pattern::parse(bad, false), Err(Fault::Refused { .. })), "{bad}");
        }
    }
}
