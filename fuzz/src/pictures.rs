//! Pictures: refused by name, or counted in all shapes alike, three counts a pixel.

use crate::{choice, file, named, shape};
use tegula::{Input, Result};
use tegula_apps::histogram::{Histogram, Levels};

pub(crate) fn run(bytes: &[u8]) {
    let Some((which, data)) = choice(bytes) else { return };
    let path = file(if which & 1 == 0 { "picture.bmp" } else { "picture.ppm" }, data);
    let count = |of: u8| -> Result<Levels> {
        let (engine, options) = shape(of);
        let input = Input::paths([&path])?;
        let job = named(Histogram::of(&input))?;
        Histogram::levels(&named(engine.job(&job).options(&options).run(input))?)
    };
    let [one, other] = [7, 0b0100_1000 | (which & 6)].map(count);
    assert_eq!(one.is_ok(), other.is_ok(), "{one:?} {other:?}");
    if let (Ok(one), Ok(other)) = (one, other) {
        assert_eq!(one, other);
        let [red, green, blue] = one.map(|levels| levels.iter().sum::<u64>());
        assert!(red == green && green == blue);
    }
}
