//! Each target with the inputs that were kept, with each of them cut short, and with some of its bytes changed.

use std::fs;
use std::path::Path;
use tegula_fuzz::TARGETS;

/// Of each input that is kept.
const CHANGED: u64 = 20;

/// Returns the next number of the generator SplitMix64 (Steele, Lea and Flood, 2014).
fn next(random: &mut u64) -> u64 {
    *random = random.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *random;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[test]
fn and_what_is_near_to_it() {
    let mut random = 1;
    for &(name, target) in TARGETS {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(name);
        let mut kept: Vec<_> =
            fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        kept.sort();
        assert!(!kept.is_empty(), "{}: nothing is kept", folder.display());
        for path in kept {
            let bytes = fs::read(&path).unwrap();
            target(&bytes);
            for _ in 0..CHANGED.min(bytes.len() as u64) {
                let mut changed = bytes.clone();
                let at = next(&mut random) as usize % bytes.len();
                match next(&mut random) % 3 {
                    0 => changed.truncate(at),
                    1 => changed[at] ^= 1 << (next(&mut random) % 8),
                    _ => changed[at] = next(&mut random) as u8,
                }
                target(&changed);
            }
        }
    }
}
