//! Every kernel on every device against the cores: the same answer to the byte, over random sizes, tiles
//! and splits, down to devices with 256 KB of memory.

use super::inputs::{Numbers, bmp, points, ppm, random, text};
use super::{devices, engine, groups, only};
use proptest::prelude::*;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use tegula::device::DeviceFigures;
use tegula::{Accelerator, Input, Options};
use tegula_apps::histogram::{Histogram, Levels};
use tegula_apps::linreg::{Line, Points};
use tegula_apps::{Runs, WordCount, Words};

/// Returns the levels of the pictures in a folder, and the bytes that devices counted.
fn levels(folder: &Path, options: &Options) -> (Levels, u64) {
    let input = Input::paths([folder]).unwrap();
    let job = Histogram::of(&input).unwrap();
    let output = engine().job(&job).options(options).run(input).unwrap();
    let by_device = output.stats().devices.iter().map(|device| device.bytes).sum();
    (Histogram::levels(&output).unwrap(), by_device)
}

/// Bits of all figures of the line through points, and the bytes that devices counted.
fn line(points: &[u8], options: Options) -> ([u64; 6], u64) {
    let mut runs = Runs::new(engine(), options);
    let line = Line::fit(&mut runs, Input::bytes(points.to_vec()), Points::Bytes).unwrap();
    let Line { points, slope, intercept, correlation, mean_x, mean_y } = line;
    let [a, b, c, d, e] = [slope, intercept, correlation, mean_x, mean_y].map(f64::to_bits);
    let by_device = runs.stats().devices.iter().map(|device| device.bytes).sum();
    ([points, a, b, c, d, e], by_device)
}

/// Returns words and their counts, and the counts of devices.
fn word_counts(
    text: &[u8],
    words: Words,
    options: &Options,
) -> (Vec<(Vec<u8>, u64)>, Vec<DeviceFigures>) {
    let job = WordCount { words };
    let output = engine().job(&job).options(options).run(Input::bytes(text)).unwrap();
    let counts = output.iter().unwrap().map(|(word, count)| (word.to_vec(), count));
    (counts.collect(), output.stats().devices.clone())
}

const TRIES_MOST: usize = 20;

fn with(device: &Arc<Accelerator>, options: &Options) -> Options {
    Options { devices: vec![Arc::clone(device)], ..options.clone() }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 20, ..ProptestConfig::default() })]

    #[test]
    fn pictures_of_any_size_and_layout(
        width in 1_usize..300, height in 1_usize..300, seed: u64,
        split in 1_u64..70_000, tiles in 1_u64..6,
    ) {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a.ppm"), ppm(width, height, seed)).unwrap();
        fs::write(folder.path().join("b.bmp"), bmp(width, height, seed ^ 1)).unwrap();
        fs::write(folder.path().join("c.bmp"), bmp(4 * width, height, seed ^ 2)).unwrap();
        let options = Options {
            split_bytes: Some(split), tile_bytes: Some(split * tiles), ..Options::default()
        };
        let (expected, _) = levels(folder.path(), &options);
        for device in devices() {
            prop_assert!(levels(folder.path(), &with(device, &options)).0 == expected, "{device:?}");
        }
    }

    #[test]
    fn points_in_any_number(count in 2_usize..100_000, seed: u64, split in 1_u64..70_000) {
        let mut points = random(seed, 2 * count);
        points[..4].copy_from_slice(&[1, 2, 3, 4]);
        let options = Options { split_bytes: Some(split), ..Options::default() };
        let (expected, _) = line(&points, options.clone());
        for device in devices() {
            prop_assert!(line(&points, with(device, &options)).0 == expected, "{device:?}");
        }
    }

    #[test]
    fn words_of_any_length(
        count in 1_usize..20_000, different in 1_u64..5000, longest in 1_usize..300, seed: u64,
        is_alpha: bool, split in 1_u64..70_000, tiles in 1_u64..6,
    ) {
        let text = text(seed, count, different, longest);
        let words = if is_alpha { Words::Alpha } else { Words::Whitespace };
        let options = Options {
            split_bytes: Some(split), tile_bytes: Some(split * tiles), ..Options::default()
        };
        let (expected, _) = word_counts(&text, words, &options);
        for device in devices() {
            let (found, _) = word_counts(&text, words, &with(device, &options));
            prop_assert!(found == expected, "{device:?}");
        }
    }

    #[test]
    fn points_in_any_number_of_groups(
        rows in 10_usize..3000, columns in prop::sample::select(&[1_usize, 3, 40]), seed: u64,
        means in 1_usize..10, is_wide: bool,
        numbers in prop::sample::select(&[Numbers::Tenths, Numbers::Even, Numbers::Any]),
        split in 1_u64..20_000, tiles in 1_u64..6,
    ) {
        let points = match is_wide {
            true => points::<f64>(numbers, seed, rows, columns),
            false => points::<f32>(numbers, seed, rows, columns),
        };
        let options = Options {
            split_bytes: Some(split), tile_bytes: Some(split * tiles), ..Options::default()
        };
        let (expected, _) = groups(engine(), &points, means, &options);
        for device in devices() {
            let (found, _) = groups(engine(), &points, means, &with(device, &options));
            prop_assert!(found == expected, "{device:?}");
        }
    }
}

/// With enough to do, every device does a part: at the latest when its kernel is compiled and nothing else
/// keeps it busy.
#[test]
fn large_inputs_are_shared() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.ppm"), ppm(6001, 4000, 1)).unwrap();
    fs::write(folder.path().join("b.bmp"), bmp(6001, 4000, 2)).unwrap();
    let points = random(3, 64 << 20);
    let options = Options::default();
    let (levels_expected, line_expected) =
        (levels(folder.path(), &options).0, line(&points, options.clone()).0);
    for device in devices() {
        let options = with(device, &options);
        let is_shared = (0..TRIES_MOST).any(|_| {
            let (found, by_device) = levels(folder.path(), &options);
            assert!(found == levels_expected, "{device:?}");
            by_device > 0
        });
        assert!(is_shared, "no picture by {device:?}");
        let is_shared = (0..TRIES_MOST).any(|_| {
            let (found, by_device) = line(&points, options.clone());
            assert!(found == line_expected, "{device:?}");
            by_device > 0
        });
        assert!(is_shared, "no point by {device:?}");
    }
}

/// A job without a kernel runs as if there were no device, and says so.
#[test]
fn jobs_without_a_kernel_say_so() {
    let options = with(&devices()[0], &Options::default());
    let mut runs = Runs::new(engine(), options);
    Line::fit(&mut runs, Input::bytes("1 2\n3 4\n5 7\n"), Points::Text).unwrap();
    let device = only(&runs.stats().devices);
    let fault = device.fault.as_deref();
    assert_eq!((device.bytes, fault), (0, Some("the job has no kernel for devices")));
}

/// More words than a table has room for are counted all the same: it is sent again in halves, which is
/// seen. So are words that are longer than any slot, by the cores.
#[test]
fn tables_of_words_overflow() {
    let many = text(4, 1 << 18, u64::MAX, 20);
    let mut long = many[..many.len() / 2].to_vec();
    long.extend([b'x'; 400]);
    long.extend(&many[many.len() / 2..]);
    for text in [many, long] {
        let options = Options { split_bytes: Some(4 << 10), ..Options::default() };
        let (expected, _) = word_counts(&text, Words::Whitespace, &options);
        for device in devices() {
            let options = with(device, &options);
            // Others have room for all but the longest word.
            let is_small = device.caps().memory_bytes < 1 << 20;
            let tries = if is_small { TRIES_MOST } else { 1 };
            let has_overflowed = (0..tries).any(|_| {
                let (found, figures) = word_counts(&text, Words::Whitespace, &options);
                assert!(found == expected, "{}", device.caps().name);
                let figures = only(&figures);
                assert!(figures.fault.is_none(), "{figures:?}");
                figures.overflows > 0 && figures.bytes > 0
            });
            assert!(has_overflowed || !is_small, "{}", device.caps().name);
        }
    }
}

/// Words of Unicode text are no kernel's, which is said.
#[test]
fn words_of_unicode_text_are_for_the_cores() {
    let options = with(&devices()[0], &Options::default());
    let (_, figures) = word_counts(b"one two", Words::Unicode, &options);
    let fault = only(&figures).fault.as_deref();
    assert_eq!(fault, Some("the job has no kernel for devices"));
}
