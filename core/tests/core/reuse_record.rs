//! The record of a run comes back from its bytes, and damaged bytes are refused.

use super::reuse::{Files, plan};
use tegula_core::reuse::{Anchor, Hashing, Place, Print, Remembered, Sources, Stamps, Tile};
use tegula_input::input::Cut;
use tegula_machine::encoding::checksum;

/// A tile, its print and its number.
type Known = (Tile, Print, u64);

/// Returns a tile in each of some files.
fn tiles(files: usize) -> Vec<Known> {
    let tile = |file| {
        let print = Print { hash: 7 + file as u128, anchor: Anchor::of(b"first") };
        let place = match file % 3 {
            0 => Place::Pack { files: file..file + 1, bytes: 9 },
            _ => Place::Stretch { file, bytes: 2..9 },
        };
        (Tile { place, same_as: None }, print, 1 << file)
    };
    (0..files).map(tile).collect()
}

fn remember(files: usize, tiles: Vec<Known>) -> Remembered {
    let file = |file| (format!("folder/{file}"), vec![0; 9]);
    let shelf: Files = (0..files).map(file).collect();
    let changed = (0..files).map(|file| (file % 2 == 0).then_some(file as i64 - 1));
    let plan = plan(&shelf, Cut::Lines);
    Remembered::of(&Sources::of(&plan), &Stamps::new(changed), tiles)
}

#[test]
fn it_comes_back_and_no_damage_goes_unseen() {
    let empty = Remembered::default();
    assert_eq!(Remembered::decode(&empty.encode(Hashing::Xxh3), Hashing::Xxh3), Ok(empty));
    let kept = remember(5, tiles(5));
    let bytes = kept.encode(Hashing::Blake3);
    assert_eq!(Remembered::decode(&bytes, Hashing::Blake3).as_ref(), Ok(&kept));
    assert!(Remembered::decode(&bytes, Hashing::Xxh3).is_err());
    for cut in 0..bytes.len() {
        assert!(Remembered::decode(&bytes[..cut], Hashing::Blake3).is_err());
    }
    let mut damaged = bytes.clone();
    for bit in 0..8 * bytes.len() {
        damaged[bit / 8] ^= 1 << (bit % 8);
        assert!(Remembered::decode(&damaged, Hashing::Blake3).is_err(), "bit {bit}");
        damaged[bit / 8] ^= 1 << (bit % 8);
    }
    damaged.push(0);
    assert!(Remembered::decode(&damaged, Hashing::Blake3).is_err());
}

#[test]
fn counts_that_do_not_add_up_are_refused() {
    let bytes = remember(2, tiles(2)).encode(Hashing::Blake3);
    for (at, count) in [(16, 3), (24, 1), (24, u64::MAX), (32, u64::MAX)] {
        let mut forged = bytes.clone();
        forged[at..at + 8].copy_from_slice(&u64::to_le_bytes(count));
        let sum = checksum(&forged[..40], &forged[48..]);
        forged[40..48].copy_from_slice(&sum.to_le_bytes());
        let refused = Remembered::decode(&forged, Hashing::Blake3);
        assert_eq!(refused.err(), Some("the list of tiles is inconsistent"));
    }
}

#[test]
fn prints_are_learnt_and_tiles_without_one_forgotten() {
    let mut tiles = tiles(4);
    let known = tiles[0].1;
    tiles[1..].iter_mut().for_each(|tile| tile.1 = Print::UNKNOWN);
    let kept = remember(4, tiles);
    let mut read = Remembered::decode(&kept.encode(Hashing::Xxh3), Hashing::Xxh3).unwrap();
    let print = Print { hash: 5, ..known };
    read.learn(|number| (number == 1 << 2).then_some(print));
    let left: Vec<_> = read.tiles().iter().map(|tile| (tile.number, tile.print)).collect();
    assert_eq!(left, [(1, known), (1 << 2, print)]);
}

/// Bytes with a valid checksum and invalid contents give an error, too.
#[test]
fn bytes_that_cannot_be_meant_are_refused() {
    let refused = |change: &dyn Fn(&mut Vec<Known>)| {
        let mut tiles = tiles(4);
        change(&mut tiles);
        let bytes = remember(4, tiles).encode(Hashing::Xxh3);
        Remembered::decode(&bytes, Hashing::Xxh3).is_err()
    };
    assert!(!refused(&|_| ()));
    assert!(refused(&|tiles| tiles.swap(0, 1)));
    assert!(refused(&|tiles| tiles[3].0.place = Place::Pack { files: 3..5, bytes: 9 }));
    assert!(refused(&|tiles| tiles[3].0.place = Place::Pack { files: 3..3, bytes: 0 }));
}
