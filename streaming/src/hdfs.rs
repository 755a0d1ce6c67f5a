//! A folder that is called as a file system: `hdfs:///path` is `path` below it. Programs that bring their files to HDFS
//! before they run a job find a place for them there.

use crate::input::without_scheme;
use std::env;
use std::path::{Path, PathBuf};

/// The folder that stands for HDFS.
#[derive(Clone, Debug)]
pub struct Hdfs {
    root: PathBuf,
    user: String,
}

impl Hdfs {
    /// Returns the folder that `TEGULA_HDFS` names, else `~/.tegula/hdfs`.
    pub fn of_environment() -> Hdfs {
        let home = || PathBuf::from(env::var_os("HOME").unwrap_or_default()).join(".tegula/hdfs");
        let root = env::var_os("TEGULA_HDFS").map_or_else(home, PathBuf::from);
        let user = env::var("USER").or_else(|_| env::var("LOGNAME"));
        Hdfs { root, user: user.unwrap_or_else(|_| "root".to_owned()) }
    }

    /// Returns the path on this machine of a path of a command line, with what follows it (`#link`): below the folder for
    /// `hdfs:///path`, as it is for any other URL and for what is no URL.
    pub fn resolve(&self, text: &str) -> String {
        match text.strip_prefix("hdfs://") {
            Some(path) if path.starts_with('/') => {
                format!("{}{path}", self.root.to_string_lossy().trim_end_matches('/'))
            }
            _ => text.to_owned(),
        }
    }

    /// Returns the path on this machine of what an `fs` command names: a path without a scheme is below the folder, too, and
    /// a relative one in the user's part.
    pub(crate) fn local(&self, text: &str) -> PathBuf {
        if text.starts_with("file:") {
            return PathBuf::from(without_scheme(text));
        }
        let path = text.strip_prefix("hdfs://").unwrap_or(text);
        let path = path.strip_prefix("hdfs:").unwrap_or(path);
        match path.strip_prefix('/') {
            Some(path) => self.root.join(without_parents(path)),
            None => self.root.join("user").join(&self.user).join(without_parents(path)),
        }
    }

    /// Returns how listings call a path of this machine: `hdfs:///path`, if it was asked for as a URL.
    pub(crate) fn shown(&self, path: &Path, asked: &str) -> String {
        match path.strip_prefix(&self.root) {
            Ok(below) if asked.starts_with("hdfs:") => format!("hdfs:///{}", below.display()),
            Ok(below) => format!("/{}", below.display()),
            Err(_) => format!("file://{}", path.display()),
        }
    }
}

impl Hdfs {
    pub(crate) fn user_name(&self) -> &str {
        &self.user
    }
}

/// Returns a path that stays below the folder to which it is added.
fn without_parents(path: &str) -> PathBuf {
    path.split('/').filter(|part| !matches!(*part, "" | "." | "..")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_paths_below_the_folder() {
        let hdfs = Hdfs { root: "/h".into(), user: "me".to_owned() };
        assert_eq!(hdfs.resolve("hdfs:///a/b#c"), "/h/a/b#c");
        assert_eq!(hdfs.resolve("hdfs://host:1/a"), "hdfs://host:1/a");
        assert_eq!(hdfs.resolve("a/b"), "a/b");
        for (text, path) in [
            ("hdfs:///a/b", "/h/a/b"),
            ("/a", "/h/a"),
            ("a", "/h/user/me/a"),
            ("hdfs:///../../a", "/h/a"),
            ("file:///a", "/a"),
        ] {
            assert_eq!(hdfs.local(text), Path::new(path), "{text}");
        }
        assert_eq!(hdfs.shown(Path::new("/h/a"), "hdfs:///"), "hdfs:///a");
    }
}
