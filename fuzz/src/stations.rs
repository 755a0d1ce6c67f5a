//! Temperatures beside a reading of each line by the standard library.

use crate::{choice, named, shape};
use std::collections::BTreeMap;
use tegula::{Input, Options};
use tegula_apps::Stations;
use tegula_apps::stations::Temperatures;

pub(crate) fn run(bytes: &[u8]) {
    let Some((of, text)) = choice(bytes) else { return };
    let (engine, options) = shape(of);
    let options = Options { skip_bad: true, ..options };
    let output = named(engine.job(&Stations).options(&options).run(Input::bytes(text))).unwrap();
    let mut expected: BTreeMap<Vec<u8>, Vec<i64>> = BTreeMap::new();
    let mut bad = 0;
    for line in text.split_inclusive(|&byte| byte == b'\n') {
        match reading(line.strip_suffix(b"\n").unwrap_or(line)) {
            Some((name, tenths)) => expected.entry(name.to_vec()).or_default().push(tenths),
            None => bad += 1,
        }
    }
    let mut found: BTreeMap<Vec<u8>, (i64, i64)> = BTreeMap::new();
    let insert = |key: &[u8], value: Temperatures| {
        found.insert(key.to_vec(), (value.least, value.greatest));
    };
    output.for_each(insert).unwrap();
    let expected: BTreeMap<Vec<u8>, (i64, i64)> = expected
        .into_iter()
        .map(|(name, all)| {
            let (least, greatest) = (all.iter().min().unwrap(), all.iter().max().unwrap());
            (name, (*least, *greatest))
        })
        .collect();
    assert_eq!((found, output.stats().bad_records), (expected, bad));
}

/// Returns the station and the temperature of a line, in tenths: one or two digits, a point, a digit.
fn reading(line: &[u8]) -> Option<(&[u8], i64)> {
    let at = line.iter().position(|&byte| byte == b';')?;
    let (name, text) = (&line[..at], &line[at + 1..]);
    let (sign, digits) = match text.strip_prefix(b"-") {
        Some(digits) => (-1, digits),
        None => (1, text),
    };
    let (whole, tenth) = match digits {
        [one, b'.', tenth] => (vec![*one], *tenth),
        [one, two, b'.', tenth] => (vec![*one, *two], *tenth),
        _ => return None,
    };
    let mut tenths = 0;
    for digit in whole.into_iter().chain([tenth]) {
        tenths = tenths * 10 + i64::from(digit.is_ascii_digit().then(|| digit - b'0')?);
    }
    let is_name = (1..=100).contains(&name.len()) && std::str::from_utf8(name).is_ok();
    is_name.then_some((name, sign * tenths))
}
