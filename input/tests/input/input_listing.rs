//! Each rule of listing, on real files.

use rustix::fs::{CWD, FileType, Mode, mknodat};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tegula_input::error::{Error, InputError};
use tegula_input::input::{Input, RangeSource, Source, StreamKind};
use tempfile::TempDir;

/// Returns a tree with these files; each holds its own path.
fn tree(files: &[&str]) -> TempDir {
    let root = tempfile::tempdir().unwrap();
    for file in files {
        let path = root.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, file).unwrap();
    }
    root
}

fn pipe(path: &Path) {
    mknodat(CWD, path, FileType::Fifo, Mode::RWXU, 0).unwrap();
}

/// Returns the listed files, in order: paths below `root`, `<` before a stream.
fn shown(input: &Input, root: &Path) -> Vec<String> {
    let below = |path: &Path| path.strip_prefix(root).unwrap_or(path).display().to_string();
    let mut shown = Vec::new();
    for source in &input.sources {
        match source {
            Source::Files(files) => {
                shown.extend((0..files.len()).map(|file| below(&files.path(file))));
            }
            Source::Stream(stream) => shown.push(format!("<{}", below(&stream.name))),
            Source::Memory(_) | Source::Ranges(..) | Source::Packed(_) => {
                shown.push("memory".to_owned());
            }
        }
    }
    shown
}

fn pattern(root: &Path, pattern: &str) -> Result<Vec<String>, Error> {
    Input::patterns([root.join(pattern)]).map(|input| shown(&input, root))
}

fn fault(result: Result<Input, Error>) -> InputError {
    match result {
        Err(Error::Input(fault)) => fault,
        other => panic!("expected a fault of the input, found {other:?}"),
    }
}

/// Jobs that look into headers need the names that messages use, in order; streams have no length.
#[test]
fn a_listing_tells_names_and_lengths() {
    let listed = |input: &Input| -> Vec<(PathBuf, Option<u64>)> {
        input.listing().map(|file| (file.name().to_path_buf(), file.bytes())).collect()
    };
    let root = tree(&["b/x", "b/yy", "a"]);
    let at = |name| root.path().join(name);
    pipe(&at("pipe"));
    let input = Input::paths([at("b"), at("pipe"), at("a")]).unwrap();
    let expected =
        [(at("b/x"), Some(3)), (at("b/yy"), Some(4)), (at("pipe"), None), (at("a"), Some(1))];
    assert_eq!(listed(&input), expected);
    assert_eq!(listed(&Input::bytes("four")), [(PathBuf::from("memory"), Some(4))]);
}

/// Bytes of a file that is kept elsewhere: all of them zero.
#[derive(Debug)]
struct Zeros;

impl RangeSource for Zeros {
    fn read_at(&self, name: &Path, _: u64, into: &mut [u8]) -> io::Result<()> {
        if name == Path::new("gone") {
            return Err(io::ErrorKind::NotFound.into());
        }
        into.fill(0);
        Ok(())
    }
}

/// Whatever it is kept in, a file can be looked into at any place, and no further than it goes.
#[test]
fn a_listed_file_is_read_by_ranges() {
    let root = tree(&["12345"]);
    let path = root.path().join("12345");
    let read = |input: &Input, offset: u64, room: usize| {
        let mut into = vec![b'x'; room];
        let count = input.listing().next().unwrap().read_at(offset, &mut into)?;
        assert!(into[count..].iter().all(|&byte| byte == b'x'));
        into.truncate(count);
        Ok(into)
    };
    let ranges = |name| Input::ranges(Arc::new(Zeros), [(name, 5)]);
    for (input, digits) in [
        (Input::paths([&path]).unwrap(), true),
        (Input::bytes("12345"), true),
        (ranges("zeros"), false),
    ] {
        for (offset, room, expected) in
            [(0, 3, "123"), (3, 9, "45"), (5, 1, ""), (99, 1, ""), (2, 0, "")]
        {
            let expected =
                if digits { expected.as_bytes().to_vec() } else { vec![0; expected.len()] };
            assert_eq!(read(&input, offset, room).unwrap(), expected, "{input:?} at {offset}");
        }
    }
    let said = |result: Result<_, Error>| result.map(|_: Vec<u8>| ()).unwrap_err().to_string();
    assert!(said(read(&Input::stdin(), 0, 1)).starts_with("standard input: cannot be read"));
    assert!(said(read(&ranges("gone"), 0, 1)).contains("vanished"));
    let input = Input::paths([&path]).unwrap();
    fs::write(&path, "1").unwrap();
    assert_eq!(read(&input, 0, 1).unwrap(), b"1");
    assert!(said(read(&input, 0, 2)).contains("shrank"));
    fs::remove_file(&path).unwrap();
    assert!(said(read(&input, 0, 1)).contains("vanished"));
}

#[test]
fn order_is_arguments_then_names() {
    let root = tree(&["b/z", "b/a/y", "b/a/x", "b/.h", "b/B", "a", "c"]);
    let at = |name| root.path().join(name);
    let input = Input::paths([at("c"), at("b"), at("a"), at("c")]).unwrap();
    assert_eq!(shown(&input, root.path()), ["c", "b/.h", "b/B", "b/a/x", "b/a/y", "b/z", "a", "c"]);
    let Source::Files(files) = &input.sources[0] else { panic!("files") };
    assert_eq!((files.len(), files.bytes(3)), (8, 5));
}

#[test]
fn links_are_followed_only_when_named() {
    let root = tree(&["folder/file", "other/far"]);
    symlink("../other", root.path().join("folder/link")).unwrap();
    symlink("file", root.path().join("folder/a")).unwrap();
    symlink("folder", root.path().join("alias")).unwrap();
    let input = Input::paths([root.path().join("alias")]).unwrap();
    assert_eq!(
        (shown(&input, root.path()), input.passed_over()),
        (vec!["alias/file".to_owned()], 2)
    );
    let named = Input::paths([root.path().join("folder/a")]).unwrap();
    assert_eq!((shown(&named, root.path()), named.passed_over()), (vec!["folder/a".to_owned()], 0));
}

#[test]
fn special_files_are_passed_over_in_folders_and_pipes_are_streams_when_named() {
    let root = tree(&["folder/file"]);
    let at = |name| root.path().join(name);
    pipe(&at("folder/pipe"));
    let _socket = UnixListener::bind(at("folder/socket")).unwrap();
    let input = Input::paths([at("folder")]).unwrap();
    assert_eq!(
        (shown(&input, root.path()), input.passed_over()),
        (vec!["folder/file".to_owned()], 2)
    );
    let named = Input::paths([at("folder/file"), at("folder/pipe"), at("folder/file")]).unwrap();
    assert_eq!(shown(&named, root.path()), ["folder/file", "<folder/pipe", "folder/file"]);
    assert!(matches!(
        fault(Input::paths([at("folder/socket")])),
        InputError::Unreadable { kind: "a socket", .. }
    ));
    let matched = Input::patterns([at("folder/*")]).unwrap();
    assert_eq!(
        (shown(&matched, root.path()), matched.passed_over()),
        (vec!["folder/file".to_owned()], 2)
    );
}

#[test]
fn files_whose_length_lies_are_streams() {
    for path in [
        "/proc/self/status",
        "/sys/devices/system/cpu/online",
        "/dev/null",
        "/sys/devices/system/cpu/onl[i]ne",
    ] {
        let input = Input::patterns([path]).unwrap();
        let [Source::Stream(stream)] = &*input.sources else { panic!("{path}: {input:?}") };
        assert_eq!(stream.kind, StreamKind::Path);
    }
    let root = tree(&[]);
    fs::write(root.path().join("empty"), "").unwrap();
    let input = Input::paths([root.path().join("empty")]).unwrap();
    assert!(
        matches!(&*input.sources, [Source::Files(files)] if files.len() == 1 && files.bytes(0) == 0)
    );
}

#[test]
fn faults_are_named() {
    let root = tree(&["file"]);
    let at = |name: &str| root.path().join(name);
    symlink("loop", at("loop")).unwrap();
    symlink("nowhere", at("dangling")).unwrap();
    assert!(matches!(fault(Input::paths([at("none")])), InputError::Missing { .. }));
    assert!(matches!(fault(Input::patterns([at("dangling")])), InputError::Missing { .. }));
    assert!(matches!(fault(Input::patterns([at("d*")])), InputError::Missing { .. }));
    assert!(matches!(fault(Input::paths([at("loop")])), InputError::Loop { .. }));
    assert!(matches!(fault(Input::paths([at("file/below")])), InputError::Read { .. }));
    assert!(
        matches!(fault(Input::paths([at("*")])), InputError::Missing { .. }),
        "paths are literal"
    );
    for none in ["x*", "none/*", "file/*", "fil?/", "**/x", "[a-e]ile"] {
        assert!(matches!(fault(Input::patterns([at(none)])), InputError::NoMatch { .. }), "{none}");
    }
    for bad in ["f[", "***", "f**", "*/../file", "[z-", &"*/".repeat(64)] {
        assert!(matches!(fault(Input::patterns([at(bad)])), InputError::Pattern { .. }), "{bad}");
    }
    let long = format!("{}/*", "x".repeat(300));
    assert!(matches!(fault(Input::patterns([at(&long)])), InputError::Read { .. }));
    let broken = OsString::from_vec([root.path().as_os_str().as_bytes(), b"/\xff*"].concat());
    assert!(matches!(fault(Input::patterns([broken])), InputError::Pattern { .. }));
}

/// Root may read everything, so this shows nothing under root.
#[test]
fn what_may_not_be_read_is_denied_before_work_begins() {
    if rustix::process::geteuid().is_root() {
        return;
    }
    let root = tree(&["file", "folder/below"]);
    for name in ["file", "folder"] {
        let path = root.path().join(name);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o0)).unwrap();
        assert!(matches!(fault(Input::paths([&path])), InputError::Denied { .. }), "{name}");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).unwrap();
    }
}

#[test]
fn patterns_match_names() {
    let root = tree(&[
        "a.txt",
        "b.txt",
        ".c.txt",
        "d.log",
        "sub/e.txt",
        "sub/deep/f.txt",
        "sub/g.log",
        "x.txt/h",
    ]);
    for (given, expected) in [
        ("*.txt", vec![".c.txt", "a.txt", "b.txt", "x.txt/h"]),
        ("?.txt", vec!["a.txt", "b.txt", "x.txt/h"]),
        ("[!a].txt", vec!["b.txt", "x.txt/h"]),
        ("[a-b].*", vec!["a.txt", "b.txt"]),
        ("*/e.txt", vec!["sub/e.txt"]),
        ("s*/", vec!["sub/deep/f.txt", "sub/e.txt", "sub/g.log"]),
        ("s*/**", vec!["sub/deep/f.txt", "sub/e.txt", "sub/g.log"]),
        ("sub/**/*.txt", vec!["sub/deep/f.txt", "sub/e.txt"]),
        ("**/*.log", vec!["d.log", "sub/g.log"]),
        ("**/deep/*", vec!["sub/deep/f.txt"]),
        ("**/**/f.txt", vec!["sub/deep/f.txt"]),
        ("s*/./e.txt", vec!["sub/e.txt"]),
        ("[ab]*/h", vec![]),
    ] {
        assert_eq!(pattern(root.path(), given).unwrap_or_default(), expected, "{given}");
    }
}

#[test]
fn a_folder_and_its_files_are_not_both_taken() {
    let root = tree(&["a/x", "a/b/y", "z"]);
    for all in ["**", "**/*", "*", "**/", "**/**/*"] {
        assert_eq!(pattern(root.path(), all).unwrap(), ["a/b/y", "a/x", "z"], "{all}");
    }
}

#[test]
fn patterns_do_not_run_in_circles() {
    let root = tree(&["a/x"]);
    symlink(".", root.path().join("a/self")).unwrap();
    assert_eq!(pattern(root.path(), "**/x").unwrap(), ["a/x"]);
    assert_eq!(pattern(root.path(), "a/*/x").unwrap(), ["a/self/x"]);
    assert_eq!(pattern(root.path(), "**/self/**/x").unwrap(), ["a/self/x"]);
}

#[test]
fn what_exists_is_no_pattern() {
    let root = tree(&["[1].txt", "1.txt", "*"]);
    assert_eq!(pattern(root.path(), "[1].txt").unwrap(), ["[1].txt"]);
    assert_eq!(pattern(root.path(), "*").unwrap(), ["*"]);
    assert_eq!(pattern(root.path(), "?.txt").unwrap(), ["1.txt"]);
}

#[test]
fn any_name_works() {
    let root = tree(&["new\nline", " ", "-"]);
    let odd = root.path().join(OsStr::from_bytes(b"\xff\xfe.bin"));
    fs::write(&odd, "odd").unwrap();
    for input in [Input::paths([root.path()]), Input::patterns([root.path().join("*")])] {
        let input = input.unwrap();
        let Source::Files(files) = &input.sources[0] else { panic!("files") };
        assert_eq!(files.len(), 4);
        assert_eq!(files.path(3), odd);
    }
    assert_eq!(pattern(root.path(), "*.bin").unwrap().len(), 1);
}

#[test]
fn empty_folders_are_empty_inputs() {
    let root = tree(&[]);
    assert!(shown(&Input::paths([root.path()]).unwrap(), root.path()).is_empty());
    assert!(shown(&Input::paths(Vec::<PathBuf>::new()).unwrap(), root.path()).is_empty());
}

#[test]
fn standard_input_and_memory_have_their_place() {
    let root = tree(&["a"]);
    let input = Input::patterns([OsStr::new("-"), root.path().join("a").as_os_str()]).unwrap();
    assert_eq!(shown(&input, root.path()), ["<standard input", "a"]);
    let Source::Stream(stream) = &input.sources[0] else { panic!("stream") };
    assert_eq!(stream.kind, StreamKind::Stdin);
    assert_eq!(shown(&Input::stdin(), root.path()), ["<standard input"]);
    assert_eq!(shown(&Input::bytes("x"), root.path()), ["memory"]);
}

#[test]
fn deep_trees_are_walked() {
    let root = tree(&[&format!("{}file", "d/".repeat(1000))]);
    let input = Input::paths([root.path()]).unwrap();
    assert_eq!(shown(&input, root.path()).len(), 1);
}
