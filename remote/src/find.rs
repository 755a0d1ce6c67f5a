//! Lists the files that a URL names, in the order in which a local tree is read: depth first, by the bytes of
//! names. Hidden files are files; empty objects that only mark a folder are not.

use crate::address::Address;
use crate::fault::Fault;
use crate::pattern::{parse, takes};
use crate::retry::{Patience, retry};
use crate::store::{Child, Entry, Store};
use futures_util::{StreamExt, TryStreamExt, stream};
use std::ffi::OsStr;
use std::path::Path;
use tegula::InputError;
use tegula_input::input::{Parts, Pattern, is_pattern};

/// Requests that are under way at once.
const LOOKS_AT_ONCE: usize = 16;

/// Returns the files that a URL names; messages show `url` as given.
///
/// # Errors
/// If there are none, except for an existing empty folder, and those of the store.
pub(crate) async fn find<S: Store>(
    store: &S,
    address: &Address,
    url: &Path,
    patience: Patience,
) -> Result<Vec<Entry>, InputError> {
    let fault = |fault: Fault| fault.of_listing(url);
    let files = async |found| without_marks(store, sorted(found)?, patience).await;
    if let Some(found) = named(store, address, patience).await.map_err(fault)? {
        return files(found).await.map_err(fault);
    }
    if !is_pattern(OsStr::new(&address.path)) {
        return Err(InputError::Missing { path: url.to_path_buf() });
    }
    let (base, pattern) = parse(&address.path, address.is_folder).map_err(fault)?;
    let found = matching(store, base, &pattern, patience).await.map_err(fault)?;
    let found = files(found).await.map_err(fault)?;
    if found.is_empty() {
        return Err(InputError::NoMatch { pattern: url.display().to_string() });
    }
    Ok(found)
}

/// The file or folder of that very name.
async fn named<S: Store>(
    store: &S,
    address: &Address,
    patience: Patience,
) -> Result<Option<Vec<Entry>>, Fault> {
    let Address { path, is_folder, .. } = address;
    let file = match is_folder {
        true => None,
        false => retry(patience, async || store.file(path).await).await?,
    };
    match file {
        // Some programs mark a folder by an empty object of its name.
        Some(file) if file.bytes == 0 => {
            let below = store.tree(path, patience).await?;
            Ok(Some(below.filter(|files| !files.is_empty()).unwrap_or_else(|| vec![file])))
        }
        Some(file) => Ok(Some(vec![file])),
        None => store.tree(path, patience).await,
    }
}

/// Returns the matches of a pattern below a folder. Looks only into folders that can hold a match.
async fn matching<S: Store>(
    store: &S,
    base: String,
    pattern: &Pattern,
    patience: Patience,
) -> Result<Vec<Entry>, Fault> {
    let mut found = Vec::new();
    let mut folders = vec![(base, Parts::FIRST)];
    while let Some((folder, parts)) = folders.pop() {
        if pattern.goes_deep(parts) {
            let below = store.tree(&folder, patience).await?.unwrap_or_default();
            let from = if folder.is_empty() { 0 } else { folder.len() + 1 };
            found
                .extend(below.into_iter().filter(|file| takes(pattern, parts, &file.path[from..])));
            continue;
        }
        let children = store.children(&folder, patience).await?;
        for child in children.unwrap_or_default() {
            match child {
                Child::File(file) => {
                    if pattern.takes_file(pattern.after(parts, name(&file.path), false)) {
                        found.push(file);
                    }
                }
                Child::Folder(path) => {
                    let after = pattern.after(parts, name(&path), true);
                    if pattern.takes_folder(after) {
                        found.extend(store.tree(&path, patience).await?.unwrap_or_default());
                    } else if !after.is_none() {
                        folders.push((path, after));
                    }
                }
            }
        }
    }
    Ok(found)
}

fn name(path: &str) -> &OsStr {
    OsStr::new(path.rsplit('/').next().unwrap_or(path))
}

/// Leaves out empty objects that mark folders without files. Their names end with a slash, so they are not found by the
/// name that the list has.
async fn without_marks<S: Store>(
    store: &S,
    mut files: Vec<Entry>,
    patience: Patience,
) -> Result<Vec<Entry>, Fault> {
    if !S::LISTS_WITHOUT_SLASHES {
        return Ok(files);
    }
    let empty = files.iter().filter(|file| file.bytes == 0);
    let looked =
        stream::iter(empty.map(|file| retry(patience, async || store.file(&file.path).await)))
            .buffered(LOOKS_AT_ONCE);
    let looked: Vec<_> = looked.try_collect().await?;
    let mut looked = looked.into_iter();
    files.retain(|file| file.bytes > 0 || looked.next().flatten().is_some());
    Ok(files)
}

/// Returns the files in the order of a tree, in which names are compared one by one: `a/x` comes before `a.txt`, which it
/// does not by the bytes of whole paths.
///
/// # Errors
/// If two files have the same name, but for slashes at its ends: only one of them could be read.
fn sorted(mut files: Vec<Entry>) -> Result<Vec<Entry>, Fault> {
    // A mark of a folder comes before a file of the same name.
    files.sort_unstable_by(|a, b| {
        a.path.split('/').cmp(b.path.split('/')).then(a.bytes.cmp(&b.bytes))
    });
    let mark: Vec<bool> = files
        .iter()
        .zip(files.iter().skip(1))
        .map(|(file, next)| {
            let rest = next.path.strip_prefix(&file.path);
            file.bytes == 0 && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
        .collect();
    let mut marks = mark.into_iter();
    files.retain(|_| !marks.next().unwrap_or(false));
    let mut pairs = files.iter().zip(files.iter().skip(1));
    match pairs.find(|(file, next)| file.path == next.path) {
        Some((Entry { path, .. }, _)) => Err(Fault::refused(
            format!("the store lists `{path}` twice"),
            "rename the object whose name begins or ends with a slash",
        )),
        None => Ok(files),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, bytes: u64) -> Entry {
        Entry { path: path.to_owned(), bytes, version: 0 }
    }

    #[test]
    fn the_order_is_that_of_a_tree_and_marks_of_folders_are_no_files() {
        let given =
            [("a.txt", 1), ("a/x", 1), ("a", 0), ("a/y", 0), ("b", 0), ("a-b", 1), ("B", 1)];
        let files = sorted(given.map(|(path, bytes)| file(path, bytes)).to_vec()).unwrap();
        let names: Vec<_> = files.iter().map(|file| &*file.path).collect();
        assert_eq!(names, ["B", "a/x", "a/y", "a-b", "a.txt", "b"]);
    }

    #[test]
    fn what_is_listed_twice_is_a_mark_or_refused() {
        let names = |files: &[(&str, u64)]| {
            let files = files.iter().map(|&(path, bytes)| file(path, bytes)).collect();
            let files = sorted(files)?;
            Ok(files.iter().map(|file| format!("{} {}", file.path, file.bytes)).collect::<Vec<_>>())
        };
        for twice in [[("a", 1), ("b", 2), ("a", 1)], [("a", 1), ("b", 2), ("a", 2)]] {
            let refused = names(&twice).unwrap_err();
            assert!(
                matches!(&refused, Fault::Refused { cause, .. } if cause.contains("`a` twice"))
            );
        }
        // The mark of a folder, and a file of its name.
        assert_eq!(names(&[("a", 1), ("a", 0)]), Ok(vec!["a 1".to_owned()]));
        assert_eq!(names(&[("a", 0), ("a", 0)]), Ok(vec!["a 0".to_owned()]));
    }
}
