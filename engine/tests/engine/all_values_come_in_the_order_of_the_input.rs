//! Collected values come in the order of the input, for any number of workers, any cut and every
//! container; a general reduce sees them all; and the answers of both can be ranked and cut off.

use crate::jobs::{MedianPlaces, Place, Places};
use crate::support::{
    LITTLE, assert_works, cases, engine, engines, error_saying, file_in, folder_of, limited,
    pipe_written_by, text_of,
};
use proptest::prelude::*;
use std::cmp::{Ordering, Reverse};
use std::collections::BTreeMap;
use std::io::Write;
use tegula::Container::{self, Adaptive, Append, Hash};
use tegula::{
    Collect, Cut, Emit, Engine, Group, Identity, Input, Job, Keep, Options, Order, Pair, Reduce,
    Result, Resumable, Split, State, Values, WordClass,
};

type Index = BTreeMap<Vec<u8>, Vec<(usize, u64)>>;

/// Returns the places of all words, found one after the other.
fn index(files: &[Vec<u8>]) -> Index {
    let mut index = Index::new();
    for (number, file) in files.iter().enumerate() {
        for word in file.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()) {
            let offset = word.as_ptr() as usize - file.as_ptr() as usize;
            index.entry(word.to_vec()).or_default().push((number, offset as u64));
        }
    }
    index
}

fn check_places(container: Container, engine: &Engine, files: &[Vec<u8>], split: u64) {
    let (folder, expected) = (folder_of(files), index(files));
    let options = Options { split_bytes: Some(split), container, ..Options::default() };
    let input = Input::paths([folder.path()]).unwrap();
    let output = engine.job(&Places).options(&options).run(input).unwrap();
    let path_of = |file| output.file(file).unwrap();
    let paths: Vec<_> = (0..files.len() as u32).map(path_of).collect();
    assert!(paths.is_sorted() && output.file(files.len() as u32).is_none());
    let place = |place: Place| (place.file as usize, place.offset);
    let found =
        output.iter().unwrap().map(|(word, places)| (word.to_vec(), places.map(place).collect()));
    assert_eq!(found.collect::<Index>(), expected);
}

proptest! {
    #![proptest_config(cases(16))]

    #[test]
    fn the_places_of_all_words_are_those_of_a_naive_index(
        files in prop::collection::vec(
            prop::collection::vec(prop::sample::select(&b"abc   "[..]), 0..1500), 1..6,
        ),
        split in 1..900_u64,
    ) {
        for engine in engines() {
            check_places(Adaptive, engine, &files, split);
            check_places(Hash, engine, &files, split);
            check_places(Append, engine, &files, split);
        }
    }
}

/// Enough words that tables overflow, are handed over and folded.
#[test]
fn places_survive_overflowing_tables() {
    let words = |from: u32| (0..200_000_u32).map(move |i| format!("{} ", (i * 7 + from) % 90_001));
    let files = [words(0).collect::<String>().into_bytes(), words(5).collect::<String>().into()];
    for engine in &engines()[..2] {
        check_places(Adaptive, engine, &files, 50_000);
        check_places(Append, engine, &files, 50_000);
    }
}

/// The lines of each first letter, as bytes; and the letter alone for lines of an odd length, copied.
struct LinesByLetter;

impl Job for LinesByLetter {
    type Key = u8;
    type Combine = Collect<[u8]>;

    fn map<'s>(&self, split: Split<'s>, emit: &mut impl Emit<'s, Self>) -> Result<()> {
        for line in split.lines() {
            let Some(&letter) = line.first() else { continue };
            if line.len() % 2 == 1 {
                emit.emit_copied(letter, &[letter]);
            } else {
                emit.emit(letter, line);
            }
        }
        Ok(())
    }
}

proptest! {
    #![proptest_config(cases(16))]

    #[test]
    fn bytes_of_any_length_are_collected_in_order(
        lines in prop::collection::vec("[a-c]{1,5}x{0,40}", 0..200),
        split in 1..2000_u64,
    ) {
        let mut expected: BTreeMap<u8, Vec<Vec<u8>>> = BTreeMap::new();
        for line in &lines {
            let kept = if line.len() % 2 == 1 { &line[..1] } else { line };
            expected.entry(line.as_bytes()[0]).or_default().push(kept.into());
        }
        for engine in engines() {
            let options = Options { split_bytes: Some(split), ..Options::default() };
            let input = Input::bytes(lines.join("\n"));
            let output = engine.job(&LinesByLetter).options(&options).run(input).unwrap();
            let found = output.iter().unwrap().map(|(letter, lines)| (letter, lines.map(Vec::from).collect()));
            prop_assert_eq!(found.collect::<BTreeMap<_, _>>(), expected.clone());
        }
    }
}

/// A long value for each number.
struct Long;

impl Job for Long {
    type Key = u8;
    type Combine = Collect<[u8]>;

    fn cut(&self) -> Cut {
        Cut::Fixed(4)
    }

    fn state(&self) -> Option<&dyn Resumable> {
        Some(self)
    }

    fn map<'s>(&self, split: Split<'s>, emit: &mut impl Emit<'s, Self>) -> Result<()> {
        for number in split.bytes().chunks(4) {
            let mut value = number.to_vec();
            // It cannot be compressed (Marsaglia, 2003).
            let mut random = number.iter().fold(1, |sum, byte| sum << 8 | u64::from(*byte));
            while value.len() < 3000 {
                random ^= random << 13;
                random ^= random >> 7;
                random ^= random << 17;
                value.extend_from_slice(&random.to_le_bytes());
            }
            emit.emit_copied(0, &value);
        }
        Ok(())
    }
}

impl Resumable for Long {
    fn identity(&self) -> Identity {
        Identity::new("long values", 1)
    }
}

/// Each of two splits has more values than one snapshot holds.
#[test]
fn values_of_a_split_in_several_snapshots_keep_their_order() {
    let numbers: Vec<u8> = (0..48_000_u32).flat_map(u32::to_be_bytes).collect();
    let engine = engine(2);
    let folder = tempfile::tempdir().unwrap();
    let state = || State::new(folder.path(), "long").keep(Keep::Partials);
    for is_again in [false, true] {
        let (tile_bytes, split_bytes) = (Some(192_000), Some(96_000));
        let options =
            Options { state: Some(state()), tile_bytes, split_bytes, ..Options::default() };
        let output = engine.job(&Long).options(&options).run(Input::bytes(&*numbers)).unwrap();
        assert_eq!(output.stats().restored_bytes, if is_again { 192_000 } else { 0 });
        let (_, values) = output.iter().unwrap().next().unwrap();
        let found: Vec<u8> = values.flat_map(|value| value[..4].to_vec()).collect();
        assert!(found == numbers, "again: {is_again}");
    }
}

/// Lines longer than any chunk of memory, and a stream between files.
#[test]
fn long_values_and_streams_keep_their_order() {
    let long = format!("a{}", "z".repeat(99_999));
    let lines: Vec<String> = (0..3000)
        .map(|number| if number == 70 { long.clone() } else { format!("a {number:04}") })
        .collect();
    let piped = format!("{}\n", lines.join("\n"));
    let folder = folder_of(&["a first\n", "a second\n"]);
    let (_, writer) = pipe_written_by(&folder, move |mut pipe| {
        piped.as_bytes().chunks(1000).for_each(|piece| pipe.write_all(piece).unwrap());
    });
    let paths = [file_in(&folder, 0), folder.path().join("pipe"), file_in(&folder, 1)];
    let options = Options { split_bytes: Some(4096), ..Options::default() };
    let output =
        engine(3).job(&LinesByLetter).options(&options).run(Input::paths(paths).unwrap()).unwrap();
    writer.join().unwrap();
    let mut expected = vec!["a".to_owned()];
    expected.extend(lines.iter().map(|line| match line.len() % 2 {
        0 => line.clone(),
        _ => "a".to_owned(),
    }));
    expected.push("a second".to_owned());
    let (letter, found) = output.iter().unwrap().next().unwrap();
    assert_eq!((letter, output.len()), (b'a', 1));
    assert!(found.eq(expected.iter().map(String::as_bytes)));
}

/// The medians of words of white space.
fn median_places() -> MedianPlaces {
    MedianPlaces(Cut::around(WordClass::Whitespace))
}

type Medians = Vec<(Vec<u8>, (u64, u64))>;

#[test]
fn a_general_reduce_is_ranked_and_cut_off_by_what_it_gives() {
    let words = (0..60_000_u32)
        .map(|i| format!("{:x}{} ", i.wrapping_mul(i) % 9973, "k".repeat(i as usize % 40)));
    let text = words.collect::<String>().into_bytes();
    let mut by_key: Medians = Vec::new();
    for (word, places) in index(std::slice::from_ref(&text)) {
        by_key.push((word, (places[places.len() / 2].1, places.len() as u64)));
    }
    let mut by_value = by_key.clone();
    by_value.sort_by_key(|pair| Reverse(pair.1));
    for engine in engines() {
        let answer = |order, top| -> Medians {
            let options = Options { order, top, ..Options::default() };
            let input = Input::bytes(text.clone());
            let output = engine.job(&median_places()).options(&options).run(input).unwrap();
            output.iter().unwrap().map(|(word, median)| (word.to_vec(), median)).collect()
        };
        assert!(answer(Order::Key, None) == by_key);
        assert!(answer(Order::Value, None) == by_value);
        assert!(answer(Order::Value, Some(100)) == by_value[..100]);
        let mut unordered = answer(Order::None, None);
        unordered.sort();
        assert!(unordered == by_key);
    }
}

#[test]
fn a_reduce_that_panics_fails_its_job_alone() {
    let engine = engine(2);
    let result = engine.job(&median_places()).run(Input::bytes("to poison or not"));
    error_saying(&engine, result, &["the reduce stage", "no median"]);
    assert_works(&engine);
}

/// A reduce that knows how many values each key has.
struct OfTwo;

impl Reduce for OfTwo {
    type Value = u64;
    type Output = u64;

    fn reduce(_: &[u8], values: Values<'_, u64>) -> u64 {
        let offsets: Vec<u64> = values.collect();
        assert_eq!(offsets.len(), 2, "each word comes twice");
        offsets[1] - offsets[0]
    }

    fn rank(a: &u64, b: &u64) -> Ordering {
        a.cmp(b)
    }
}

/// The distance of the two places of each word.
struct Distances;

impl Job for Distances {
    type Key = [u8];
    type Combine = Group<OfTwo>;

    fn cut(&self) -> Cut {
        Cut::around(WordClass::Whitespace)
    }

    fn map<'s>(&self, split: Split<'s>, emit: &mut impl Emit<'s, Self>) -> Result<()> {
        split.fields().for_each(|word| emit.emit(word, split.offset_of(word)));
        Ok(())
    }
}

/// A function of all values of a key never sees a part of them, also where the ranges of the answer are chosen.
#[test]
fn a_reduce_sees_all_values_of_a_key() {
    let half: String = (0..20_000).map(|number| format!("w{number:06} ")).collect();
    let text = half.repeat(2);
    for order in [Order::Key, Order::Value] {
        let options = Options { order, container: Append, ..Options::default() };
        let input = Input::bytes(text.clone());
        let output = engine(2).job(&Distances).options(&options).run(input).unwrap();
        assert!(output.len() == 20_000);
        assert!(output.iter().unwrap().all(|(_, distance)| distance == half.len() as u64));
    }
}

/// Lists go to disk and come back in the order of the input; a reduce sees them whole.
#[test]
fn values_that_do_not_fit_in_memory_are_the_same_from_disk() {
    let words = (0..800_000_u32).map(|i| format!("{:x} ", i.wrapping_mul(0x9e37_79b9) % 50_021));
    let text = words.collect::<String>().into_bytes();
    let places = |engine: &Engine, options: &Options| {
        let line = |word: &[u8], places: Values<'_, Place>, out: &mut Vec<u8>| {
            out.extend_from_slice(word);
            places.for_each(|place| out.extend_from_slice(format!(" {}", place.offset).as_bytes()));
            out.push(b'\n');
        };
        let output =
            engine.job(&PlacesByFirst).options(options).run(Input::bytes(text.clone())).unwrap();
        (text_of(&output, line), output.stats().spilled_bytes > 0)
    };
    let medians = |engine: &Engine, options: &Options| {
        let line = |word: &[u8], median: (u64, u64), out: &mut Vec<u8>| {
            out.extend_from_slice(
                format!("{} {median:?}\n", String::from_utf8_lossy(word)).as_bytes(),
            );
        };
        let output =
            engine.job(&median_places()).options(options).run(Input::bytes(text.clone())).unwrap();
        (text_of(&output, line), output.stats().spilled_bytes > 0)
    };
    for order in [Order::Key, Order::Value, Order::None] {
        for top in [None, Some(500)] {
            let options = Options { order, top, ..Options::default() };
            let (expected, spilled) = places(&engine(2), &options);
            assert!(!spilled);
            assert!(places(&limited(LITTLE), &options) == (expected, true), "{order:?} {top:?}");
        }
        let options = Options { order, ..Options::default() };
        let (expected, spilled) = medians(&engine(2), &options);
        assert!(!spilled);
        assert!(medians(&limited(LITTLE), &options) == (expected, true), "{order:?}");
    }
}

/// As `Places`; words with earlier places come first.
struct PlacesByFirst;

impl Job for PlacesByFirst {
    type Key = [u8];
    type Combine = Collect<Place>;

    fn cut(&self) -> Cut {
        Cut::around(WordClass::Whitespace)
    }

    fn compare(&self, a: Pair<'_, Self>, b: Pair<'_, Self>) -> Ordering {
        let first = |pair: Pair<'_, Self>| pair.value().next().map(|place| place.offset);
        first(a).cmp(&first(b))
    }

    fn map<'s>(&self, split: Split<'s>, emit: &mut impl Emit<'s, Self>) -> Result<()> {
        for word in split.fields() {
            emit.emit(word, Place { file: split.file(), offset: split.offset_of(word) });
        }
        Ok(())
    }
}

#[test]
fn values_of_one_key_that_do_not_fit_are_an_error() {
    let engine = limited(LITTLE);
    let result = engine.job(&Places).run(Input::bytes("word ".repeat(6_000_000)));
    error_saying(&engine, result, &["memory budget", "give a larger budget"]);
}
