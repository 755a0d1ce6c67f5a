//! What memory overflows into is compared with what was written: where a bit is another, the run fails and names the
//! storage, or has the answer of an undisturbed run.

use crate::jobs::{Places, Words};
use crate::packing::Packing;
use crate::sorted_records_are_those_of_a_stable_sort::{hard_texts, limited, sorted};
use crate::support::{LITTLE, count_line, folder_of, limited_builder};
use std::sync::{Arc, Mutex};
use tegula::storage::{Disk, Storage};
use tegula::{Engine, Error, Input, Options, Result, Sort, StorageError, WordClass};
use tegula_testing::{Call, Fault, Faulty};

/// The reads of a run that are disturbed.
const DISTURBED: u64 = 12;

/// Disturbs reads of a run, one at a time and then all.
fn disturb(
    name: &str,
    build: impl Fn(&Arc<dyn Storage>) -> Engine,
    run: impl Fn(&Engine) -> Result<Vec<u8>>,
) {
    let folder = tempfile::tempdir().unwrap();
    let disk: Arc<dyn Storage> = Arc::new(Disk::new(folder.path()));
    let undisturbed = Faulty::new(Arc::clone(&disk), 0);
    let expected = run(&build(&as_storage(&undisturbed))).unwrap();
    let reads = undisturbed.calls(Call::ReadAt);
    assert!(reads >= DISTURBED, "{name}: {reads} reads");
    let mut found = 0;
    let step = reads / DISTURBED;
    for nth in (1..=reads).step_by(step as usize) {
        let faulty =
            Faulty::new(Arc::clone(&disk), nth).fail_once(Call::ReadAt, nth, Fault::Flipped);
        match run(&build(&as_storage(&faulty))) {
            Ok(answer) => assert!(answer == expected, "{name}: read {nth} of {reads}"),
            Err(error) => {
                check_named(name, &error, folder.path().to_str().unwrap());
                found += 1;
            }
        }
    }
    assert!(found > DISTURBED / 2, "{name}: {found} found");
    let faulty = Faulty::new(disk, 1).fail_from(Call::ReadAt, 1, Fault::Flipped);
    let error = run(&build(&as_storage(&faulty))).unwrap_err();
    check_named(name, &error, folder.path().to_str().unwrap());
}

fn as_storage(faulty: &Faulty) -> Arc<dyn Storage> {
    Arc::new(faulty.clone())
}

fn check_named(name: &str, error: &Error, folder: &str) {
    assert!(matches!(error, Error::Storage(StorageError::Damaged { .. })), "{name}: {error:?}");
    assert!(error.to_string().starts_with(folder), "{name}: {error}");
}

/// Engines of a worker, which reads in the same order each time.
fn little(storage: &Arc<dyn Storage>) -> Engine {
    limited_builder(LITTLE).workers(1).storage(Arc::clone(storage)).build().unwrap()
}

fn little_for_sorts(storage: &Arc<dyn Storage>) -> Engine {
    limited(1, 5 << 20, storage)
}

#[test]
fn of_counts_and_of_lists() {
    let words = |count: u32| (0..count).map(|i| format!("{i} {i:020} {i:040}\n"));
    let text = words(120_000).collect::<String>().into_bytes();
    disturb("counts", little, |engine| {
        let mut answer = Vec::new();
        let output = engine.job(&Words(WordClass::Whitespace)).run(Input::bytes(text.clone()))?;
        output.for_each(|word, count| count_line(word, count, &mut answer))?;
        Ok(answer)
    });
    let text = (0..4).flat_map(|_| words(40_000)).collect::<String>().into_bytes();
    disturb("lists", little, |engine| {
        let mut answer = Vec::new();
        let output = engine.job(&Places).run(Input::bytes(text.clone()))?;
        output.for_each(|word, places| {
            answer.extend_from_slice(word);
            places.for_each(|place| answer.extend_from_slice(&place.offset.to_le_bytes()));
        })?;
        Ok(answer)
    });
}

#[test]
fn of_records_to_be_sorted() {
    let (_, text) = hard_texts(6_000_000).swap_remove(0);
    let sort = Sort { key: Some(0..10), ..Sort::lines() };
    let run = |engine: &Engine, input: Input| {
        sorted(engine, &sort, input, &Options::default()).map(|(answer, _)| answer)
    };
    disturb("lines", little_for_sorts, |engine| run(engine, Input::bytes(text.clone())));
    let folder = folder_of(&[&text]);
    disturb("lines of a file", little_for_sorts, |engine| {
        run(engine, Input::paths([folder.path()]).unwrap())
    });
    // These are put away before they are sampled.
    let folder = folder_of(&[Packing::Gzip.pack(&text)]);
    disturb("lines of a compressed file", little_for_sorts, |engine| {
        run(engine, Input::paths([folder.path()]).unwrap())
    });
    // Each is larger than a chunk.
    let long: Vec<u8> = (0..60_u64)
        .flat_map(|i| format!("{:010}{}\n", i * 7919 % 61, "x".repeat(200_000)).into_bytes())
        .collect();
    disturb("long lines", little_for_sorts, |engine| run(engine, Input::bytes(long.clone())));
}

#[test]
fn of_pairs_of_tasks() {
    const TASKS: u32 = 16;
    const PAIRS: u32 = 15_000;
    disturb("pairs", little_for_sorts, |engine| {
        let options = Options::default();
        let sort = engine.pair_sort(vec![Box::from([0])], u64::from(TASKS), &options)?;
        engine.tasks(TASKS as usize, &options, |_, task| {
            let mut pairs = sort.begin(task as u32, 1);
            for at in 0..PAIRS {
                let key = (task as u32 * PAIRS + at).wrapping_mul(0x9e37_79b1);
                pairs.put(&key.to_be_bytes(), format!("the value {task}.{at}").as_bytes())?;
            }
            pairs.end()
        })?;
        let sorted = sort.sorted()?;
        let answer = Mutex::new(Vec::new());
        engine.tasks(sorted.sections().len(), &options, |_, section| {
            sorted.each(section, |key, value| {
                answer.lock().unwrap().extend_from_slice(&[key, value].concat());
                Ok(())
            })
        })?;
        Ok(answer.into_inner().unwrap())
    });
}
