//! Each target with the inputs that were kept, and with random changes of them: with each commit as many as fit into some
//! seconds, beside other tests.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::{Duration, Instant};
use tegula_fuzz::{TARGETS, Target};

/// Of each input that is kept.
const CHANGED: u64 = 20;

/// The generator SplitMix64 (Steele, Lea and Flood, 2014).
struct Random(u64);

impl Random {
    /// Numbers that depend on a seed and a name.
    fn of(seed: u64, name: &str) -> Random {
        name.bytes()
            .fold(Random(seed), |random, byte| Random(Random(random.0 ^ u64::from(byte)).next()))
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }
}

/// Returns the inputs of a target that were kept, in the order of their names.
fn kept(name: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(name);
    let mut paths: Vec<_> =
        fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    assert!(!paths.is_empty(), "{}: nothing is kept", folder.display());
    paths.iter().map(|path| fs::read(path).unwrap()).collect()
}

/// Changes a part of an input: cuts it off, flips a bit, sets a byte or a number, takes some bytes out, repeats some, or
/// puts in some of another input.
fn change(bytes: &mut Vec<u8>, other: &[u8], random: &mut Random) {
    if bytes.is_empty() {
        bytes.push(random.next() as u8);
        return;
    }
    let at = random.below(bytes.len());
    let end = at + 1 + random.below((bytes.len() - at).min(32));
    match random.below(7) {
        0 => bytes.truncate(at),
        1 => bytes[at] ^= 1 << random.below(8),
        2 => bytes[at] = random.next() as u8,
        3 => {
            let width = (1 << random.below(4)).min(bytes.len() - at);
            let (half, most) = (1 << (8 * width - 1), u64::MAX >> (64 - 8 * width));
            let number: u64 = [0, 1, 0x7f, 0x80, half - 1, half, most - 1, most][random.below(8)];
            let into = &mut bytes[at..at + width];
            into.copy_from_slice(&number.to_le_bytes()[..width]);
            if random.below(2) == 0 {
                into.reverse();
            }
        }
        4 => drop(bytes.drain(at..end)),
        5 => {
            let repeated = bytes[at..end].to_vec();
            bytes.splice(at..at, repeated);
        }
        _ => {
            let from = random.below(other.len().max(1)).min(other.len());
            let part = &other[from..other.len().min(from + (end - at))];
            bytes.splice(at..at, part.iter().copied());
        }
    }
}

/// Gives bytes to a target; where it panics, they are kept, and the panic names the file.
fn give(name: &str, target: Target, bytes: &[u8]) {
    if catch_unwind(AssertUnwindSafe(|| target(bytes))).is_err() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("artifacts").join(name);
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("changed");
        fs::write(&path, bytes).unwrap();
        panic!(
            "{}: the target {name} fails with these bytes; it does so again once they are in fuzz/corpus/{name}",
            path.display()
        );
    }
}

#[test]
fn and_what_is_near_to_it() {
    for &(name, target) in TARGETS {
        let mut random = Random::of(1, name);
        let kept = kept(name);
        for bytes in &kept {
            give(name, target, bytes);
            for _ in 0..CHANGED {
                let mut changed = bytes.clone();
                let other = &kept[random.below(kept.len())];
                change(&mut changed, other, &mut random);
                give(name, target, &changed);
            }
        }
    }
}

/// The inputs depend on `SEED` alone, their number on `FUZZ_SECONDS`.
#[test]
#[ignore = "takes FUZZ_SECONDS for each target: `make fuzz-changes`"]
fn and_what_becomes_of_it_within_some_seconds() {
    let [seed, seconds] = ["SEED", "FUZZ_SECONDS"].map(|name| {
        let value = std::env::var(name).unwrap_or_else(|_| panic!("{name} is not set"));
        value.parse().unwrap_or_else(|_| panic!("{name}={value} is not a whole number"))
    });
    println!("SEED={seed} FUZZ_SECONDS={seconds}");
    for &(name, target) in TARGETS {
        let mut random = Random::of(seed, name);
        let kept = kept(name);
        let end = Instant::now() + Duration::from_secs(seconds);
        let mut given = 0;
        while Instant::now() < end {
            let mut changed = kept[random.below(kept.len())].clone();
            for _ in 0..=random.below(4) {
                let other = &kept[random.below(kept.len())];
                change(&mut changed, other, &mut random);
            }
            give(name, target, &changed);
            given += 1;
        }
        println!("{name}: {given} changed inputs");
    }
}
