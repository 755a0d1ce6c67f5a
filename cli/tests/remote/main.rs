//! The built program with its feature `remote`, before an S3 server on loopback: URLs stand wherever
//! paths do, and give the same answer.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::process::{Command, Output};
use tegula_remote_servers::S3;
use tempfile::TempDir;

fn tegula(server: &S3, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tegula"));
    command.env("AWS_ENDPOINT_URL", server.endpoint()).env("TEGULA_REMOTE_TRIES", "2");
    command.env("AWS_ACCESS_KEY_ID", S3::KEY_ID).env("AWS_SECRET_ACCESS_KEY", S3::SECRET);
    command.args(arguments).output().unwrap()
}

fn answer(server: &S3, arguments: &[&str]) -> String {
    let output = tegula(server, arguments);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Files here and the same files as objects.
fn both(files: &[(&str, &[u8])]) -> (TempDir, S3) {
    let (folder, server) = (tempfile::tempdir().unwrap(), S3::start());
    for (name, bytes) in files {
        fs::write(folder.path().join(name), bytes).unwrap();
        server.put("bucket", name, bytes);
    }
    (folder, server)
}

#[test]
fn urls_and_paths_are_counted_together() {
    let (folder, server) = both(&[("one", b"a b a\n"), ("two", b"b c\n")]);
    let one = folder.path().join("one");
    let one = one.to_str().unwrap();
    for workers in ["1", "3"] {
        let words =
            |paths: &[&str]| answer(&server, &[&["wordcount", "-j", workers], paths].concat());
        assert_eq!(words(&["s3://bucket/two", one]), "a\t2\nb\t2\nc\t1\n");
        assert_eq!(words(&[one, "s3://bucket/*", one]), "a\t6\nb\t4\nc\t1\n");
    }
}

#[test]
fn commands_over_lines_read_urls() {
    let (folder, server) = both(&[("lines", b"b;2.0\na;1.0\nb;4.0\n")]);
    let local = folder.path().join("lines");
    for command in [&["sort"][..], &["stations"], &["grep", "b;"], &["top", "2"], &["index"]] {
        let here = answer(&server, &[command, &[local.to_str().unwrap()]].concat());
        let there = answer(&server, &[command, &["s3://bucket/lines"]].concat());
        let named = there.replace("s3://bucket/lines", local.to_str().unwrap());
        assert!(here == named && !here.is_empty(), "{command:?}: {here:?} and {named:?}");
    }
}

#[test]
fn a_fault_is_one_line_with_the_url() {
    let (_folder, server) = both(&[("one", b"a")]);
    for (url, said) in [
        ("s3://bucket/none", "no such file or folder"),
        ("s3://none/one", "NoSuchBucket"),
        ("what://bucket/one", "`what` is no scheme"),
    ] {
        let output = tegula(&server, &["wordcount", url]);
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{message}");
        assert!(message.starts_with(&format!("tegula: {url}: ")), "{message}");
        assert!(message.contains(said) && message.lines().count() == 1, "{message}");
    }
}
