//! Shows of the top N that are made of samples, while workers keep their tables, are of exactly the mapped
//! input, like any show: for every show there is a moment in each worker's work such that its answers are the
//! counts up to then.

use crate::support::{cases, engine};
use proptest::prelude::*;
use std::collections::HashMap;
use std::sync::Mutex;
use std::thread::{self, ThreadId};
use std::time::Duration;
use tegula::{Count, Cut, Emit, Every, Input, Job, Options, Order, Result, Show, Shown, Split};

const RECORD_BYTES: u64 = 8;

/// Counts words of various lengths, and notes the input that each worker mapped.
#[derive(Default)]
struct Noted {
    by: Mutex<HashMap<ThreadId, Vec<Vec<u64>>>>,
    slow: Duration,
}

impl Job for Noted {
    type Key = [u8];
    type Combine = Count;

    const LARGEST_FIRST: bool = true;

    fn cut(&self) -> Cut {
        Cut::Fixed(RECORD_BYTES)
    }

    fn map<'s>(&self, split: Split<'s>, emit: &mut impl Emit<'s, Self>) -> Result<()> {
        thread::sleep(self.slow);
        let mut numbers = Vec::new();
        for record in split.bytes().chunks(RECORD_BYTES as usize) {
            let number = u64::from_le_bytes(record.try_into().unwrap());
            emit.emit_copied(word(number).as_bytes(), ());
            numbers.push(number);
        }
        self.by.lock().unwrap().entry(thread::current().id()).or_default().push(numbers);
        Ok(())
    }
}

/// Of all classes of keys.
fn word(number: u64) -> String {
    format!("{number:0width$}", width = 1 + (number % 40) as usize)
}

struct Seen {
    bytes: u64,
    is_sampled: bool,
    pairs: Vec<(Vec<u8>, u64)>,
}

/// Runs the job with shows, and returns them with the input that each worker mapped.
fn run(
    numbers: &[u64],
    workers: usize,
    (top, order, every): (usize, Order, Every),
    split_records: u64,
    slow: Duration,
) -> (Vec<Seen>, Vec<Vec<Vec<u64>>>) {
    let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
    let job = Noted { slow, ..Noted::default() };
    let mut seen = Vec::new();
    let show = Show::new(every, |shown: &Shown<'_, Noted>| {
        let mut pairs = Vec::new();
        shown.answers().for_each(|key, count| {
            pairs.push((key.to_vec(), count));
            Ok(())
        })?;
        seen.push(Seen { bytes: shown.bytes, is_sampled: shown.keys.is_none(), pairs });
        Ok(())
    });
    let show = show.top(top).order(order);
    let split_bytes = Some(split_records * RECORD_BYTES);
    let options = Options { split_bytes, tile_bytes: Some(16 << 10), ..Options::default() };
    engine(workers).job(&job).options(&options).show(show).run(Input::bytes(bytes)).unwrap();
    (seen, job.by.into_inner().unwrap().into_values().collect())
}

/// Returns the first pairs of the counts, as they are ordered.
fn top_of(counts: &HashMap<u64, u64>, top: usize, order: Order) -> Vec<(Vec<u8>, u64)> {
    let mut pairs: Vec<(Vec<u8>, u64)> =
        counts.iter().map(|(&number, &count)| (word(number).into_bytes(), count)).collect();
    pairs.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    pairs.truncate(top);
    if order == Order::Key {
        pairs.sort();
    }
    pairs
}

/// Returns whether a show is of the input that two workers at most had mapped at some moment of each.
fn is_of_a_moment(seen: &Seen, work: &[Vec<Vec<u64>>], top: usize, order: Order) -> bool {
    let none = Vec::new();
    let (first, second) = (&work[0], work.get(1).unwrap_or(&none));
    let records = |work: &[Vec<u64>]| work.iter().map(|split| split.len() as u64).sum::<u64>();
    (0..=first.len()).any(|ours| {
        let own = records(&first[..ours]);
        (0..=second.len())
            .filter(|&theirs| (own + records(&second[..theirs])) * RECORD_BYTES == seen.bytes)
            .any(|theirs| {
                let mut counts = HashMap::new();
                let splits = first[..ours].iter().chain(&second[..theirs]);
                splits.flatten().for_each(|number| *counts.entry(*number).or_insert(0) += 1);
                seen.pairs == top_of(&counts, top, order)
            })
    })
}

/// Returns numbers, a few of which are frequent, and some others from a place on.
fn numbers(count: u64, keys: u64, bursts: bool) -> Vec<u64> {
    let mut state = 7_u64;
    let draw = |at: u64| {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        let (drawn, other) = (state >> 40, (state >> 20) % keys + 1);
        let number = drawn % other;
        if bursts && at > count / 2 && drawn.is_multiple_of(3) { number % 5 + 1000 } else { number }
    };
    (0..count).map(draw).collect()
}

proptest! {
    #![proptest_config(cases(24))]

    #[test]
    fn each_is_of_a_moment_of_each_worker(
        count in 1..4000_u64,
        keys in prop::sample::select(vec![1_u64, 30, 400, 5000]),
        bursts: bool,
        workers in 1..3_usize,
        top in 1..30_usize,
        order in prop::sample::select(vec![Order::Key, Order::Value]),
        every in prop_oneof![
            (1..30_u32).prop_map(|part| Every::Part(f64::from(part) / 100.0)),
            (1..3000_u64).prop_map(Every::Bytes),
            (50..900_u64).prop_map(|micros| Every::Time(Duration::from_micros(micros))),
        ],
        split in 8..90_u64,
    ) {
        let numbers = numbers(count, keys, bursts);
        let (shows, work) = run(&numbers, workers, (top, order, every), split, Duration::ZERO);
        prop_assert!(shows.is_sorted_by(|a, b| a.bytes <= b.bytes));
        for seen in &shows {
            prop_assert!(is_of_a_moment(seen, &work, top, order), "of {} bytes", seen.bytes);
        }
        prop_assert!(shows.last().is_some_and(|last| !last.is_sampled));
    }
}

#[test]
fn most_shows_of_an_even_text_are_samples() {
    for workers in [1, 2] {
        let numbers = numbers(60_000, 400, false);
        let slow = Duration::from_millis(1);
        let asked = (5, Order::Value, Every::Part(0.02));
        let (shows, work) = run(&numbers, workers, asked, 100, slow);
        let sampled = shows.iter().filter(|seen| seen.is_sampled).count();
        assert!(sampled * 2 > shows.len(), "{sampled} of {} shows", shows.len());
        assert!(shows.iter().all(|seen| is_of_a_moment(seen, &work, 5, Order::Value)));
    }
}

/// Workers are asked for the first keys of a base of more keys than are shown; this one was not among them.
#[test]
fn a_key_that_rises_from_far_below_is_counted_whole() {
    let rises = |at: u64| match at {
        0..24_000 if at.is_multiple_of(5000) => 4999,
        0..24_000 => at % 3000,
        24_000..28_000 => 4999,
        _ if at.is_multiple_of(3) => 4999,
        _ => at % 400,
    };
    let numbers: Vec<u64> = (0..48_000).map(rises).collect();
    let every = [Every::Part(0.01), Every::Bytes(5000), Every::Time(Duration::from_millis(2))];
    for (workers, every) in
        [1, 2].into_iter().flat_map(|workers| every.map(|every| (workers, every)))
    {
        let asked = (1, Order::Value, every);
        let (shows, work) = run(&numbers, workers, asked, 100, Duration::from_micros(300));
        for seen in &shows {
            assert!(
                is_of_a_moment(seen, &work, 1, Order::Value),
                "{every:?}, {} bytes",
                seen.bytes
            );
        }
    }
}

#[test]
fn what_comes_up_late_is_not_missed() {
    let numbers = numbers(60_000, 400, true);
    let asked = (3, Order::Value, Every::Part(0.02));
    let (shows, work) = run(&numbers, 2, asked, 100, Duration::from_millis(1));
    assert!(shows.iter().all(|seen| is_of_a_moment(seen, &work, 3, Order::Value)));
    let late = |seen: &Seen| seen.pairs.iter().any(|(key, _)| key.ends_with(b"1000"));
    let half = numbers.len() as u64 * RECORD_BYTES / 2;
    // The first show may come late, where the machine is busy elsewhere.
    assert!(shows[0].bytes > half || !late(&shows[0]));
    assert!(late(&shows[shows.len() - 1]));
}
