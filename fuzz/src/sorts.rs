//! Sorts of lines and of records of a fixed size, beside a stable sort of the standard library.

use crate::{choice, named, shape};
use std::path::Path;
use tegula::{Input, Records, Sort, SortTo};

pub(crate) fn run(bytes: &[u8]) {
    let Some((of, rest)) = choice(bytes) else { return };
    let Some((how, rest)) = choice(rest) else { return };
    let Some((record, data)) = choice(rest) else { return };
    let (is_lines, reverse, unique, has_key) =
        (how & 1 == 0, how & 2 != 0, how & 4 != 0, how & 8 != 0);
    let record = usize::from(record % 20) + 1;
    let range =
        if has_key { u64::from(how >> 4) % 5..u64::from(how >> 4) % 5 + 3 } else { 0..u64::MAX };
    let records: Vec<&[u8]> = match is_lines {
        true => data.split_inclusive(|&byte| byte == b'\n').collect(),
        false => data.chunks(record).collect(),
    };
    let key = |record: &[u8]| {
        let line = if is_lines { record.strip_suffix(b"\n").unwrap_or(record) } else { record };
        let end = range.end.min(line.len() as u64) as usize;
        line[(range.start as usize).min(end)..end].to_vec()
    };
    let sort = Sort {
        records: if is_lines { Records::Lines } else { Records::Fixed(record as u64) },
        key: has_key.then(|| range.clone()),
        reverse,
        unique,
    };
    let (engine, options) = shape(of);
    let mut sorted = Vec::new();
    let to = SortTo::Writer(&mut sorted, Path::new("a vector"));
    let result = named(engine.sort(&sort, Input::bytes(data), to, &options));
    let is_torn = !is_lines && data.len() % record != 0;
    let is_beyond = !is_lines && has_key && range.end > record as u64;
    if is_torn || is_beyond {
        assert!(result.is_err() || data.is_empty());
        return;
    }
    result.unwrap();
    let mut expected: Vec<(Vec<u8>, &[u8])> =
        records.iter().map(|record| (key(record), *record)).collect();
    match reverse {
        true => expected.sort_by(|one, other| other.0.cmp(&one.0)),
        false => expected.sort_by(|one, other| one.0.cmp(&other.0)),
    }
    if unique {
        expected.dedup_by(|later, first| later.0 == first.0);
    }
    let mut text = Vec::new();
    for (_, record) in expected {
        text.extend_from_slice(record);
        if is_lines && !record.ends_with(b"\n") {
            text.push(b'\n');
        }
    }
    assert_eq!(sorted, text);
}
