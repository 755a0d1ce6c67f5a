//! Shows of a running job: each is the answer of a part of the input, to the pair; they only grow; the last
//! is the answer; and a slow function of a show neither stops the job nor changes it.

use crate::jobs::{MedianPlaces, Offsets, Words, mapping, offsets};
use crate::packing::PACKINGS;
use crate::reference::{self, Counts};
use crate::support::{
    LITTLE, cases, count_line, engine, engines, error_saying, file_in, folder_of, limited,
    pipe_written_by, sample_text, text_of, within,
};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Condvar, Mutex, mpsc};
use std::thread;
use std::time::Duration;
use tegula::{
    Cancel, Count, Cut, Emit, Engine, Every, Incremental, Input, Job, Options, Order, Pipeline,
    Result, SaveEvery, Show, Shown, Split, State, Stats, Values, WordClass,
};

const JOB: Words = Words(WordClass::Whitespace);

/// The data of a show.
#[derive(Clone, Debug)]
struct Seen {
    bytes: u64,
    planned: Option<u64>,
    keys: u64,
    is_last: bool,
    pairs: Vec<(Vec<u8>, u64)>,
}

impl Seen {
    fn of(shown: &Shown<'_, Words>) -> Seen {
        let mut pairs = Vec::new();
        let see = |key: &[u8], count| {
            pairs.push((key.to_vec(), count));
            Ok(())
        };
        shown.answers().for_each(see).unwrap();
        let &Shown { bytes, bytes_planned: planned, keys, is_last, .. } = shown;
        let keys = keys.unwrap();
        assert_eq!(shown.answers().len(), pairs.len());
        if let Ok(held) = shown.answers().iter() {
            assert!(held.eq(pairs.iter().map(|(key, count)| (&key[..], *count))));
        }
        Seen { bytes, planned, keys, is_last, pairs }
    }

    fn text(&self) -> Vec<u8> {
        crate::support::count_lines(&self.pairs)
    }

    fn counts(&self) -> Counts {
        self.pairs.iter().cloned().collect()
    }
}

/// Runs a word count with shows; returns the shows and the answer, which the last show must equal.
fn shows_of(
    engine: &Engine,
    input: Input,
    options: &Options,
    every: Every,
    in_order: bool,
) -> (Vec<Seen>, Vec<u8>, Stats) {
    let mut seen = Vec::new();
    let show = Show::new(every, |shown| {
        assert_eq!(shown.number, seen.len() as u64 + 1);
        seen.push(Seen::of(shown));
        Ok(())
    });
    let show = show.in_order(in_order);
    let output = engine.job(&JOB).options(options).show(show).run(input).unwrap();
    let stats = output.stats().clone();
    let answer = text_of(&output, count_line);
    let (last, before) = seen.split_last().expect("there is always a last show");
    assert!(last.is_last && before.iter().all(|show| !show.is_last));
    assert!(seen.is_sorted_by(|a, b| a.bytes < b.bytes || b.is_last && a.bytes == b.bytes));
    let known = last.planned.is_none_or(|planned| planned == last.bytes);
    assert!(known, "{} of {:?} bytes", last.bytes, last.planned);
    (seen, answer, stats)
}

/// Words of a text that begin in its first bytes.
fn count_prefix<'t>(texts: &[&'t [u8]], bytes: u64) -> Counts {
    let mut left = bytes as usize;
    let parts = texts.iter().map(|text| {
        let mut end = left.min(text.len());
        left -= end;
        let inside = |at: usize| !b" \t\n\x0b\x0c\r".contains(&text[at]);
        while end > 0 && end < text.len() && inside(end) && inside(end - 1) {
            end += 1;
        }
        &text[..end]
    });
    let parts: Vec<&'t [u8]> = parts.collect();
    reference::count(parts, WordClass::Whitespace)
}

fn text() -> impl Strategy<Value = Vec<u8>> {
    let word = prop_oneof![
        "[a-d]{1,2}",
        Just("more than fifteen bytes".replace(' ', "_")),
        Just("more than thirty-one bytes of one word".replace(' ', "_")),
    ];
    let words = prop::collection::vec((word, prop::sample::select(&b" \n\t"[..])), 0..400);
    words.prop_map(|words| {
        let words = words.into_iter();
        words.flat_map(|(word, end)| [word.into_bytes(), vec![end]].concat()).collect()
    })
}

proptest! {
    #![proptest_config(cases(40))]

    #[test]
    fn shows_only_grow_and_the_last_is_the_answer(
        files in prop::collection::vec(text(), 0..4),
        tile in 1..3000_u64,
        split in 1..300_u64,
        every in prop_oneof![
            (1..100_u32).prop_map(|part| Every::Part(f64::from(part) / 100.0)),
            (1..2000_u64).prop_map(Every::Bytes),
            (0..300_u64).prop_map(|micros| Every::Time(Duration::from_micros(micros + 1))),
        ],
        order in prop::sample::select(vec![Order::Key, Order::Value, Order::None]),
        top in prop::sample::select(vec![None, Some(1), Some(5), Some(1000)]),
        pipeline in prop::sample::select(vec![Pipeline::On, Pipeline::Off]),
    ) {
        let folder = folder_of(&files);
        let options = Options {
            tile_bytes: Some(tile),
            split_bytes: Some(split),
            order,
            top,
            pipeline,
            ..Options::default()
        };
        let texts: Vec<&[u8]> = files.iter().map(Vec::as_slice).collect();
        let all = reference::count(texts, WordClass::Whitespace);
        for engine in engines() {
            let input = Input::paths([folder.path()]).unwrap();
            let (shows, answer, _) = shows_of(engine, input, &options, every, false);
            prop_assert!(shows[shows.len() - 1].text() == answer);
            let mut keys = 0;
            for show in &shows {
                prop_assert!(show.keys >= keys && show.keys <= all.len() as u64);
                keys = show.keys;
                for (key, count) in &show.pairs {
                    prop_assert!(count <= &all[key]);
                }
                if order != Order::None {
                    let expected = reference::answer(&show.counts(), order, top);
                    prop_assert_eq!(&show.pairs, &expected);
                }
            }
            if top.is_none() {
                for (earlier, later) in shows.iter().zip(&shows[1..]) {
                    let later = later.counts();
                    prop_assert!(earlier.pairs.iter().all(|(key, count)| count <= &later[key]));
                }
            }
        }
    }

    #[test]
    fn shows_in_order_are_runs_over_a_prefix(
        files in prop::collection::vec(text(), 1..4),
        tile in 1..1500_u64,
        split in 1..300_u64,
        every in prop_oneof![
            (1..60_u32).prop_map(|part| Every::Part(f64::from(part) / 100.0)),
            (1..700_u64).prop_map(Every::Bytes),
            Just(Every::Time(Duration::from_micros(1))),
        ],
        top in prop::sample::select(vec![None, Some(3)]),
    ) {
        let folder = folder_of(&files);
        let options = Options {
            tile_bytes: Some(tile),
            split_bytes: Some(split),
            order: Order::Value,
            top,
            ..Options::default()
        };
        let texts: Vec<&[u8]> = files.iter().map(Vec::as_slice).collect();
        for engine in engines() {
            let input = Input::paths([folder.path()]).unwrap();
            let (shows, answer, _) = shows_of(engine, input, &options, every, true);
            prop_assert!(shows[shows.len() - 1].text() == answer);
            for show in &shows {
                let counts = count_prefix(&texts, show.bytes);
                prop_assert_eq!(&show.pairs, &reference::answer(&counts, Order::Value, top));
                prop_assert_eq!(show.keys, counts.len() as u64);
            }
        }
    }
}

/// Records of 8 bytes, each a pair, so that the bytes of a show can be counted.
struct Numbers;

impl Job for Numbers {
    type Key = u16;
    type Combine = Count;

    fn cut(&self) -> Cut {
        Cut::Fixed(8)
    }

    fn map<'s>(&self, split: Split<'s>, emit: &mut impl Emit<'s, Self>) -> Result<()> {
        for record in split.bytes().chunks(8) {
            emit.emit(u16::from(record[0]), ());
        }
        Ok(())
    }
}

#[test]
fn a_show_is_of_the_bytes_that_it_says_and_of_no_others() {
    let bytes: Vec<u8> = (0..800_000_u32).flat_map(|i| u64::from(i % 251).to_le_bytes()).collect();
    for engine in engines() {
        for in_order in [false, true] {
            let mut shows = 0;
            let show = Show::new(Every::Part(0.02), |shown| {
                let sum: u64 = shown.answers().iter()?.map(|(_, count)| count).sum();
                assert_eq!(sum * 8, shown.bytes);
                shows += 1;
                Ok(())
            });
            let options = Options {
                tile_bytes: Some(32 << 10),
                split_bytes: Some(800),
                ..Options::default()
            };
            let show = show.in_order(in_order);
            engine
                .job(&Numbers)
                .options(&options)
                .show(show)
                .run(Input::bytes(bytes.clone()))
                .unwrap();
            // Some may be left out, where the machine is busy elsewhere.
            assert!((2..=51).contains(&shows), "{shows} shows");
        }
    }
}

#[test]
fn shows_of_more_pairs_than_memory_has_room_for_are_right() {
    let text: String = (0..250_000).map(|i| format!("{i} {:020} {:040}\n", i / 2, i / 3)).collect();
    let all = reference::count([text.as_bytes()], WordClass::Whitespace);
    let limit = LITTLE + (8 << 20);
    let small = || Options { tile_bytes: Some(1 << 20), ..Options::default() };
    for (order, top) in [(Order::Value, Some(20)), (Order::Key, None), (Order::None, None)] {
        let options = Options { order, top, ..small() };
        for in_order in [false, true] {
            let engine = limited(limit);
            let every = Every::Part(0.2);
            let input = Input::bytes(text.clone());
            let (shows, answer, stats) = shows_of(&engine, input, &options, every, in_order);
            assert!(stats.spilled_bytes > 0 && stats.memory_counted_peak <= limit);
            assert!(shows.len() > 1 && shows[shows.len() - 1].text() == answer);
            for show in &shows {
                if in_order && order != Order::None {
                    let counts = count_prefix(&[text.as_bytes()], show.bytes);
                    assert!(show.pairs == reference::answer(&counts, order, top));
                } else {
                    assert!(show.pairs.iter().all(|(key, count)| count <= &all[key]));
                    assert!(top.is_some() || show.pairs.len() as u64 == show.keys);
                }
            }
        }
    }
}

#[test]
fn values_that_are_kept_are_shown_in_order_and_reduced() {
    let text = sample_text(30_000);
    let lines = text.split_inclusive(|&byte| byte == b'\n');
    let mut all: BTreeMap<&[u8], Vec<u64>> = BTreeMap::new();
    let mut at = 0;
    for line in lines {
        for word in line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()) {
            let offset = word.as_ptr() as u64 - text.as_ptr() as u64;
            all.entry(word).or_default().push(offset);
        }
        at += line.len();
    }
    assert_eq!(at, text.len());
    // Lines belong to where they begin.
    let line_end = |bytes: u64| {
        let rest = &text[(bytes as usize).saturating_sub(1).min(text.len())..];
        let behind = rest.iter().position(|&byte| byte == b'\n').map_or(rest.len(), |at| at + 1);
        if bytes == 0 { 0 } else { bytes + behind as u64 - 1 }
    };
    let options =
        Options { tile_bytes: Some(8 << 10), split_bytes: Some(700), ..Options::default() };
    let limited = limited(LITTLE + (20 << 20));
    for engine in engines().iter().chain([&limited]) {
        let mut shows = 0;
        let show = Show::new(Every::Part(0.1), |shown| {
            let end = line_end(shown.bytes);
            let expected = all.iter().filter_map(|(word, places)| {
                let seen: Vec<u64> = places.iter().copied().filter(|&at| at < end).collect();
                (!seen.is_empty()).then(|| (word.to_vec(), seen))
            });
            let mut found = Vec::new();
            shown.answers().for_each(|word: &[u8], places: Values<'_, u64>| {
                found.push((word.to_vec(), places.collect::<Vec<u64>>()));
                Ok(())
            })?;
            assert!(found.into_iter().eq(expected), "at {end}");
            shows += 1;
            Ok(())
        });
        let input = Input::bytes(text.clone());
        engine
            .job(&Offsets { cut: Cut::Lines, ..offsets() })
            .options(&options)
            .show(show.in_order(true))
            .run(input)
            .unwrap();
        assert!(shows > 1);
        let show = Show::new(Every::Part(0.3), |shown| {
            let end = line_end(shown.bytes);
            let mut found = 0;
            shown.answers().for_each(|word: &[u8], median| {
                let seen: Vec<u64> = all[word].iter().copied().filter(|&at| at < end).collect();
                assert_eq!(median, (seen[seen.len() / 2], seen.len() as u64));
                found += 1;
                Ok(())
            })?;
            assert_eq!(Some(found), shown.keys);
            Ok(())
        });
        let input = Input::bytes(text.clone());
        engine
            .job(&MedianPlaces(Cut::Lines))
            .options(&options)
            .show(show.in_order(true))
            .run(input)
            .unwrap();
    }
}

#[test]
fn compressed_files_are_shown_by_what_was_read_of_them() {
    let text = sample_text(200_000);
    let all = reference::count([&text[..], &text, &text], WordClass::Whitespace);
    for packing in PACKINGS {
        let packed = packing.pack_in_pieces(&text, 40_000);
        let folder = folder_of(&[&packed[..], &text, &packed]);
        let options = Options { split_bytes: Some(5000), ..Options::default() };
        for engine in engines() {
            let input = Input::paths([folder.path()]).unwrap();
            let every = Every::Part(0.1);
            let (shows, answer, _) = shows_of(engine, input, &options, every, false);
            assert!(shows.len() > 1, "{packing:?}");
            let last = &shows[shows.len() - 1];
            assert!(last.text() == answer && last.counts() == all);
        }
    }
}

#[test]
fn a_stream_that_pauses_is_shown_as_far_as_it_came() {
    for workers in [1, 3] {
        within(60, move || {
            let engine = engine(workers);
            let folder = tempfile::tempdir().unwrap();
            let (told, shown_bytes) = mpsc::channel::<u64>();
            let block = 300_000;
            let (input, writer) = pipe_written_by(&folder, move |mut pipe| {
                for round in 1..=3 {
                    pipe.write_all(&b"ab ".repeat(block)).unwrap();
                    // Written blocks are shown before any more is written, except the last block, which is
                    // not full.
                    let wanted = (round * 3 - 1) * block as u64;
                    while shown_bytes.recv().unwrap() < wanted {}
                }
            });
            let options = Options { split_bytes: Some(64 << 10), ..Options::default() };
            let show = Show::new(Every::Time(Duration::from_millis(5)), |shown| {
                assert!(shown.part().is_none() || shown.is_last);
                assert_eq!(shown.bytes_planned, None);
                let _ = told.send(shown.bytes);
                Ok(())
            });
            let output = engine.job(&JOB).options(&options).show(show).run(input).unwrap();
            assert_eq!(text_of(&output, count_line), format!("ab\t{}\n", 3 * block).into_bytes());
            writer.join().unwrap();
        });
    }
}

#[test]
fn nobody_waits_for_who_looks_at_a_show() {
    within(60, || {
        let engine = engine(2);
        let (mapped, splits) = (AtomicU64::new(0), 500);
        let job = mapping(|split, emit| {
            emit(split.bytes(), 1);
            mapped.fetch_add(1, Relaxed);
            Ok(())
        });
        let mut shows = 0;
        let show = Show::new(Every::Part(0.01), |_| {
            // The first show returns only when all is mapped.
            while mapped.load(Relaxed) < splits {
                thread::sleep(Duration::from_millis(1));
            }
            shows += 1;
            Ok(())
        });
        let text = "0123456 ".repeat(splits as usize);
        let options = Options { split_bytes: Some(8), ..Options::default() };
        let output = engine.job(&job).options(&options).show(show).run(Input::bytes(text)).unwrap();
        assert_eq!(output.len(), 1);
        // And one that had fallen due meanwhile, and the last.
        assert!((2..=3).contains(&shows), "{shows}");
    });
}

#[test]
fn a_show_can_run_jobs_over_its_answers_on_the_same_engine() {
    /// Counts words by their counts.
    struct Times;

    impl Job for Times {
        type Key = u64;
        type Combine = Count;

        fn cut(&self) -> Cut {
            Cut::Fixed(8)
        }

        fn map<'s>(&self, split: Split<'s>, emit: &mut impl Emit<'s, Self>) -> Result<()> {
            for times in split.bytes().as_chunks().0 {
                emit.emit(u64::from_le_bytes(*times), ());
            }
            Ok(())
        }
    }

    within(120, || {
        let text = sample_text(60_000);
        for engine in engines() {
            let mut shows = 0;
            let show = Show::new(Every::Part(0.1), |shown: &Shown<'_, Words>| {
                let mut expected: BTreeMap<u64, u64> = BTreeMap::new();
                let mut times = Vec::new();
                for (_, count) in shown.answers().iter()? {
                    times.extend(count.to_le_bytes());
                    *expected.entry(count).or_default() += 1;
                }
                let second = engine.job(&Times).run(Input::bytes(times))?;
                assert!(second.iter()?.eq(expected));
                shows += 1;
                Ok(())
            });
            let options = Options { split_bytes: Some(2000), ..Options::default() };
            engine.job(&JOB).options(&options).show(show).run(Input::bytes(text.clone())).unwrap();
            assert!(shows > 1);
        }
    });
}

/// The saved pairs of an earlier run are in the first show already.
#[test]
fn a_run_that_goes_on_shows_what_was_saved_of_it() {
    let text = sample_text(50_000);
    let all = reference::count([&text[..]], WordClass::Whitespace);
    for incremental in [false, true] {
        for engine in engines() {
            let folder = folder_of(&[&text]);
            let kept = tempfile::tempdir().unwrap();
            let input = || Input::paths([file_in(&folder, 0)]).unwrap();
            let options = |cancel: &Cancel| {
                let state = State::new(kept.path(), "words").save_every(SaveEvery::Tiles(1));
                let state =
                    if incremental { state.incremental(Incremental::default()) } else { state };
                Options {
                    tile_bytes: Some(8000),
                    split_bytes: Some(1000),
                    state: Some(state),
                    cancel: cancel.clone(),
                    ..Options::default()
                }
            };
            let cancel = Cancel::new();
            let show = Show::new(Every::Part(0.1), |shown: &Shown<'_, Words>| {
                if shown.number == 2 {
                    cancel.cancel();
                }
                Ok(())
            });
            let result = engine.job(&JOB).options(&options(&cancel)).show(show).run(input());
            error_saying(engine, result, &["cancelled"]);
            let every = Every::Part(0.05);
            let (shows, answer, stats) =
                shows_of(engine, input(), &options(&Cancel::new()), every, false);
            assert!(shows.iter().all(|show| show.bytes >= stats.restored_bytes));
            let last = &shows[shows.len() - 1];
            assert!(last.counts() == all && last.text() == answer);
            if incremental {
                let show = Show::new(every, |_| Ok(())).in_order(true);
                let options = options(&Cancel::new());
                let result = engine.job(&JOB).options(&options).show(show).run(input());
                error_saying(engine, result, &["show", "leave the order, or the tiles"]);
            }
        }
    }
}

/// Also of a run that was killed and goes on, whose saved pairs are of tiles here and there: its shows begin with the
/// prefix that has all of those.
#[test]
fn shows_in_order_of_a_saved_run_are_of_a_prefix() {
    let text = sample_text(50_000);
    for engine in engines() {
        let folder = folder_of(&[&text]);
        let kept = tempfile::tempdir().unwrap();
        let mut restored = 0;
        // Each run is stopped after some shows, and the next one goes on; the last one ends.
        for shows_most in [3, 2, 4, u64::MAX] {
            let cancel = Cancel::new();
            let options = Options {
                tile_bytes: Some(3000),
                split_bytes: Some(1000),
                state: Some(State::new(kept.path(), "words").save_every(SaveEvery::Tiles(1))),
                cancel: cancel.clone(),
                ..Options::default()
            };
            // Without order, so that what is saved is not a prefix.
            let in_order = shows_most != 3;
            let mut seen = Vec::new();
            let show = Show::new(Every::Part(0.04), |shown: &Shown<'_, Words>| {
                seen.push(Seen::of(shown));
                if shown.number == shows_most {
                    cancel.cancel();
                }
                Ok(())
            });
            let show = show.in_order(in_order);
            let input = Input::paths([file_in(&folder, 0)]).unwrap();
            let result = engine.job(&JOB).options(&options).show(show).run(input);
            if in_order {
                for show in &seen {
                    assert_eq!(show.counts(), count_prefix(&[&text[..]], show.bytes));
                }
            }
            match result {
                Ok(output) => {
                    let stats = output.stats();
                    restored = stats.restored_bytes;
                    assert!(seen.iter().all(|show| show.bytes >= restored));
                    assert!(seen.last().is_some_and(|last| last.is_last));
                }
                Err(error) => assert!(error.to_string().contains("cancelled"), "{error}"),
            }
        }
        assert!(restored > 0);
    }
}

/// A lock held by the map of one split: the tile that is late.
#[test]
fn what_comes_behind_a_gap_is_kept_apart_until_it_closes() {
    within(60, || {
        let engine = engine(3);
        let (others, gate) = (Mutex::new(0), Condvar::new());
        let job = mapping(|split, emit| {
            let mut mapped = others.lock().unwrap();
            if split.offset() == 0 {
                // The first split ends when all others were mapped.
                mapped = gate.wait_while(mapped, |mapped| *mapped < 99).unwrap();
            }
            *mapped += 1;
            gate.notify_all();
            drop(mapped);
            emit(split.bytes(), 1);
            Ok(())
        });
        let mut shown_bytes = Vec::new();
        let show = Show::new(Every::Part(0.2), |shown| {
            let sum: u64 = shown.answers().iter()?.map(|(_, count)| count).sum();
            assert_eq!(sum * 8, shown.bytes);
            shown_bytes.push(shown.bytes);
            Ok(())
        });
        let options = Options { tile_bytes: Some(80), split_bytes: Some(8), ..Options::default() };
        let text = "0123456 ".repeat(100);
        engine
            .job(&job)
            .options(&options)
            .show(show.in_order(true))
            .run(Input::bytes(text))
            .unwrap();
        assert_eq!(shown_bytes, [160, 320, 480, 640, 800]);
    });
}
