//! Everything below a folder: regular files into the list, depth first, by name. Links and special
//! files are counted and left alone, so that a walk neither loops nor blocks on a pipe.

use super::Input;
use super::files::Folder;
use super::listing::{Kind, Listing};
use crate::error::InputError;
use std::path::Path;

impl Input {
    /// Adds the files below `path`, a folder as given.
    pub(super) fn add_tree(&mut self, path: &Path) -> Result<(), InputError> {
        let folder = self.files().add_folder(None, path.as_os_str());
        self.walk(path, folder)
    }

    /// Recursion is as deep as the tree, which the longest path of the system bounds.
    fn walk(&mut self, path: &Path, folder: Folder) -> Result<(), InputError> {
        for (name, kind) in Listing::read(path, |_| true)?.iter() {
            match kind {
                Kind::File(bytes) => self.files().add_file(Some(folder), name, bytes),
                Kind::Folder => {
                    let below = self.files().add_folder(Some(folder), name);
                    self.walk(&path.join(name), below)?;
                }
                Kind::Link | Kind::Special => self.passed_over += 1,
            }
        }
        Ok(())
    }
}
