//! A sort with a state: stopped at any call of the disk, by other workers, in other memory, with stolen tiles, the run
//! that ends gives the bytes of an undisturbed one, and reads only the splits that were not saved.

use crate::packing::PACKINGS;
use crate::sorted_records_are_those_of_a_stable_sort::limited;
use crate::support::{cases, engine, engines, folder_of};
use proptest::prelude::*;
use std::path::Path;
use std::sync::Arc;
use tegula::output::AtomicFile;
use tegula::state::{jobs_of, remove, report, verify};
use tegula::{
    Cancel, Disk, Engine, Error, Incremental, Input, Keep, Options, Pipeline, Records, Result,
    SaveEvery, Sort, SortTo, State, StateError, Stats, Storage, StorageError,
};
use tegula_testing::{Call, Fault, Faulty};
use tempfile::TempDir;

/// Lines whose keys repeat, so that their order shows that of the input.
fn lines(count: u32) -> Vec<u8> {
    let line = |i: u32| format!("{:05} {i}\n", i.wrapping_mul(2_654_435_761) >> 20).into_bytes();
    (0..count).flat_map(line).collect()
}

fn by_key() -> Sort {
    Sort { key: Some(0..5), ..Sort::lines() }
}

/// Saves after each tile of 256 KiB.
fn saving(state: State) -> Options {
    let state = Some(state.save_every(SaveEvery::Tiles(1)));
    Options { state, tile_bytes: Some(256 << 10), ..Options::default() }
}

fn run(engine: &Engine, sort: &Sort, input: Input, options: &Options) -> Result<(Vec<u8>, Stats)> {
    let mut out = Vec::new();
    let to = SortTo::Writer(&mut out, Path::new("a vector"));
    let stats = engine.sort(sort, input, to, options)?;
    Ok((out, stats))
}

fn plain(files: &TempDir) -> Vec<u8> {
    let input = Input::paths([files.path()]).unwrap();
    run(&engine(2), &by_key(), input, &Options::default()).unwrap().0
}

/// Runs until one run is not stopped by its fault, with other engines in turn. Returns the answer, and the bytes that
/// each run restored which ended well.
fn run_through(
    files: &TempDir,
    engines: &[&Engine],
    mut fault: impl FnMut(u32, Faulty) -> Faulty,
) -> (Vec<u8>, u32, u64) {
    let folder = tempfile::tempdir().unwrap();
    let disk: Arc<dyn Storage> = Arc::new(Disk::new(folder.path()));
    for number in 0.. {
        let faulty = fault(number, Faulty::new(Arc::clone(&disk), number.into()));
        let options = saving(State::on(Arc::new(faulty.clone())));
        let input = Input::paths([files.path()]).unwrap();
        match run(engines[number as usize % engines.len()], &by_key(), input, &options) {
            Ok((answer, stats)) => return (answer, number + 1, stats.restored_bytes),
            Err(Error::Storage(_)) => faulty.lose_power(),
            Err(error) => panic!("{error:?}"),
        }
    }
    unreachable!("some run ends")
}

const CALLS: [Call; 8] = [
    Call::Create,
    Call::Open,
    Call::Rename,
    Call::Remove,
    Call::SyncFolder,
    Call::ReadAt,
    Call::WriteAt,
    Call::SyncFile,
];

proptest! {
    #![proptest_config(cases(16))]

    #[test]
    fn faults_of_the_disk_change_nothing(
        which in prop::collection::vec((0..CALLS.len(), 1u64..200, 0usize..3), 1..5),
        packing in prop::option::of(0..PACKINGS.len()),
    ) {
        let text = lines(100_000);
        let texts = [&text[..], b"", b"00000 first\n", &text[..700_000]];
        let expected = plain(&folder_of(&texts));
        let files = match packing {
            Some(packing) => folder_of(&texts.map(|text| PACKINGS[packing].pack(text))),
            None => folder_of(&texts),
        };
        let faults = [Fault::Io, Fault::Torn, Fault::PowerLoss];
        let engines: Vec<&Engine> = engines().iter().collect();
        let (answer, ..) = run_through(&files, &engines, |number, faulty| {
            match which.get(number as usize) {
                Some(&(call, nth, fault)) => faulty.fail_once(CALLS[call], nth, faults[fault]),
                None => faulty,
            }
        });
        prop_assert!(answer == expected);
    }
}

/// Stopped at the second manifest that each run writes, as long as there is one.
#[test]
fn each_run_goes_on_from_the_last() {
    let text = lines(200_000);
    let files = folder_of(&[&text[..]]);
    let expected = plain(&files);
    let all: Vec<&Engine> = engines().iter().collect();
    let (answer, runs, restored) = run_through(&files, &all, |number, faulty| match number {
        0..4 => faulty.fail_once(Call::Rename, if number == 0 { 5 } else { 2 }, Fault::PowerLoss),
        _ => faulty,
    });
    assert!(answer == expected && (2..=5).contains(&runs), "{runs} runs");
    assert!(restored > 256 << 10 && restored <= text.len() as u64, "{restored}");
}

/// Piles that go to the state because memory is short, then to other workers with more or less of it.
#[test]
fn in_little_memory_and_in_other_memory() {
    let text = lines(700_000);
    let files = folder_of(&[&text[..]]);
    let expected = plain(&files);
    let disk: Arc<dyn Storage> = Arc::new(Disk::new(std::env::temp_dir()));
    let (small, smaller) = (limited(2, 12 << 20, &disk), limited(1, 6 << 20, &disk));
    let large = engine(3);
    for order in
        [[&small, &large, &smaller], [&large, &smaller, &small], [&smaller, &small, &large]]
    {
        let (answer, runs, restored) = run_through(&files, &order, |number, faulty| match number {
            0 | 1 => faulty.fail_once(Call::Rename, if number == 0 { 5 } else { 2 }, Fault::Io),
            _ => faulty,
        });
        assert!(answer == expected && runs == 3 && restored > 0, "{runs} runs, {restored}");
    }
}

proptest! {
    #![proptest_config(cases(16))]

    /// Saves that end in another order than they began, of which a state has any: of one that is lost, the records that
    /// were read together with those of the next.
    #[test]
    fn any_saves_may_be_lost(
        order in prop::collection::vec(0..3usize, 4),
        lost in prop::collection::vec(1u64..12, 3),
    ) {
        let text = lines(700_000);
        let files = folder_of(&[&text[..]]);
        let expected = plain(&files);
        let disk: Arc<dyn Storage> = Arc::new(Disk::new(std::env::temp_dir()));
        let engines =
            [limited(2, 12 << 20, &disk), limited(1, 6 << 20, &disk), limited(3, 24 << 20, &disk)];
        let order: Vec<_> = order.iter().map(|&engine| &engines[engine]).collect();
        let (answer, ..) = run_through(&files, &order, |number, faulty| {
            match lost.get(number as usize) {
                Some(&nth) => faulty.fail_once(Call::Rename, nth, Fault::Io),
                None => faulty,
            }
        });
        prop_assert!(answer == expected);
    }
}

/// Compressed files, one of them of several members, are cut alike by any number of workers in any memory, so that only
/// what was not saved is put into ranges; equal keys keep the order of the input.
#[test]
fn compressed_files_are_gone_on_with() {
    let text = lines(120_000);
    let texts = [&text[..text.len() - 1], b"", b"00000 first", &text[..900_000]];
    let expected = plain(&folder_of(&texts));
    let expected_of_pieces = plain(&folder_of(&[&text[..], texts[3]]));
    let disk: Arc<dyn Storage> = Arc::new(Disk::new(std::env::temp_dir()));
    let (small, three) = (limited(2, 12 << 20, &disk), engine(3));
    for packing in PACKINGS {
        let packed = texts.map(|text| packing.pack(text));
        let pieces = packing.pack_in_pieces(&text, 300_000);
        for order in [[&small, &three, &engine(1)], [&engine(1), &three, &small]] {
            for (packed, expected) in [
                (&packed[..], &expected),
                (&[pieces.clone(), packed[3].clone()], &expected_of_pieces),
            ] {
                let files = folder_of(packed);
                let (answer, runs, restored) =
                    run_through(&files, &order, |number, faulty| match number {
                        0 | 1 => faulty.fail_once(
                            Call::Rename,
                            if number == 0 { 5 } else { 2 },
                            Fault::PowerLoss,
                        ),
                        _ => faulty,
                    });
                assert!(answer == *expected && (2..=3).contains(&runs), "{packing:?}: {runs} runs");
                assert!(restored >= 256 << 10, "{packing:?}: {restored}");
            }
        }
    }
}

/// Of compressed files that a state has, nothing is put into ranges again.
#[test]
fn compressed_files_that_were_saved_are_only_read() {
    let text = lines(100_000);
    for packing in PACKINGS {
        let files = folder_of(&[packing.pack(&text), packing.pack_in_pieces(&text, 500_000)]);
        let expected = plain(&folder_of(&[&text, &text]));
        let folder = tempfile::tempdir().unwrap();
        let mut found = 0;
        for workers in [2, 1, 3] {
            let state = State::new(folder.path(), "sort").keep(Keep::Partials);
            let input = Input::paths([files.path()]).unwrap();
            let (answer, stats) = run(&engine(workers), &by_key(), input, &saving(state)).unwrap();
            assert!(answer == expected, "{packing:?}, {workers} workers");
            assert_eq!((stats.restored_bytes, stats.pairs), (found, 200_000));
            found = 2 * text.len() as u64;
        }
    }
}

/// A full disk has the room of an unfinished piece back.
#[test]
fn a_piece_that_cannot_be_written_is_removed() {
    let files = folder_of(&[&lines(200_000)[..]]);
    let folder = tempfile::tempdir().unwrap();
    let disk: Arc<dyn Storage> = Arc::new(Disk::new(folder.path()));
    // The first calls write the manifest, the input and the ranges.
    let faulty = Faulty::new(disk, 1).fail_from(Call::WriteAt, 12, Fault::Full);
    let options = saving(State::on(Arc::new(faulty)));
    let input = Input::paths([files.path()]).unwrap();
    let stopped = run(&engine(1), &by_key(), input, &options);
    assert!(matches!(stopped, Err(Error::Storage(StorageError::Full { .. }))), "{stopped:?}");
    let left = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name());
    let left: Vec<_> = left.filter(|name| name.to_string_lossy().starts_with("snap")).collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn a_state_holds_what_it_is_told_to_keep() {
    let text = lines(100_000);
    let files = folder_of(&[&text[..]]);
    let expected = plain(&files);
    let folder = tempfile::tempdir().unwrap();
    let disk = Disk::new(folder.path());
    let input = || Input::paths([files.path()]).unwrap();
    let state = |keep| saving(State::new(folder.path(), "sort").keep(keep));
    let mut last = 0;
    for (keep, keeps) in [(Keep::Nothing, true), (Keep::Partials, true), (Keep::Result, false)] {
        let (answer, stats) = run(&engine(2), &by_key(), input(), &state(keep)).unwrap();
        assert!(answer == expected && stats.restored_bytes >= last, "{keep:?}");
        assert_eq!(stats.pairs, 100_000);
        last = stats.restored_bytes;
        let found = report(&disk, "sort").unwrap().unwrap();
        assert_eq!((found.snapshots.is_empty(), found.done), (!keeps, keep != Keep::Nothing));
        assert!((verify(&disk, "sort").unwrap() > 0) == keeps);
    }
    assert_eq!(last, text.len() as u64, "all was kept");
    // Nothing is left to go on from.
    let (answer, stats) = run(&engine(1), &by_key(), input(), &state(Keep::Result)).unwrap();
    assert!(answer == expected && stats.restored_bytes == 0);
    remove(&disk, "sort").unwrap();
    assert!(jobs_of(&disk).unwrap().is_empty());
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

/// A file that cannot get its name is no answer: the next run has the records that were saved.
#[test]
fn records_stay_until_the_answer_has_its_name() {
    let files = folder_of(&[&lines(60_000)]);
    let (outputs, states) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let disk: Arc<dyn Storage> = Arc::new(Disk::new(states.path()));
    let options = saving(State::on(disk));
    let input = || Input::paths([files.path()]).unwrap();
    let taken = outputs.path().join("taken");
    let file = AtomicFile::create(&taken).unwrap();
    std::fs::create_dir(&taken).unwrap();
    let refused = engine(2).sort(&by_key(), input(), SortTo::File(file), &options);
    assert!(matches!(refused, Err(Error::Output(_))), "{refused:?}");
    let (found, stats) = run(&engine(2), &by_key(), input(), &options).unwrap();
    assert!(found == plain(&files));
    assert!(stats.restored_bytes > 0);
}

#[test]
fn a_cancelled_sort_is_resumed() {
    let text = lines(400_000);
    let files = folder_of(&[&text[..]]);
    let folder = tempfile::tempdir().unwrap();
    let options = || saving(State::new(folder.path(), "sort").keep(Keep::Nothing));
    let input = || Input::paths([files.path()]).unwrap();
    let cancel = Cancel::new();
    let stopper = cancel.clone();
    // The writer is what the second pass calls.
    struct Stop(Cancel);
    impl std::io::Write for Stop {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.cancel();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut stop = Stop(stopper);
    let to = SortTo::Writer(&mut stop, Path::new("a writer"));
    let stopped = engine(2).sort(&by_key(), input(), to, &Options { cancel, ..options() });
    assert!(matches!(stopped, Err(Error::Cancelled)), "{stopped:?}");
    let (answer, stats) = run(&engine(2), &by_key(), input(), &options()).unwrap();
    assert!(answer == plain(&files) && stats.restored_bytes > 0);
}

#[test]
fn what_cannot_be_gone_on_with_is_refused() {
    let files = folder_of(&[&lines(50_000)[..]]);
    let input = || Input::paths([files.path()]).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let state = || State::new(folder.path(), "sort").keep(Keep::Partials);
    run(&engine(1), &by_key(), input(), &saving(state())).unwrap();
    let refusal = |sort: Sort, input: Input, options: Options| {
        run(&engine(1), &sort, input, &options).unwrap_err()
    };
    for sort in
        [Sort::lines(), Sort { reverse: true, ..by_key() }, Sort { unique: true, ..by_key() }]
    {
        let error = refusal(sort, input(), saving(state()));
        assert!(matches!(error, Error::State(StateError::OtherJob { .. })), "{error}");
    }
    let error = refusal(by_key(), Input::bytes("a\n"), saving(state()));
    assert!(matches!(error, Error::State(StateError::OtherInput { .. })), "{error}");
    let error = refusal(by_key(), input(), saving(state().incremental(Incremental::default())));
    assert!(matches!(error, Error::Option { option: "incremental", .. }), "{error}");
    let fixed = Sort { records: Records::Fixed(1), ..by_key() };
    assert!(matches!(
        refusal(fixed, input(), saving(state())),
        Error::Option { option: "key", .. }
    ));
    // Each byte of a snapshot, and of the ranges, is checked.
    let job = folder.path().join("sort");
    for name in ["snapshot-00000000", "job", "manifest"] {
        let path = job.join(name);
        let whole = std::fs::read(&path).unwrap();
        for at in [0, whole.len() / 3, whole.len() - 1] {
            let mut damaged = whole.clone();
            damaged[at] ^= 4;
            std::fs::write(&path, damaged).unwrap();
            let error = refusal(by_key(), input(), saving(state()));
            assert!(error.to_string().contains("damaged"), "{name} at {at}: {error}");
        }
        std::fs::write(&path, &whole[..whole.len() - 1]).unwrap();
        let error = refusal(by_key(), input(), saving(state()));
        assert!(error.to_string().contains("damaged"), "{name}: {error}");
        std::fs::write(&path, whole).unwrap();
    }
    run(&engine(1), &by_key(), input(), &saving(state())).unwrap();
}

/// Groups have queues of their own and steal tiles; with `Pipeline::Off` workers wait at the end of each tile.
#[test]
fn groups_share_the_tiles() {
    let text = lines(300_000);
    let files = folder_of(&[&text[..]]);
    let expected = plain(&files);
    for engine in engines() {
        for pipeline in [Pipeline::On, Pipeline::Off] {
            let options = Options { pipeline, tile_bytes: Some(128 << 10), ..Options::default() };
            let input = Input::paths([files.path()]).unwrap();
            let (answer, stats) = run(engine, &by_key(), input, &options).unwrap();
            assert!(answer == expected);
            assert_eq!(stats.groups.len(), engine.placement().groups());
            let tiles: u64 = stats.groups.iter().map(|group| group.tiles).sum();
            assert_eq!(
                (tiles, stats.tiles),
                (stats.tiles, (text.len() as u64).div_ceil(128 << 10))
            );
            assert_eq!(stats.map_idle.len(), engine.workers());
        }
    }
}
