//! Pairs that tasks put side by side come in the order of a stable sort by key, whatever the workers, the memory, the
//! sections, and how unlike the first pairs the later ones are.

use crate::sorted_records_are_those_of_a_stable_sort::limited;
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
        1 => (vec![0; mixed(task, at) as usize % 30_000], Vec::new()),
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
        for (workers, memory) in [(1, None), (3, None), (1, Some(6 << 20)), (3, Some(12 << 20))] {
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

#[test]
fn nothing_is_sorted_too() {
    let engine = Engine::builder().workers(2).build().unwrap();
    let sort = engine.pair_sort(vec![Box::from([0])], 0, &Options::default()).unwrap();
    let sorted = sort.sorted().unwrap();
    assert_eq!(sorted.sections().len(), 1);
    sorted.each(0, |_, _| Err(Error::Cancelled)).unwrap();
    assert_eq!(sorted.spilled_bytes(), 0);
}
