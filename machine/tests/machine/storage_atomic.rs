//! A file appears whole or not at all.

use rustix::fs::{Mode, OFlags};
use std::fs;
use std::io::Write;
use std::os::fd::AsRawFd;
use std::os::unix::fs::symlink;
use tegula_machine::error::OutputError;
use tegula_machine::storage::AtomicFile;

#[test]
fn the_file_appears_whole_on_commit_and_not_at_all_without() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("counts.tsv");
    fs::write(&path, "old").unwrap();
    let mut file = AtomicFile::create(&path).unwrap();
    file.write_all(b"new").unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"old");
    let mut abandoned = AtomicFile::create(&path).unwrap();
    abandoned.write_all(b"never").unwrap();
    drop(abandoned);
    file.commit().unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"new");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn a_file_without_a_name_leaves_nothing_to_whoever_is_killed() {
    let folder = tempfile::tempdir().unwrap();
    let flags = OFlags::TMPFILE | OFlags::RDWR;
    if rustix::fs::open(folder.path(), flags, Mode::RUSR).is_err() {
        return eprintln!("no files without a name here");
    }
    for content in ["first", "second"] {
        let mut file = AtomicFile::create(folder.path().join("counts")).unwrap();
        let before = fs::read_dir(folder.path()).unwrap().count();
        file.write_all(content.as_bytes()).unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), before);
        file.commit().unwrap();
        assert_eq!(fs::read_to_string(folder.path().join("counts")).unwrap(), content);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}

#[test]
fn what_is_no_regular_file_is_written_and_not_replaced() {
    let mut null = AtomicFile::create("/dev/null").unwrap();
    null.write_all(b"gone").unwrap();
    null.commit().unwrap();
    AtomicFile::probe("/dev/null").unwrap();
    assert!(!fs::metadata("/dev/null").unwrap().is_file());
}

/// As /dev/stdout is, where a program has given an unlinked file for it.
#[test]
fn an_open_file_without_a_name_is_written_through_its_link() {
    let folder = tempfile::tempdir().unwrap();
    let (gone, link) = (folder.path().join("gone"), folder.path().join("link"));
    fs::write(&gone, "a longer text").unwrap();
    let opened = fs::File::open(&gone).unwrap();
    fs::remove_file(&gone).unwrap();
    symlink(format!("/proc/self/fd/{}", opened.as_raw_fd()), &link).unwrap();
    AtomicFile::probe(&link).unwrap();
    let mut file = AtomicFile::create(&link).unwrap();
    file.write_all(b"new").unwrap();
    file.commit().unwrap();
    assert_eq!(std::io::read_to_string(opened).unwrap(), "new");
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
}

#[test]
fn a_file_with_a_long_name_is_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x".repeat(255));
    for text in ["old", "new"] {
        let mut file = AtomicFile::create(&path).unwrap();
        file.write_all(text.as_bytes()).unwrap();
        file.commit().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
    }
}

#[test]
fn a_link_is_followed_and_permissions_stay() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let (path, link) = (folder.path().join("counts"), folder.path().join("link"));
    fs::write(&path, "old").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    symlink("counts", &link).unwrap();
    let mut file = AtomicFile::create(&link).unwrap();
    file.write_all(b"new").unwrap();
    file.commit().unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"new");
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
}

#[test]
fn folders_and_missing_folders_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let is_folder = AtomicFile::create(folder.path()).unwrap_err();
    assert!(matches!(is_folder, OutputError::IsFolder { .. }));
    let to_be = AtomicFile::probe(folder.path().join("new/")).unwrap_err();
    assert!(matches!(to_be, OutputError::IsFolder { .. }));
    let missing = AtomicFile::create(folder.path().join("no/such")).unwrap_err();
    assert!(matches!(missing, OutputError::Create { .. }));
    assert!(missing.to_string().contains("no/such"));
}

#[test]
fn room_that_is_not_there_is_found_before_it_is_needed() {
    let folder = tempfile::tempdir_in("/dev/shm").unwrap();
    let path = folder.path().join("counts");
    let file = AtomicFile::create(&path).unwrap();
    file.reserve(0).unwrap();
    file.reserve(1 << 12).unwrap();
    let refused = file.reserve(1 << 60).unwrap_err();
    assert!(
        matches!(&refused, OutputError::Write { path: named, .. } if *named == path),
        "{refused:?}"
    );
}
