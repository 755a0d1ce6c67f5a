//! The input of a command, from its arguments: paths and patterns of local files, and URLs of remote
//! files, in any mixture and in their order.

use std::ffi::{OsStr, OsString};
use tegula::{Input, InputError, Result};

/// Looks up the files that the arguments name.
pub(crate) fn input(arguments: &[OsString]) -> Result<Input> {
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
fn is_url(argument: &OsStr) -> bool {
    let text = argument.to_string_lossy();
    text.split_once("://").is_some_and(|(scheme, _)| {
        scheme.starts_with(|first: char| first.is_ascii_alphabetic())
            && scheme.chars().all(|one| one.is_ascii_alphanumeric() || "+-.".contains(one))
    })
}

fn remote(url: &OsStr) -> Result<Input> {
    let refused = |cause: &str, advice: &str| {
        let (cause, advice) = (cause.to_owned(), advice.to_owned());
        InputError::Refused { path: url.into(), cause, advice }
    };
    #[cfg(feature = "remote")]
    return match url.to_str() {
        Some(text) => tegula_remote::input(text),
        None => Err(refused("the URL is not UTF-8", "mend it").into()),
    };
    #[cfg(not(feature = "remote"))]
    Err(refused(
        "this program was built without remote input",
        "build it with `make build`, or with cargo's `--features remote`",
    )
    .into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_told_from_a_path() {
        for url in ["s3://b/k", "hdfs:///x", "what://", "a+b.c-1://x"] {
            assert!(is_url(OsStr::new(url)), "{url}");
        }
        for path in ["a/b", "", "://x", "1a://x", "a b://x", "/s3://b", "s3:/b", "-"] {
            assert!(!is_url(OsStr::new(path)), "{path}");
        }
    }
}
