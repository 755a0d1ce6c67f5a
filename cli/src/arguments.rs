//! The input of a command, from its arguments: paths and patterns of local files, and URLs of remote
//! files, in any mixture and in their order; and the folder of its state, which may be a URL, too.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::sync::Arc;
use tegula::{Disk, Error, Folders, Input, InputError, Result};

/// Looks up the files that the arguments name.
///
/// # Errors
/// [`InputError`]: of a path, as [`Input::patterns`]; of a URL, if it cannot be read, or if this build lacks the
/// feature `remote`.
pub fn input(arguments: &[OsString]) -> Result<Input> {
    let mut input = Input::default();
    for same in arguments.chunk_by(|a, b| !is_url(a) && !is_url(b)) {
        match same {
            [url] if is_url(url) => input.append(remote(url)?),
            paths => input.append(Input::patterns(paths)?),
        }
    }
    Ok(input)
}

/// Returns the folders of states that a path or a URL names. Those of a URL keep what they have not uploaded yet in
/// `scratch` [default: the system's folder for temporary files].
///
/// # Errors
/// [`InputError::Refused`] of a URL that cannot be meant, or if this build lacks the feature `remote`.
pub fn folders(state: &Path, scratch: Option<&Path>) -> Result<Arc<dyn Folders>> {
    match is_url(state.as_os_str()) {
        true => remote_folders(state.as_os_str(), scratch),
        false => Ok(Arc::new(Disk::new(state))),
    }
}

/// Returns whether an argument begins with a scheme and `://`.
pub fn is_url(argument: &OsStr) -> bool {
    let text = argument.to_string_lossy();
    text.split_once("://").is_some_and(|(scheme, _)| {
        scheme.starts_with(|first: char| first.is_ascii_alphabetic())
            && scheme.chars().all(|one| one.is_ascii_alphanumeric() || "+-.".contains(one))
    })
}

#[cfg(feature = "remote")]
fn remote(url: &OsStr) -> Result<Input> {
    tegula_remote::input(text_of(url)?)
}

#[cfg(feature = "remote")]
fn remote_folders(url: &OsStr, scratch: Option<&Path>) -> Result<Arc<dyn Folders>> {
    let scratch = scratch.map_or_else(std::env::temp_dir, Path::to_path_buf);
    tegula_remote::folders(text_of(url)?, &scratch)
}

#[cfg(feature = "remote")]
fn text_of(url: &OsStr) -> Result<&str> {
    url.to_str().ok_or_else(|| refused(url, "the URL is not UTF-8", "mend it"))
}

#[cfg(not(feature = "remote"))]
fn remote(url: &OsStr) -> Result<Input> {
    Err(without_remote(url))
}

#[cfg(not(feature = "remote"))]
fn remote_folders(url: &OsStr, _: Option<&Path>) -> Result<Arc<dyn Folders>> {
    Err(without_remote(url))
}

/// Returns the error of a program that was built without remote files.
pub fn without_remote(url: &OsStr) -> Error {
    let advice = "build it with `make build`, or with cargo's `--features remote`";
    refused(url, "this program was built without remote files", advice)
}

fn refused(url: &OsStr, cause: &str, advice: &str) -> Error {
    let (cause, advice) = (cause.to_owned(), advice.to_owned());
    InputError::Refused { path: url.into(), cause, advice }.into()
}
