//! Pairs that tasks put side by side come in the order of a stable sort by key, whatever the workers, the memory, the
//! sections, and how unlike the first pairs the later ones are.

use crate::sorted_records_are_those_of_a_stable_sort::limited;
use proptest::prelude::*;
use std::sync::{Arc, Mutex};
use tegula::{Disk, Engine, Error, Options, Storage};

/// Makes the pairs of a task.
type Make = fn(task: u32, at: u32) -> (Vec<u8>, Vec<u8>);

const TASKS: u32 = 23;
/// More than wait for a sample: 1 MB where memory has a limit.
const PAIRS_PER_TASK: u32 = 4000;

fn mixed(task: u32, at: u32) -> u32 {
    (task * PAIRS_PER_TASK + at).wrapping_mul(0x9e37_79b1) >> 7
}

fn value(task: u32, at: u32) -> Vec<u8> {
    format!("{task}.{at}").into_bytes()
}

/// Keys: distinct, few, ascending with the tasks, of one beginning, and some of which are empty or long.
const MAKERS: &[(&str, Make)] = &[
    ("distinct", |task, at| (mixed(task, at).to_be_bytes().to_vec(), value(task, at))),
    ("few", |task, at| (vec![(mixed(task, at) % 5) as u8 * 50], value(task, at))),
    ("ascending", |task, at| {
        ((task * PAIRS_PER_TASK + at).to_be_bytes().to_vec(), value(task, at))
    }),
    ("alike", |task, at| {
        (format!("all of them begin so {:09}", mixed(task, at)).into_bytes(), value(task, at))
    }),
    ("odd", |task, at| match at % 400 {
        0 => (Vec::new(), value(task, at)),
        1 => (vec![0; mixed(task, at) as usize % 6000], Vec::new()),
        _ => (mixed(task, at).to_le_bytes().to_vec(), vec![7; at as usize % 50]),
    }),
];

fn expected(make: Make) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut pairs: Vec<_> =
        (0..TASKS).flat_map(|task| (0..PAIRS_PER_TASK).map(move |at| make(task, at))).collect();
    pairs.sort_by(|a, b| a.0.cmp(&b.0));
    pairs
}

/// The pairs in order, of a sort with sections that begin at the first bytes of keys.
fn sorted(engine: &Engine, make: Make, sections: usize) -> Vec<(Vec<u8>, Vec<u8>)> {
    let options = Options::default();
    let first = |section: usize| Box::from(&(section as u16).to_be_bytes()[..]);
    let firsts = (0..sections).map(|section| first(section * (65_536 / sections))).collect();
    let sort = engine.pair_sort(firsts, u64::from(TASKS), &options).unwrap();
    let put = |_worker, number: usize| {
        let task = number as u32;
        let mut pairs = sort.begin(task, 1);
        for at in 0..PAIRS_PER_TASK {
            let (key, value) = make(task, at);
            pairs.put(&key, &value)?;
        }
        pairs.end()
    };
    engine.tasks(TASKS as usize, &options, put).unwrap();
    let sorted = sort.sorted().unwrap();
    let bundles: Vec<_> = sorted.sections().collect();
    assert_eq!(bundles.first().map(|it| it.start), Some(0));
    assert_eq!(bundles.last().map(|it| it.end), Some(sections));
    assert!(bundles.windows(2).all(|two| two[0].end == two[1].start));
    let found: Vec<_> = bundles.iter().map(|_| Mutex::new(Vec::new())).collect();
    let read = |_worker, section: usize| {
        let mut own = Vec::new();
        sorted.each(section, |key, value| {
            own.push((key.to_vec(), value.to_vec()));
            Ok(())
        })?;
        *found[section].lock().unwrap() = own;
        Ok(())
    };
    engine.tasks(bundles.len(), &options, read).unwrap();
    for (bundle, found) in bundles.iter().zip(&found) {
        let is_inside = |key: &[u8]| {
            let begins = bundle.start == 0 || key >= &first(bundle.start * (65_536 / sections))[..];
            let ends = bundle.end == sections || key < &first(bundle.end * (65_536 / sections))[..];
            begins && ends
        };
        assert!(found.lock().unwrap().iter().all(|(key, _)| is_inside(key)), "{bundle:?}");
    }
    found.into_iter().flat_map(|found| found.into_inner().unwrap()).collect()
}

#[test]
fn each_kind_of_pairs_is_sorted() {
    let storage: Arc<dyn Storage> = Arc::new(Disk::new(std::env::temp_dir()));
    for (name, make) in MAKERS {
        let expected = expected(*make);
        for (workers, memory) in [(1, None), (3, None), (1, Some(6 << 20)), (3, Some(15 << 20))] {
            let engine = match memory {
                Some(bytes) => limited(workers, bytes, &storage),
                None => Engine::builder().workers(workers).build().unwrap(),
            };
            for sections in [1, 4, 5000] {
                let found = sorted(&engine, *make, sections);
                assert!(found == expected, "{name}: {workers}, {memory:?}, {sections}");
            }
        }
    }
}

/// The pairs of a task are put to those of earlier tasks of its thread.
#[test]
fn a_task_that_does_not_end_fails_the_sort() {
    let storage: Arc<dyn Storage> = Arc::new(Disk::new(std::env::temp_dir()));
    let engine = limited(1, 6 << 20, &storage);
    let options = Options::default();
    let sort = engine.pair_sort(vec![Box::default()], 2, &options).unwrap();
    let put = |task: u32, count: u32| {
        let mut pairs = sort.begin(task, 1);
        (0..count).for_each(|at| pairs.put(&mixed(task, at).to_be_bytes(), &[7; 100]).unwrap());
        pairs
    };
    put(0, 40_000).end().unwrap();
    drop(put(1, 0));
    drop(put(2, 10_000));
    let refused = sort.sorted().map(drop).unwrap_err();
    assert!(refused.to_string().contains("was dropped before its end"), "{refused}");
}

#[test]
fn nothing_is_sorted_too() {
    let engine = Engine::builder().workers(2).build().unwrap();
    let sort = engine.pair_sort(vec![Box::from([0])], 0, &Options::default()).unwrap();
    let sorted = sort.sorted().unwrap();
    assert_eq!(sorted.sections().len(), 1);
    sorted.each(0, |_, _| Err(Error::Cancelled)).unwrap();
    assert_eq!(sorted.spilled_bytes(), 0);
}

/// The pairs of each task, of random bytes: short keys, of which many are alike, and long ones.
fn any_pairs() -> impl Strategy<Value = Vec<Vec<(Vec<u8>, Vec<u8>)>>> {
    let bytes = |most: usize| prop::collection::vec(any::<u8>(), 0..most);
    let key = prop_oneof![8 => bytes(4), 4 => bytes(20), 1 => bytes(3000)];
    let pair = (key, bytes(30));
    // Each stands for several, so that they do not all stay in memory.
    prop::collection::vec(prop::collection::vec(pair, 0..40), 1..12)
}

/// Returns the pair `at` of those that a pair stands for: with its key, or with one that begins so.
fn variant(pair: &(Vec<u8>, Vec<u8>), at: usize, is_one_key: bool) -> (Vec<u8>, Vec<u8>) {
    let mut key = pair.0.clone();
    if !is_one_key {
        key.extend_from_slice(&(at as u16).wrapping_mul(40_503).to_be_bytes());
    }
    let mut value = at.to_string().into_bytes();
    value.extend_from_slice(&pair.1);
    (key, value)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Tasks come in any order, with much memory and with little.
    #[test]
    fn pairs_of_random_bytes_are_sorted(
        tasks in any_pairs(),
        order in any::<prop::sample::Index>(),
        step in 0usize..4,
        workers in 1usize..4,
        is_limited: bool,
        is_one_key: bool,
        times in 1usize..120,
        firsts in prop::collection::btree_set(prop::collection::vec(any::<u8>(), 0..3), 1..30),
    ) {
        let storage: Arc<dyn Storage> = Arc::new(Disk::new(std::env::temp_dir()));
        let engine = match is_limited {
            true => limited(workers, workers as u64 * (9 << 19), &storage),
            false => Engine::builder().workers(workers).build().unwrap(),
        };
        let firsts: Vec<Box<[u8]>> = firsts.into_iter().map(Vec::into_boxed_slice).collect();
        let options = Options::default();
        let sort = engine.pair_sort(firsts, tasks.len() as u64, &options).unwrap();
        let count = tasks.len();
        // A permutation, where the step and the count have no divisor in common; else they ascend from somewhere.
        let step = [1, 5, 7, 11][step];
        let step = if count.is_multiple_of(step) { 1 } else { step };
        let task_of = |number: usize| (order.index(count) + number * step) % count;
        let put = |_worker, number: usize| {
            let task = task_of(number);
            let mut pairs = sort.begin(task as u32, 1);
            for at in 0..times {
                for pair in &tasks[task] {
                    let (key, value) = variant(pair, at, is_one_key);
                    pairs.put(&key, &value)?;
                }
            }
            pairs.end()
        };
        engine.tasks(count, &options, put).unwrap();
        let sorted = sort.sorted().unwrap();
        let sections = sorted.sections().len();
        let found: Vec<_> = (0..sections).map(|_| Mutex::new(Vec::new())).collect();
        let read = |_worker, section: usize| {
            sorted.each(section, |key, value| {
                found[section].lock().unwrap().push((key.to_vec(), value.to_vec()));
                Ok(())
            })
        };
        engine.tasks(sections, &options, read).unwrap();
        let mut expected: Vec<_> = tasks.iter().flat_map(|pairs| {
            (0..times).flat_map(move |at| pairs.iter().map(move |pair| variant(pair, at, is_one_key)))
        }).collect();
        expected.sort_by(|a, b| a.0.cmp(&b.0));
        let found: Vec<_> = found.into_iter().flat_map(|own| own.into_inner().unwrap()).collect();
        prop_assert!(found == expected, "{} pairs of {count} tasks", expected.len());
    }
}
