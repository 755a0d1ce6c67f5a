//! The print of a tile depends on its bytes and files, and not on the pieces that it is made from.

use tegula_core::reuse::{Anchor, Hashing, TilePrint};

#[test]
fn pieces_do_not_matter_and_files_do() {
    let text: Vec<u8> = (0..100_000_u32).map(|i| (i.wrapping_mul(i) >> 7) as u8).collect();
    for hashing in [Hashing::Xxh3, Hashing::Blake3] {
        let mut print = TilePrint::new(hashing);
        let mut of = |pieces: &[&[u8]]| {
            pieces.iter().for_each(|piece| print.update(piece));
            print.finish()
        };
        let whole = of(&[&text]);
        assert_eq!(whole.anchor, Anchor::of(&text));
        for at in [0, 1, 31, 32, 33, 4096, 99_999] {
            assert_eq!(of(&[&text[..at], &text[at..]]), whole, "{hashing:?}");
        }
        assert_ne!(of(&[&text[1..]]), whole);
        let mut files = |lengths: &[usize]| {
            let mut at = 0;
            for length in lengths {
                print.update(&text[at..at + length]);
                print.end_file(0);
                at += length;
            }
            print.finish()
        };
        assert_eq!(files(&[10, 20]), files(&[10, 20]));
        assert_ne!(files(&[10, 20]), files(&[20, 10]));
        assert_ne!(files(&[30]).hash, files(&[30, 0]).hash);
        assert_eq!(files(&[30]).anchor, files(&[30, 0]).anchor);
    }
}

/// The test vectors of the two: a state that is kept must be read by later versions.
#[test]
fn the_hashes_are_the_published_ones() {
    let empty = |hashing| TilePrint::new(hashing).finish().hash;
    assert_eq!(empty(Hashing::Xxh3), 0x99aa_06d3_0147_98d8_6001_c324_468d_497f);
    let blake3 = 0xaf13_49b9_f5f9_a1a6_a040_4dea_36dc_c949_u128;
    assert_eq!(empty(Hashing::Blake3), blake3.swap_bytes());
}
