//! Folds: the combined pairs of several tiles, kept beside the pairs of each tile. A run whose input has
//! changed a little takes the fold of all tiles and takes the pairs of removed tiles out again, if the
//! combine has an inverse; otherwise it takes the folds of tiles of which none is removed. So a run pays for
//! the change, and not for the whole.
//!
//! Which tiles are folded together follows from their numbers: a tile ends a group of level *n* if its
//! number, mixed, is 0 in its last 4 *n* bits. So a group has 16 of the level below on average, groups
//! nest, and a tile that is new, gone or moved changes the groups that it is in, and no other: a
//! Merkle tree whose nodes are cut by content, as in Noms' prolly trees.

use super::manifest::{Manifest, Piece, Snapshot};
use super::stock::Stock;
use super::tiles::TILES;
use crate::encoding::{Reading, put_number};
use crate::relocation::{Relocation, Standing};
use std::collections::HashSet;

/// The combined pairs of some tiles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fold {
    /// The number by which pieces name it.
    pub(crate) number: u64,
    /// The numbers of the tiles, ascending.
    pub(crate) tiles: Vec<u64>,
}

impl Fold {
    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        put_number(self.number, out);
        put_number(self.tiles.len() as u64, out);
        let mut before = 0;
        for &tile in &self.tiles {
            put_number(tile - std::mem::replace(&mut before, tile), out);
        }
    }

    pub(super) fn decode(from: &mut Reading<'_>) -> Option<Fold> {
        let (number, count, mut before) = (from.number()?, from.number()?, 0_u64);
        let tile = |_| {
            before = before.checked_add(from.number()?)?;
            Some(before)
        };
        Some(Fold { number, tiles: (0..count).map(tile).collect::<Option<_>>()? })
    }
}

/// Pieces of one snapshot that a run takes in.
#[derive(Clone, Debug)]
pub(crate) struct Taking {
    /// Of its pieces, those alone.
    pub(crate) snapshot: Snapshot,
    /// Whether its pairs are taken out of the others.
    pub(crate) is_taken_out: bool,
    /// Whether no key comes twice in all pairs that are taken in.
    pub(crate) is_folded: bool,
    /// How far the tile of each piece has moved.
    pub(crate) relocations: Vec<Relocation>,
}

impl Taking {
    /// Takes all of a snapshot, unchanged.
    pub(super) fn whole(snapshot: &Snapshot) -> Taking {
        Taking::of(snapshot.clone(), false, |_| None)
    }

    /// Takes these pieces, whose tiles are now at `standing`.
    fn of(
        snapshot: Snapshot,
        is_taken_out: bool,
        standing: impl Fn(u64) -> Option<Standing>,
    ) -> Taking {
        let relocation = |piece: &Piece| {
            let now = tile_of(piece).and_then(&standing);
            piece
                .stood
                .zip(now)
                .map_or_else(Relocation::default, |(then, now)| then.relocation(&now))
        };
        let relocations = snapshot.pieces.iter().map(relocation).collect();
        Taking { snapshot, is_taken_out, is_folded: false, relocations }
    }
}

/// The parts of a manifest that make up some tiles.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Choice {
    folds: HashSet<u64>,
    tiles: HashSet<u64>,
    taken_out: HashSet<u64>,
    /// Pairs to read.
    pub(super) pairs: u64,
}

/// Returns the tile that a piece is of, if it is of one.
pub(super) fn tile_of(piece: &Piece) -> Option<u64> {
    piece.coverage.files(TILES).next()
}

impl Choice {
    /// Chooses the parts that make up the tiles `wanted`, as far as they are there, in the fewest pairs.
    pub(super) fn of(stock: &Stock<'_>, wanted: &HashSet<u64>, has_inverse: bool) -> Choice {
        let there = wanted.iter().copied().filter(|&tile| stock.has(tile)).collect();
        let without = Choice::covering(stock, &there);
        if !has_inverse {
            return without;
        }
        let with = stock.folds().filter_map(|fold| Choice::less(fold, &there, stock));
        with.chain([without]).min_by_key(|choice| choice.pairs).unwrap_or_default()
    }

    /// Chooses folds of which no tile is gone, the largest first, and the tiles that are in none.
    fn covering(stock: &Stock<'_>, there: &HashSet<u64>) -> Choice {
        let mut choice = Choice { tiles: there.clone(), ..Choice::default() };
        for fold in stock.folds_within(there) {
            let is_there = || fold.tiles.iter().all(|tile| choice.tiles.contains(tile));
            let pairs = stock.pairs_of_fold(fold.number);
            if is_there() && pairs <= stock.pairs_of_tiles(&fold.tiles) {
                for tile in &fold.tiles {
                    choice.tiles.remove(tile);
                }
                choice.folds.insert(fold.number);
                choice.pairs += pairs;
            }
        }
        choice.pairs += stock.pairs_of_tiles(&choice.tiles);
        choice
    }

    /// Chooses a fold, less the tiles that are gone, with the tiles that are not in it.
    fn less(fold: &Fold, there: &HashSet<u64>, stock: &Stock<'_>) -> Option<Choice> {
        let folded: HashSet<u64> = fold.tiles.iter().copied().collect();
        let taken_out: HashSet<u64> = folded.difference(there).copied().collect();
        let tiles: HashSet<u64> = there.difference(&folded).copied().collect();
        let is_known = taken_out.iter().all(|&tile| stock.has(tile));
        let pairs = stock.pairs_of_fold(fold.number)
            + stock.pairs_of_tiles(&taken_out)
            + stock.pairs_of_tiles(&tiles);
        let folds = HashSet::from([fold.number]);
        is_known.then_some(Choice { folds, tiles, taken_out, pairs })
    }

    /// Returns the pieces, snapshot by snapshot, of tiles that are now at `standing`.
    pub(super) fn takings(
        &self,
        stock: &Stock<'_>,
        standing: impl Fn(u64) -> Option<Standing>,
    ) -> Vec<Taking> {
        let is_folded = self.is_one_fold();
        let pieces = stock.pieces(&self.folds, &self.tiles, &self.taken_out).into_iter();
        let taking = |(snapshot, is_taken_out)| Taking {
            is_folded,
            ..Taking::of(snapshot, is_taken_out, &standing)
        };
        pieces.map(taking).collect()
    }

    /// Returns whether the choice is one fold and nothing else.
    pub(super) fn is_one_fold(&self) -> bool {
        self.folds.len() == 1 && self.tiles.is_empty() && self.taken_out.is_empty()
    }
}

/// Removes the parts of a manifest that these tiles do not need: folds with tiles that are gone, unless those
/// can be taken out, and all pieces of no remaining tile or fold.
pub(super) fn forget(manifest: &mut Manifest, there: &HashSet<u64>, has_inverse: bool) {
    manifest.folds.retain(|fold| has_inverse || fold.tiles.iter().all(|tile| there.contains(tile)));
    let folded: HashSet<u64> =
        manifest.folds.iter().flat_map(|fold| fold.tiles.iter().copied()).collect();
    let folds: HashSet<u64> = manifest.folds.iter().map(|fold| fold.number).collect();
    for snapshot in &mut manifest.snapshots {
        snapshot.pieces.retain(|piece| match piece.fold {
            Some(fold) => folds.contains(&fold),
            None => {
                tile_of(piece).is_some_and(|tile| there.contains(&tile) || folded.contains(&tile))
            }
        });
    }
    manifest.snapshots.retain(|snapshot| !snapshot.pieces.is_empty());
}

/// Returns the groups of tiles of each level above the single tiles, below the one of all. `tiles` are in the
/// order of the input.
pub(super) fn groups(tiles: &[u64]) -> Vec<Vec<Vec<u64>>> {
    let mut levels = Vec::new();
    for level in 1.. {
        let groups: Vec<Vec<u64>> = tiles
            .split_inclusive(|&tile| level_of(tile) >= level)
            .map(|group| {
                let mut group = group.to_vec();
                group.sort_unstable();
                group
            })
            .collect();
        if groups.len() <= 1 {
            break;
        }
        levels.push(groups);
    }
    levels
}

/// Bits of a mixed number that are 0 with each level.
const BITS_PER_LEVEL: u32 = 4;

/// Returns the highest level of which a tile ends a group.
fn level_of(tile: u64) -> u32 {
    // The finalizer of SplitMix64.
    let mut mixed = tile.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (mixed ^ (mixed >> 31)).trailing_zeros() / BITS_PER_LEVEL
}

#[cfg(test)]
mod tests {
    use super::super::stock;
    use super::*;
    use crate::coverage::Coverage;
    use proptest::prelude::*;

    fn piece(tile: Option<u64>, fold: Option<u64>, pairs: u64) -> Piece {
        let mut coverage = Coverage::default();
        tile.into_iter().for_each(|tile| assert!(!coverage.add(TILES, tile, 0..1)));
        Piece { pairs, coverage, fold, ..Piece::default() }
    }

    /// Tiles 0 to 9 of 10 pairs each, with a fold of 4 to 7 and one of all.
    fn manifest() -> Manifest {
        let mut pieces: Vec<Piece> = (0..10).map(|tile| piece(Some(tile), None, 10)).collect();
        pieces.extend([piece(None, Some(1), 12), piece(None, Some(2), 8), piece(None, Some(2), 7)]);
        let folds = vec![
            Fold { number: 1, tiles: (4..8).collect() },
            Fold { number: 2, tiles: (0..10).collect() },
        ];
        stock::tests::manifest(vec![pieces], folds)
    }

    fn choice(folds: &[u64], tiles: &[u64], taken_out: &[u64], pairs: u64) -> Choice {
        let set = |of: &[u64]| of.iter().copied().collect();
        Choice { folds: set(folds), tiles: set(tiles), taken_out: set(taken_out), pairs }
    }

    #[test]
    fn the_fewest_pairs_are_chosen_that_stand_for_all() {
        let manifest = manifest();
        let stock = Stock::of(&manifest);
        let of = |wanted: &[u64], has_inverse| {
            Choice::of(&stock, &wanted.iter().copied().collect(), has_inverse)
        };
        let all: Vec<u64> = (0..10).collect();
        for has_inverse in [false, true] {
            // Tile 77 is not there yet.
            let whole = of(&[&all[..], &[77]].concat(), has_inverse);
            assert_eq!(whole, choice(&[2], &[], &[], 15));
            assert!(whole.is_one_fold());
        }
        let most: Vec<u64> = (1..10).collect();
        assert_eq!(of(&most, true), choice(&[2], &[], &[0], 25));
        assert_eq!(of(&most, false), choice(&[1], &[1, 2, 3, 8, 9], &[], 62));
        // So little that taking out costs more.
        assert_eq!(of(&[5], true), choice(&[], &[5], &[], 10));
        let takings = of(&most, true).takings(&stock, |_| None);
        let pieces: Vec<usize> =
            takings.iter().map(|taking| taking.snapshot.pieces.len()).collect();
        assert_eq!(pieces, [2, 1]);
        assert!(!takings[0].is_taken_out && takings[1].is_taken_out);
    }

    #[test]
    fn what_is_of_no_use_is_forgotten() {
        let most: HashSet<u64> = (1..10).collect();
        let mut kept = manifest();
        forget(&mut kept, &most, true);
        assert_eq!(kept, manifest());
        forget(&mut kept, &most, false);
        assert_eq!(kept.folds, manifest().folds[..1]);
        assert_eq!(kept.snapshots[0].pieces.len(), 10);
        assert_eq!(Stock::of(&kept).pairs_of_tiles(&most), 90);
        forget(&mut kept, &HashSet::new(), false);
        assert!(kept.folds.is_empty() && kept.snapshots.is_empty());
    }

    proptest! {
        #[test]
        fn a_change_touches_the_groups_it_is_in(
            count in 1..3000_u64,
            at in 0..3000_usize,
            new in 5000..9000_u64,
        ) {
            let tiles: Vec<u64> = (0..count).collect();
            let before = groups(&tiles);
            let mut changed = tiles.clone();
            let at = at % tiles.len();
            changed[at] = new;
            let after = groups(&changed);
            for (level, groups) in after.iter().enumerate() {
                let in_order: Vec<u64> = groups.iter().flatten().copied().collect();
                let mut sorted = changed.clone();
                let mut all = in_order.clone();
                sorted.sort_unstable();
                all.sort_unstable();
                prop_assert_eq!(all, sorted, "each tile is in one group");
                let Some(old) = before.get(level) else { continue };
                let made = groups.iter().filter(|group| !old.contains(group)).count();
                prop_assert!(made <= 2, "{} groups of level {}", made, level + 1);
            }
        }
    }
}
