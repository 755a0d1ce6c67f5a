//! A map sees whole records only, each once, whatever the job's cut and wherever splits nominally
//! lie; a record may be longer than a tile.

use crate::packing::Packing;
use crate::support::{
    cases, count_line, count_lines, engine, engines, error_saying, file_in, folder_of,
    pipe_written_by, text_of,
};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::io::Write;
use tegula::{
    ByteSet, Count, Cut, Delimiter, Emit, Error, Input, InputError, Job, Options, Order, Result,
    Split,
};

/// Counts records, which it finds as the reference does: from each split alone.
struct Records(Cut);

impl Job for Records {
    type Key = [u8];
    type Combine = Count;

    fn cut(&self) -> Cut {
        self.0
    }

    fn map<'s>(&self, split: Split<'s>, emit: &mut impl Emit<'s, Self>) -> Result<()> {
        records(&self.0, split.bytes()).into_iter().for_each(|record| emit.emit(record, ()));
        Ok(())
    }
}

/// Returns the length of a record: a byte that gives the number of bytes after it; the last one may be short.
fn frame(bytes: &[u8]) -> Option<usize> {
    Some(1 + usize::from(bytes[0]))
}

/// Returns the records of a text, cut wherever the cut allows.
fn records<'t>(cut: &Cut, text: &'t [u8]) -> Vec<&'t [u8]> {
    let mut ends = Vec::new();
    if let Cut::Framed(frame) = cut {
        let mut end = 0;
        while let Some(length) = text.get(end..).filter(|rest| !rest.is_empty()).and_then(frame) {
            end += length;
            ends.push(end);
        }
    }
    let is_border = |at: usize| match *cut {
        Cut::Lines => text[at - 1] == b'\n',
        Cut::After(set) => set.contains(text[at - 1]),
        Cut::Between(border) => border(text[at - 1], text[at]),
        Cut::Fixed(record) => (at as u64).is_multiple_of(record),
        Cut::Delimiter(delimiter) => {
            let bytes = delimiter.bytes();
            let overlapped = |end| text.get(..end).is_some_and(|text| text.ends_with(bytes));
            text[..at].ends_with(bytes) && !(at + 1..at + bytes.len()).any(overlapped)
        }
        Cut::Framed(_) => ends.binary_search(&at).is_ok(),
        _ => false,
    };
    let mut records = Vec::new();
    let mut start = 0;
    for at in (1..text.len()).filter(|&at| is_border(at)) {
        records.push(&text[start..at]);
        start = at;
    }
    records.extend((!text.is_empty()).then(|| &text[start..]));
    records
}

fn check(cut: Cut, files: &[Vec<u8>], tile: u64, split: u64) -> Result<(), TestCaseError> {
    let expected = expected(&cut, files);
    let folder = folder_of(files);
    let options = Options {
        tile_bytes: Some(tile),
        split_bytes: Some(split),
        order: Order::Key,
        ..Options::default()
    };
    for engine in engines() {
        let input = Input::paths([folder.path()]).unwrap();
        let output = engine.job(&Records(cut)).options(&options).run(input).unwrap();
        prop_assert!(text_of(&output, count_line) == expected, "{} workers", engine.workers());
    }
    Ok(())
}

/// The same text through a pipe, compressed, and from memory.
fn check_in_order(cut: Cut, text: &[u8], split: u64) -> Result<(), TestCaseError> {
    let expected = expected(&cut, &[text.to_vec()]);
    let options = Options { split_bytes: Some(split), order: Order::Key, ..Options::default() };
    let packed = folder_of(&[Packing::Gzip.pack(text)]);
    for engine in engines() {
        let run = |input| engine.job(&Records(cut)).options(&options).run(input).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let written = text.to_vec();
        let (pipe, writer) = pipe_written_by(&folder, move |mut pipe| {
            written.chunks(3000).for_each(|piece| pipe.write_all(piece).unwrap());
        });
        prop_assert!(text_of(&run(pipe), count_line) == expected, "a pipe");
        writer.join().unwrap();
        let input = Input::paths([packed.path()]).unwrap();
        prop_assert!(text_of(&run(input), count_line) == expected, "gzip");
        prop_assert!(text_of(&run(Input::bytes(text)), count_line) == expected, "memory");
    }
    Ok(())
}

fn expected(cut: &Cut, files: &[Vec<u8>]) -> Vec<u8> {
    let mut counts = BTreeMap::<Vec<u8>, u64>::new();
    for record in files.iter().flat_map(|file| records(cut, file)) {
        *counts.entry(record.to_vec()).or_default() += 1;
    }
    count_lines(&counts.into_iter().collect::<Vec<_>>())
}

fn cuts() -> impl Strategy<Value = Cut> {
    let delimiter = |bytes| Cut::Delimiter(Delimiter::new(bytes).unwrap());
    prop::sample::select(vec![
        Cut::Lines,
        Cut::After(ByteSet::of(b" \0")),
        Cut::Between(|before, after| before == b' ' && after != b' '),
        delimiter("\0\n"),
        delimiter("\n\n"),
        delimiter("aabaa"),
        Cut::Framed(frame),
        Cut::Framed(|bytes| (bytes.len() > 2500).then_some(2500)),
        Cut::Whole,
    ])
}

fn file(most: usize) -> impl Strategy<Value = Vec<u8>> {
    let byte = prop::sample::select(&b"aaaaab  \n\0\xff"[..]);
    let runs = prop::collection::vec((byte, prop_oneof![1..20_usize, Just(2000)]), 0..most);
    runs.prop_map(|runs| runs.into_iter().flat_map(|(byte, len)| vec![byte; len]).collect())
}

proptest! {
    #![proptest_config(cases(48))]

    #[test]
    fn records_of_any_length_are_seen_whole(
        files in prop::collection::vec(file(60), 0..4),
        tile in prop_oneof![1..50_u64, 50..9000_u64],
        split in prop_oneof![1..50_u64, 50..9000_u64],
        cut in cuts(),
    ) {
        check(cut, &files, tile, split)?;
    }

    #[test]
    fn records_that_come_in_order_are_seen_whole(
        text in file(60),
        split in prop_oneof![1..50_u64, 50..9000_u64],
        cut in cuts(),
    ) {
        check_in_order(cut, &text, split)?;
    }

    #[test]
    fn records_of_a_fixed_size_are_seen_whole(
        lengths in prop::collection::vec(0..300_usize, 0..4),
        record in 1..40_usize,
        tile in 1..5000_u64,
        split in 1..5000_u64,
    ) {
        let file = |length: &usize| (0..length * record).map(|i| (i % 251) as u8).collect();
        let files: Vec<Vec<u8>> = lengths.iter().map(file).collect();
        check(Cut::Fixed(record as u64), &files, tile, split)?;
    }
}

#[test]
fn a_line_longer_than_many_tiles_is_one_record() {
    let mut text = b"first\n".to_vec();
    text.extend(vec![b'x'; 3_000_000]);
    text.extend(b"\nlast");
    check(Cut::Lines, &[text], 64 << 10, 4 << 10).unwrap();
}

#[test]
fn a_file_of_torn_records_is_named() {
    let engine = engine(2);
    let folder = folder_of(&["sixteen bytes...", "seventeen bytes.."]);
    let input = Input::paths([folder.path()]).unwrap();
    let ragged = file_in(&folder, 1);
    let says = [ragged.to_str().unwrap(), "17 bytes is no multiple of the record size 8"];
    let error = error_saying(&engine, engine.job(&Records(Cut::Fixed(8))).run(input), &says);
    let Error::Input(InputError::Ragged { path, length: 17, record: 8 }) = error else {
        panic!("{error:?}")
    };
    assert_eq!(path, ragged);
}
