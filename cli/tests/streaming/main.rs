//! `tegula streaming` and `tegula hadoop`, seen from outside. One file per behaviour.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod answers_are_those_of_a_sort_and_a_loop;
mod bad_jobs_are_one_clear_line;
mod command_lines_of_hadoops_tests_give_their_answers;
mod hadoops_command_is_stood_in_for;
mod kills_leave_nothing;
mod states_are_gone_on_with;
mod tasks_find_what_hadoop_gives_them;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

/// A folder with the input of jobs, in which they run.
struct Place(TempDir);

impl Place {
    /// A place with these files.
    fn with(files: &[(&str, &[u8])]) -> Place {
        let place = Place(tempfile::tempdir().unwrap());
        fs::create_dir(place.path("scratch")).unwrap();
        for (name, content) in files {
            let path = place.path(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// The command of a job over the file `in`, with its answer in the folder `out`.
    fn command(&self, options: &[&str]) -> Command {
        // A shell's background job has interrupts ignored, and the program leaves an ignored signal ignored.
        let mut command = Command::new("env");
        command.args(["--default-signal=INT,TERM", env!("CARGO_BIN_EXE_tegula"), "streaming"]);
        command.args(["-input", "in", "-output", "out"]).args(options);
        command.current_dir(self.0.path()).stdin(Stdio::null()).env("TMPDIR", self.path("scratch"));
        command
    }

    /// Runs a job, whose earlier answer is removed first.
    fn run(&self, options: &[&str]) -> Output {
        let _ = fs::remove_dir_all(self.path("out"));
        self.command(options).output().unwrap()
    }

    /// Runs a job that ends well, and returns its part files.
    fn answer(&self, options: &[&str]) -> BTreeMap<String, String> {
        let output = self.run(options);
        assert!(output.status.success(), "{options:?}: {}", said(&output));
        self.parts()
    }

    /// Runs a job with one reducer, and returns its answer.
    fn single(&self, options: &[&str]) -> String {
        self.answer(options).remove("part-00000").unwrap()
    }

    /// The part files of an answer, which is whole.
    fn parts(&self) -> BTreeMap<String, String> {
        let mut files = files_of(&self.path("out"));
        assert_eq!(files.remove("_SUCCESS").as_deref(), Some(""));
        files
    }

    /// Fails if a run has left anything but the files that were there.
    fn is_clean(&self) -> bool {
        let left = fs::read_dir(self.path("scratch")).unwrap().count();
        let mut beside =
            fs::read_dir(self.path("")).unwrap().map(|entry| entry.unwrap().file_name());
        left == 0 && !beside.any(|name| name.to_string_lossy().starts_with(".out._temporary"))
    }
}

fn files_of(folder: &Path) -> BTreeMap<String, String> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let read = |path: PathBuf| {
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        (name, String::from_utf8_lossy(&fs::read(path).unwrap()).into_owned())
    };
    entries.map(read).collect()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}
