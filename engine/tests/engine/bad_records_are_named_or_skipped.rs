//! A record that a map refuses fails the job, with its file, line and byte named; or, if the caller
//! says so, it is counted and passed over, and the earliest ones are shown: the same ones for any
//! number of workers and any size of splits.

use crate::jobs::{Mapping, good_lines, mapping};
use crate::packing::PACKINGS;
use crate::support::{
    cases, count_line, engines, error_saying, file_in, folder_of, grouped, pipe_written_by, text_of,
};
use proptest::prelude::*;
use std::fs;
use std::io::Write;
use std::sync::Arc;
use tegula::{
    BAD_RECORDS_SHOWN, BadRecord, Cut, Disk, Error, Incremental, Input, Options, Place, SaveEvery,
    Sees, State, Storage,
};
use tegula_testing::{Call, Fault, Faulty};
use tempfile::TempDir;

/// Lines that begin with `-` are bad.
fn job() -> Mapping<'static> {
    good_lines(|line| line.starts_with(b"-").then(|| format!("{} bytes of no good", line.len())))
}

fn skip(split_bytes: u64) -> Options {
    Options { skip_bad: true, split_bytes: Some(split_bytes), ..Options::default() }
}

/// Returns the bad records of texts in files, found one after the other.
fn bad_ones(folder: &TempDir, texts: &[String]) -> Vec<BadRecord> {
    let mut bad = Vec::new();
    for (number, text) in texts.iter().enumerate() {
        let (mut offset, source) = (0, file_in(folder, number));
        for (line, record) in (1..).zip(text.split_inclusive('\n')) {
            let cause = format!("{} bytes of no good", record.trim_end_matches('\n').len());
            if record.starts_with('-') {
                let place =
                    Place { source: source.clone(), line: Some(line), offset: Some(offset) };
                bad.push(BadRecord { place, cause });
            }
            offset += record.len() as u64;
        }
    }
    bad
}

fn texts() -> impl Strategy<Value = Vec<String>> {
    let line = prop_oneof![6 => "[ab]{0,9}\n", 1 => "-[ab]{0,30}\n"];
    let text = (prop::collection::vec(line, 0..60), any::<bool>()).prop_map(|(lines, ends)| {
        let text = lines.concat();
        if ends { text } else { text.trim_end_matches('\n').to_owned() }
    });
    prop::collection::vec(text, 1..4)
}

proptest! {
    #![proptest_config(cases(64))]

    #[test]
    fn in_any_shape(texts in texts(), split in 1_u64..200) {
        let folder = folder_of(&texts);
        let bad = bad_ones(&folder, &texts);
        let lines = texts.iter().flat_map(|text| text.lines());
        let good = lines.filter(|line| !line.starts_with('-')).count() as u64;
        for engine in engines() {
            let input = || Input::paths([folder.path()]).unwrap();
            let output = engine.job(&job()).options(&skip(split)).run(input()).unwrap();
            let stats = output.stats();
            prop_assert_eq!(stats.bad_records, bad.len() as u64);
            prop_assert_eq!(&stats.bad_first[..], &bad[..bad.len().min(BAD_RECORDS_SHOWN)]);
            let counted: u64 = output.iter().unwrap().map(|(_, count)| count).sum();
            prop_assert_eq!(counted, good);
            let strict = Options { skip_bad: false, ..skip(split) };
            match (engine.job(&job()).options(&strict).run(input()), bad.first()) {
                (Err(Error::Record { place, cause }), Some(first)) => {
                    prop_assert_eq!((&place, cause.to_string()), (&first.place, first.cause.clone()));
                }
                (Ok(output), None) => prop_assert_eq!(output.stats().bad_records, 0),
                (result, expected) => {
                    panic!("{:?} instead of {expected:?}", result.map(|output| output.len()));
                }
            }
        }
    }
}

#[test]
fn in_memory() {
    for engine in engines() {
        let input = || Input::bytes("good\n-bad\ngood\n");
        let says = ["memory, line 2, byte 5: 4 bytes of no good"];
        error_saying(engine, engine.job(&job()).run(input()), &says);
        let output = engine.job(&job()).options(&skip(3)).run(input()).unwrap();
        assert_eq!(output.stats().bad_first[0].place.to_string(), "memory, line 2, byte 5");
        assert_eq!(text_of(&output, count_line), b"good\t2\n");
    }
}

/// A stream cannot be read again, so its lines are counted on the way.
#[test]
fn in_a_stream_of_many_blocks() {
    let good = "a good line\n".repeat(100_000);
    let text = format!("{good}-bad\n{good}-worse\n");
    for engine in engines() {
        for skips in [true, false] {
            let (folder, text) = (tempfile::tempdir().unwrap(), text.clone());
            let (input, writer) = pipe_written_by(&folder, move |mut pipe| {
                // The reader may have gone at the first bad line.
                let _ = pipe.write_all(text.as_bytes());
            });
            let options = Options { skip_bad: skips, ..skip(1000) };
            let first = "line 100001, byte 1200000";
            match engine.job(&job()).options(&options).run(input) {
                Ok(output) => {
                    let places: Vec<String> =
                        output.stats().bad_first.iter().map(|bad| bad.place.to_string()).collect();
                    assert!(skips && places.len() == 2 && places[0].ends_with(first), "{places:?}");
                    assert!(places[1].ends_with("line 200002, byte 2400005"), "{places:?}");
                }
                Err(error) => assert!(!skips && error.to_string().contains(first), "{error}"),
            }
            writer.join().unwrap();
        }
    }
}

/// Tiles that are found again elsewhere have their bad records there.
#[test]
fn where_their_tiles_have_moved() {
    let line = |at: usize| if at % 150 == 149 { format!("-{at}\n") } else { format!("{at}\n") };
    let text = |from: usize| (from..from + 400).map(line).collect::<String>();
    let (folder, states) = (folder_of(&[text(0), text(1000)]), tempfile::tempdir().unwrap());
    let job = job().named("good lines").that_sees(Sees::Records);
    let engine = &engines()[1];
    let check = |inputs: &dyn Fn() -> Input| {
        let state = State::new(states.path(), "good").incremental(Incremental::default());
        let state = Some(state.save_every(SaveEvery::Tiles(1)));
        let options = Options { tile_bytes: Some(500), state, ..skip(200) };
        let output = engine.job(&job).options(&options).run(inputs()).unwrap();
        let plain = engine.job(&job).options(&skip(200)).run(inputs()).unwrap();
        assert_eq!(output.stats().bad_records, plain.stats().bad_records);
        assert_eq!(output.stats().bad_first, plain.stats().bad_first);
        output.stats().restored_bytes
    };
    let paths = || Input::paths([folder.path()]).unwrap();
    let [first, second] = [0, 1].map(|number| file_in(&folder, number).to_path_buf());
    assert_eq!(check(&paths), 0);
    // The first file after the second, in another part of the input; and the second alone.
    let turned = || {
        let mut input = Input::paths([&second]).unwrap();
        input.append(Input::bytes("1\n"));
        input.append(Input::paths([&first]).unwrap());
        input
    };
    assert!(check(&turned) > 1000);
    assert!(check(&|| Input::paths([&second]).unwrap()) > 1000);
    let mut more = fs::read_to_string(&second).unwrap();
    more.insert_str(0, "a new line\n");
    fs::write(&second, more).unwrap();
    assert!(check(&paths) > 1000);
    fs::remove_file(&first).unwrap();
    assert!(check(&paths) > 1000);
}

/// Lines of compressed files cannot be counted again: a machine that decompresses less together and resumes within that
/// has their numbers still.
#[test]
fn in_compressed_files_that_are_gone_on_with() {
    let of_l2 = |bytes| grouped(1, &format!("groups 1, cores 1, l2 {bytes}"));
    let is_bad = |at: usize| at * 64 > 520 << 10;
    let line = |at: usize| format!("{}{at:062}\n", if is_bad(at) { '-' } else { '+' });
    let text: String = (0..16_000).map(line).collect();
    let files = tempfile::tempdir().unwrap();
    fs::write(files.path().join("a.gz"), PACKINGS[0].pack(text.as_bytes())).unwrap();
    let (job, input) = (job().named("good lines"), || Input::paths([files.path()]).unwrap());
    let plain = of_l2("4M").job(&job).options(&skip(1000)).run(input()).unwrap();
    // Neither all nor a border of what the second machine decompresses together. How much is saved before a fault depends
    // on when the saves are written, so there are several chances.
    let between = 400 << 10..540 << 10;
    let mut restored = Vec::new();
    for renamed in (1..6).cycle().take(40) {
        let states = tempfile::tempdir().unwrap();
        let disk: Arc<dyn Storage> = Arc::new(Disk::new(states.path()));
        let faulty = Faulty::new(Arc::clone(&disk), 7).fail_once(Call::Rename, renamed, Fault::Io);
        let saving = |storage| {
            let state = Some(State::on(storage).save_every(SaveEvery::Tiles(1)));
            Options { split_bytes: None, tile_bytes: Some(256 << 10), state, ..skip(1) }
        };
        if of_l2("4M").job(&job).options(&saving(Arc::new(faulty))).run(input()).is_ok() {
            continue;
        }
        let output = of_l2("3M").job(&job).options(&saving(disk)).run(input()).unwrap();
        assert_eq!(output.stats().bad_first, plain.stats().bad_first);
        assert_eq!(output.stats().bad_records, plain.stats().bad_records);
        restored.push(output.stats().restored_bytes);
        if restored.iter().any(|bytes| between.contains(bytes)) {
            break;
        }
    }
    assert!(restored.iter().any(|&bytes| bytes > 0), "{restored:?}");
}

/// A file that is removed before its lines are counted is named without a line.
#[test]
fn in_a_file_that_is_gone() {
    let folder = folder_of(&["good\n-bad\n"]);
    let remover = mapping(|split, _| {
        fs::remove_file(file_in(&folder, 0)).unwrap();
        split.bad(&split.bytes()[5..], "gone")
    });
    let remover = remover.cut_at(Cut::Lines);
    let engine = &engines()[1];
    let input = Input::paths([folder.path()]).unwrap();
    error_saying(engine, engine.job(&remover).run(input), &["000.txt, byte 5: gone"]);
}
