//! A file that is the answer already is left as it is; whatever was done to the input, to the file, to the options or to
//! the state, the file is the answer of a run over all of the input afterwards.

use crate::jobs::{Words, good_lines, offsets};
use crate::support::{cases, count_line, engine, engines, file_in, folder_of, text_of};
use proptest::prelude::*;
use std::fs;
use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tegula::output::AtomicFile;
use tegula::state::AnswerFile;
use tegula::storage::{Disk, Storage};
use tegula::{
    BadRecord, Cancel, Engine, Error, Every, Incremental, Input, InputError, Job, Keep, Options,
    Order, Renewed, Result, SaveEvery, Show, State, StateError, Stats, Values, WordClass,
};
use tegula_testing::{Call, Fault, Faulty};
use tempfile::TempDir;

const JOB: Words = Words(WordClass::Whitespace);
const FORM: &[u8] = b"tests 1: lines of counts";

/// An input, a state and a file for the answer.
struct Bench {
    files: TempDir,
    place: TempDir,
}

impl Bench {
    fn new(texts: &[&[u8]]) -> Bench {
        Bench { files: folder_of(texts), place: tempfile::tempdir().unwrap() }
    }

    fn input(&self) -> Input {
        Input::paths([self.files.path()]).unwrap()
    }

    fn answer(&self) -> PathBuf {
        self.place.path().join("answer")
    }

    fn state(&self) -> State {
        State::new(self.place.path().join("state"), "job")
    }

    /// Brings the file up to date; returns whether it was written, and the figures.
    fn renew_by<J: Job>(
        &self,
        engine: &Engine,
        job: &J,
        (options, form): (&Options, &[u8]),
        line: impl Fn(
            <J::Key as tegula::Key>::Borrowed<'_>,
            <J::Combine as tegula::Aggregate>::Output<'_>,
            &mut Vec<u8>,
        ) + Sync,
    ) -> Result<(bool, Stats)> {
        let path = &self.answer();
        let run = engine.job(job).options(options);
        let renewed = run.renew(self.input(), AnswerFile { path, form }, |output| {
            let mut out = AtomicFile::create(path)?;
            output.write(&mut out, path, &Cancel::new(), &line)?;
            Ok(out.commit()?)
        })?;
        Ok(match renewed {
            Renewed::Written(output) => (true, output.stats().clone()),
            Renewed::Stands(stats) => (false, *stats),
        })
    }

    fn renew(&self, engine: &Engine, options: &Options) -> Result<bool> {
        Ok(self.renew_by(engine, &JOB, (options, FORM), count_line)?.0)
    }

    fn expected(&self, options: &Options) -> Vec<u8> {
        let Options { order, top, .. } = *options;
        let plain = Options { order, top, ..Options::default() };
        let output = engine(1).job(&JOB).options(&plain).run(self.input()).unwrap();
        text_of(&output, count_line)
    }

    /// Returns whether the file is the answer that a run over all of the input gives.
    fn is_right(&self, options: &Options) -> bool {
        fs::read(self.answer()).unwrap() == self.expected(options)
    }
}

fn incremental(state: State, trust_mtime: bool) -> Options {
    let state = state.incremental(Incremental { trust_mtime, ..Incremental::default() });
    Options { state: Some(state), tile_bytes: Some(4000), ..Options::default() }
}

fn words(from: u32, count: u32) -> Vec<u8> {
    let word = |i: u32| format!("w{} ", i.wrapping_mul(2_654_435_761) % 700);
    (from..from + count).map(word).collect::<String>().into_bytes()
}

/// What may happen between two runs.
#[derive(Clone, Copy, Debug)]
enum Step {
    Nothing,
    /// Of the input.
    Append(usize),
    Overwrite(usize, u64),
    Touch(usize),
    Add,
    Rename(usize),
    /// Of the answer.
    OverwriteAnswer(u64),
    AppendToAnswer,
    RemoveAnswer,
    ReplaceAnswer,
    /// Of the options, from then on.
    Form(u8),
    Top(Option<usize>),
    ByValue(bool),
    /// Of the state.
    RunElsewhere,
    RunOfOtherInput,
    RemoveState,
    DamageNote(u64),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => Just(Step::Nothing),
        1 => (0..2usize).prop_map(Step::Append),
        2 => (0..2usize, 0..8000u64).prop_map(|(file, at)| Step::Overwrite(file, at)),
        1 => (0..2usize).prop_map(Step::Touch),
        1 => Just(Step::Add),
        1 => (0..2usize).prop_map(Step::Rename),
        2 => (0..3000u64).prop_map(Step::OverwriteAnswer),
        1 => Just(Step::AppendToAnswer),
        1 => Just(Step::RemoveAnswer),
        1 => Just(Step::ReplaceAnswer),
        1 => (0..2u8).prop_map(Step::Form),
        1 => prop::option::of(1..20usize).prop_map(Step::Top),
        1 => any::<bool>().prop_map(Step::ByValue),
        1 => Just(Step::RunElsewhere),
        1 => Just(Step::RunOfOtherInput),
        1 => Just(Step::RemoveState),
        1 => (0..80u64).prop_map(Step::DamageNote),
    ]
}

fn overwrite(path: &Path, at: u64) {
    let file = OpenOptions::new().write(true).read(true).open(path).unwrap();
    let (mut was, at) = ([0], at % file.metadata().unwrap().len().max(1));
    if file.read_at(&mut was, at).unwrap() == 1 {
        // A letter that no word has.
        file.write_at(&[if was == *b"x" { b'y' } else { b'x' }], at).unwrap();
    }
}

fn append(path: &Path, bytes: &[u8]) {
    OpenOptions::new().append(true).open(path).unwrap().write_all(bytes).unwrap();
}

/// Does a step, other than one of the options. Returns whether the file may stand afterwards.
fn make(step: Step, bench: &Bench, options: &Options, number: u32) -> bool {
    let (answer, state) = (bench.answer(), bench.place.path().join("state/job"));
    match step {
        Step::Nothing => return true,
        Step::Append(file) => append(&file_in(&bench.files, file), b" appended words"),
        Step::Overwrite(file, at) => overwrite(&file_in(&bench.files, file), at),
        Step::Touch(file) => {
            let file = OpenOptions::new().write(true).open(file_in(&bench.files, file)).unwrap();
            file.set_modified(std::time::SystemTime::now()).unwrap();
            return true;
        }
        Step::Add => {
            fs::write(bench.files.path().join(format!("more{number}")), words(number, 300))
                .unwrap();
        }
        Step::Rename(file) => {
            // The words change their places with the file.
            let path = file_in(&bench.files, file);
            let bytes = fs::read(&path).unwrap();
            fs::rename(&path, bench.files.path().join(format!("moved{number}"))).unwrap();
            fs::write(&path, bytes).unwrap();
        }
        Step::OverwriteAnswer(at) => overwrite(&answer, at),
        Step::AppendToAnswer => append(&answer, b"more\n"),
        Step::RemoveAnswer => fs::remove_file(&answer).unwrap(),
        Step::ReplaceAnswer => {
            let copy = bench.place.path().join("copy");
            fs::copy(&answer, &copy).unwrap();
            fs::rename(copy, &answer).unwrap();
        }
        Step::RunElsewhere => {
            engine(2).job(&JOB).options(options).run(bench.input()).unwrap();
        }
        Step::RunOfOtherInput => {
            let other = folder_of(&[words(9, 2000)]);
            let input = Input::paths([other.path()]).unwrap();
            engine(2).job(&JOB).options(options).run(input).unwrap();
        }
        Step::RemoveState => fs::remove_dir_all(&state).unwrap(),
        Step::DamageNote(at) => overwrite(&state.join("answer"), at),
        Step::Form(_) | Step::Top(_) | Step::ByValue(_) => {}
    }
    false
}

proptest! {
    #![proptest_config(cases(20))]

    #[test]
    fn whatever_happens_between_two_runs(
        steps in prop::collection::vec(step(), 1..12),
        trust_mtime in any::<bool>(),
    ) {
        let bench = Bench::new(&[&words(0, 3000), b"", &words(5, 900)]);
        let mut options = incremental(bench.state(), trust_mtime);
        let mut form = 0;
        let renew = |options: &Options, form: u8, number: usize| {
            let engine = &engines()[number % engines().len()];
            let run = bench.renew_by(engine, &JOB, (options, &[form]), count_line);
            run.map(|(is_written, stats)| (is_written, stats.keys, stats.bytes))
        };
        renew(&options, form, 0).unwrap();
        for (number, step) in steps.into_iter().enumerate() {
            let may_stand = make(step, &bench, &options, number as u32);
            match step {
                Step::Form(other) => form = other,
                Step::Top(top) => options.top = top,
                Step::ByValue(true) => options.order = Order::Value,
                Step::ByValue(false) => options.order = Order::Key,
                _ => {}
            }
            let (is_written, keys, bytes) = renew(&options, form, number).unwrap();
            prop_assert!(bench.is_right(&options), "{:?}", step);
            prop_assert!(!(may_stand && is_written), "{:?} wrote the file", step);
            let again = renew(&options, form, number + 1).unwrap();
            prop_assert_eq!(again, (false, keys, bytes));
        }
    }
}

#[test]
fn a_file_that_stands_is_not_touched() {
    let bench = Bench::new(&[&words(0, 3000)]);
    for (trust_mtime, name) in [(false, "read"), (true, "trusted")] {
        let state = State::new(bench.place.path(), name);
        let options = incremental(state, trust_mtime);
        assert!(bench.renew(&engine(2), &options).unwrap());
        let mark = || {
            let found = fs::metadata(bench.answer()).unwrap();
            (found.ino(), found.mtime(), found.mtime_nsec(), found.ctime_nsec())
        };
        let was = mark();
        let before = fs::read(bench.place.path().join(name).join("manifest")).unwrap();
        for engine in engines() {
            assert!(!bench.renew(engine, &options).unwrap());
        }
        assert_eq!(mark(), was);
        assert!(fs::read(bench.place.path().join(name).join("manifest")).unwrap() == before);
    }
}

fn places_line(word: &[u8], places: Values<'_, u64>, out: &mut Vec<u8>) {
    out.extend_from_slice(word);
    places.for_each(|place| out.extend_from_slice(format!(" {place}").as_bytes()));
    out.push(b'\n');
}

/// Values that know their places stand only if those are the same.
#[test]
fn offsets_of_words_move_with_them() {
    let bench = Bench::new(&[&words(0, 2000), &words(7, 500)]);
    let options = incremental(bench.state(), false);
    let job = offsets();
    let renew = || bench.renew_by(&engine(2), &job, (&options, FORM), places_line).unwrap().0;
    let is_right = || {
        let output = engine(1).job(&job).run(bench.input()).unwrap();
        fs::read(bench.answer()).unwrap() == text_of(&output, places_line)
    };
    assert!(renew() && !renew() && is_right());
    let first = fs::read(file_in(&bench.files, 0)).unwrap();
    fs::write(file_in(&bench.files, 0), [&b"a word before "[..], &first].concat()).unwrap();
    assert!(renew() && !renew() && is_right());
}

/// A state that knows its tiles by their places is done once, and its answer stands as long as no file is touched.
#[test]
fn without_incremental_times_decide() {
    let bench = Bench::new(&[&words(0, 3000)]);
    let options = Options { state: Some(bench.state()), ..Options::default() };
    let renew = || bench.renew(&engine(2), &options);
    assert!(renew().unwrap() && !renew().unwrap() && bench.is_right(&options));
    overwrite(&bench.answer(), 5);
    assert!(renew().unwrap() && !renew().unwrap() && bench.is_right(&options));
    append(&file_in(&bench.files, 0), b" more");
    assert!(matches!(renew(), Err(Error::State(StateError::OtherInput { .. }))));
}

#[test]
fn without_a_state_and_with_a_show_each_run_writes() {
    let bench = Bench::new(&[&words(0, 3000)]);
    let plain = Options::default();
    assert!(bench.renew(&engine(2), &plain).unwrap() && bench.renew(&engine(2), &plain).unwrap());
    let nothing = Options { state: Some(bench.state().keep(Keep::Nothing)), ..Options::default() };
    assert!(
        bench.renew(&engine(2), &nothing).unwrap() && bench.renew(&engine(2), &nothing).unwrap()
    );
    let options = Options { state: Some(bench.state()), ..Options::default() };
    bench.renew(&engine(2), &options).unwrap();
    let file = AnswerFile { path: &bench.answer(), form: FORM };
    let show = Show::new(Every::Part(0.5), |_| Ok(()));
    let engine = engine(2);
    let run = engine.job(&JOB).options(&options).show(show);
    let shown = run.renew(bench.input(), file, |_| Ok(())).unwrap();
    assert!(matches!(shown, Renewed::Written(_)));
}

/// A run whose answer could not be written leaves no note of it.
#[test]
fn an_answer_that_was_not_written_does_not_stand() {
    let bench = Bench::new(&[&words(0, 3000)]);
    let options = incremental(bench.state(), false);
    fs::write(bench.answer(), b"of another run").unwrap();
    let file = AnswerFile { path: &bench.answer(), form: FORM };
    let engine = engine(2);
    let run = || engine.job(&JOB).options(&options);
    let failed = run().renew(bench.input(), file, |_| Err(Error::Cancelled));
    assert!(matches!(failed, Err(Error::Cancelled)));
    assert!(bench.renew(&engine, &options).unwrap() && bench.is_right(&options));
    // Nor one that is no file.
    let folder = AnswerFile { path: bench.place.path(), form: FORM };
    for _ in 0..2 {
        let renewed = run().renew(bench.input(), folder, |_| Ok(())).unwrap();
        assert!(matches!(renewed, Renewed::Written(_)));
    }
}

/// The figures are those of the run that made it: refused records, too.
#[test]
fn figures_of_an_answer_that_stands_are_those_of_its_run() {
    let bench = Bench::new(&[&b"good\nbad\ngood\nworse\n"[..]]);
    let job = good_lines(|line| (line != b"good").then(|| format!("{} bytes", line.len())));
    let job = job.named("good lines");
    let options = Options { skip_bad: true, ..incremental(bench.state(), false) };
    let renew = || bench.renew_by(&engine(2), &job, (&options, FORM), count_line).unwrap();
    let ((is_written, made), (is_again, found)) = (renew(), renew());
    assert!(is_written && !is_again);
    let figures = |stats: &Stats| {
        let Stats { bytes, splits, tiles, pairs, keys, key_value_bytes, bad_records, .. } = *stats;
        let of = |bad: &BadRecord| format!("{}: {}", bad.place, bad.cause);
        let first: Vec<_> = stats.bad_first.iter().map(of).collect();
        (bytes, splits, tiles, pairs, keys, key_value_bytes, bad_records, first)
    };
    assert_eq!(figures(&found), figures(&made));
    assert_eq!((made.bad_records, found.restored_bytes), (2, 20));
}

proptest! {
    #![proptest_config(cases(20))]

    /// The note is not synced: it may be lost, or be there in part.
    #[test]
    fn the_power_may_go_at_any_call(nth in 1u64..60, call in 0..4usize, is_changed in any::<bool>()) {
        let bench = Bench::new(&[&words(0, 3000)]);
        let disk: Arc<dyn Storage> = Arc::new(Disk::new(bench.place.path().join("faulty")));
        fs::create_dir(bench.place.path().join("faulty")).unwrap();
        let call = [Call::WriteAt, Call::Rename, Call::Create, Call::SyncFile][call];
        let faulty = Faulty::new(Arc::clone(&disk), nth).fail_once(call, nth, Fault::PowerLoss);
        let on = |storage: Arc<dyn Storage>| {
            incremental(State::on(storage).save_every(SaveEvery::Tiles(1)), false)
        };
        let options = on(Arc::new(faulty.clone()));
        for _ in 0..2 {
            match bench.renew(&engine(2), &options) {
                Ok(_) => prop_assert!(bench.is_right(&options)),
                Err(Error::Storage(_)) => break,
                Err(error) => panic!("{error:?}"),
            }
        }
        faulty.lose_power();
        if is_changed {
            append(&file_in(&bench.files, 0), b" more");
        }
        let options = on(disk);
        bench.renew(&engine(2), &options).unwrap();
        prop_assert!(bench.is_right(&options));
        prop_assert!(!bench.renew(&engine(2), &options).unwrap());
    }
}

/// An input that cannot be read is an error, although the answer of the last run is there.
#[test]
fn an_input_that_is_gone_is_an_error() {
    let bench = Bench::new(&[&words(0, 3000)]);
    let options = incremental(bench.state(), true);
    let input = bench.input();
    bench.renew(&engine(2), &options).unwrap();
    fs::remove_file(file_in(&bench.files, 0)).unwrap();
    let file = AnswerFile { path: &bench.answer(), form: FORM };
    let gone = engine(2).job(&JOB).options(&options).renew(input, file, |_| Ok(()));
    assert!(matches!(gone, Err(Error::Input(InputError::Vanished { .. }))), "{gone:?}");
}
