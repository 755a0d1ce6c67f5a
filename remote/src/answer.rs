//! Classifies an answer of an object store, or its absence: another try, or an error with the store's short
//! message and the remedy.

use crate::address::Scheme;
use crate::fault::{Fault, chain, innermost};
use object_store::client::{HttpError, HttpErrorKind};
use std::error::Error;

/// The advice for a name that the library does not take.
pub(crate) const UNNAMEABLE: &str = "names with empty parts, with `.` or `..` as a part, or with control characters cannot be read; rename it";

/// Advice by the kind of store.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Advice {
    credentials: &'static str,
    place: &'static str,
}

impl Advice {
    pub(crate) fn new(scheme: Scheme) -> Advice {
        match scheme {
            Scheme::S3 | Scheme::Hdfs => Advice {
                credentials: "check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and their permissions",
                place: "check the bucket's name, AWS_REGION and AWS_ENDPOINT_URL",
            },
            Scheme::Gs => Advice {
                credentials: "check GOOGLE_APPLICATION_CREDENTIALS and its permissions",
                place: "check the bucket's name and GOOGLE_BASE_URL",
            },
            Scheme::Az => Advice {
                credentials: "check AZURE_STORAGE_ACCOUNT_KEY, or other credentials, and their \
                              permissions",
                place: "check the container's name and AZURE_STORAGE_ACCOUNT_NAME",
            },
        }
    }

    /// Returns the fault of a request that cannot be made.
    pub(crate) fn refused(&self, cause: &str) -> Fault {
        Fault::refused(cause, self.credentials)
    }

    /// Sorts an error of the store.
    pub(crate) fn fault(&self, error: object_store::Error) -> Fault {
        if let Some(cause) = chain(&error).find_map(|cause| cause.downcast_ref::<HttpError>()) {
            return self.of_connection(cause);
        }
        if let Some((status, body)) = answer(&error) {
            return self.of_answer(status, &body);
        }
        match error {
            object_store::Error::NotFound { .. } => Fault::Missing,
            object_store::Error::InvalidPath { source } => {
                Fault::refused(source.to_string(), UNNAMEABLE)
            }
            object_store::Error::Precondition { .. } => Fault::Changed,
            object_store::Error::AlreadyExists { .. } => Fault::Exists,
            error => Fault::refused(innermost(&error), self.place),
        }
    }

    fn of_answer(&self, status: u16, body: &str) -> Fault {
        let said = said(body);
        let is_code = |code: &str| said.as_ref().is_some_and(|said| said.starts_with(code));
        let cause = match &said {
            Some(said) => format!("the store answers {status}: {said}"),
            None => format!("the store answers {status}"),
        };
        match status {
            404 if is_code("NoSuchBucket") => Fault::refused(cause, self.place),
            404 => Fault::Missing,
            // The range is after the end, or the version is another.
            412 | 416 => Fault::Changed,
            401 | 403 => Fault::refused(cause, self.credentials),
            409 if is_code("BlobAlreadyExists") => Fault::Exists,
            // Another request changes the object at this moment.
            409 => Fault::Lost { cause },
            400 if is_code("RequestTimeout") => Fault::Lost { cause },
            200 | 408 | 429 | 500.. => Fault::Lost { cause },
            _ => Fault::refused(cause, self.place),
        }
    }

    fn of_connection(&self, error: &HttpError) -> Fault {
        let cause = innermost(error);
        match error.kind() {
            HttpErrorKind::Unknown if !chain(error).any(is_of_transport) => {
                Fault::refused(cause, self.place)
            }
            HttpErrorKind::Connect => Fault::lost(format!("cannot connect: {cause}")),
            _ => Fault::lost(format!("the connection broke off: {cause}")),
        }
    }
}

fn is_of_transport(error: &(dyn Error + 'static)) -> bool {
    error.is::<std::io::Error>()
        || error.downcast_ref::<reqwest::Error>().is_some_and(|error| {
            error.is_body() || error.is_request() || error.is_connect() || error.is_timeout()
        })
}

/// Status and body of an answer that the library took for an error. Its type is private, so they are
/// read from its text.
fn answer(error: &object_store::Error) -> Option<(u16, String)> {
    chain(error).find_map(|cause| {
        let text = cause.to_string();
        if let Some(answer) = text.strip_prefix("Server returned non-2xx status code: ") {
            let (status, body) = answer.split_once(": ").unwrap_or((answer, ""));
            return Some((status.get(..3)?.parse().ok()?, body.to_owned()));
        }
        text.strip_prefix("Server returned error response: ").map(|body| (200, body.to_owned()))
    })
}

/// Returns the store's message in an answer in XML: its code and text.
fn said(body: &str) -> Option<String> {
    let field = |name: &str| {
        let from = body.find(&format!("<{name}>"))? + name.len() + 2;
        let to = from + body[from..].find("</")?;
        Some(body[from..to].trim().lines().next().unwrap_or_default().to_owned())
    };
    match (field("Code"), field("Message")) {
        (Some(code), Some(message)) if !message.is_empty() => Some(format!("{code}, {message}")),
        (code, message) => code.or(message),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the library finds out by itself, without an answer that says it.
    #[test]
    fn errors_of_the_library_are_sorted_too() {
        let fault = |error| Advice::new(Scheme::S3).fault(error);
        let (path, source) = (|| "a".to_owned(), || Box::new(std::io::Error::other("said")));
        let missing = object_store::Error::NotFound { path: path(), source: source() };
        assert_eq!(fault(missing), Fault::Missing);
        let changed = object_store::Error::Precondition { path: path(), source: source() };
        assert_eq!(fault(changed), Fault::Changed);
        let there = object_store::Error::AlreadyExists { path: path(), source: source() };
        assert_eq!(fault(there), Fault::Exists);
        let other = object_store::Error::Generic { store: "S3", source: source() };
        let advice = "check the bucket's name, AWS_REGION and AWS_ENDPOINT_URL";
        assert_eq!(fault(other), Fault::refused("said", advice));
    }

    #[test]
    fn what_may_succeed_later_is_tried_again() {
        let fault = |status, code: &str| {
            let body = format!("<Error><Code>{code}</Code></Error>");
            Advice::new(Scheme::S3).of_answer(status, &body)
        };
        for (status, code) in [
            (409, "ConditionalRequestConflict"),
            (409, "OperationAborted"),
            (400, "RequestTimeout"),
            (503, "SlowDown"),
        ] {
            assert!(matches!(fault(status, code), Fault::Lost { .. }), "{status} {code}");
        }
        assert_eq!(fault(409, "BlobAlreadyExists"), Fault::Exists);
        assert!(matches!(fault(400, "BadDigest"), Fault::Refused { .. }));
    }

    #[test]
    fn a_store_is_quoted_in_short() {
        let body = "<?xml version=\"1.0\"?><Error><Code>NoSuchKey</Code><Message>None such\nor \
                    other</Message><Key>k</Key></Error>";
        assert_eq!(said(body).as_deref(), Some("NoSuchKey, None such"));
        assert_eq!(said("<Code>AccessDenied</Code>").as_deref(), Some("AccessDenied"));
        assert_eq!(said("<html>"), None);
    }
}
