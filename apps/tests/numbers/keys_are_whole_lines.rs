//! Lines that equal a key, beside a loop over lines and a map: counts, and places.

use super::*;
use proptest::prelude::*;
use std::collections::BTreeMap;
use tegula::Input;
use tegula_apps::string_match::{Place, StringMatch, StringPlaces};

/// Returns the lines of a text with the bytes at which they begin, without line ends.
fn lines(text: &[u8]) -> Vec<(usize, &[u8])> {
    let mut lines = Vec::new();
    let mut start = 0;
    for line in text.split_inclusive(|&byte| byte == b'\n') {
        let bare = line.strip_suffix(b"\n").unwrap_or(line);
        lines.push((start, bare.strip_suffix(b"\r").unwrap_or(bare)));
        start += line.len();
    }
    lines
}

fn check(text: &[u8], keys: &[Vec<u8>], split: u64) {
    let mut sorted = keys.to_vec();
    sorted.sort();
    sorted.dedup();
    let mut counts: BTreeMap<&[u8], u64> = BTreeMap::new();
    let mut places = Vec::new();
    for (start, line) in lines(text) {
        if let Ok(number) = sorted.binary_search_by(|key| key.as_slice().cmp(line)) {
            *counts.entry(line).or_default() += 1;
            places.push((number, start as u64));
        }
    }
    places.sort_unstable();
    let found = same(split, |engine, options| {
        let output = engine.job(&StringMatch::new(keys)).options(&options).run(Input::bytes(text));
        let output = output.unwrap();
        output.iter().unwrap().map(|(key, count)| (key.to_vec(), count)).collect::<Vec<_>>()
    });
    assert_eq!(found, counts.into_iter().map(|(k, n)| (k.to_vec(), n)).collect::<Vec<_>>());
    let found = same(split, |engine, options| {
        let job = StringPlaces::new(keys);
        assert_eq!(job.keys(), sorted);
        let output = engine.job(&job).options(&options).run(Input::bytes(text)).unwrap();
        let place = |key| {
            let place = Place::read(key).unwrap();
            assert_eq!(place.path, b"memory");
            (place.key, place.offset)
        };
        output.iter().unwrap().map(|(key, _)| place(key)).collect::<Vec<_>>()
    });
    assert_eq!(found, places);
}

/// Short texts of few letters, so that keys are lines, begin lines and end them.
fn text(lengths: std::ops::Range<usize>) -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(prop::sample::select(b"aaabbc\0\xff\r\n\n".to_vec()), lengths)
}

fn keys(most: usize) -> impl Strategy<Value = Vec<Vec<u8>>> {
    let letter = prop::sample::select(b"aaabbc\0\xff".to_vec());
    prop::collection::vec(prop::collection::vec(letter, 0..4), 1..most)
}

proptest! {
    #![proptest_config(cases(60))]

    #[test]
    fn of_few_keys(text in text(0..600), keys in keys(6), split in 1u64..200) {
        check(&text, &keys, split);
    }

    /// More than are searched for all at once.
    #[test]
    fn of_many_keys(text in text(0..600), keys in keys(300), split in 1u64..200) {
        check(&text, &keys, split);
    }
}

#[test]
fn and_neither_begins_nor_ends_of_them() {
    let keys = [&b"ferrari"[..], b"ferrar", b"who the man"].map(<[u8]>::to_vec);
    check(b"ferrari\nferraris\na ferrari\n\nferrari\r\nferrar\nwho the man", &keys, 1);
    check(b"ferrari", &keys, 1000);
    check(b"\n", &keys, 1);
    check(b"", &keys, 1);
}

/// No line equals a key of two lines, which must not hide another key.
#[test]
fn or_no_line_where_a_key_has_a_line_end() {
    for (keys, text) in [
        (&["a\nb", "b"][..], "x\na\nb\n"),
        (&["first\nsecond", "second"], "x\nfirst\nsecond\n"),
        (&["a\nb"], "x\na\nb\n"),
    ] {
        let keys: Vec<Vec<u8>> = keys.iter().map(|key| key.as_bytes().to_vec()).collect();
        check(text.as_bytes(), &keys, 1000);
    }
}

#[test]
fn places_come_by_key_then_file_then_byte() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["b", "a"] {
        write(folder.path(), name, "tab\t\ntab\nx\ntab\n");
    }
    let job = StringPlaces::new(["tab", "tab\t"]);
    let output = engines()[1].job(&job).run(Input::paths([folder.path()]).unwrap()).unwrap();
    let places: Vec<_> = output
        .iter()
        .unwrap()
        .map(|(key, _)| Place::read(key).unwrap())
        .map(|place| (place.key, *place.path.last().unwrap(), place.offset))
        .collect();
    let expected = [(0, b'a', 5), (0, b'a', 11), (0, b'b', 5), (0, b'b', 11), (1, b'a', 0)];
    assert_eq!(places[..5], expected);
    assert_eq!(places[5..], [(1, b'b', 0)]);
    assert_eq!(Place::read(b"short"), None);
}
