//! A function of all values of a key: of lines `ROUTE;SECONDS` the median of each route, which cannot be
//! combined on the way. `cargo run --release --example median_of_field -- PATH...`

use std::cmp::Ordering;
use tegula::aggregate::{Reduce, Values};
use tegula::{Emit, Engine, Group, Input, Job, Result, Split};

struct Median;

impl Reduce for Median {
    type Value = u64;
    type Output = u64;

    fn reduce(_: &[u8], values: Values<'_, u64>) -> u64 {
        let mut values: Vec<u64> = values.collect();
        let middle = values.len() / 2;
        *values.select_nth_unstable(middle).1
    }

    fn rank(a: &u64, b: &u64) -> Ordering {
        a.cmp(b)
    }
}

struct Routes;

impl Job for Routes {
    type Key = [u8];
    type Combine = Group<Median>;

    fn map<'s>(&self, split: Split<'s>, emit: &mut impl Emit<'s, Self>) -> Result<()> {
        for record in split.records::<2>(b';') {
            match record.map(|[route, seconds]| (route, number(seconds))) {
                Ok((route, Some(seconds))) => emit.emit(route, seconds),
                Ok((route, None)) => split.bad(route, "the seconds are no number")?,
                Err(line) => split.bad(line, "not ROUTE;SECONDS")?,
            }
        }
        Ok(())
    }
}

fn number(text: &[u8]) -> Option<u64> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

fn main() -> Result<()> {
    let input = Input::paths(std::env::args_os().skip(1))?;
    for (route, median) in Engine::new()?.job(&Routes).run(input)?.iter()? {
        println!("{}\t{median}", route.escape_ascii());
    }
    Ok(())
}
