//! Input that is missing, forbidden, odd, or changes while a job runs: an error that names the path and the
//! remedy, and an engine that still works. A file that grows is read to the length it had.

use crate::jobs::Words;
use crate::support::{count_line, engine, error_saying, file_in, folder_of, text_of};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use rustix::process::Uid;
use std::ffi::OsStr;
use std::fs::{self, OpenOptions, Permissions};
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::Arc;
use tegula::{Engine, Error, Input, InputError, Options, RangeSource, Result, WordClass};
use tempfile::TempDir;

const JOB: Words = Words(WordClass::Whitespace);

/// Returns a folder of one file of 1,000 words, which a run reads in many splits.
fn one_file() -> TempDir {
    folder_of(&["word ".repeat(1000)])
}

fn splits() -> Options {
    Options { split_bytes: Some(100), ..Options::default() }
}

/// Runs over a file that changes between planning and reading.
fn run_over_changed(
    engine: &Engine,
    folder: &TempDir,
    change: impl FnOnce(&Path),
) -> Result<Vec<u8>> {
    let path = file_in(folder, 0);
    let input = Input::paths([&path]).unwrap();
    change(&path);
    engine.job(&JOB).options(&splits()).run(input).map(|output| text_of(&output, count_line))
}

#[test]
fn paths_that_cannot_be_read_are_refused_before_anything_runs() {
    let engine = engine(1);
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    UnixListener::bind(path("socket")).unwrap();
    symlink(path("loop"), path("loop")).unwrap();
    let cases = [
        ("missing", "no such file or folder; check the path"),
        ("socket", "a socket cannot be read as input; give a file"),
        ("loop", "a loop of symbolic links; mend or leave out the link"),
    ];
    for (name, says) in cases {
        let path = path(name);
        let error = error_saying(&engine, Input::paths([&path]), &[path.to_str().unwrap(), says]);
        let Error::Input(error) = error else { panic!("{error:?}") };
        let named = match error {
            InputError::Missing { path }
            | InputError::Unreadable { path, .. }
            | InputError::Loop { path } => path,
            other => panic!("{other:?}"),
        };
        assert_eq!(named, path);
    }
}

#[test]
fn patterns_that_match_nothing_or_mean_nothing_are_named() {
    let engine = engine(1);
    let folder = tempfile::tempdir().unwrap();
    let pattern = folder.path().join("*.txt");
    let says = [pattern.to_str().unwrap(), "matches no file; check it"];
    let error = error_saying(&engine, Input::patterns([&pattern]), &says);
    assert!(matches!(error, Error::Input(InputError::NoMatch { .. })));
    let says = ["a[b", "not a valid pattern"];
    let error = error_saying(&engine, Input::patterns([OsStr::new("a[b")]), &says);
    assert!(matches!(error, Error::Input(InputError::Pattern { .. })));
}

#[test]
fn a_file_that_vanishes_is_named() {
    let (engine, folder) = (engine(2), one_file());
    let result = run_over_changed(&engine, &folder, |path| fs::remove_file(path).unwrap());
    let says = ["000.txt", "vanished after the job began; run again"];
    let error = error_saying(&engine, result, &says);
    assert!(matches!(error, Error::Input(InputError::Vanished { .. })));
}

#[test]
fn a_pipe_in_the_place_of_a_file_is_not_waited_for() {
    let (engine, folder) = (engine(2), one_file());
    let replace = |path: &Path| {
        fs::remove_file(path).unwrap();
        mknodat(CWD, path, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
    };
    let error = error_saying(&engine, run_over_changed(&engine, &folder, replace), &["000.txt"]);
    assert!(matches!(error, Error::Input(InputError::Read { .. })), "{error:?}");
}

#[test]
fn a_file_that_shrinks_is_named() {
    let (engine, folder) = (engine(2), one_file());
    let shrink = |path: &Path| {
        OpenOptions::new().write(true).open(path).unwrap().set_len(1234).unwrap();
    };
    let result = run_over_changed(&engine, &folder, shrink);
    let says = ["000.txt", "5000 bytes when the job began, 1234 now", "run again"];
    let error = error_saying(&engine, result, &says);
    let Error::Input(InputError::Shrank { planned: 5000, found: 1234, .. }) = error else {
        panic!("{error:?}")
    };
}

#[test]
fn a_file_that_grows_is_read_to_the_length_it_had() {
    let (engine, folder) = (engine(2), one_file());
    // Cut inside a word: the prefix is exact, not rounded to a record.
    OpenOptions::new().write(true).open(file_in(&folder, 0)).unwrap().set_len(4998).unwrap();
    let grow = |path: &Path| {
        let mut file = OpenOptions::new().append(true).open(path).unwrap();
        file.write_all("ord and more ".repeat(500).as_bytes()).unwrap();
    };
    let counts = run_over_changed(&engine, &folder, grow).unwrap();
    assert_eq!(counts, b"wor\t1\nword\t999\n");
}

#[test]
fn a_file_that_became_a_folder_is_named() {
    let (engine, folder) = (engine(2), one_file());
    let replace = |path: &Path| {
        fs::remove_file(path).unwrap();
        fs::create_dir(path).unwrap();
    };
    let says = ["000.txt", "cannot be read", "directory"];
    let error = error_saying(&engine, run_over_changed(&engine, &folder, replace), &says);
    assert!(matches!(error, Error::Input(InputError::Read { .. })));
}

/// Does something on a thread without special rights.
fn without_rights<R: Send>(work: impl FnOnce() -> R + Send) -> R {
    std::thread::scope(|scope| {
        let nobody = scope.spawn(|| {
            if rustix::process::geteuid().is_root() {
                let nobody = Uid::from_raw(65534);
                // For this thread alone, and for those that it starts.
                rustix::thread::set_thread_res_uid(nobody, nobody, nobody).unwrap();
            }
            work()
        });
        nobody.join().unwrap()
    })
}

#[test]
fn what_may_not_be_read_is_named() {
    let folder = folder_of(&["forbidden", "forbidden later"]);
    fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
    let allow = |number, mode| {
        fs::set_permissions(file_in(&folder, number), Permissions::from_mode(mode)).unwrap();
    };
    allow(0, 0o000);
    allow(1, 0o444);
    without_rights(|| {
        let engine = engine(2);
        let says = ["000.txt", "permission denied; make it readable or leave it out"];
        let refused = Input::paths([file_in(&folder, 0)]);
        let error = error_saying(&engine, refused, &says);
        assert!(matches!(error, Error::Input(InputError::Denied { .. })));
        let folder_refused = Input::paths([folder.path()]).unwrap();
        error_saying(&engine, engine.job(&JOB).run(folder_refused), &says);
    });
    let (planned, allowed) = (std::sync::Barrier::new(2), std::sync::Barrier::new(2));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            planned.wait();
            allow(1, 0o000);
            allowed.wait();
        });
        without_rights(|| {
            let engine = engine(2);
            let input = Input::paths([file_in(&folder, 1)]).unwrap();
            planned.wait();
            allowed.wait();
            error_saying(&engine, engine.job(&JOB).run(input), &["001.txt", "permission denied"]);
        });
    });
}

#[test]
fn special_files_below_folders_are_counted_and_passed_over() {
    let folder = one_file();
    let mode = Mode::from_raw_mode(0o600);
    mknodat(CWD, folder.path().join("pipe"), FileType::Fifo, mode, 0).unwrap();
    symlink(file_in(&folder, 0), folder.path().join("link")).unwrap();
    let input = Input::paths([folder.path()]).unwrap();
    assert_eq!(input.passed_over(), 2);
    let output = engine(2).job(&JOB).run(input).unwrap();
    assert_eq!(output.stats().files_passed_over, 2);
    assert_eq!(text_of(&output, count_line), b"word\t1000\n");
}

/// A server may say any length, and a file with holes may have almost any.
#[test]
fn lengths_that_no_run_can_plan_for_are_refused() {
    #[derive(Debug)]
    struct Nothing;
    impl RangeSource for Nothing {
        fn read_at(&self, _: &Path, _: u64, _: &mut [u8]) -> std::io::Result<()> {
            Err(std::io::ErrorKind::UnexpectedEof.into())
        }
    }
    let engine = engine(1);
    let run = |files: &[(&str, u64)], tile_bytes| {
        let options = Options { tile_bytes, ..Options::default() };
        let input = Input::ranges(Arc::new(Nothing), files.iter().copied());
        let result = engine.job(&JOB).options(&options).run(input);
        result.map(drop)
    };
    for (files, tile_bytes, says) in [
        (
            vec![("a", 1), ("b", u64::MAX)],
            None,
            ["b: it has 18446744073709551615 bytes", "larger tiles"],
        ),
        (
            vec![("a.gz", u64::MAX), ("b", u64::MAX)],
            None,
            ["a.gz: it has 18446744073709551615", "see whether"],
        ),
        (
            vec![("a", 1 << 59), ("b", (1 << 59) + 1)],
            Some(1 << 50),
            ["b: it has 576460752303423489", "see whether"],
        ),
        (
            vec![("a", 100 << 20)],
            Some(1),
            ["a: it has 104857600 bytes", "larger tiles than of 1 bytes"],
        ),
    ] {
        let error = error_saying(&engine, run(&files, tile_bytes), &says);
        assert!(matches!(error, Error::Input(InputError::Refused { .. })), "{error:?}");
    }
}
