//! Patterns in URLs: the names of a path are matched as those of local paths are.

use crate::fault::Fault;
use std::ffi::OsStr;
use tegula_input::input::{Parts, Pattern};

/// Parses a path; with `folders_only`, files themselves do not match. Returns the folder before the first
/// wildcard, and the pattern of the names below it.
pub(crate) fn parse(path: &str, folders_only: bool) -> Result<(String, Pattern), Fault> {
    let names = path.split('/').filter(|name| !name.is_empty()).map(OsStr::new);
    let (base, pattern) = Pattern::parse(names, folders_only)
        .map_err(|cause| Fault::refused(format!("not a valid pattern: {cause}"), "mend it"))?;
    let base: Vec<_> = base.into_iter().map(OsStr::to_string_lossy).collect();
    Ok((base.join("/"), pattern))
}

/// Returns whether a file is taken, by its names below a folder where these parts may be: itself, or that
/// folder, or one between.
pub(crate) fn takes(pattern: &Pattern, mut parts: Parts, path: &str) -> bool {
    if pattern.takes_folder(parts) {
        return true;
    }
    let mut names = path.split('/').map(OsStr::new).peekable();
    while let Some(name) = names.next() {
        let is_folder = names.peek().is_some();
        parts = pattern.after(parts, name, is_folder);
        if is_folder && pattern.takes_folder(parts) {
            return true;
        }
    }
    pattern.takes_file(parts)
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
            let (base, pattern) = parse(given, folders_only).unwrap();
            assert!(base.is_empty());
            let taken: Vec<_> =
                names.into_iter().filter(|name| takes(&pattern, Parts::FIRST, name)).collect();
            assert_eq!(taken, expected, "{given}");
        }
    }

    #[test]
    fn the_base_is_what_comes_before_the_first_wildcard() {
        let (base, pattern) = parse("a/b/*/c/**/d", false).unwrap();
        assert_eq!(base, "a/b");
        assert!(!pattern.goes_deep(Parts::FIRST));
        let after = |parts, name: &str| pattern.after(parts, OsStr::new(name), true);
        let below = after(Parts::FIRST, "x");
        assert!(!below.is_none() && after(below, "e").is_none());
        assert!(pattern.goes_deep(after(below, "c")));
        assert!(takes(&pattern, Parts::FIRST, "x/c/y/z/d"));
    }

    #[test]
    fn what_is_malformed_is_refused() {
        for bad in ["f[", "***", "f**", "[z-", &"*/".repeat(64)] {
            assert!(matches!(parse(bad, false), Err(Fault::Refused { .. })), "{bad}");
        }
    }
}
