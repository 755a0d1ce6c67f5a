//! A run with a state that ended in any way, by a fault of the disk, a loss of power or an error, resumes:
//! the same bytes come out, and saved splits are not mapped again. A state of another job or input, or a
//! damaged one, is refused by name.

use crate::jobs::{Mapping, Words, good_lines, mapping, offsets};
use crate::packing::PACKINGS;
use crate::support::{
    LITTLE, cases, count_line, engine, engines, error_saying, file_in, folder_of, limited,
    pipe_written_by, text_of, wait_until,
};
use proptest::prelude::*;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tegula::storage::{Disk, Storage};
use tegula::{
    Cut, Engine, Error, Input, Keep, Options, Place, Progress, Result, SaveEvery, State,
    StateError, StorageError, WordClass,
};
use tegula_testing::{Call, Fault, Faulty};
use tempfile::TempDir;

const JOB: Words = Words(WordClass::Whitespace);
const TILE_BYTES: u64 = 4000;
/// The rename of the second save, or of the result if there was but one: earlier renames are those of the
/// list of files, of the empty manifest, and of the first save.
const SECOND_SAVE: u64 = 4;

/// More runs than a run has calls of one kind, so that after them no planned fault stops a run.
const RUNS_MOST: u32 = 1000;

/// Words that repeat and words that do not, of all lengths.
fn words(count: u32) -> String {
    (0..count)
        .map(|i| format!("{} w{i:05} {i:0width$}\n", i % 97, width = 1 + i as usize % 50))
        .collect()
}

/// Options that save at every turn.
fn saving(state: State) -> Options {
    let state = Some(state.save_every(SaveEvery::Tiles(1)));
    let (tile_bytes, split_bytes) = (Some(TILE_BYTES), Some(500));
    Options { state, tile_bytes, split_bytes, ..Options::default() }
}

fn run(engine: &Engine, input: Input, state: State) -> Result<(Vec<u8>, u64, u64)> {
    let output = engine.job(&JOB).options(&saving(state)).run(input)?;
    let stats = output.stats();
    assert!(stats.restored_bytes <= stats.bytes);
    Ok((text_of(&output, count_line), stats.restored_bytes, stats.bytes))
}

fn plain(input: Input) -> Vec<u8> {
    text_of(&engine(2).job(&JOB).run(input).unwrap(), count_line)
}

/// Returns the number of snapshots and the names of other files in a state's folder.
fn left(folder: &Path) -> (usize, Vec<String>) {
    let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
    let names = names.map(|name| name.into_string().unwrap());
    let (snapshots, mut others): (Vec<_>, Vec<_>) =
        names.partition(|name| name.starts_with("snapshot-"));
    others.sort();
    (snapshots.len(), others)
}

/// A state that keeps nothing has what its saves wrote: the next run maps the rest, if there is any.
#[test]
fn a_run_that_keeps_nothing_is_resumed_from_its_last_save() {
    let text = words(3000);
    let expected = plain(Input::bytes(text.clone()));
    for engine in engines() {
        let folder = tempfile::tempdir().unwrap();
        let mut last = 0;
        for run_number in 0..3 {
            let state = State::new(folder.path(), "words").keep(Keep::Nothing);
            let (answer, restored, bytes) = run(engine, Input::bytes(text.clone()), state).unwrap();
            assert!(answer == expected && bytes == text.len() as u64);
            assert!(restored >= last && (restored > 0) == (run_number > 0));
            assert!(left(&folder.path().join("words")).0 > 0);
            last = restored;
        }
    }
}

const HALF_A_SECOND: Duration = Duration::from_millis(500);

/// Where saves are a matter of time, the first half second of such a run is not saved.
#[test]
fn a_run_that_keeps_nothing_begins_to_save_late() {
    let text = words(3000);
    let expected = plain(Input::bytes(text.clone()));
    let engine = engine(2);
    let mapped = Mutex::new(Vec::new());
    let run = |folder: &Path, pause: Duration, fails: bool| {
        let (text, mapped, state) = (&text, &mapped, folder.join("words"));
        let map = mapping(move |split, emit| {
            mapped.lock().unwrap().push((split.offset(), Instant::now()));
            std::thread::sleep(pause);
            if fails && split.offset() + 2000 > text.len() as u64 {
                // The disk may be slow.
                wait_until(|| left(&state).0 > 0);
                let place = Place { source: split.path(), line: None, offset: None };
                return Err(Error::Record { place, cause: "no more".into() });
            }
            split.fields().for_each(|word| emit(word, 1));
            Ok(())
        });
        let state = Some(State::new(folder, "words").keep(Keep::Nothing));
        let (tile_bytes, split_bytes) = (Some(TILE_BYTES), Some(500));
        let options = Options { state, tile_bytes, split_bytes, ..Options::default() };
        engine.job(&map.named("slow")).options(&options).run(Input::bytes(text.clone()))
    };
    // On a busy machine it may take longer than half a second.
    let mut tries = 0;
    loop {
        let short = tempfile::tempdir().unwrap();
        let (began, mut saved) = (Instant::now(), 0);
        for _ in 0..2 {
            let output = run(short.path(), Duration::ZERO, false).unwrap();
            assert_eq!(text_of(&output, count_line), expected);
            saved += output.stats().restored_bytes + left(&short.path().join("words")).0 as u64;
        }
        if began.elapsed() < HALF_A_SECOND {
            assert_eq!(saved, 0);
            break;
        }
        tries += 1;
        assert!(tries < 100, "a small run takes half a second");
    }
    // Two workers map all in about 1.6 seconds.
    mapped.lock().unwrap().clear();
    let splits = text.len() as u32 / 500;
    let long = tempfile::tempdir().unwrap();
    let began = Instant::now();
    let failed = run(long.path(), Duration::from_millis(3200) / splits, true);
    assert!(matches!(failed, Err(Error::Record { .. })));
    let first = std::mem::take(&mut *mapped.lock().unwrap());
    let output = run(long.path(), Duration::ZERO, false).unwrap();
    let again: Vec<u64> = mapped.lock().unwrap().iter().map(|one| one.0).collect();
    assert_eq!(text_of(&output, count_line), expected);
    assert!(output.stats().restored_bytes > 0);
    let early = |one: &&(u64, Instant)| one.1 < began + HALF_A_SECOND;
    assert!(first.iter().filter(early).all(|(offset, _)| again.contains(offset)));
}

#[test]
fn a_run_that_is_done_is_only_read_by_the_next() {
    let text = words(3000);
    let expected = plain(Input::bytes(text.clone()));
    for keep in [Keep::Result, Keep::Partials] {
        for engine in engines() {
            let folder = tempfile::tempdir().unwrap();
            let state = || State::new(folder.path(), "words").keep(keep);
            let (first, restored, bytes) =
                run(engine, Input::bytes(text.clone()), state()).unwrap();
            assert!(first == expected && restored == 0 && bytes == text.len() as u64);
            let (snapshots, others) = left(&folder.path().join("words"));
            assert_eq!(others, ["input", "lock", "manifest"]);
            assert!(if keep == Keep::Partials {
                snapshots > 1
            } else {
                snapshots <= engine.workers()
            });
            for again in engines() {
                let (second, restored, bytes) =
                    run(again, Input::bytes(text.clone()), state()).unwrap();
                assert!(second == expected && restored == bytes, "{restored} of {bytes}");
            }
        }
    }
}

/// The calls of a state on its storage.
const CALLS: [Call; 10] = [
    Call::Create,
    Call::Open,
    Call::Rename,
    Call::Remove,
    Call::List,
    Call::SyncFolder,
    Call::ReadAt,
    Call::WriteAt,
    Call::Bytes,
    Call::SyncFile,
];

/// Runs until one run is not stopped by its faults any more; each run has other workers, and its own
/// faults. Returns the answer, and how many runs it took.
fn run_through(
    folder: &TempDir,
    files: &TempDir,
    mut fault: impl FnMut(u32, Faulty) -> Option<Faulty>,
) -> (Vec<u8>, u32) {
    let disk: Arc<dyn Storage> = Arc::new(Disk::new(folder.path()));
    for number in 0..RUNS_MOST {
        let faulty = Faulty::new(Arc::clone(&disk), u64::from(number));
        let Some(faulty) = fault(number, faulty) else { unreachable!("faults go on for ever") };
        let engine = &engines()[number as usize % engines().len()];
        let state = State::on(Arc::new(faulty.clone()));
        let input = Input::paths([files.path()]).unwrap();
        match run(engine, input, state) {
            Ok((answer, ..)) => return (answer, number + 1),
            Err(Error::Storage(_)) => faulty.lose_power(),
            Err(error) => panic!("{error:?}"),
        }
    }
    panic!("{RUNS_MOST} runs ended before they were done")
}

proptest! {
    #![proptest_config(cases(30))]

    #[test]
    fn faults_of_the_disk_change_nothing(
        seed: u64,
        which in prop::collection::vec((0..CALLS.len(), 1u64..40, 0usize..4), 1..6),
    ) {
        let text = words(1200);
        let files = folder_of(&[text.as_bytes(), b"", &text.as_bytes()[..777]]);
        let expected = plain(Input::paths([files.path()]).unwrap());
        let folder = tempfile::tempdir().unwrap();
        let faults = [Fault::Io, Fault::Full, Fault::Torn, Fault::PowerLoss];
        let (answer, _) = run_through(&folder, &files, |number, faulty| {
            let faulty = if seed % 2 == 0 { faulty.short(5) } else { faulty };
            Some(match which.get(number as usize) {
                Some(&(call, nth, fault)) => faulty.fail_once(CALLS[call], nth, faults[fault]),
                None => faulty,
            })
        });
        prop_assert!(answer == expected);
        let (_, others) = left(folder.path());
        prop_assert_eq!(others, ["input", "lock", "manifest"]);
    }
}

/// The first call of a kind fails, then the second, and so on until the run is done before that.
#[test]
fn each_call_may_lose_the_power() {
    let text = words(600);
    let files = folder_of(&[text.as_bytes()]);
    let expected = plain(Input::paths([files.path()]).unwrap());
    for call in CALLS {
        let folder = tempfile::tempdir().unwrap();
        // Later runs have less to do, so their calls are fewer.
        let (answer, runs) = run_through(&folder, &files, |number, faulty| {
            // The first leaves something to read.
            let (call, nth) =
                if number == 0 { (Call::Rename, SECOND_SAVE) } else { (call, number.into()) };
            Some(faulty.fail_once(call, nth, Fault::PowerLoss))
        });
        assert!(answer == expected, "{call:?}");
        assert!(runs > 2, "{call:?}: {runs}");
    }
}

/// Whatever a run was writing when its disk became full would take room there that others need.
#[test]
fn a_run_that_fails_leaves_no_file_unfinished() {
    let text = words(600);
    let files = folder_of(&[text.as_bytes()]);
    let changes = [Call::Create, Call::WriteAt, Call::SyncFile, Call::Rename, Call::SyncFolder];
    let mut failed = 0;
    for (call, nth) in changes.iter().flat_map(|&call| (1..8).map(move |nth| (call, nth))) {
        let folder = tempfile::tempdir().unwrap();
        let disk: Arc<dyn Storage> = Arc::new(Disk::new(folder.path()));
        let faulty = Faulty::new(Arc::clone(&disk), nth).fail_once(call, nth, Fault::Full);
        let input = Input::paths([files.path()]).unwrap();
        failed += u32::from(run(&engine(2), input, State::on(Arc::new(faulty))).is_err());
        let known = tegula::state::files_of(&*disk).unwrap();
        let found = disk.list().unwrap();
        assert!(found.iter().all(|name| known.contains(name)), "{call:?} {nth}: {found:?}");
    }
    assert!(failed > 15, "{failed}");
}

/// A save that was still to be named when such a run ended is of no use to anybody.
#[test]
fn a_run_that_keeps_nothing_leaves_no_file_unnamed() {
    let text = words(6000);
    let files = folder_of(&[text.as_bytes()]);
    for _ in 0..30 {
        let folder = tempfile::tempdir().unwrap();
        let disk: Arc<dyn Storage> = Arc::new(Disk::new(folder.path()));
        let input = Input::paths([files.path()]).unwrap();
        let state = State::on(Arc::clone(&disk)).save_every(SaveEvery::Tiles(1));
        run(&engine(2), input, state.keep(Keep::Nothing)).unwrap();
        let known = tegula::state::files_of(&*disk).unwrap();
        let found = disk.list().unwrap();
        assert!(found.iter().all(|name| known.contains(name)), "{found:?}");
    }
}

/// A run that stops at a fault has saved its pairs; the next one does not map their splits again.
#[test]
fn what_was_saved_is_not_mapped_again() {
    /// Counts the bytes that it maps; its map fails after `most`.
    fn stopping(mapped: &AtomicU64, most: u64) -> Mapping<'_> {
        let job = mapping(move |split, emit| {
            let bytes = split.bytes();
            // The saver needs time, too.
            std::thread::sleep(Duration::from_micros(500));
            if mapped.fetch_add(bytes.len() as u64, Ordering::Relaxed) > most {
                split.bad(&bytes[..1], "enough")?;
            }
            split.fields().for_each(|word| emit(word, 1));
            Ok(())
        });
        job.cut_at(Cut::Lines).named("stopping")
    }
    let text = words(10_000);
    let bytes = text.len() as u64;
    let expected = plain(Input::bytes(text.clone()));
    for engine in engines() {
        let folder = tempfile::tempdir().unwrap();
        let state = || State::new(folder.path(), "stopping");
        let mapped = AtomicU64::new(0);
        let input = || Input::bytes(text.clone());
        let stopped =
            engine.job(&stopping(&mapped, bytes * 3 / 4)).options(&saving(state())).run(input());
        error_saying(engine, stopped, &["enough"]);
        let mapped = AtomicU64::new(0);
        let output = engine
            .job(&stopping(&mapped, u64::MAX))
            .options(&saving(state()))
            .run(input())
            .unwrap();
        assert!(text_of(&output, count_line) == expected);
        let (mapped, restored) = (mapped.load(Ordering::Relaxed), output.stats().restored_bytes);
        assert!(restored >= TILE_BYTES, "{restored} of {bytes}");
        // Splits end where records do, so the mapped bytes may differ by a record for each stretch.
        assert!(mapped < bytes - restored + bytes / 10, "{mapped} mapped, {restored} restored");
        assert_eq!(output.stats().bytes, bytes);
    }
}

#[test]
fn a_state_of_something_else_is_refused() {
    let files = folder_of(&[b"a b c\n"; 3]);
    let folder = tempfile::tempdir().unwrap();
    let state = || State::new(folder.path(), "words");
    let input = || Input::paths([files.path()]).unwrap();
    let engine = engine(2);
    run(&engine, input(), state()).unwrap();
    let alpha = engine.job(&Words(WordClass::Alpha)).options(&saving(state())).run(input());
    let says =
        ["class was \"Whitespace\" and is \"Alpha\"", "name another job", "remove this state"];
    let error = error_saying(&engine, alpha, &says);
    assert!(matches!(error, Error::State(StateError::OtherJob { .. })));
    let tiles = Options { tile_bytes: Some(999), ..saving(state()) };
    let says = ["tile bytes was \"4000\" and is \"999\""];
    error_saying(&engine, engine.job(&JOB).options(&tiles).run(input()), &says);

    let second = file_in(&files, 1);
    let refused = |says: &str| {
        let says = ["input has changed", says, "remove this state"];
        let error = error_saying(&engine, run(&engine, input(), state()), &says);
        assert!(matches!(error, Error::State(StateError::OtherInput { .. })));
    };
    fs::write(&second, "a b c d\n").unwrap();
    refused("001.txt had 6 bytes and has 8");
    fs::write(&second, "a b d\n").unwrap();
    refused("001.txt was changed since");
    fs::rename(&second, file_in(&files, 9)).unwrap();
    refused("002.txt is in the place of");
    fs::remove_file(file_in(&files, 2)).unwrap();
    refused("009.txt is in the place of");
    fs::remove_file(file_in(&files, 9)).unwrap();
    refused("files at its end are gone");

    let nameless = mapping(|_, _| Ok(()));
    let options = Options { state: Some(state()), ..Options::default() };
    let nameless = engine.job(&nameless).options(&options).run(input());
    error_saying(&engine, nameless, &["no identity", "Resumable"]);
    for id in ["", ".", "..", "a/b", "a b", &"x".repeat(201)] {
        let bad = run(&engine, input(), State::new(folder.path(), id));
        error_saying(&engine, bad, &["cannot be a job's name"]);
    }
    let (pipe, writer) = pipe_written_by(&files, |mut pipe| {
        let _ = pipe.write_all(b"a b");
    });
    let streamed = run(&engine, pipe, State::new(folder.path(), "pipe"));
    // Nobody has opened the pipe; so its writer waits until somebody does.
    let mut opened = fs::File::open(files.path().join("pipe")).unwrap();
    std::io::copy(&mut opened, &mut std::io::sink()).unwrap();
    writer.join().unwrap();
    error_saying(&engine, streamed, &["a second time", "without a state"]);
}

#[test]
fn a_state_serves_one_run_at_a_time() {
    let folder = tempfile::tempdir().unwrap();
    let disk = Disk::new(folder.path());
    let lock = disk.lock("lock").unwrap().unwrap();
    let engine = engine(1);
    let state = || State::on(Arc::new(Disk::new(folder.path())));
    let error = error_saying(&engine, run(&engine, Input::bytes("a"), state()), &["another run"]);
    assert!(matches!(error, Error::State(StateError::InUse { .. })));
    drop(lock);
    run(&engine, Input::bytes("a"), state()).unwrap();
}

/// Every bit of every file that was flipped, and every length, is found.
#[test]
fn damage_is_found() {
    let files = folder_of(&[b"to be or not to be, that is\n"]);
    let folder = tempfile::tempdir().unwrap();
    let engine = engine(1);
    let go = || {
        let state = State::new(folder.path(), "words");
        run(&engine, Input::paths([files.path()]).unwrap(), state)
    };
    go().unwrap();
    let path = folder.path().join("words");
    let (snapshots, _) = left(&path);
    assert_eq!(snapshots, 1);
    let mut names = fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path());
    let snapshot = names.find(|path| path.to_string_lossy().contains("snapshot-")).unwrap();
    for file in [snapshot, path.join("manifest")] {
        let whole = fs::read(&file).unwrap();
        let check = |damaged: &[u8], what: &str| {
            fs::write(&file, damaged).unwrap();
            match go() {
                Err(Error::Storage(StorageError::Damaged { path, .. })) => assert_eq!(path, file),
                Err(Error::Storage(StorageError::Short { .. })) => {}
                other => panic!("{what} of {}: {other:?}", file.display()),
            }
        };
        for bit in 0..whole.len() * 8 {
            let mut damaged = whole.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            check(&damaged, &format!("bit {bit}"));
        }
        for len in 0..whole.len() {
            check(&whole[..len], &format!("cut at {len}"));
        }
        check(&[&whole[..], b"x"].concat(), "a byte more");
        fs::write(&file, whole).unwrap();
    }
    go().unwrap();
}

#[test]
fn collected_values_keep_their_order() {
    let text = words(2000);
    let line = |key: &[u8], values: tegula::Values<'_, u64>, text: &mut Vec<u8>| {
        text.extend_from_slice(key);
        values.for_each(|value| text.extend_from_slice(format!(" {value}").as_bytes()));
        text.push(b'\n');
    };
    let input = || Input::bytes(text.clone());
    let expected = text_of(&engine(1).job(&offsets()).run(input()).unwrap(), line);
    for engine in engines() {
        let folder = tempfile::tempdir().unwrap();
        let disk: Arc<dyn Storage> = Arc::new(Disk::new(folder.path()));
        let faulty = Faulty::new(Arc::clone(&disk), 7);
        let faulty = faulty.fail_once(Call::Rename, SECOND_SAVE, Fault::Io);
        let stopped =
            engine.job(&offsets()).options(&saving(State::on(Arc::new(faulty)))).run(input());
        assert!(stopped.is_err());
        for again in engines() {
            let state = State::on(Arc::clone(&disk)).keep(Keep::Partials);
            let output = again.job(&offsets()).options(&saving(state)).run(input()).unwrap();
            assert!(text_of(&output, line) == expected);
        }
    }
    let files = tempfile::tempdir().unwrap();
    fs::write(files.path().join("a.gz"), PACKINGS[0].pack(text.as_bytes())).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let packed = Input::paths([files.path()]).unwrap();
    let state = saving(State::new(folder.path(), "places"));
    let engine = engine(2);
    let refused = engine.job(&offsets()).options(&state).run(packed);
    error_saying(&engine, refused, &["compressed files", "without a state"]);
}

#[test]
fn compressed_files_go_on_inside() {
    let text = words(6000);
    let files = tempfile::tempdir().unwrap();
    for (number, packing) in PACKINGS.into_iter().enumerate() {
        let path = files.path().join(format!("{number}.{}", packing.ending()));
        fs::write(path, packing.pack_in_pieces(text.as_bytes(), 10_000)).unwrap();
    }
    fs::write(files.path().join("plain.txt"), &text).unwrap();
    let input = || Input::paths([files.path()]).unwrap();
    let expected = plain(input());
    for engine in engines() {
        let folder = tempfile::tempdir().unwrap();
        let disk: Arc<dyn Storage> = Arc::new(Disk::new(folder.path()));
        let faulty = Faulty::new(Arc::clone(&disk), 7);
        let faulty = faulty.fail_once(Call::Rename, SECOND_SAVE, Fault::Io);
        let stopped = run(engine, input(), State::on(Arc::new(faulty)));
        assert!(stopped.is_err());
        let progress = Arc::new(Progress::default());
        let options = Options {
            progress: Some(Arc::clone(&progress)),
            ..saving(State::on(Arc::clone(&disk)))
        };
        let output = engines()[0].job(&JOB).options(&options).run(input()).unwrap();
        assert!(text_of(&output, count_line) == expected);
        assert_eq!(output.stats().bytes, text.len() as u64 * 7);
        assert!(output.stats().restored_bytes > 0);
        // Compressed files are read again.
        let reading = progress.read();
        assert_eq!(reading.bytes_done, reading.bytes_planned);
    }
}

#[test]
fn little_memory_is_enough_for_a_state() {
    let text: String = (0..150_000).map(|i| format!("{i} {i:020} {i:040}\n")).collect();
    let input = || Input::bytes(text.clone());
    let expected = plain(input());
    let folder = tempfile::tempdir().unwrap();
    let disk: Arc<dyn Storage> = Arc::new(Disk::new(folder.path()));
    let options = |storage| Options {
        state: Some(State::on(storage).save_every(SaveEvery::Tiles(1))),
        tile_bytes: Some(1 << 20),
        ..Options::default()
    };
    let faulty =
        Faulty::new(Arc::clone(&disk), 1).fail_once(Call::Rename, SECOND_SAVE, Fault::Full);
    let engine = limited(LITTLE);
    assert!(engine.job(&JOB).options(&options(Arc::new(faulty))).run(input()).is_err());
    for _ in 0..2 {
        let output =
            limited(LITTLE).job(&JOB).options(&options(Arc::clone(&disk))).run(input()).unwrap();
        let stats = output.stats();
        assert!(stats.spilled_bytes > 0 && stats.restored_bytes > 0);
        assert!(stats.memory_counted_peak <= LITTLE, "{}", stats.memory_counted_peak);
        assert!(text_of(&output, count_line) == expected);
    }
}

/// Bad records that were skipped before the run ended are reported by the resumed run.
#[test]
fn bad_records_are_counted_once() {
    let job = good_lines(|line| line.starts_with(b"7").then(|| "a seven".to_owned()));
    let job = job.named("good lines");
    let text = words(3000);
    let input = || Input::bytes(text.clone());
    let options = |state| Options { skip_bad: true, ..state };
    let plain = engine(1).job(&job).options(&options(Options::default())).run(input()).unwrap();
    for engine in engines() {
        let folder = tempfile::tempdir().unwrap();
        let disk: Arc<dyn Storage> = Arc::new(Disk::new(folder.path()));
        let faulty =
            Faulty::new(Arc::clone(&disk), 7).fail_once(Call::Rename, SECOND_SAVE, Fault::Io);
        let state = options(saving(State::on(Arc::new(faulty))));
        assert!(engine.job(&job).options(&state).run(input()).is_err());
        for _ in 0..2 {
            let state = options(saving(State::on(Arc::clone(&disk))));
            let output = engine.job(&job).options(&state).run(input()).unwrap();
            assert!(text_of(&output, count_line) == text_of(&plain, count_line));
            let (now, then) = (output.stats(), plain.stats());
            assert_eq!((now.bad_records, &now.bad_first), (then.bad_records, &then.bad_first));
            assert_eq!(now.pairs, then.pairs);
        }
    }
}
