//! `tegula state` and `tegula show` need no more than to read a state, and the fault of one job hides no other.

use super::*;
use std::os::unix::fs::PermissionsExt;
use tegula::storage::{Disk, Folders};

/// A folder with the states of these jobs.
fn states(jobs: &[&str]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "text", "to be\n");
    for job in jobs {
        let mut run = tegula();
        run.args(["wordcount", "text", "--state=state", "--job", job]).current_dir(folder.path());
        answer(run.output().unwrap());
    }
    folder
}

fn on_state(folder: &Path, words: &[&str]) -> Output {
    tegula()
        .args(["state", words[0], "state"])
        .args(&words[1..])
        .current_dir(folder)
        .output()
        .unwrap()
}

#[test]
fn a_damaged_job_hides_no_other() {
    let folder = states(&["a", "b", "c"]);
    let at = folder.path();
    write(at, "state/a/manifest", "what is no manifest");
    for (command, told) in [("ls", "\tdone of"), ("show", "\n  done of"), ("verify", "\twhole")] {
        let output = on_state(at, &[command]);
        check_fault(&output, 1, &["state/a/manifest"]);
        let text = String::from_utf8(output.stdout).unwrap();
        for job in ["b", "c"] {
            assert!(text.contains(&format!("{job}{told}")), "{command}: {text}");
        }
    }
    write(at, "state/c/manifest", "nor is this");
    let output = on_state(at, &["ls"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!((output.status.code(), said.lines().count()), (Some(1), 2), "{said}");
    assert!(said.contains("state/a/manifest") && said.contains("state/c/manifest"), "{said}");
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let (gone, closed) = std::io::pipe().unwrap();
    drop(gone);
    for to in [Stdio::from(full), Stdio::from(closed)] {
        let mut verify = tegula();
        verify.args(["state", "verify", "state"]).current_dir(at).stdout(to);
        let output = verify.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!((output.status.code(), said.lines().count()), (Some(1), 2), "{said}");
        assert!(said.contains("state/a/manifest") && said.contains("state/c/manifest"), "{said}");
    }
    check_fault(&on_state(at, &["verify", "--job=c"]), 1, &["state/c/manifest"]);
    answer(on_state(at, &["verify", "--job=b"]));
}

/// What is damaged does not say which command it is of, and whoever names that one learns what it is.
#[test]
fn a_command_whose_jobs_are_all_damaged_is_named_as_a_whole() {
    let folder = states(&["near.1", "near.2", "far.1", "far.2"]);
    let at = folder.path();
    for job in ["near.1", "near.2", "far.1"] {
        write(at, &format!("state/{job}/manifest"), "what is no manifest");
    }
    for command in ["verify", "show"] {
        let output = on_state(at, &[command, "--job=near"]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!((output.status.code(), said.lines().count()), (Some(1), 2), "{said}");
        for path in ["state/near.1/manifest", "state/near.2/manifest"] {
            assert!(said.contains(path), "{command}: {said}");
        }
    }
    // They may be jobs of their own, so nothing is removed.
    check_fault(&on_state(at, &["rm", "--job=near"]), 1, &["state/near: no state is there"]);
    // One of another command shows that these are apart.
    for command in ["verify", "show", "rm"] {
        check_fault(&on_state(at, &[command, "--job=far"]), 1, &["state/far: no state is there"]);
    }
    assert_eq!(names(&at.join("state")), ["far.1", "far.2", "near.1", "near.2"]);
}

#[test]
fn jobs_that_are_in_use_are_kept_and_named() {
    let folder = states(&["a", "b", "c"]);
    let state = Disk::new(folder.path().join("state"));
    let lock = Folders::folder(&state, "b").lock("lock").unwrap().unwrap();
    check_fault(&on_state(folder.path(), &["rm"]), 1, &["state/b", "another run"]);
    assert_eq!(names(&folder.path().join("state")), ["b"]);
    drop(lock);
    answer(on_state(folder.path(), &["rm"]));
    assert_eq!(names(&folder.path().join("state")), Vec::<String>::new());
}

/// Makes all that is below a folder readable only, or writable again.
fn allow_writing(folder: &Path, allowed: bool) {
    let (of_folder, of_file) = if allowed { (0o755, 0o644) } else { (0o555, 0o444) };
    for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        match entry.is_dir() {
            true => allow_writing(&entry, allowed),
            false => fs::set_permissions(&entry, fs::Permissions::from_mode(of_file)).unwrap(),
        }
    }
    fs::set_permissions(folder, fs::Permissions::from_mode(of_folder)).unwrap();
}

/// Root may write everywhere, so as root the program runs as another user where that can be done.
#[test]
fn a_state_that_may_only_be_read_is_shown() {
    let folder = states(&["a", "hidden"]);
    let at = folder.path();
    let program = at.join("tegula");
    fs::copy(env!("CARGO_BIN_EXE_tegula"), &program).unwrap();
    fs::set_permissions(at, fs::Permissions::from_mode(0o755)).unwrap();
    let state = at.join("state");
    allow_writing(&state, false);
    let hidden = state.join("hidden");
    fs::set_permissions(&hidden, fs::Permissions::from_mode(0o700)).unwrap();
    for (words, code, parts) in [
        (&["show", "--state=state", "--job=a"][..], 0, &["be\t1\nto\t1\n"][..]),
        (&["state", "show", "state", "--job=a"], 0, &["job: wordcount"]),
        (&["state", "verify", "state", "--job=a"], 0, &["a\twhole"]),
        (
            &["state", "ls", "state"],
            1,
            &["a\tdone of", "state/hidden: cannot be used as a state's folder"],
        ),
        (&["state", "rm", "state", "--job=a"], 1, &["state/a: cannot be used as a state's folder"]),
    ] {
        let mut command = Command::new("setpriv");
        if rustix::process::geteuid().is_root() {
            command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(&program);
        } else {
            fs::set_permissions(&hidden, fs::Permissions::from_mode(0o0)).unwrap();
            command = Command::new(&program);
        }
        match command.args(words).current_dir(at).output() {
            Ok(output) if output.status.code() != Some(127) => {
                let said = [&output.stdout[..], &output.stderr[..]].concat();
                let said = String::from_utf8_lossy(&said).into_owned();
                assert_eq!(output.status.code(), Some(code), "{words:?}: {said}");
                parts.iter().for_each(|part| assert!(said.contains(part), "{words:?}: {said}"));
            }
            _ => eprintln!("skipped: as root, and there is no setpriv"),
        }
    }
    fs::set_permissions(&hidden, fs::Permissions::from_mode(0o755)).unwrap();
    allow_writing(&state, true);
}
