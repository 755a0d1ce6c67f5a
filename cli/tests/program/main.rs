//! The built program, seen from outside: its output, its exit, its files. One file per behaviour.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod answers_come_in_the_order_and_form_asked_for;
mod answers_that_stand_are_left;
mod bad_input_is_one_clear_line;
mod bad_records_are_named_or_skipped;
mod closed_pipes_end_quietly;
mod commands_and_their_flags_go_together;
mod compressed_files_are_kept_small;
mod counts_are_exact;
mod devices_work_beside_the_cores;
mod errors_have_the_advice_of_their_kind;
mod events_tell_what_a_job_does;
mod every_command_bears_odd_input;
mod every_flag_does_something;
mod exit_codes_are_as_documented;
mod files_of_flags_and_input_are_apart;
mod generated_input_is_the_same_again;
mod interrupts_leave_nothing_behind;
mod jobs_over_lines_answer;
mod killed_runs_go_on;
mod many_files_need_little;
mod memory_is_kept_to;
mod native_maps_that_break_their_word_are_named;
mod nodes_answer_as_one_process;
#[cfg(feature = "nodes")]
mod nodes_are_parsed_or_refused;
mod nodes_bear_faults;
mod nodes_survive_kills;
mod nodes_write_parts;
mod numbers_are_as_documented;
mod outputs_are_whole_or_absent;
#[cfg(feature = "offload")]
mod own_kernels_run_on_devices;
#[cfg(all(feature = "linalg", feature = "remote", feature = "streaming"))]
mod pages_tell_the_truth;
mod pairs_become_lines;
mod places_are_exact;
mod progress_shows_what_is_known;
mod records_are_sorted_and_validated;
mod requests_are_read_as_they_were_made;
mod shows_are_written_while_a_job_runs;
mod shows_come_as_often_as_asked;
mod sizes_are_shown_by_topology;
mod sizes_have_binary_units;
mod states_are_looked_at_job_by_job;
mod timelines_are_written;
mod urls_are_told_from_paths;
mod watching_changes_nothing;
mod wrong_usage_ends_with_2;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant, SystemTime};

fn tegula() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tegula"));
    // Runs must not use or change the cache of the person who tests.
    command.stdin(Stdio::null()).env("XDG_CACHE_HOME", env!("CARGO_TARGET_TMPDIR"));
    command
}

/// Looks every millisecond until it is so.
fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_secs(60), "not within a minute: {what}");
        sleep(Duration::from_millis(1));
    }
}

/// Runs `tegula wordcount` to its end.
fn wordcount(arguments: &[impl AsRef<OsStr>]) -> Output {
    tegula().arg("wordcount").args(arguments).output().unwrap()
}

/// As [`wordcount`], with `text` on standard input.
fn count_text(text: &[u8], arguments: &[&str]) -> Output {
    let mut command = tegula();
    command.args(["wordcount", "-"]).args(arguments).stdin(Stdio::piped());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(text).unwrap();
    child.wait_with_output().unwrap()
}

/// Returns the standard output of a run that must have ended well.
fn answer(output: Output) -> Vec<u8> {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "", "a run that ends well says nothing");
    output.stdout
}

fn text(output: Output) -> String {
    String::from_utf8(answer(output)).unwrap()
}

/// Returns the name of a device that compiles kernels, if there is one.
fn compiling() -> Option<String> {
    let listed = text(tegula().arg("devices").output().unwrap());
    let mut fields = listed.lines().map(|line| line.split('\t').collect::<Vec<_>>());
    let device = fields.find(|fields| matches!(fields[1], "opencl" | "cuda"));
    let name = device.map(|fields| fields[0].to_owned());
    if name.is_none() {
        eprintln!("skipped: no device compiles kernels");
    }
    name
}

/// Checks that a run ended with this code and said one line that holds each of `parts`.
fn check_fault(output: &Output, code: i32, parts: &[&str]) {
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{said}");
    assert_eq!((said.lines().count(), said.starts_with("tegula: ")), (1, true), "{said}");
    for part in parts {
        assert!(said.contains(part), "{said:?} should speak of {part:?}");
    }
}

/// TSV lines of a count made in the plainest way: word, tab, count, by word.
fn plain_count<'a>(words: impl Iterator<Item = &'a [u8]>) -> Vec<u8> {
    let mut counts: BTreeMap<&[u8], u64> = BTreeMap::new();
    for word in words {
        *counts.entry(word).or_default() += 1;
    }
    let mut lines = Vec::new();
    for (word, count) in counts {
        lines.extend_from_slice(word);
        writeln!(lines, "\t{count}").unwrap();
    }
    lines
}

/// Names in a folder, hidden ones too.
fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

fn write(folder: &Path, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
    let path = folder.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, bytes).unwrap();
    path
}
