//! The control groups that this process is in, of either version, by which containers are limited.

use std::fs;
use std::path::{Path, PathBuf};

/// Returns the folders of the process's group and of those around it which the controller limits. The path in
/// `proc/self/cgroup` may be partly outside the part that a container sees; the existing part counts.
pub(crate) fn folders(root: &Path, controller: &str) -> Vec<PathBuf> {
    let groups = fs::read_to_string(root.join("proc/self/cgroup")).unwrap_or_default();
    let root = root.join("sys/fs/cgroup");
    // number:controllers:path; version 2 has number 0 and no controllers.
    let folders = groups.lines().flat_map(|line| {
        let mut parts = line.splitn(3, ':').skip(1);
        let (controllers, path) = (parts.next().unwrap_or_default(), parts.next());
        let path = path.unwrap_or_default().trim_start_matches('/');
        let folders = match controllers {
            "" => vec![""],
            _ if controllers.split(',').any(|one| one == controller) => {
                vec![controllers, controller]
            }
            _ => Vec::new(),
        };
        let ways = folders.into_iter().map(|folder| root.join(folder));
        let ways =
            ways.flat_map(|way| Path::new(path).ancestors().map(move |group| way.join(group)));
        ways.collect::<Vec<_>>()
    });
    folders.collect()
}
