//! Every kernel on every device against the cores: the same answer to the byte, over random sizes, tiles
//! and splits, down to devices with 256 KB of memory.

use super::inputs::{Numbers, bmp, points, ppm, random};
use super::{devices, engine, groups, only};
use proptest::prelude::*;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use tegula::{Accelerator, Input, Options};
use tegula_apps::Runs;
use tegula_apps::histogram::{Histogram, Levels};
use tegula_apps::linreg::{Line, Points};

/// The levels of the pictures in a folder, and the bytes that devices counted.
fn levels(folder: &Path, options: &Options) -> (Levels, u64) {
    let input = Input::paths([folder]).unwrap();
    let job = Histogram::of(&input).unwrap();
    let output = engine().run_with(&job, input, options).unwrap();
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
