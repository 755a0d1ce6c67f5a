//! The pieces of a manifest by the numbers of their tiles and folds.

use proptest::prelude::*;
use std::collections::HashSet;
use tegula_core::coverage::Coverage;
use tegula_core::state::TILES;
use tegula_core::state::folds::{Fold, tile_of};
use tegula_core::state::manifest::{Manifest, Piece, Snapshot};
use tegula_core::state::stock::Stock;
use tegula_pairs::identity::Identity;

/// Returns a piece of a tile, or of the fold of that number if `is_fold`.
fn piece(number: u64, is_fold: bool, pairs: u64) -> Piece {
    let mut coverage = Coverage::default();
    if !is_fold {
        assert!(!coverage.add(TILES, number, 0..1));
    }
    Piece { pairs, coverage, fold: is_fold.then_some(number), ..Piece::default() }
}

/// Returns a manifest of a run that is done.
pub(super) fn manifest(snapshots: Vec<Vec<Piece>>, folds: Vec<Fold>) -> Manifest {
    let numbered = (0..).zip(snapshots);
    let snapshot = |(number, pieces)| Snapshot { number, bytes: 9, digest: 0, pieces };
    Manifest {
        identity: Identity::new("job", 1),
        about: Vec::new(),
        files: 1,
        input_bytes: 1,
        input_digest: 1,
        next: 4,
        done: true,
        tiles: Some(0),
        folds,
        snapshots: numbered.map(snapshot).collect(),
    }
}

proptest! {
    /// As if all pieces were looked at, one after the other.
    #[test]
    fn pieces_are_those_of_the_numbers(
        pieces in prop::collection::vec(prop::collection::vec((0..12_u64, any::<bool>(), 0..9_u64), 0..9), 0..5),
        folds in prop::collection::hash_set(0..14_u64, 0..6),
        parted in prop::collection::vec(any::<Option<bool>>(), 14),
    ) {
        let made = |of: Vec<_>| of.into_iter().map(|(number, is_fold, pairs)| piece(number, is_fold, pairs)).collect();
        let manifest = manifest(pieces.into_iter().map(made).collect(), Vec::new());
        let numbers = |wanted: bool| -> HashSet<u64> {
            (0..14).filter(|number| parted[*number as usize] == Some(wanted)).collect()
        };
        let (tiles, taken_out) = (numbers(false), numbers(true));
        let mut expected = Vec::new();
        for snapshot in &manifest.snapshots {
            for is_taken_out in [false, true] {
                let is_wanted = |piece: &&Piece| match (piece.fold, tile_of(piece)) {
                    (Some(fold), _) => !is_taken_out && folds.contains(&fold),
                    (None, Some(tile)) if is_taken_out => taken_out.contains(&tile),
                    (None, Some(tile)) => tiles.contains(&tile),
                    (None, None) => false,
                };
                let pieces: Vec<Piece> = snapshot.pieces.iter().filter(is_wanted).cloned().collect();
                if !pieces.is_empty() {
                    expected.push((Snapshot { pieces, ..*snapshot }, is_taken_out));
                }
            }
        }
        let stock = Stock::of(&manifest);
        prop_assert_eq!(stock.pieces(&folds, &tiles, &taken_out), expected);
        let of_tiles = manifest.pieces().filter(|piece| tile_of(piece).is_some_and(|tile| tiles.contains(&tile)));
        prop_assert_eq!(stock.pairs_of_tiles(&tiles), of_tiles.map(|piece| piece.pairs).sum::<u64>());
    }
}
