//! Tiles and splits cover the input, and tiles stay where they are when the input changes elsewhere.

use proptest::prelude::*;
use std::ops::Range;
use tegula_input::plan::{Extent, Fullest, Layout};

fn extents(layout: &Layout) -> Vec<Extent> {
    (0..layout.splits()).flat_map(|split| layout.extents(split..split + 1)).collect()
}

#[test]
fn small_files_share_a_tile_and_big_ones_have_many() {
    let layout = Layout::new([10, 10, 100, 10, 0, 10, 10].into_iter(), 30, 10, false);
    let lengths: Vec<u64> = layout.tile_bytes().map(|(bytes, _)| bytes).collect();
    assert_eq!(lengths, [20, 30, 30, 30, 10, 30]);
}

#[test]
fn tiles_of_a_big_file_do_not_move_when_a_small_one_before_it_grows() {
    let lengths = |first: u64| -> Vec<u64> {
        let layout = Layout::new([first, 1000].into_iter(), 64, 64, false);
        layout.tile_bytes().map(|(bytes, _)| bytes).collect()
    };
    let (before, after) = (lengths(10), lengths(50));
    assert_eq!((before[0], after[0]), (10, 50));
    assert_eq!(before[1..], after[1..]);
}

proptest! {
    #[test]
    fn every_byte_is_in_exactly_one_extent(
        lengths in prop::collection::vec(0u64..200, 0..30),
        tile in 1u64..300,
        split in 1u64..300,
        whole: bool,
    ) {
        let layout = Layout::new(lengths.iter().copied(), tile, split.min(tile), whole);
        let mut expected = vec![0; lengths.len()];
        for Extent { file, bytes } in extents(&layout) {
            prop_assert_eq!(bytes.start, expected[file]);
            prop_assert!(!whole || bytes.end == lengths[file]);
            expected[file] = bytes.end;
        }
        prop_assert_eq!(expected, lengths);
    }

    #[test]
    fn the_fullest_split_is_as_full_as_said(
        lengths in prop::collection::vec(prop_oneof![0u64..5, 0u64..200], 0..60),
        tile in 1u64..300,
        split in 1u64..100,
        whole: bool,
    ) {
        let split = split.min(tile);
        let layout = Layout::new(lengths.iter().copied(), tile, split, whole);
        let Fullest { files, whole_bytes } = layout.fullest();
        for number in 0..layout.splits() {
            let extents: Vec<Extent> = layout.extents(number..number + 1).collect();
            prop_assert!(extents.len() as u64 <= files);
            let bytes: u64 = extents.iter().map(|extent| extent.bytes.end - extent.bytes.start).sum();
            prop_assert!(bytes <= split + whole_bytes);
        }
        // It says one more than there are at most.
        let most = (0..layout.splits()).map(|number| layout.extents(number..number + 1).count());
        prop_assert!(files <= 1 + most.max().unwrap_or(0) as u64);
        prop_assert!(whole || whole_bytes <= split);
    }

    #[test]
    fn splits_taken_together_cover_what_they_cover_one_by_one(
        lengths in prop::collection::vec(0u64..200, 1..30),
        tile in 1u64..300,
        split in 1u64..300,
        together in 1u64..20,
    ) {
        let layout = Layout::new(lengths.iter().copied(), tile, split.min(tile), false);
        let bytes = |splits: &[Range<u64>]| {
            let mut covered = Vec::new();
            for extent in splits.iter().flat_map(|splits| layout.extents(splits.clone())) {
                covered.extend(extent.bytes.map(|at| (extent.file, at)));
            }
            covered
        };
        let (mut taken, mut next) = (Vec::new(), 0);
        for tile_end in layout.tile_ends() {
            while next < tile_end {
                let end = tile_end.min(next + together);
                taken.push(next..end);
                next = end;
            }
        }
        let one_by_one: Vec<_> = (0..layout.splits()).map(|split| split..split + 1).collect();
        prop_assert_eq!(bytes(&taken), bytes(&one_by_one));
    }
}
