//! The built program with its feature `remote`, before servers on loopback: a URL is valid wherever a path
//! is, and gives the same answer. One file per behaviour.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod commands_that_look_into_files_read_urls;
mod faults_are_one_line_with_the_url;
mod hdfs_is_counted_as_files_are;
mod states_are_kept_at_urls;
#[cfg(feature = "streaming")]
mod streaming_jobs_read_urls;
mod urls_stand_where_paths_do;

use std::fs;
use std::process::{Command, Output};
use tegula_remote_servers::S3;
use tempfile::TempDir;

fn program(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tegula"));
    command.env("TEGULA_REMOTE_TRIES", "2").args(arguments);
    command
}

fn tegula(server: &S3, arguments: &[&str]) -> Output {
    before(server, arguments).output().unwrap()
}

/// Returns a command that finds a server.
fn before(server: &S3, arguments: &[&str]) -> Command {
    let mut command = program(arguments);
    command.env("AWS_ENDPOINT_URL", server.endpoint());
    command.env("AWS_ACCESS_KEY_ID", S3::KEY_ID).env("AWS_SECRET_ACCESS_KEY", S3::SECRET);
    command
}

/// Returns the standard output of a run that must have ended well.
fn well(output: Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn answer(server: &S3, arguments: &[&str]) -> String {
    well(tegula(server, arguments))
}

/// Returns the one line that a run that must have failed says.
fn fault(output: Output) -> String {
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{message}");
    assert!(output.stdout.is_empty() && message.lines().count() == 1, "{message}");
    message
}

/// Files here and the same files as objects of a bucket.
fn both(files: &[(&str, &[u8])]) -> (TempDir, S3) {
    let (folder, server) = (tempfile::tempdir().unwrap(), S3::start());
    for (name, bytes) in files {
        fs::write(folder.path().join(name), bytes).unwrap();
        server.put("bucket", name, bytes);
    }
    (folder, server)
}

/// Returns the same arguments, whose names begin with `@`, of files here and of objects.
fn named(arguments: &[&str], folder: &TempDir) -> [Vec<String>; 2] {
    let here = format!("{}/", folder.path().to_str().unwrap());
    [here.as_str(), "s3://bucket/"].map(|place| {
        let named = arguments.iter().map(|argument| match argument.strip_prefix('@') {
            Some(name) => format!("{place}{name}"),
            None => (*argument).to_owned(),
        });
        named.collect()
    })
}

fn as_strs(arguments: &[String]) -> Vec<&str> {
    arguments.iter().map(String::as_str).collect()
}
