//! A state knows its job by all fields of the identity, in their order, and its input by what was written of it: what is
//! of another job is neither shown nor gone on with, and a refused run leaves the state's folder as it was.

use crate::jobs::{Words, offsets};
use crate::packing::PACKINGS;
use crate::support::{count_line, engine, error_saying, folder_of, text_of};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tegula::state::{report, verify};
use tegula::{
    Count, Disk, Emit, Error, Identity, Incremental, Input, Job, Options, RangeSource, Result,
    Resumable, Sees, Split, State, StateError, WordClass,
};

/// Counts lines under an identity of the test's.
struct Known(Identity);

impl Job for Known {
    type Key = [u8];
    type Combine = Count;

    fn state(&self) -> Option<&dyn Resumable> {
        Some(self)
    }

    fn map<'s>(&self, split: Split<'s>, emit: &mut impl Emit<'s, Self>) -> Result<()> {
        split.lines().for_each(|line| emit.emit(line, ()));
        Ok(())
    }
}

impl Resumable for Known {
    fn identity(&self) -> Identity {
        self.0.clone()
    }

    fn sees(&self) -> Sees {
        Sees::Records
    }
}

fn known(fields: &[(&str, &str)]) -> Known {
    let identity = Identity::new("known", 1);
    Known(fields.iter().fold(identity, |identity, (name, value)| identity.with(name, value)))
}

fn with_state(folder: &Path, incremental: Option<Incremental>) -> Options {
    let state = State::new(folder, "job");
    let state = match incremental {
        Some(incremental) => state.incremental(incremental),
        None => state,
    };
    Options { state: Some(state), ..Options::default() }
}

/// All files of a folder, with their bytes.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    files
        .map(|file| (file.file_name().into_string().unwrap(), fs::read(file.path()).unwrap()))
        .collect()
}

/// One identity is the other with a field more, each way.
#[test]
fn the_answers_of_a_job_with_more_or_fewer_parameters_are_not_shown() {
    let engine = engine(1);
    let (plain, path) = (known(&[]), known(&[("path", "a.b")]));
    for (saved, asked, says) in [
        (&path, &plain, "path was \"a.b\" and is not given"),
        (&plain, &path, "path was not given and is \"a.b\""),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let options = with_state(folder.path(), None);
        engine.job(saved).options(&options).run(Input::bytes("a\n")).unwrap();
        let refused = engine.job(asked).options(&options).saved();
        let error = error_saying(&engine, refused, &["another job", says]);
        assert!(matches!(error, Error::State(StateError::OtherJob { .. })));
        let shown = engine.job(saved).options(&options).saved().unwrap();
        assert_eq!(shown.output.iter().unwrap().count(), 1);
    }
}

#[test]
fn a_run_of_a_job_with_its_parameters_in_another_order_changes_nothing() {
    let engine = engine(1);
    let (one, other) = (("x", "1"), ("y", "2"));
    for incremental in [None, Some(Incremental::default())] {
        let inputs = folder_of(&["a\n"]);
        let folder = tempfile::tempdir().unwrap();
        let options = with_state(folder.path(), incremental);
        let run = |job: &Known| {
            let input = Input::paths([inputs.path()]).unwrap();
            engine.job(job).options(&options).run(input)
        };
        let job = known(&[one, other]);
        run(&job).unwrap();
        fs::write(inputs.path().join("000.txt"), if incremental.is_some() { "b\n" } else { "a\n" })
            .unwrap();
        let before = files(&folder.path().join("job"));
        for (fields, says) in [
            (&[other, one][..], "y is in the place of x"),
            (&[one, other, ("y", "3")], "y was \"2\" and is \"2\", \"3\""),
        ] {
            error_saying(&engine, run(&known(fields)), &["another job", says]);
            assert!(files(&folder.path().join("job")) == before, "{fields:?}");
        }
        if incremental.is_some() {
            run(&job).unwrap();
        }
    }
}

/// Each look at the file gives another stamp, as if it were written all the time.
#[derive(Debug)]
struct Changing(AtomicU64);

impl RangeSource for Changing {
    fn read_at(&self, _: &Path, offset: u64, into: &mut [u8]) -> std::io::Result<()> {
        into.copy_from_slice(&b"to be or not to be\n"[offset as usize..][..into.len()]);
        Ok(())
    }

    fn stamp(&self, _: &Path) -> u64 {
        // The first look is another than those after it.
        self.0.fetch_add(1, Ordering::Relaxed).min(1)
    }
}

#[test]
fn a_file_that_changes_as_a_run_begins_leaves_a_whole_state() {
    let folder = tempfile::tempdir().unwrap();
    let engine = engine(1);
    let source = Arc::new(Changing(AtomicU64::new(0)));
    let job = Words(WordClass::Whitespace);
    let options = with_state(folder.path(), None);
    let run = || {
        let input = Input::ranges(Arc::clone(&source) as _, [("far", 19)]);
        text_of(&engine.job(&job).options(&options).run(input).unwrap(), count_line)
    };
    let answer = run();
    let disk = Disk::new(folder.path());
    assert!(verify(&disk, "job").unwrap() > 0 && report(&disk, "job").unwrap().unwrap().done);
    let saved = engine.job(&job).options(&options).saved().unwrap();
    assert!(text_of(&saved.output, count_line) == answer && run() == answer);
}

/// What a state cannot be of is known before anything is made.
#[test]
fn an_input_that_is_refused_leaves_no_folder() {
    let folder = tempfile::tempdir().unwrap();
    let inputs = tempfile::tempdir().unwrap();
    fs::write(inputs.path().join("a.gz"), PACKINGS[0].pack(b"to be")).unwrap();
    let engine = engine(1);
    let packed = || Input::paths([inputs.path()]).unwrap();
    let words = Words(WordClass::Whitespace);
    let by_content = with_state(folder.path(), Some(Incremental::default()));
    let refused = engine.job(&words).options(&by_content).run(packed());
    error_saying(&engine, refused, &["compressed", "incremental state"]);
    let by_place = with_state(folder.path(), None);
    let refused = engine.job(&offsets()).options(&by_place).run(packed());
    error_saying(&engine, refused, &["compressed"]);
    for options in [&by_place, &by_content] {
        let refused = engine.job(&words).options(options).run(Input::stdin());
        error_saying(&engine, refused, &["a second time", "without a state"]);
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}
