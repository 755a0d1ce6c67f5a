//! The mean of a field by key: of lines `STATION;DEGREES` the mean of each station, with the same bits for any
//! number of workers. `cargo run --release --example mean_of_field -- PATH...`

use tegula::{Emit, Engine, Input, Job, Mean, Result, Split};

struct Means;

impl Job for Means {
    type Key = [u8];
    type Combine = Mean<f64>;

    fn map<'s>(&self, split: Split<'s>, emit: &mut impl Emit<'s, Self>) -> Result<()> {
        for record in split.records::<2>(b';') {
            match record.map(|[station, degrees]| (station, number(degrees))) {
                Ok((station, Some(degrees))) => emit.emit(station, degrees),
                Ok((station, None)) => split.bad(station, "the degrees are no number")?,
                Err(line) => split.bad(line, "not STATION;DEGREES")?,
            }
        }
        Ok(())
    }
}

fn number(text: &[u8]) -> Option<f64> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

fn main() -> Result<()> {
    let input = Input::paths(std::env::args_os().skip(1))?;
    for (station, mean) in Engine::new()?.job(&Means).run(input)?.iter()? {
        println!("{}\t{mean:.2}", station.escape_ascii());
    }
    Ok(())
}
