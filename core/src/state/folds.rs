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

/// The combined pairs of some tiles. One that no piece names was not worth keeping: it had too many of their pairs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fold {
    /// The number by which pieces name it.
    pub number: u64,
    /// The numbers of the tiles, ascending.
    pub tiles: Vec<u64>,
}

impl Fold {
    pub fn encode(&self, out: &mut Vec<u8>) {
        put_number(self.number, out);
        put_number(self.tiles.len() as u64, out);
        let mut before = 0;
        for &tile in &self.tiles {
            put_number(tile - std::mem::replace(&mut before, tile), out);
        }
    }

    pub fn decode(from: &mut Reading<'_>) -> Option<Fold> {
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
pub struct Taking {
    /// Of its pieces, those alone.
    pub snapshot: Snapshot,
    /// Whether its pairs are taken out of the others.
    pub is_taken_out: bool,
    /// Whether no key comes twice in all pairs that are taken in.
    pub is_folded: bool,
    /// How far the tile of each piece has moved.
    pub relocations: Vec<Relocation>,
}

impl Taking {
    /// Takes all of a snapshot, unchanged.
    pub fn whole(snapshot: &Snapshot) -> Taking {
        Taking::of(snapshot.clone(), false, |_| None)
    }

    /// Returns whether the pairs that the last piece covers go on in the next snapshot.
    pub fn goes_on(&self) -> bool {
        let last = self.snapshot.pieces.last();
        last.is_some_and(|piece| piece.coverage.is_empty() && piece.fold.is_none())
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
pub struct Choice {
    pub folds: HashSet<u64>,
    pub tiles: HashSet<u64>,
    pub taken_out: HashSet<u64>,
    /// Pairs to read.
    pub pairs: u64,
}

/// Returns the tile that a piece is of, if it is of one.
pub fn tile_of(piece: &Piece) -> Option<u64> {
    piece.coverage.files(TILES).next()
}

impl Choice {
    /// Chooses the parts that make up the tiles `wanted`, as far as they are there, in the fewest pairs.
    pub fn of(stock: &Stock<'_>, wanted: &HashSet<u64>, has_inverse: bool) -> Choice {
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
    pub fn takings(
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
    pub fn is_one_fold(&self) -> bool {
        self.folds.len() == 1 && self.tiles.is_empty() && self.taken_out.is_empty()
    }
}

/// Removes the parts of a manifest that these tiles do not need: folds with tiles that are gone, unless those
/// can be taken out, and all pieces of no remaining tile or fold.
pub fn forget(manifest: &mut Manifest, there: &HashSet<u64>, has_inverse: bool) {
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

/// Tiles that are folded together.
#[derive(Debug, PartialEq, Eq)]
pub struct Group {
    /// Their numbers, ascending.
    pub tiles: Vec<u64>,
    /// Whether it ends by a tile, and not with the input: tiles that are appended do not change it.
    pub is_closed: bool,
}

/// Returns the groups of tiles of each level above the single tiles, below the one of all. `tiles` are in the
/// order of the input.
pub fn groups(tiles: &[u64]) -> Vec<Vec<Group>> {
    let mut levels = Vec::new();
    for level in 1.. {
        let groups: Vec<Group> = tiles
            .split_inclusive(|&tile| level_of(tile) >= level)
            .map(|group| {
                let is_closed = group.last().is_some_and(|&tile| level_of(tile) >= level);
                let mut tiles = group.to_vec();
                tiles.sort_unstable();
                Group { tiles, is_closed }
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
