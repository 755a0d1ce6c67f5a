//! Blocks of compressed files are numbered in the order of the input, with room for any expansion.

use std::io;
use std::path::Path;
use std::sync::Arc;
use tegula_input::input::{Cut, FileList, Format, Input, PackedFiles, RangeSource, Source};
use tegula_input::plan::{Cutting, Part, Plan, Reads};

#[test]
fn numbers_ascend_by_file_and_leave_room_for_the_largest_expansion() {
    let lengths = [10u64, 0, 1 << 40, 3000];
    let mut files = FileList::default();
    lengths.iter().for_each(|&length| files.add_path(length.to_string().as_ref(), length));
    let packed =
        PackedFiles { from: Some(Arc::new(Nothing)), files, formats: vec![Format::Gzip; 4] };
    let input = Input { sources: vec![Source::Packed(packed)], passed_over: 0 };
    let (tile_bytes, split_bytes, unit_bytes) = (32 << 20, 64 << 10, 64 << 10);
    let cutting =
        Cutting { tile_bytes, split_bytes, unit_bytes, reads: Reads::Cached, skip_torn: false };
    let plan = Plan::new(input, Cut::Lines, cutting).unwrap();
    let [Part::Packed(packed)] = &plan.parts[..] else { panic!("a part of compressed files") };
    let (mut weight, mut end) = (0, 0);
    for (file, length) in lengths.iter().enumerate() {
        let numbers = packed.numbers(weight..weight + packed.weight(file));
        assert_eq!(numbers.start, end);
        assert!(numbers.end - numbers.start > 1 << 20, "{length}: {numbers:?}");
        // Blocks of 256 KiB of a thousand times as many bytes.
        assert!(*length < 1 << 20 || (numbers.end - numbers.start) << 18 > 400 * length);
        (weight, end) = (weight + packed.weight(file), numbers.end);
    }
    assert_eq!((end, packed.numbers_of_all()), (1 << 31, 1 << 31));
}

#[derive(Debug)]
struct Nothing;

impl RangeSource for Nothing {
    fn read_at(&self, _: &Path, _: u64, _: &mut [u8]) -> io::Result<()> {
        Err(io::ErrorKind::NotFound.into())
    }
}
