//! The input of a command, from its arguments: paths and patterns of local files, and URLs of remote
//! files, in any mixture and in their order.

use std::ffi::{OsStr, OsString};
use tegula::{Error, Input, InputError, Result};

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
    match url.to_str() {
        Some(text) => tegula_remote::input(text),
        None => Err(refused(url, "the URL is not UTF-8", "mend it")),
    }
}

#[cfg(not(feature = "remote"))]
fn remote(url: &OsStr) -> Result<Input> {
    Err(without_remote(url))
}

/// Returns the error of a program that was built without remote input.
pub fn without_remote(url: &OsStr) -> Error {
    let advice = "build it with `make build`, or with cargo's `--features remote`";
    refused(url, "this program was built without remote input", advice)
}

fn refused(url: &OsStr, cause: &str, advice: &str) -> Error {
    let (cause, advice) = (cause.to_owned(), advice.to_owned());
    InputError::Refused { path: url.into(), cause, advice }.into()
}
