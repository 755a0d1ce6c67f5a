//! A run that is incremental finds the tiles of the last one again and maps only the others: the answer is
//! that of a run over all of the input, whatever was changed in it; and a change costs its tiles.

use crate::jobs::{Mapping, Offsets, Place, Places, Words, mapping, offsets};
use crate::packing::PACKINGS;
use crate::reading_overlaps_mapping::Slow;
use crate::support::{
    cases, count_line, engine, engines, error_saying, file_in, folder_of, text_of,
};
use proptest::prelude::*;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tegula::reuse::Hashing;
use tegula::storage::{Disk, Storage};
use tegula::{
    Cancel, Collect, Count, Cut, Emit, Engine, Error, Identity, Incremental, Input, Job, Keep,
    Mean, Options, Result, Resumable, SaveEvery, Sees, Split, State, StateError, Values, WordClass,
};
use tegula_testing::{Call, Fault, Faulty};
use tempfile::TempDir;

const JOB: Words = Words(WordClass::Whitespace);
const TILE_BYTES: u64 = 2000;
const SPLIT_BYTES: u64 = 300;

/// The lines in which a word stands first, in the order of the input.
struct Lines;

impl Job for Lines {
    type Key = [u8];
    type Combine = Collect<[u8]>;

    fn state(&self) -> Option<&dyn Resumable> {
        Some(self)
    }

    fn map<'s>(&self, split: Split<'s>, emit: &mut impl Emit<'s, Self>) -> Result<()> {
        split.lines().for_each(|line| emit.emit(&line[..line.len().min(3)], line));
        Ok(())
    }
}

impl Resumable for Lines {
    fn identity(&self) -> Identity {
        Identity::new("lines by word", 1)
    }

    fn sees(&self) -> Sees {
        Sees::Records
    }
}

/// The number and the lengths of lines that begin alike, by word: values that can be taken out.
struct Lengths;

impl Job for Lengths {
    type Key = [u8];
    type Combine = Mean<u64>;

    fn state(&self) -> Option<&dyn Resumable> {
        Some(self)
    }

    fn map<'s>(&self, split: Split<'s>, emit: &mut impl Emit<'s, Self>) -> Result<()> {
        for line in split.lines() {
            emit.emit(&line[..line.len().min(3)], line.len() as u64);
        }
        Ok(())
    }
}

impl Resumable for Lengths {
    fn identity(&self) -> Identity {
        Identity::new("lengths", 1)
    }

    fn sees(&self) -> Sees {
        Sees::Records
    }
}

/// Counts of words.
struct Counts;

impl Job for Counts {
    type Key = [u8];
    type Combine = Count;

    fn cut(&self) -> Cut {
        Cut::around(WordClass::Whitespace)
    }

    fn state(&self) -> Option<&dyn Resumable> {
        Some(self)
    }

    fn map<'s>(&self, split: Split<'s>, emit: &mut impl Emit<'s, Self>) -> Result<()> {
        split.fields().for_each(|word| emit.emit(word, ()));
        Ok(())
    }
}

impl Resumable for Counts {
    fn identity(&self) -> Identity {
        Identity::new("counts", 1)
    }

    fn sees(&self) -> Sees {
        Sees::Records
    }
}

/// Lines by file.
fn lines_of_files() -> Mapping<'static> {
    let job = mapping(|split, emit| {
        let path = split.path().into_os_string().into_encoded_bytes();
        emit(&path, split.lines().count() as u64);
        Ok(())
    });
    job.cut_at(Cut::Lines).that_sees(Sees::Paths).named("lines of files")
}

fn options(state: State, incremental: Incremental) -> Options {
    let state = state.save_every(SaveEvery::Tiles(1)).incremental(incremental);
    let (tile_bytes, split_bytes) = (Some(TILE_BYTES), Some(SPLIT_BYTES));
    Options { state: Some(state), tile_bytes, split_bytes, ..Options::default() }
}

fn places_line(key: &[u8], places: Values<'_, Place>, text: &mut Vec<u8>) {
    text.extend_from_slice(key);
    places.for_each(|Place { file, offset }| {
        text.extend_from_slice(format!(" {file}:{offset}").as_bytes());
    });
    text.push(b'\n');
}

fn offsets_line(key: &[u8], offsets: Values<'_, u64>, text: &mut Vec<u8>) {
    text.extend_from_slice(key);
    offsets.for_each(|offset| text.extend_from_slice(format!(" {offset}").as_bytes()));
    text.push(b'\n');
}

fn lines_line(key: &[u8], lines: Values<'_, [u8]>, text: &mut Vec<u8>) {
    text.extend_from_slice(key);
    lines.for_each(|line| text.extend_from_slice(&[b" ", line].concat()));
    text.push(b'\n');
}

fn mean_line(key: &[u8], mean: f64, text: &mut Vec<u8>) {
    text.extend_from_slice(key);
    text.extend_from_slice(format!(" {mean}\n").as_bytes());
}

/// A folder of texts, and states of some jobs over them.
struct Bench {
    files: TempDir,
    states: TempDir,
    split_bytes: u64,
}

impl Bench {
    fn new(texts: &[Vec<u8>]) -> Bench {
        let (files, states) = (folder_of(texts), tempfile::tempdir().unwrap());
        Bench { files, states, split_bytes: SPLIT_BYTES }
    }

    fn input(&self) -> Input {
        Input::paths([self.files.path()]).unwrap()
    }

    fn input_bytes(&self) -> u64 {
        let files = fs::read_dir(self.files.path()).unwrap();
        files.map(|file| file.unwrap().metadata().unwrap().len()).sum()
    }

    fn state(&self, id: &str) -> Options {
        let options = options(State::new(self.states.path(), id), Incremental::default());
        Options { split_bytes: Some(self.split_bytes), ..options }
    }

    /// Runs all jobs, compares with runs without a state, and returns the bytes that the count mapped.
    fn check(&self, engine: &Engine) -> u64 {
        let output = engine.job(&JOB).options(&self.state("words")).run(self.input()).unwrap();
        let plain = engine.job(&JOB).run(self.input()).unwrap();
        assert!(text_of(&output, count_line) == text_of(&plain, count_line), "words");
        let mapped = output.stats().bytes - output.stats().restored_bytes;
        assert_eq!(output.stats().bytes, plain.stats().bytes);
        let output = engine.job(&Counts).options(&self.state("counts")).run(self.input()).unwrap();
        assert!(text_of(&output, count_line) == text_of(&plain, count_line), "counts");
        let output = engine.job(&Places).options(&self.state("places")).run(self.input()).unwrap();
        let plain = engine.job(&Places).run(self.input()).unwrap();
        assert!(text_of(&output, places_line) == text_of(&plain, places_line), "places");
        let placed = output.stats().bytes - output.stats().restored_bytes;
        assert!(placed <= mapped, "places are relocated: {placed}, {mapped} bytes");
        let saved = engine.job(&Places).options(&self.state("places")).saved().unwrap();
        assert!(text_of(&saved.output, places_line) == text_of(&plain, places_line), "saved");
        // Offsets are not relocated when a word moves. The second job declares falsely that they can be.
        for sees in [Sees::Places, Sees::Relocatable] {
            let (job, id) = (Offsets { sees, ..offsets() }, format!("offsets-{sees:?}"));
            let output = engine.job(&job).options(&self.state(&id)).run(self.input()).unwrap();
            let plain = engine.job(&job).run(self.input()).unwrap();
            assert!(text_of(&output, offsets_line) == text_of(&plain, offsets_line), "{id}");
        }
        let output = engine.job(&Lines).options(&self.state("by-word")).run(self.input()).unwrap();
        let plain = engine.job(&Lines).run(self.input()).unwrap();
        assert!(text_of(&output, lines_line) == text_of(&plain, lines_line), "by word");
        let output =
            engine.job(&Lengths).options(&self.state("lengths")).run(self.input()).unwrap();
        let plain = engine.job(&Lengths).run(self.input()).unwrap();
        assert!(text_of(&output, mean_line) == text_of(&plain, mean_line), "lengths");
        let output =
            engine.job(&lines_of_files()).options(&self.state("lines")).run(self.input()).unwrap();
        let plain = engine.job(&lines_of_files()).run(self.input()).unwrap();
        assert!(text_of(&output, count_line) == text_of(&plain, count_line), "lines");
        mapped
    }
}

fn words(seed: u32, count: u32) -> Vec<u8> {
    let word = |i: u32| format!("w{} {}\n", (i * 7 + seed) % 400, seed.wrapping_mul(97) ^ i);
    (0..count).map(word).collect::<String>().into_bytes()
}

/// A change of one of the files.
#[derive(Clone, Debug)]
enum Change {
    Replace(usize, Vec<u8>),
    Insert(usize, Vec<u8>),
    Delete(usize, usize),
    Append(Vec<u8>),
    Keep(u64),
    Rename(String),
    Remove,
    Add(Vec<u8>),
}

impl Change {
    fn make(&self, folder: &Path, which: usize) {
        let mut paths: Vec<_> =
            fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        if let Change::Add(text) = self {
            return fs::write(folder.join(format!("{which:03}-new.txt")), text).unwrap();
        }
        if paths.is_empty() {
            return;
        }
        let path = &paths[which % paths.len()];
        let mut text = fs::read(path).unwrap();
        let place = |at: usize| at % (text.len() + 1);
        match self {
            Change::Replace(at, with) => {
                let at = place(*at);
                let end = text.len().min(at + with.len());
                text[at..end].copy_from_slice(&with[..end - at]);
            }
            Change::Insert(at, with) => {
                let at = place(*at);
                text.splice(at..at, with.iter().copied());
            }
            Change::Delete(at, count) => {
                let at = place(*at);
                let end = text.len().min(at + count);
                text.drain(at..end);
            }
            Change::Append(with) => text.extend(with),
            Change::Keep(bytes) => text.truncate(*bytes as usize),
            Change::Rename(to) => return fs::rename(path, folder.join(to)).unwrap(),
            Change::Remove => return fs::remove_file(path).unwrap(),
            Change::Add(_) => {}
        }
        fs::write(path, text).unwrap();
    }
}

fn changes() -> impl Strategy<Value = Vec<(usize, Change)>> {
    let text = || prop::collection::vec(prop::sample::select(&b"ab \n"[..]), 0..60);
    let at = || 0..20_000usize;
    let change = prop_oneof![
        (at(), text()).prop_map(|(at, text)| Change::Replace(at, text)),
        (at(), text()).prop_map(|(at, text)| Change::Insert(at, text)),
        (at(), 0..3000usize).prop_map(|(at, count)| Change::Delete(at, count)),
        text().prop_map(Change::Append),
        (1..4u64).prop_map(|tiles| Change::Keep(tiles * TILE_BYTES)),
        "[a-z]{1,3}".prop_map(Change::Rename),
        Just(Change::Remove),
        text().prop_map(Change::Add),
    ];
    prop::collection::vec((0..10usize, change), 0..6)
}

proptest! {
    #![proptest_config(cases(16))]

    #[test]
    fn answers_are_those_of_whole_runs(
        texts in prop::collection::vec((0..5u32, 0..1500u32), 1..6),
        rounds in prop::collection::vec((changes(), 0..4usize), 1..4),
        split_bytes in prop::sample::select(&[SPLIT_BYTES, TILE_BYTES][..]),
    ) {
        let texts: Vec<Vec<u8>> = texts.into_iter().map(|(seed, count)| words(seed, count)).collect();
        let bench = Bench { split_bytes, ..Bench::new(&texts) };
        bench.check(&engines()[1]);
        for (changes, which) in rounds {
            changes.iter().for_each(|(file, change)| change.make(bench.files.path(), *file));
            bench.check(&engines()[which]);
        }
    }
}

/// A file is read whole by the split in which it begins if it is no longer than that; but two tiles may share a file that is
/// as long as one of them.
#[test]
fn a_file_as_long_as_a_tile_and_a_split_loses_nothing() {
    let engine = engine(2);
    for seed in 0..4 {
        let bench =
            Bench { split_bytes: TILE_BYTES, ..Bench::new(&[words(seed, 2000), words(seed, 9)]) };
        bench.check(&engine);
        for tiles in [5, 2, 1] {
            Change::Keep(tiles * TILE_BYTES).make(bench.files.path(), 0);
            bench.check(&engine);
        }
        Change::Delete(0, 700).make(bench.files.path(), 0);
        Change::Append(vec![b'x'; 700]).make(bench.files.path(), 0);
        bench.check(&engine);
    }
}

/// And it is saved when the run ends, if never before.
#[test]
fn tiles_stay_in_a_state_that_was_to_keep_its_result() {
    let bench = Bench::new(&[words(1, 2000)]);
    let engine = engine(2);
    for restored in [0, bench.input_bytes()] {
        let state =
            State::new(bench.states.path(), "result").save_every(SaveEvery::Time(Duration::MAX));
        let state = Some(state.incremental(Incremental::default()).keep(Keep::Result));
        let options = Options { state, ..Options::default() };
        let output = engine.job(&JOB).options(&options).run(bench.input()).unwrap();
        assert_eq!(output.stats().restored_bytes, restored);
    }
}

#[test]
fn a_change_costs_its_tiles() {
    let bench = Bench::new(&[words(1, 20_000), words(2, 20_000)]);
    let engine = engine(2);
    let all = bench.check(&engine);
    assert!(all > 100 * TILE_BYTES && bench.check(&engine) == 0);
    let (first, folder) = (file_in(&bench.files, 0), bench.files.path());
    let cost = |change: Change, file: usize, tiles: u64| {
        change.make(folder, file);
        let mapped = bench.check(&engine);
        assert!(mapped <= tiles * TILE_BYTES * 3 / 2, "{change:?} cost {mapped} bytes");
    };
    cost(Change::Insert(9000, b"inserted ".to_vec()), 0, 2);
    cost(Change::Replace(20_000, b"replaced".to_vec()), 1, 2);
    cost(Change::Delete(15_000, 5000), 0, 2);
    cost(Change::Append(words(3, 100)), 1, 3);
    cost(Change::Rename("zzz".to_owned()), 0, 0);
    assert!(!first.exists());
    cost(Change::Remove, 0, 0);
}

#[test]
fn an_incremental_run_goes_on_where_it_ended() {
    let bench = Bench::new(&[words(1, 20_000)]);
    let folder = tempfile::tempdir().unwrap();
    let disk: Arc<dyn Storage> = Arc::new(Disk::new(folder.path()));
    let plain =
        |engine: &Engine| text_of(&engine.job(&JOB).run(bench.input()).unwrap(), count_line);
    for (round, engine) in engines().iter().enumerate() {
        Change::Insert(9000, b"inserted ".to_vec()).make(bench.files.path(), 0);
        for (call, nth) in
            [(Call::Rename, 2), (Call::SyncFile, 3), (Call::ReadAt, 5), (Call::Remove, 1)]
        {
            let faulty = Faulty::new(Arc::clone(&disk), round as u64);
            let faulty = faulty.fail_once(call, nth, Fault::PowerLoss);
            let options = options(State::on(Arc::new(faulty.clone())), Incremental::default());
            if let Ok(output) = engine.job(&JOB).options(&options).run(bench.input()) {
                assert!(text_of(&output, count_line) == plain(engine));
            } else {
                faulty.lose_power();
            }
        }
        let options = options(State::on(Arc::clone(&disk)), Incremental::default());
        let output = engine.job(&JOB).options(&options).run(bench.input()).unwrap();
        assert!(text_of(&output, count_line) == plain(engine));
        assert!(output.stats().restored_bytes > 0);
    }
}

#[test]
fn tiles_that_are_read_ahead_are_found_again() {
    let mut text = words(5, 60_000);
    let folder = tempfile::tempdir().unwrap();
    for (round, engine) in engines().iter().enumerate() {
        let id = format!("slow-{round}");
        let run = |text: &[u8]| {
            let pause = |read: u64| Duration::from_micros(read.wrapping_mul(7919) % 200);
            let (input, _) = Slow::new(vec![text.to_vec()], pause).input();
            let incremental = State::new(folder.path(), &id).incremental(Incremental::default());
            let (tile_bytes, split_bytes) = (Some(32 << 10), Some(3000));
            let options =
                Options { state: Some(incremental), tile_bytes, split_bytes, ..Options::default() };
            let output = engine.job(&JOB).options(&options).run(input).unwrap();
            let plain = engine.job(&JOB).run(Input::bytes(text)).unwrap();
            assert!(text_of(&output, count_line) == text_of(&plain, count_line));
            (output.stats().bytes - output.stats().restored_bytes, output.stats().read_ahead_bytes)
        };
        let (mapped, read_ahead) = run(&text);
        assert!(mapped == text.len() as u64 && read_ahead >= mapped);
        assert_eq!(run(&text).0, 0);
        text.splice(200_000..200_000, *b"inserted ");
        let (mapped, _) = run(&text);
        assert!(mapped > 0 && mapped <= 3 * (32 << 10), "{mapped} bytes");
    }
}

#[test]
fn trust_spares_reading_and_blake3_is_another_job() {
    let bench = Bench::new(&[words(1, 5000)]);
    let engine = engine(2);
    let run = |incremental: Incremental| {
        let options = options(State::new(bench.states.path(), "trusting"), incremental);
        engine.job(&JOB).options(&options).run(bench.input())
    };
    let trusting = Incremental { append_only: true, trust_mtime: true, ..Incremental::default() };
    run(trusting).unwrap();
    Change::Append(words(2, 50)).make(bench.files.path(), 0);
    let output = run(trusting).unwrap();
    assert!(output.stats().restored_bytes > 20_000);
    let plain = engine.job(&JOB).run(bench.input()).unwrap();
    assert!(text_of(&output, count_line) == text_of(&plain, count_line));
    let blake3 = run(Incremental { hashing: Hashing::Blake3, ..Incremental::default() });
    error_saying(&engine, blake3, &["tiles was", "Xxh3", "Blake3"]);
}

/// Pairs of tiles that stay are folded, and not read one by one: also where most groups of tiles are not worth a fold, and
/// although the folds of some groups are made when a tile ends them.
#[test]
fn a_log_that_grows_costs_what_was_appended() {
    const RUNS: u64 = 20;
    let users = |from: u32, count: u32| -> Vec<u8> {
        let user = |i: u32| format!("u{}\n", i.wrapping_mul(2_654_435_761) % 3000);
        (from..from + count).map(user).collect::<String>().into_bytes()
    };
    for append_only in [true, false] {
        let bench = Bench::new(&[users(0, 100_000)]);
        let disk: Arc<dyn Storage> = Arc::new(Disk::new(bench.states.path()));
        let faulty = Faulty::new(disk, 1);
        let incremental = Incremental { append_only, ..Incremental::default() };
        let engine = engine(2);
        let reads = || {
            let options = options(State::on(Arc::new(faulty.clone())), incremental);
            let before = faulty.calls(Call::ReadAt);
            let output = engine.job(&JOB).options(&options).run(bench.input()).unwrap();
            let plain = engine.job(&JOB).run(bench.input()).unwrap();
            assert!(text_of(&output, count_line) == text_of(&plain, count_line));
            faulty.calls(Call::ReadAt) - before
        };
        reads();
        // Two calls for each block, and a few for each file.
        let tiles = bench.input_bytes() / TILE_BYTES;
        let mut all = 0;
        for run in 0..RUNS as u32 {
            Change::Append(users(100_000 + run * 500, 500)).make(bench.files.path(), 0);
            all += reads();
        }
        assert!(all < RUNS * tiles / 16, "{all} reads, {tiles} tiles");
    }
}

#[test]
fn compressed_files_are_refused() {
    let bench = Bench::new(&[]);
    fs::write(bench.files.path().join("a.gz"), PACKINGS[0].pack(b"to be or not to be")).unwrap();
    let engine = engine(1);
    let refused = engine.job(&JOB).options(&bench.state("words")).run(bench.input());
    error_saying(&engine, refused, &["compressed", "as they are", "incremental state"]);
}

/// Tomorrow's run names the state of today's, which was not incremental: it begins anew once, and a run that has not
/// ended is not thrown away.
#[test]
fn an_incremental_run_takes_the_place_of_a_done_one_that_was_not() {
    let bench = Bench::new(&[words(1, 20_000), words(2, 20_000)]);
    let engine = engine(2);
    let plain = || text_of(&engine.job(&JOB).run(bench.input()).unwrap(), count_line);
    let by_place = |job| {
        let state = State::new(bench.states.path(), job).save_every(SaveEvery::Tiles(1));
        Options { state: Some(state), tile_bytes: Some(4 * TILE_BYTES), ..Options::default() }
    };
    engine.job(&JOB).options(&by_place("words")).run(bench.input()).unwrap();
    Change::Append(words(3, 50)).make(bench.files.path(), 0);
    for restored_least in [0, bench.input_bytes()] {
        let output = engine.job(&JOB).options(&bench.state("words")).run(bench.input()).unwrap();
        assert!(text_of(&output, count_line) == plain());
        assert_eq!(output.stats().restored_bytes, restored_least);
    }
    let back = engine.job(&JOB).options(&by_place("words")).run(bench.input());
    let says = ["is incremental", "as incremental again", "name another job", "remove this state"];
    let error = error_saying(&engine, back, &says);
    assert!(matches!(error, Error::State(StateError::OtherTiles { .. })));

    let cancel = Cancel::new();
    cancel.cancel();
    let options = Options { cancel, ..by_place("unfinished") };
    engine.job(&JOB).options(&options).run(bench.input()).unwrap_err();
    let refused = engine.job(&JOB).options(&bench.state("unfinished")).run(bench.input());
    error_saying(&engine, refused, &["not incremental and has not ended", "go on to its end"]);
    engine.job(&JOB).options(&by_place("unfinished")).run(bench.input()).unwrap();
    let other = engine.job(&Counts).options(&bench.state("unfinished")).run(bench.input());
    error_saying(&engine, other, &["another job"]);
}

/// The power goes at each call of the run that begins anew: the next run finds the old state or the new one, never a
/// mixture that it refuses.
#[test]
fn the_power_may_go_while_an_incremental_run_takes_the_place() {
    let bench = Bench::new(&[words(1, 400)]);
    let engine = engine(2);
    let plain = text_of(&engine.job(&JOB).run(bench.input()).unwrap(), count_line);
    let calls = [
        Call::Create,
        Call::Open,
        Call::Rename,
        Call::Remove,
        Call::List,
        Call::SyncFolder,
        Call::WriteAt,
        Call::SyncFile,
    ];
    for call in calls {
        let mut lost = 0;
        loop {
            let folder = tempfile::tempdir().unwrap();
            let disk: Arc<dyn Storage> = Arc::new(Disk::new(folder.path()));
            let by_place = State::on(Arc::clone(&disk)).save_every(SaveEvery::Tiles(1));
            let by_place = Options { state: Some(by_place), ..Options::default() };
            engine.job(&JOB).options(&by_place).run(bench.input()).unwrap();
            let run = |storage: Arc<dyn Storage>| {
                let options = options(State::on(storage), Incremental::default());
                engine.job(&JOB).options(&options).run(bench.input())
            };
            let faulty = Faulty::new(Arc::clone(&disk), lost);
            let faulty = faulty.fail_once(call, lost + 1, Fault::PowerLoss);
            let ended = run(Arc::new(faulty.clone()));
            let is_whole = faulty.calls(call) <= lost;
            if !is_whole {
                faulty.lose_power();
            }
            let output = run(disk).unwrap_or_else(|error| panic!("{call:?} {lost}: {error}"));
            for output in ended.into_iter().chain([output]) {
                assert!(text_of(&output, count_line) == plain, "{call:?} {lost}");
            }
            if is_whole {
                break;
            }
            lost += 1;
        }
        assert!(lost > 0, "{call:?}: never called");
    }
}
