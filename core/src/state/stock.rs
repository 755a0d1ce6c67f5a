//! The stock: an index of a manifest's pieces by the numbers of tiles and folds. Choosing the parts of some
//! tiles then costs time in proportion to those tiles, and not to the manifest. A run chooses for each group
//! of tiles that it folds, and the number of groups grows with the input.

use super::folds::{Fold, tile_of};
use super::manifest::{Manifest, Piece, Snapshot};
use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

/// A manifest's pieces and folds by number. To make it is linear in them.
pub(super) struct Stock<'m> {
    manifest: &'m Manifest,
    tiles: HashMap<u64, Held>,
    folds: HashMap<u64, Held>,
    /// The folds by their first tile.
    starting: HashMap<u64, Vec<&'m Fold>>,
}

/// The pieces of one tile or fold.
#[derive(Default)]
struct Held {
    pairs: u64,
    /// Its pieces: the snapshot, and the place in that.
    pieces: Vec<(usize, usize)>,
}

impl<'m> Stock<'m> {
    pub(super) fn of(manifest: &'m Manifest) -> Stock<'m> {
        let (mut tiles, mut folds) = (HashMap::new(), HashMap::new());
        for (snapshot, Snapshot { pieces, .. }) in manifest.snapshots.iter().enumerate() {
            for (at, piece) in pieces.iter().enumerate() {
                let held: &mut Held = match (piece.fold, tile_of(piece)) {
                    (Some(fold), _) => folds.entry(fold).or_default(),
                    (None, Some(tile)) => tiles.entry(tile).or_default(),
                    (None, None) => continue,
                };
                held.pairs += piece.pairs;
                held.pieces.push((snapshot, at));
            }
        }
        let mut starting: HashMap<u64, Vec<&Fold>> = HashMap::new();
        for fold in &manifest.folds {
            if let Some(first) = fold.tiles.first() {
                starting.entry(*first).or_default().push(fold);
            }
        }
        Stock { manifest, tiles, folds, starting }
    }

    /// Returns whether a tile has pieces of its own.
    pub(super) fn has(&self, tile: u64) -> bool {
        self.tiles.contains_key(&tile)
    }

    /// Returns all folds.
    pub(super) fn folds(&self) -> impl Iterator<Item = &'m Fold> {
        self.manifest.folds.iter()
    }

    /// Returns the folds that may consist of these tiles alone, the largest first.
    pub(super) fn folds_within(&self, tiles: &HashSet<u64>) -> Vec<&'m Fold> {
        let folds = tiles.iter().filter_map(|tile| self.starting.get(tile)).flatten();
        let mut folds: Vec<&Fold> =
            folds.copied().filter(|fold| fold.tiles.len() <= tiles.len()).collect();
        folds.sort_unstable_by_key(|fold| (Reverse(fold.tiles.len()), fold.number));
        folds
    }

    /// Pairs of these tiles, each for itself.
    pub(super) fn pairs_of_tiles<'t>(&self, tiles: impl IntoIterator<Item = &'t u64>) -> u64 {
        tiles.into_iter().filter_map(|tile| self.tiles.get(tile)).map(|held| held.pairs).sum()
    }

    pub(super) fn pairs_of_fold(&self, number: u64) -> u64 {
        self.folds.get(&number).map_or(0, |held| held.pairs)
    }

    /// Returns the pieces of folds and tiles, each snapshot's in its order; the `taken_out` pieces come by
    /// themselves, marked as such.
    pub(super) fn pieces<'s>(
        &'s self,
        folds: impl IntoIterator<Item = &'s u64>,
        tiles: impl IntoIterator<Item = &'s u64>,
        taken_out: impl IntoIterator<Item = &'s u64>,
    ) -> Vec<(Snapshot, bool)> {
        let mut pieces = Vec::new();
        let mut add = |held: Option<&Held>, is_taken_out| {
            let of = held.into_iter().flat_map(|held| &held.pieces);
            pieces.extend(of.map(|&(snapshot, at)| (snapshot, is_taken_out, at)));
        };
        folds.into_iter().for_each(|fold| add(self.folds.get(fold), false));
        tiles.into_iter().for_each(|tile| add(self.tiles.get(tile), false));
        taken_out.into_iter().for_each(|tile| add(self.tiles.get(tile), true));
        pieces.sort_unstable();
        let groups = pieces.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1));
        let whole = |group: &[(usize, bool, usize)]| {
            let (snapshot, is_taken_out, _) = group[0];
            let snapshot = &self.manifest.snapshots[snapshot];
            let pieces: Vec<Piece> =
                group.iter().map(|&(.., at)| snapshot.pieces[at].clone()).collect();
            (Snapshot { pieces, ..*snapshot }, is_taken_out)
        };
        groups.map(whole).collect()
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::tiles::TILES;
    use super::*;
    use crate::coverage::Coverage;
    use crate::identity::Identity;
    use proptest::prelude::*;

    /// Returns a piece of a tile, or of the fold of that number if `is_fold`.
    fn piece(number: u64, is_fold: bool, pairs: u64) -> Piece {
        let mut coverage = Coverage::default();
        if !is_fold {
            assert!(!coverage.add(TILES, number, 0..1));
        }
        Piece { pairs, coverage, fold: is_fold.then_some(number), ..Piece::default() }
    }

    /// Returns a manifest of a run that is done.
    pub(in crate::state) fn manifest(snapshots: Vec<Vec<Piece>>, folds: Vec<Fold>) -> Manifest {
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
}
