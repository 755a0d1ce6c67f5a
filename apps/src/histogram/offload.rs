//! The histogram on a device: `histogram.c`, and its twin in Rust for the emulated device. Takes a piece of
//! a picture's file; adds to 768 counts, whose indices are the job's keys.

use super::picture::Picture;
use super::tally::Tables;
use tegula::device::{Kernel, Launch, Offload, Shape};

/// Levels of three channels.
const COUNTS: usize = 3 * 256;

pub(super) fn offload() -> Offload {
    let kernel = Kernel {
        entry: "histogram".into(),
        file: "histogram.c".into(),
        source: include_str!("histogram.c").into(),
        defines: Vec::new(),
        emulated: Some(emulated),
    };
    Offload { kernel, partial: Shape::Dense(COUNTS), broadcast: Vec::new(), residence: None }
}

fn emulated(launch: &Launch<'_>, partial: &mut [u64]) {
    // A picture's pixels begin at 0 here; bytes before them are skipped.
    let first = launch.arguments[0].cast_signed();
    let before = (first.min(0).unsigned_abs() as usize).min(launch.bytes.len());
    let (offset, bytes) = (first.max(0).unsigned_abs(), &launch.bytes[before..]);
    let picture = Picture::of_arguments(launch.arguments);
    let mut tables = Tables::new();
    for (pixels, phase) in picture.pixels(offset, bytes) {
        tables.count(pixels, phase);
    }
    for (place, &channel) in picture.channels().iter().enumerate() {
        for level in 0..=u8::MAX {
            partial[channel as usize * 256 + usize::from(level)] += tables.total(place, level);
        }
    }
}
