//! Unreadable input ends the run with code 1 and one line that names it, before anything is written.

use super::*;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;

#[test]
fn for_each_kind() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    write(folder.path(), "good", "a");
    symlink("loop", at("loop")).unwrap();
    let _socket = UnixListener::bind(at("socket")).unwrap();
    for (name, part) in [
        ("missing", "no such file"),
        ("good/below", "cannot be read"),
        ("loop", "loop of symbolic links"),
        ("socket", "a socket"),
        ("none-*", "matches no file"),
        ("good[", "not a valid pattern"),
        ("", "no such file"),
    ] {
        let path = if name.is_empty() { PathBuf::new() } else { at(name) };
        let output = wordcount(&[at("good"), path]);
        check_fault(&output, 1, &[name, part]);
        assert!(output.stdout.is_empty(), "{name}");
    }
}

#[test]
fn for_newlines_in_names_too() {
    check_fault(&wordcount(&["no\nsuch\nname"]), 1, &["no such name"]);
}

/// Root may read everything, so as root the program runs as another user where that can be done.
#[test]
fn for_want_of_permission() {
    let folder = tempfile::tempdir().unwrap();
    let file = write(folder.path(), "secret", "a");
    let below = write(folder.path(), "folder/below", "a");
    let program = folder.path().join("tegula");
    fs::copy(env!("CARGO_BIN_EXE_tegula"), &program).unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    for path in [&file, below.parent().unwrap()] {
        fs::set_permissions(path, fs::Permissions::from_mode(0o0)).unwrap();
    }
    for path in [&file, below.parent().unwrap()] {
        let mut command = Command::new("setpriv");
        if rustix::process::geteuid().is_root() {
            command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(&program);
        } else {
            command = Command::new(&program);
        }
        match command.arg("wordcount").arg(path).output() {
            Ok(output) if output.status.code() != Some(127) => {
                check_fault(&output, 1, &[path.to_str().unwrap(), "permission denied"]);
            }
            _ => eprintln!("skipped: as root, and there is no setpriv"),
        }
    }
    fs::set_permissions(below.parent().unwrap(), fs::Permissions::from_mode(0o755)).unwrap();
}
