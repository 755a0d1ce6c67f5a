//! The stock: an index of a manifest's pieces by the numbers of tiles and folds. Choosing the parts of some
//! tiles then costs time in proportion to those tiles, and not to the manifest. A run chooses for each group
//! of tiles that it folds, and the number of groups grows with the input.

use super::folds::{Fold, tile_of};
use super::manifest::{Manifest, Piece, Snapshot};
use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

/// A manifest's pieces and folds by number. To make it is linear in them.
pub struct Stock<'m> {
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
    pub fn of(manifest: &'m Manifest) -> Stock<'m> {
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
        for fold in manifest.folds.iter().filter(|fold| folds.contains_key(&fold.number)) {
            if let Some(first) = fold.tiles.first() {
                starting.entry(*first).or_default().push(fold);
            }
        }
        Stock { manifest, tiles, folds, starting }
    }

    /// Returns whether a tile has pieces of its own.
    pub fn has(&self, tile: u64) -> bool {
        self.tiles.contains_key(&tile)
    }

    /// Returns the folds that were worth keeping.
    pub fn folds(&self) -> impl Iterator<Item = &'m Fold> {
        self.manifest.folds.iter().filter(|fold| self.folds.contains_key(&fold.number))
    }

    /// Returns the folds that may consist of these tiles alone, the largest first.
    pub fn folds_within(&self, tiles: &HashSet<u64>) -> Vec<&'m Fold> {
        let folds = tiles.iter().filter_map(|tile| self.starting.get(tile)).flatten();
        let mut folds: Vec<&Fold> =
            folds.copied().filter(|fold| fold.tiles.len() <= tiles.len()).collect();
        folds.sort_unstable_by_key(|fold| (Reverse(fold.tiles.len()), fold.number));
        folds
    }

    /// Pairs of these tiles, each for itself.
    pub fn pairs_of_tiles<'t>(&self, tiles: impl IntoIterator<Item = &'t u64>) -> u64 {
        tiles.into_iter().filter_map(|tile| self.tiles.get(tile)).map(|held| held.pairs).sum()
    }

    pub fn pairs_of_fold(&self, number: u64) -> u64 {
        self.folds.get(&number).map_or(0, |held| held.pairs)
    }

    /// Returns the pieces of folds and tiles, each snapshot's in its order; the `taken_out` pieces come by
    /// themselves, marked as such.
    pub fn pieces<'s>(
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
