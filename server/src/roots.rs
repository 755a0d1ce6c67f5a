//! The folders that jobs may read. Each path of a command is followed to where it really lies before it is compared, so
//! neither `..` nor a link leads out. What a pattern may match is looked at, because the engine follows links there.

use std::fs;
use std::path::{Component, Path, PathBuf};

/// The most entries that are looked at for a pattern.
const ENTRIES_MOST: usize = 100_000;

/// Folders, and prefixes of URLs.
#[derive(Clone, Debug)]
pub struct Roots {
    folders: Vec<PathBuf>,
    urls: Vec<String>,
}

impl Roots {
    /// Returns roots; folders must exist.
    pub fn new(folders: &[PathBuf], urls: &[String]) -> std::io::Result<Roots> {
        let folders = folders.iter().map(fs::canonicalize).collect::<Result<_, _>>()?;
        Ok(Roots { folders, urls: urls.to_vec() })
    }

    /// Returns the first folder.
    pub fn first(&self) -> Option<&Path> {
        self.folders.first().map(PathBuf::as_path)
    }

    /// Returns where a folder lies, if it is in the roots.
    pub fn folder(&self, path: &Path) -> Result<PathBuf, String> {
        let outside =
            || format!("{}: this folder is not below a root of the server", path.display());
        let real = fs::canonicalize(path).map_err(|_| outside())?;
        // Records and answers are text.
        let is_text = real.to_str().is_some();
        if is_text && real.is_dir() && self.have(&real) { Ok(real) } else { Err(outside()) }
    }

    /// Checks an argument of a command that names input.
    pub fn check(&self, folder: &Path, argument: &str) -> Result<(), String> {
        let outside = || format!("{argument}: this is not below a root of the server");
        if argument == "-" {
            return Err("-: a job of the server has no standard input; give files".to_owned());
        }
        if argument.contains("://") {
            let is_plain = !argument.split('/').any(|part| part == "..");
            let is_in = self.urls.iter().any(|prefix| argument.starts_with(prefix));
            return if is_plain && is_in { Ok(()) } else { Err(outside()) };
        }
        let path = folder.join(argument);
        if let Ok(real) = fs::canonicalize(&path) {
            return if self.have(&real) { Ok(()) } else { Err(outside()) };
        }
        if fs::symlink_metadata(&path).is_ok() {
            // A link to nothing, or in a circle: where it leads can change.
            return Err(outside());
        }
        // What lies before the first name that is no file, and is no pattern.
        let mut literal = PathBuf::new();
        let mut rest = path.components().peekable();
        while let Some(part) = rest.next_if(|part| !is_pattern(part)) {
            let next = literal.join(part);
            if fs::symlink_metadata(&next).is_err() {
                break;
            }
            literal = next;
        }
        let real = fs::canonicalize(&literal).map_err(|_| outside())?;
        if !self.have(&real) || rest.clone().any(|part| part == Component::ParentDir) {
            return Err(outside());
        }
        if path.components().any(|part| is_pattern(&part)) {
            let mut left = ENTRIES_MOST;
            self.check_links(&real, argument, &mut left)?;
        }
        Ok(())
    }

    /// Checks that no link below a folder leads out of the roots.
    fn check_links(&self, folder: &Path, argument: &str, left: &mut usize) -> Result<(), String> {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            *left = left.checked_sub(1).ok_or_else(|| {
                format!("{argument}: too many files for a pattern; give the folder instead")
            })?;
            let path = entry.path();
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_dir() {
                self.check_links(&path, argument, left)?;
            } else if kind.is_symlink()
                && !fs::canonicalize(&path).is_ok_and(|real| self.have(&real))
            {
                return Err(format!(
                    "{argument}: {} is a link out of the roots of the server, which a pattern may follow",
                    path.display()
                ));
            }
        }
        Ok(())
    }

    fn have(&self, real: &Path) -> bool {
        self.folders.iter().any(|folder| real.starts_with(folder))
    }
}

fn is_pattern(part: &Component<'_>) -> bool {
    part.as_os_str().to_string_lossy().contains(['*', '?', '['])
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn no_path_leads_out_of_the_roots() {
        let place = tempfile::tempdir().unwrap();
        let (root, other) = (place.path().join("root"), place.path().join("other"));
        for folder in
            [&root, &other, &root.join("below"), &root.join("linked"), &place.path().join("root2")]
        {
            fs::create_dir(folder).unwrap();
        }
        fs::write(root.join("text"), "a").unwrap();
        fs::write(root.join("odd*name"), "a").unwrap();
        fs::write(other.join("secret"), "a").unwrap();
        let roots =
            Roots::new(std::slice::from_ref(&root), &["s3://bucket/logs/".to_owned()]).unwrap();
        assert_eq!(roots.check(&root, "**/*.txt"), Ok(()));
        symlink(root.join("text"), root.join("inside")).unwrap();
        symlink(&other, root.join("linked/out")).unwrap();
        symlink("nowhere", root.join("broken")).unwrap();
        let absolute = |name: &str| place.path().join(name).display().to_string();
        for good in [
            "text",
            "./text",
            "below/../text",
            "inside",
            "below",
            "below/**/x?",
            "missing",
            "odd*name",
            "s3://bucket/logs/2026",
            &absolute("root/text"),
            &absolute("root"),
        ] {
            assert_eq!(roots.check(&root, good), Ok(()), "{good}");
        }
        for bad in [
            "-",
            "..",
            "../other/secret",
            "below/../../other",
            "linked/out",
            "linked/out/secret",
            "linked/out/*",
            "linked/*",
            "**",
            "broken",
            "missing/../../other/secret",
            "*/../../other/secret",
            "/etc/passwd",
            "/proc/self/environ",
            "/",
            "s3://bucket/other",
            "s3://bucket/logs/../other",
            "file:///etc/passwd",
            &absolute("root2"),
            &absolute("other/secret"),
        ] {
            assert!(roots.check(&root, bad).is_err(), "{bad}");
        }
        assert!(roots.folder(&root.join("below/..")).is_ok());
        for bad in [other.as_path(), &root.join("linked/out"), &root.join("text"), Path::new("/")] {
            assert!(roots.folder(bad).is_err(), "{}", bad.display());
        }
    }
}
