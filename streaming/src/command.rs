//! Commands: their words, as Hadoop cuts them, and their programs.

use std::env;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Returns the words of a command. Blanks end a word, and so do quotes, which hold blanks together; there are no
/// escapes. `a"b c"` is two words.
pub(crate) fn words(command: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), String::new(), None);
    for letter in command.chars() {
        let ends = match (letter, quote) {
            ('\'' | '"', None) => {
                quote = Some(letter);
                true
            }
            (_, Some(open)) if open == letter => {
                quote = None;
                true
            }
            (' ', None) => true,
            _ => false,
        };
        if !ends {
            word.push(letter);
        } else if !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

/// Why a program cannot be run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoProgram {
    Missing,
    NotExecutable,
}

/// Finds the program that a task in `folder` runs for a name: in the folder, then in the folders of `PATH`.
pub(crate) fn find(name: &str, folder: &Path) -> Result<PathBuf, NoProgram> {
    let mut fault = NoProgram::Missing;
    let mut look = |path: PathBuf| match fs::metadata(&path) {
        Ok(found) if found.is_file() && found.permissions().mode() & 0o111 != 0 => Some(path),
        Ok(found) if found.is_file() => {
            fault = NoProgram::NotExecutable;
            None
        }
        _ => None,
    };
    if let Some(path) = look(folder.join(name)) {
        return Ok(path);
    }
    if !name.contains('/') {
        let path = env::var_os("PATH").unwrap_or_default();
        let found = env::split_paths(&path).find_map(|folder| look(folder.join(name)));
        if let Some(path) = found {
            return Ok(path);
        }
    }
    Err(fault)
}

/// Returns whether a command is the name of a Java class: of a package, and with a capital letter.
pub(crate) fn is_class(command: &str) -> bool {
    let parts = command.split('.');
    let is_name = |part: &str| {
        part.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_' || first == '$')
            && part.chars().all(|one| one.is_ascii_alphanumeric() || "_$".contains(one))
    };
    let mut last = "";
    let mut count = 0;
    for part in parts {
        if !is_name(part) {
            return false;
        }
        (last, count) = (part, count + 1);
    }
    count > 1 && last.starts_with(|first: char| first.is_ascii_uppercase())
}

/// Returns a word as a shell would read it.
pub(crate) fn quoted(word: &str) -> String {
    let is_plain = |one: char| one.is_ascii_alphanumeric() || "-_./:,=+@%#".contains(one);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_cut_as_hadoop_cuts_them() {
        let cases: &[(&str, &[&str])] = &[
            ("python3 m.py  -x", &["python3", "m.py", "-x"]),
            ("sh -c 'cut -f1 | sort'", &["sh", "-c", "cut -f1 | sort"]),
            ("awk '{print \"a\"}'", &["awk", "{print \"a\"}"]),
            ("a\"b c\"d", &["a", "b c", "d"]),
            ("a ''", &["a"]),
            ("", &[]),
        ];
        for (command, expected) in cases {
            assert_eq!(words(command), *expected, "{command}");
        }
    }

    #[test]
    fn classes_are_told_from_programs() {
        for class in ["org.apache.hadoop.mapred.lib.IdentityMapper", "a.B", "a.B$C"] {
            assert!(is_class(class), "{class}");
        }
        for program in ["cat", "m.py", "./a.B", "a b.C", "/bin/cat", "my.Script.sh", "Mapper"] {
            assert!(!is_class(program), "{program}");
        }
    }

    #[test]
    fn words_are_quoted_for_shells() {
        assert_eq!(quoted("a=b"), "a=b");
        assert_eq!(quoted("it's here"), "'it'\\''s here'");
    }
}
