//! Records are read whole, each once, wherever splits are cut.

use proptest::prelude::*;
use std::sync::Arc;
use tegula_input::ingest::{APART_BYTES, PAGE_BYTES, Reader, apart};
use tegula_input::input::{ByteSet, Cut, Delimiter, Material};
use tegula_input::memory::{BlockPool, Budget};
use tegula_input::plan::{DirectReads, Layout, Ranged};
use tegula_input::schedule::{HandOut, Placement};
use tegula_input::unit::Piece;

fn pieces(text: &[u8], cut: &Cut, tile: u64, split: u64, together: u64) -> Vec<Vec<u8>> {
    let material = Material::Memory(Arc::new(text.to_vec()));
    let whole = matches!(cut, Cut::Whole);
    let layout = Layout::new([text.len() as u64].into_iter(), tile, split.min(tile), whole);
    let ranged = Ranged { number: 0, material, layout, direct: DirectReads::default() };
    let reader = || Reader::new(&BlockPool::new(Budget::new(None)), split).unwrap();
    let (mut reader, mut other) = (reader(), reader());
    let mut pieces = Vec::new();
    let placement = Placement::flat(1);
    let hand_out = HandOut::new(ranged.layout.tile_ends(), &placement);
    while let Some(splits) = hand_out.take(0, together) {
        reader.read_splits(&ranged, splits.clone(), cut).unwrap();
        // The other way to read them.
        let (mut found, first) = (Vec::new(), pieces.len());
        for extent in ranged.layout.extents(splits) {
            let Some(records) = other.records_of(&ranged, &extent, cut).unwrap() else { continue };
            let mut piece = vec![0; (records.end - records.start) as usize];
            other.read_into(&ranged, extent.file, records.start, &mut piece).unwrap();
            found.push(piece);
        }
        for Piece { records, offset, .. } in &reader.read.pieces {
            let piece = reader.read.buffer.bytes()[records.clone()].to_vec();
            assert_eq!(piece, text[*offset as usize..][..piece.len()]);
            pieces.push(piece);
        }
        assert_eq!(&pieces[first..], found);
    }
    pieces
}

fn bytes_of_few_kinds() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(prop::sample::select(vec![b'a', b'b', b' ', b'\n', 0]), 0..5000)
}

proptest! {
    #[test]
    fn pieces_put_together_are_the_text_and_end_at_borders(
        text in bytes_of_few_kinds(),
        tile in 1u64..6000,
        split in 1u64..6000,
        together in 1u64..8,
        which in 0usize..7,
    ) {
        let cut = [
            Cut::Lines,
            Cut::After(ByteSet::of(b" \n")),
            Cut::Between(|a, b| a == b'a' && b == b'b'),
            Cut::Delimiter(Delimiter::new("ab").unwrap()),
            Cut::Delimiter(Delimiter::new("\n\n").unwrap()),
            Cut::Delimiter(Delimiter::new("abaaba").unwrap()),
            Cut::Whole,
        ][which];
        let pieces = pieces(&text, &cut, tile, split, together);
        prop_assert_eq!(pieces.concat(), &text[..]);
        let mut end = 0;
        for piece in &pieces {
            end += piece.len();
            let is_border = end == text.len() || cut.find_border(&text, end, end + 1).is_some();
            prop_assert!(is_border && !piece.is_empty());
        }
    }

    #[test]
    fn fixed_records_are_never_torn(
        records in 0usize..300, record in 1u64..40, tile in 1u64..900, split in 1u64..900,
    ) {
        let text: Vec<u8> = (0..records * record as usize).map(|i| i as u8).collect();
        let pieces = pieces(&text, &Cut::Fixed(record), tile, split, 3);
        prop_assert_eq!(pieces.concat(), &text[..]);
        prop_assert!(pieces.iter().all(|piece| (piece.len() as u64).is_multiple_of(record)));
    }
}

#[test]
fn one_record_over_many_splits_is_read_once() {
    let mut text = vec![b'x'; 300_000];
    text.extend(b" tail");
    let pieces = pieces(&text, &Cut::After(ByteSet::of(b" ")), 1000, 100, 1);
    assert_eq!(pieces.iter().map(Vec::len).collect::<Vec<_>>(), [300_001, 4]);
}

proptest! {
    #[test]
    fn copies_are_apart_from_the_bytes_they_are_copied_from(
        used in 0..10_000_usize, offset in 0..10_000_u64, want in 0..10_000_usize,
    ) {
        let place = apart(used, offset, want);
        prop_assert!((used..used + APART_BYTES as usize).contains(&place));
        let further = (place as u64 + PAGE_BYTES * 3 - offset) % PAGE_BYTES;
        prop_assert!(want < 4096 || further == 0 || further >= 32, "{further}");
    }
}
