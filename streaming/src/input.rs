//! The input of a job, as Hadoop lists it: folders and patterns, without what is hidden there (names that begin with
//! `.` or `_`, such as the `_SUCCESS` of another job's answer). Files are in the order of their names.

use flate2::bufread::MultiGzDecoder;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};
use tegula::{Input, InputFile, Result};

/// Files to map.
#[derive(Debug, Default)]
pub(crate) struct Listed {
    pub(crate) input: Input,
    /// Lengths of the files of `input`, as far as they are known, by their numbers.
    pub(crate) bytes: Vec<Option<u64>>,
    /// Files without content: each is a task, too, which a split is not.
    pub(crate) empty: Vec<PathBuf>,
}

/// Looks up what `-input` names. `others` looks up what is no local path. `plain`: compressed files are read as they are.
pub(crate) fn list(
    inputs: &[String],
    others: &dyn Fn(&str) -> Result<Input>,
    plain: bool,
) -> Result<Listed> {
    let (mut listed, mut paths) = (Listed::default(), Vec::new());
    for text in inputs {
        let text = without_scheme(text);
        if text == "-" {
            let input = others(text)?;
            listed.bytes.extend(input.listing().map(|file| file.bytes()));
            listed.append(&mut paths, input)?;
            continue;
        }
        for pattern in without_braces(text) {
            match pattern.contains("://") {
                true => {
                    let found = listed.take_elsewhere(&pattern, others(&pattern)?);
                    listed.append(&mut paths, found)?;
                }
                false => listed.add_local(&pattern, plain, &mut paths)?,
            }
        }
    }
    listed.append(&mut paths, Input::default())?;
    Ok(listed)
}

/// How a gzip file begins.
pub(crate) const GZIP: &[u8] = &[0x1f, 0x8b];

/// Returns the path of a `file:` URL; any other text as it is.
pub(crate) fn without_scheme(text: &str) -> &str {
    text.strip_prefix("file://").or_else(|| text.strip_prefix("file:")).unwrap_or(text)
}

impl Listed {
    /// Adds the local files at these paths, and other input after them. Files that follow each other are one source,
    /// because the engine maps one source after the other.
    fn append(&mut self, paths: &mut Vec<PathBuf>, others: Input) -> Result<()> {
        self.input.append(Input::paths(std::mem::take(paths))?);
        self.input.append(others);
        Ok(())
    }

    /// Notes what was found at a URL, and returns what is to be read of it.
    fn take_elsewhere(&mut self, url: &str, mut found: Input) -> Input {
        // Such a URL is literal where something has just that name.
        let is_named = found.listing().any(|file| file.name().starts_with(url));
        let shown = if is_named { components(url).count() } else { literal_parts(url) };
        found.retain(|file| {
            let is_hidden = file.name().components().skip(shown).any(|part| is_hidden(&part));
            let is_empty = file.bytes() == Some(0);
            if is_empty && !is_hidden {
                self.empty.push(file.name().to_path_buf());
            }
            !is_hidden && !is_empty
        });
        self.bytes.extend(found.listing().map(|file| file.bytes()));
        found
    }

    /// Adds what a pattern names: to `paths`, unless it is a stream.
    fn add_local(&mut self, pattern: &str, plain: bool, paths: &mut Vec<PathBuf>) -> Result<()> {
        let found = Input::patterns([OsString::from(pattern)])?;
        let shown = literal_parts(pattern);
        let mut own = Vec::new();
        for file in found.listing() {
            let hidden = file.name().components().skip(shown).any(|part| is_hidden(&part));
            if hidden {
                continue;
            }
            if file.bytes() == Some(0) || !plain && is_empty_gzip(&file) {
                self.empty.push(file.name().to_path_buf());
            } else {
                self.bytes.push(file.bytes());
                own.push(file.name().to_path_buf());
            }
        }
        if own.len() == 1 && self.bytes.last() == Some(&None) {
            return self.append(paths, found);
        }
        paths.extend(own);
        Ok(())
    }
}

/// A gzip file without content has little more than its header.
const EMPTY_GZIP_BYTES_MOST: u64 = 512;

/// Returns whether a file is compressed by gzip and has no content. What cannot be read is for the run to tell.
fn is_empty_gzip(file: &InputFile<'_>) -> bool {
    let ends_at_once = |path: &Path| -> io::Result<bool> {
        let mut packed = Vec::new();
        File::open(path)?.take(EMPTY_GZIP_BYTES_MOST).read_to_end(&mut packed)?;
        Ok(packed.starts_with(GZIP) && MultiGzDecoder::new(&*packed).read(&mut [0])? == 0)
    };
    file.bytes().is_some_and(|bytes| bytes <= EMPTY_GZIP_BYTES_MOST)
        && ends_at_once(file.name()).unwrap_or(false)
}

fn is_hidden(part: &Component<'_>) -> bool {
    matches!(part, Component::Normal(name) if matches!(name.as_encoded_bytes().first(), Some(b'.' | b'_')))
}

fn components(path: &str) -> impl Iterator<Item = Component<'_>> {
    Path::new(path).components()
}

/// Returns the number of components that a pattern itself names: all, unless there is a wildcard.
fn literal_parts(pattern: &str) -> usize {
    let is_literal =
        |part: &Component<'_>| !part.as_os_str().to_string_lossy().contains(['*', '?', '[']);
    match Path::new(pattern).exists() {
        true => components(pattern).count(),
        false => components(pattern).take_while(is_literal).count(),
    }
}

/// Returns the patterns that one with alternatives, `{a,b}`, stands for.
pub(crate) fn without_braces(pattern: &str) -> Vec<String> {
    let Some(open) = pattern.find('{') else { return vec![pattern.to_owned()] };
    let (mut depth, mut commas, mut close) = (0_usize, Vec::new(), None);
    for (at, letter) in pattern[open..].char_indices() {
        match letter {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 1 => commas.push(open + at),
            _ => {}
        }
        if depth == 0 {
            close = Some(open + at);
            break;
        }
    }
    let Some(close) = close else { return vec![pattern.to_owned()] };
    let ends: Vec<usize> = commas.into_iter().chain([close]).collect();
    let mut from = open + 1;
    let mut patterns = Vec::new();
    for end in ends {
        let one = format!("{}{}{}", &pattern[..open], &pattern[from..end], &pattern[close + 1..]);
        patterns.extend(without_braces(&one));
        from = end + 1;
    }
    patterns
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::{fs, io};
    use tegula::RangeSource;

    #[test]
    fn braces_are_alternatives() {
        assert_eq!(without_braces("a{b,c{d,e}}f"), ["abf", "acdf", "acef"]);
        assert_eq!(without_braces("a{b"), ["a{b"]);
        assert_eq!(without_braces("ab"), ["ab"]);
    }

    /// A store of names, of which all are found that begin with the URL or, for a pattern, with the part before it.
    #[derive(Debug)]
    struct Named;

    impl RangeSource for Named {
        fn read_at(&self, _: &Path, _: u64, _: &mut [u8]) -> io::Result<()> {
            Err(io::ErrorKind::NotFound.into())
        }
    }

    #[test]
    fn what_is_at_urls_is_listed_as_what_is_at_paths() {
        const FILES: [(&str, u64); 6] =
            [(".c", 1), ("_SUCCESS", 0), ("_logs/d", 1), ("a", 2), ("b", 3), ("e", 0)];
        let others = |url: &str| {
            let (start, _) = url.split_once('*').unwrap_or((url, ""));
            let named = FILES.map(|(name, bytes)| (format!("s3://_bucket/_in/{name}"), bytes));
            let found = named.into_iter().filter(|(name, _)| name.starts_with(start));
            Ok(Input::ranges(Arc::new(Named), found))
        };
        let list = |pattern: &str| {
            let url = format!("s3://_bucket/_in{pattern}");
            let listed = list(&[url], &others, false).unwrap();
            let name = |path: &Path| path.file_name().unwrap().to_str().unwrap().to_owned();
            let files: Vec<String> = listed.input.listing().map(|file| name(file.name())).collect();
            assert_eq!(listed.bytes.len(), files.len());
            (files, listed.empty.iter().map(|path| name(path)).collect::<Vec<_>>())
        };
        let both = (vec!["a".to_owned(), "b".to_owned()], vec!["e".to_owned()]);
        for pattern in ["", "/", "/*", "/{a,b,e}"] {
            assert_eq!(list(pattern), both, "{pattern}");
        }
        assert_eq!(list("/_SUCCESS").1, ["_SUCCESS"]);
        assert_eq!(list("/_logs").0, ["d"]);
        assert_eq!(list("/_l*").0, Vec::<String>::new());
    }

    #[test]
    fn hidden_files_are_left_out_and_empty_ones_noted() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join("_in");
        fs::create_dir_all(folder.join("_logs")).unwrap();
        for (name, text) in
            [("b", "x\n"), ("a", "y\n"), ("_SUCCESS", ""), (".c", "z"), ("_logs/d", "w"), ("e", "")]
        {
            fs::write(folder.join(name), text).unwrap();
        }
        let names = |pattern: &str| {
            let listed = list(&[pattern.to_owned()], &|_| Ok(Input::default()), false).unwrap();
            let name = |path: &Path| path.file_name().unwrap().to_str().unwrap().to_owned();
            let files: Vec<String> = listed.input.listing().map(|file| name(file.name())).collect();
            (files, listed.empty.iter().map(|path| name(path)).collect::<Vec<_>>())
        };
        let at = folder.display();
        let both = (vec!["a".to_owned(), "b".to_owned()], vec!["e".to_owned()]);
        assert_eq!(names(&format!("{at}")), both);
        assert_eq!(names(&format!("{at}/*")), both);
        assert_eq!(names(&format!("{at}/{{a,b,e}}")), both);
        assert_eq!(names(&format!("{at}/_SUCCESS")).1, ["_SUCCESS"]);
    }
}
