//! A user's own combine: the lengths of the shortest and the longest word by first byte.
//! `cargo run --release --example own_combine -- PATH...`

use std::cmp::Ordering;
use tegula::{Combine, Cut, Emit, Engine, Input, Job, Result, Split, WordClass};

/// The least and the greatest of a key's values. Merging is associative and commutative, and `(MAX, 0)` is
/// neutral.
struct Range;

impl Combine for Range {
    type Value = u64;
    type Accumulator = (u64, u64);
    type Output = (u64, u64);

    fn identity() -> (u64, u64) {
        (u64::MAX, 0)
    }

    fn absorb(into: &mut (u64, u64), value: u64) {
        Range::merge(into, &(value, value));
    }

    fn merge(into: &mut (u64, u64), other: &(u64, u64)) {
        *into = (into.0.min(other.0), into.1.max(other.1));
    }

    fn finish(accumulator: &(u64, u64)) -> (u64, u64) {
        *accumulator
    }

    fn rank(a: &(u64, u64), b: &(u64, u64)) -> Ordering {
        a.1.cmp(&b.1)
    }

    fn encode(accumulator: &(u64, u64), out: &mut Vec<u8>) {
        out.extend_from_slice(&accumulator.0.to_le_bytes());
        out.extend_from_slice(&accumulator.1.to_le_bytes());
    }

    fn decode(bytes: &mut &[u8]) -> Option<(u64, u64)> {
        let mut number = || {
            let (number, rest) = bytes.split_first_chunk()?;
            *bytes = rest;
            Some(u64::from_le_bytes(*number))
        };
        Some((number()?, number()?))
    }
}

struct Lengths;

impl Job for Lengths {
    type Key = u8;
    type Combine = Range;

    fn cut(&self) -> Cut {
        Cut::around(WordClass::Whitespace)
    }

    fn map<'s>(&self, split: Split<'s>, emit: &mut impl Emit<'s, Self>) -> Result<()> {
        for word in split.fields() {
            emit.emit(word[0], word.len() as u64);
        }
        Ok(())
    }
}

fn main() -> Result<()> {
    let input = Input::paths(std::env::args_os().skip(1))?;
    for (first, (least, most)) in Engine::new()?.job(&Lengths).run(input)?.iter()? {
        println!("{}\t{least}\t{most}", first.escape_ascii());
    }
    Ok(())
}
