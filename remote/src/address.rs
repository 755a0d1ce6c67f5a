//! A URL taken apart: which store, where it is, and the name in it. Names are taken literally, as
//! the stores' own tools do: `%`, `?` and `#` mean themselves, and only patterns have a meaning more.

use std::path::PathBuf;
use tegula::InputError;

/// Where something is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Address {
    pub(crate) scheme: Scheme,
    /// The URL up to the name: `s3://bucket`, `hdfs://host:port`. Names are appended to it in messages.
    pub(crate) root: String,
    /// The bucket, container, or host and port; the last may be empty.
    pub(crate) authority: String,
    /// The name below the root, without slashes at its ends.
    pub(crate) path: String,
    /// Whether the URL ends with a slash, and so names a folder.
    pub(crate) is_folder: bool,
}

/// Kinds of stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scheme {
    S3,
    Gs,
    Az,
    Hdfs,
}

impl Address {
    /// Takes a URL apart.
    pub(crate) fn parse(url: &str) -> Result<Address, InputError> {
        let refused = |cause: String, advice: &str| InputError::Refused {
            path: PathBuf::from(url),
            cause,
            advice: advice.to_owned(),
        };
        let Some((name, rest)) = url.split_once("://") else {
            return Err(refused("no URL".to_owned(), "write scheme://place/name"));
        };
        let scheme = match name.to_ascii_lowercase().as_str() {
            "s3" | "s3a" => Scheme::S3,
            "gs" => Scheme::Gs,
            "az" | "azure" | "abfs" | "abfss" => Scheme::Az,
            "hdfs" | "viewfs" => Scheme::Hdfs,
            _ => {
                return Err(refused(
                    format!("`{name}` is no scheme that can be read from"),
                    "use s3://, gs://, az:// or hdfs://, or a path",
                ));
            }
        };
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        if authority.is_empty() && scheme != Scheme::Hdfs {
            let advice = format!("write {name}://bucket/name");
            return Err(refused("it names no bucket".to_owned(), &advice));
        }
        // Others make no host and no path of a URL, which the libraries below take for granted.
        let more = match scheme {
            Scheme::S3 | Scheme::Gs => "-_.",
            Scheme::Az => "-_.@",
            Scheme::Hdfs => "-_.:[]",
        };
        let is_odd =
            |character: &char| !character.is_ascii_alphanumeric() && !more.contains(*character);
        if let Some(odd) = authority.chars().find(is_odd) {
            let cause = format!("`{authority}` has the character {odd:?}, as no such name does");
            return Err(refused(cause, "correct it, or quote the URL"));
        }
        if path.starts_with('/') && scheme != Scheme::Hdfs {
            let cause = "its name begins with a slash, which cannot be read".to_owned();
            return Err(refused(cause, "write one slash after the bucket, or rename the object"));
        }
        Ok(Address {
            scheme,
            root: url[..name.len() + 3 + authority.len()].to_owned(),
            authority: authority.to_owned(),
            path: path.trim_matches('/').to_owned(),
            is_folder: path.is_empty() || path.ends_with('/'),
        })
    }

    /// Returns the URL of a name below the root.
    pub(crate) fn url(&self, path: &str) -> PathBuf {
        PathBuf::from(format!("{}/{path}", self.root))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_taken_literally() {
        let address = Address::parse("s3a://bucket/a b/c%20?d#e").unwrap();
        assert_eq!((address.scheme, &*address.path), (Scheme::S3, "a b/c%20?d#e"));
        assert_eq!(address.url("x"), PathBuf::from("s3a://bucket/x"));
        assert!(!address.is_folder);
        let address = Address::parse("hdfs://host:9000/a/").unwrap();
        assert_eq!((&*address.authority, &*address.path), ("host:9000", "a"));
        assert!(address.is_folder);
        for root in ["gs://bucket", "az://container/", "hdfs://"] {
            let address = Address::parse(root).unwrap();
            assert!(address.path.is_empty() && address.is_folder, "{root}");
        }
    }

    #[test]
    fn what_cannot_be_meant_is_said() {
        for (url, cause) in [
            ("ftp://x/y", "`ftp` is no scheme"),
            ("s3:///x", "no bucket"),
            ("x", "no URL"),
            ("gs://b//x", "begins with a slash"),
            ("s3://b>/x", "the character '>'"),
            ("gs://b c/x", "the character ' '"),
            ("az://b:1/x", "the character ':'"),
        ] {
            let message = Address::parse(url).unwrap_err().to_string();
            assert!(message.starts_with(url) && message.contains(cause), "{message}");
        }
    }
}
