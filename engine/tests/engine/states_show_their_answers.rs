//! The saved pairs of a state can be shown at any moment, during the run and after: answers of exactly the
//! bytes that the state reports, while it is being saved.

use crate::jobs::{Place, Words};
use crate::support::{engine, error_saying, limited};
use std::fs;
use std::marker::PhantomData;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::Duration;
use tegula::{
    Collect, Combine, Count, Emit, Engine, Error, Identity, Incremental, Input, Job, Options,
    Order, Result, Resumable, SaveEvery, Saved, Sees, Split, State, StateError, Sum, WordClass,
};

/// All lines have this length, so that the counts give the number of mapped bytes.
const LINE_BYTES: u64 = 16;
const TILE_BYTES: u64 = 1600;

/// Counts lines, slowly.
struct Slowly<C>(PhantomData<C>);

impl<C> Job for Slowly<C>
where
    C: Combine<Accumulator = u64, Output = u64, Value: One> + Sync,
{
    type Key = [u8];
    type Combine = C;

    fn state(&self) -> Option<&dyn Resumable> {
        Some(self)
    }

    fn map<'s>(&self, split: Split<'s>, emit: &mut impl Emit<'s, Self>) -> Result<()> {
        sleep(Duration::from_micros(300));
        split.lines().for_each(|line| emit.emit(&line[..6], C::Value::ONE));
        Ok(())
    }
}

impl<C> Resumable for Slowly<C> {
    fn identity(&self) -> Identity {
        Identity::new("slowly", 1)
    }

    fn sees(&self) -> Sees {
        Sees::Records
    }
}

/// The value of a line.
trait One {
    const ONE: Self;
}

impl One for () {
    const ONE: () = ();
}

impl One for u64 {
    const ONE: u64 = 1;
}

fn lines(numbers: impl Iterator<Item = u64>) -> String {
    numbers.map(|number| format!("{:06} {number:08}\n", number * number % 977)).collect()
}

fn file_of(folder: &Path, name: &str, text: &str) -> PathBuf {
    let path = folder.join(name);
    fs::write(&path, text).unwrap();
    path
}

fn options(folder: &Path, incremental: Option<Incremental>) -> Options {
    let state = State::new(folder, "job").save_every(SaveEvery::Tiles(1)).about("a test");
    let state = match incremental {
        Some(incremental) => state.incremental(incremental),
        None => state,
    };
    let (tile_bytes, split_bytes) = (Some(TILE_BYTES), Some(400));
    Options { state: Some(state), tile_bytes, split_bytes, ..Options::default() }
}

/// Looks at a state again and again until it is done; returns at how many different moments.
fn look_on<J: Job<Key = [u8]>>(
    looker: &Engine,
    job: &J,
    options: &Options,
    is_over: &AtomicBool,
    count: impl Fn(&Saved<J>) -> u64,
) -> usize {
    let mut seen = Vec::new();
    loop {
        let over = is_over.load(Ordering::SeqCst);
        match looker.job(job).options(options).saved() {
            Err(Error::State(StateError::Missing { .. })) if !over => {}
            saved => {
                let saved = saved.unwrap();
                assert_eq!(count(&saved) * LINE_BYTES, saved.report.mapped_bytes);
                let stats = saved.output.stats();
                assert!(stats.memory_resident_peak > 0 && stats.memory_counted_peak > 0);
                seen.push(saved.report.mapped_bytes);
            }
        }
        if over {
            seen.dedup();
            return seen.len();
        }
    }
}

fn answers_are_of_what_was_mapped<C>(incremental: Option<Incremental>)
where
    C: Combine<Accumulator = u64, Output = u64, Value: One> + Sync,
{
    let folder = tempfile::tempdir().unwrap();
    let job = Slowly::<C>(PhantomData);
    let counted = |saved: &Saved<Slowly<C>>| saved.output.iter().unwrap().map(|pair| pair.1).sum();
    let mut text = lines(0..20_000);
    let rounds = if incremental.is_some() { 3 } else { 1 };
    for round in 0..rounds {
        let path = file_of(folder.path(), "input", &text);
        let options = options(folder.path(), incremental);
        let is_over = AtomicBool::new(false);
        let moments = std::thread::scope(|scope| {
            let looker = scope.spawn(|| look_on(&engine(2), &job, &options, &is_over, counted));
            let output = engine(2).job(&job).options(&options).run(Input::paths([&path]).unwrap());
            is_over.store(true, Ordering::SeqCst);
            let all: u64 = output.unwrap().iter().unwrap().map(|pair| pair.1).sum();
            assert_eq!(all * LINE_BYTES, text.len() as u64);
            looker.join().unwrap()
        });
        assert!(moments > 2 || round > 0, "{moments}");
        // Without the input, and to the byte.
        fs::remove_file(&path).unwrap();
        let saved = engine(3).job(&job).options(&options).saved().unwrap();
        assert!(saved.report.done && saved.report.mapped_bytes == text.len() as u64);
        assert_eq!(saved.report.about, b"a test");
        let plain = engine(1).job(&job).run(Input::bytes(text.clone())).unwrap();
        assert!(saved.output.iter().unwrap().eq(plain.iter().unwrap()));
        // Some of the first lines go, some come between, some at the end.
        let at = 3000 * LINE_BYTES as usize;
        let (head, tail) = text.split_at(at);
        text =
            [&head[1600..], &lines(50_000..50_100), &tail[320..], &lines(90_000..92_000)].concat();
    }
}

#[test]
fn of_exactly_what_was_mapped() {
    answers_are_of_what_was_mapped::<Count>(None);
    answers_are_of_what_was_mapped::<Sum<u64>>(None);
}

#[test]
fn also_where_only_what_changed_is_mapped() {
    answers_are_of_what_was_mapped::<Count>(Some(Incremental::default()));
    answers_are_of_what_was_mapped::<Sum<u64>>(Some(Incremental::default()));
}

/// The places of lines by how they begin.
struct LinePlaces;

impl Job for LinePlaces {
    type Key = [u8];
    type Combine = Collect<Place>;

    fn state(&self) -> Option<&dyn Resumable> {
        Some(self)
    }

    fn map<'s>(&self, split: Split<'s>, emit: &mut impl Emit<'s, Self>) -> Result<()> {
        let mut at = split.offset();
        for line in split.lines() {
            emit.emit(&line[..6], Place { file: split.file(), offset: at });
            at += LINE_BYTES;
        }
        Ok(())
    }
}

impl Resumable for LinePlaces {
    fn identity(&self) -> Identity {
        Identity::new("places", 1)
    }
}

#[test]
fn with_the_names_of_files_and_in_the_order_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let paths = ["b", "a"].map(|name| file_of(folder.path(), name, &lines(0..5000)));
    for incremental in [None, Some(Incremental::default())] {
        let state = tempfile::tempdir().unwrap();
        let options = options(state.path(), incremental);
        let ran = engine(2)
            .job(&LinePlaces)
            .options(&options)
            .run(Input::paths(&paths).unwrap())
            .unwrap();
        for looker in [engine(1), engine(3), limited(64 << 20)] {
            let saved = looker.job(&LinePlaces).options(&options).saved().unwrap();
            assert_eq!(
                [0, 1].map(|file| saved.output.file(file)),
                [0, 1].map(|file| ran.file(file))
            );
            let lists = |output: &tegula::Output<LinePlaces>| {
                let mut lists = Vec::new();
                output
                    .for_each(|key, places| lists.push((key.to_vec(), places.collect::<Vec<_>>())))
                    .unwrap();
                lists
            };
            assert!(lists(&saved.output) == lists(&ran));
        }
        let top = Options { top: Some(3), order: Order::None, ..options };
        assert_eq!(engine(2).job(&LinePlaces).options(&top).saved().unwrap().output.len(), 3);
    }
}

#[test]
fn what_is_of_another_job_or_not_there_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let options = options(folder.path(), None);
    let missing = engine(1).job(&LinePlaces).options(&options).saved();
    assert!(matches!(missing, Err(Error::State(StateError::Missing { .. }))));
    let none = Options::default();
    error_saying(
        &engine(1),
        engine(1).job(&LinePlaces).options(&none).saved(),
        &["name the state"],
    );
    engine(1).job(&LinePlaces).options(&options).run(Input::bytes(lines(0..10))).unwrap();
    let other = engine(1).job(&Words(WordClass::Whitespace)).options(&options).saved();
    error_saying(&engine(1), other, &["another job", "job was \"places\" and is \"words\""]);
}
