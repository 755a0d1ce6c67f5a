//! Of the folds and tiles that a state has, the fewest pairs are taken that stand for all.

use super::state_stock;
use proptest::prelude::*;
use std::collections::HashSet;
use tegula_core::coverage::Coverage;
use tegula_core::state::TILES;
use tegula_core::state::folds::{Choice, Fold, forget, groups};
use tegula_core::state::manifest::{Manifest, Piece};
use tegula_core::state::stock::Stock;

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
    state_stock::manifest(vec![pieces], folds)
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
    let pieces: Vec<usize> = takings.iter().map(|taking| taking.snapshot.pieces.len()).collect();
    assert_eq!(pieces, [2, 1]);
    assert!(!takings[0].is_taken_out && takings[1].is_taken_out);
}

#[test]
fn a_fold_that_was_not_worth_keeping_stands_for_nothing() {
    let mut manifest = manifest();
    manifest.folds.push(Fold { number: 3, tiles: (1..10).collect() });
    for has_inverse in [false, true] {
        let stock = Stock::of(&manifest);
        let less = Choice::of(&stock, &(1..10).collect(), has_inverse);
        assert!(!less.folds.contains(&3) && less.pairs > 0, "{less:?}");
        assert_eq!(stock.folds().count(), 2);
    }
    // It is known as long as its tiles are there.
    forget(&mut manifest, &(1..10).collect(), false);
    assert!(manifest.folds.iter().any(|fold| fold.number == 3));
    forget(&mut manifest, &(2..10).collect(), false);
    assert!(manifest.folds.iter().all(|fold| fold.number != 3));
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
            let in_order: Vec<u64> = groups.iter().flat_map(|group| group.tiles.iter().copied()).collect();
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

    #[test]
    fn tiles_that_are_appended_change_the_last_groups(count in 1..3000_u64, more in 0..3000_u64) {
        let before = groups(&(0..count).collect::<Vec<u64>>());
        let after = groups(&(0..count + more).collect::<Vec<u64>>());
        for (old, new) in before.iter().zip(&after) {
            let closed = old.iter().filter(|group| group.is_closed).count();
            prop_assert!(closed + 1 >= old.len());
            prop_assert_eq!(&old[..closed], &new[..closed]);
        }
    }
}
