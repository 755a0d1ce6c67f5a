//! k-means runs over the same points again and again: the points that a device was sent stay there as far as
//! there is room, and are not sent again. After any fault in any round, the answer is that of the cores.

use super::inputs::{Numbers, points};
use super::{devices, emulated, engine, groups, only};
use std::sync::{Arc, LazyLock};
use std::time::Duration;
use tegula::device::{DeviceFigures, Fault, FaultAt, Model};
use tegula::{Accelerator, Options};
use tegula_apps::Matrix;

const GROUPS: usize = 5;
const TRIES_MOST: usize = 20;

fn many() -> &'static Matrix {
    static POINTS: LazyLock<Matrix> = LazyLock::new(|| points::<f32>(Numbers::Even, 5, 1 << 20, 3));
    &POINTS
}

fn few() -> &'static Matrix {
    static POINTS: LazyLock<Matrix> =
        LazyLock::new(|| points::<f64>(Numbers::Tenths, 6, 60_000, 3));
    &POINTS
}

fn with(device: &Arc<Accelerator>) -> Options {
    Options { split_bytes: Some(16 << 10), devices: vec![Arc::clone(device)], ..Options::default() }
}

fn expected(points: &Matrix) -> String {
    groups(engine(), points, GROUPS, &Options::default()).0
}

/// Repeats runs until a device did as required; its share of the work depends on the speed of the cores.
fn until(device: &Arc<Accelerator>, is_meant: impl Fn(&DeviceFigures) -> bool) -> DeviceFigures {
    let expected = expected(many());
    let found = (0..TRIES_MOST).find_map(|_| {
        let (found, figures) = groups(engine(), many(), GROUPS, &with(device));
        assert_eq!(found, expected, "{device:?}");
        let figures = only(&figures).clone();
        is_meant(&figures).then_some(figures)
    });
    found.unwrap_or_else(|| panic!("{TRIES_MOST} tries of {device:?}"))
}

#[test]
fn later_rounds_send_nothing_that_is_there() {
    let no_small_ones = devices().iter().filter(|device| device.caps().memory_bytes > 256 << 10);
    for device in no_small_ones {
        let figures = until(device, |figures| figures.reused_bytes > figures.resident_bytes);
        assert!(figures.resident_bytes > 0 && figures.fault.is_none(), "{figures:?}");
        // There is room between the parts of a unit that several threads filled.
        let most = many().bytes.len() as u64 * if figures.feeders > 1 { 5 } else { 4 } / 4;
        assert!(figures.resident_bytes <= most, "{figures:?}");
    }
}

/// Points that do not fit are sent in every round, and memory is never exceeded: the emulated device checks
/// that.
#[test]
fn what_does_not_fit_is_sent_again() {
    let model = Model { memory_bytes: 512 << 10, ..Model::default() };
    let device = emulated(model);
    let figures = until(&device, |figures| {
        figures.reused_bytes > 0 && figures.bytes > figures.reused_bytes + figures.resident_bytes
    });
    assert!(figures.resident_bytes < 512 << 10, "{figures:?}");
}

#[test]
fn devices_that_fail_in_any_round_change_nothing() {
    let expected = expected(few());
    let (mut faults, mut reused) = (0, 0);
    for at in [
        FaultAt::Compile,
        FaultAt::Open,
        FaultAt::Stage,
        FaultAt::Submit,
        FaultAt::Kernel,
        FaultAt::Snapshot,
        FaultAt::Broadcast,
    ] {
        for after in [0, 1, 2, 4, 9, 20, 40, 80] {
            let overhead = Duration::ZERO;
            let model = Model { faults: vec![Fault { at, after }], overhead, ..Model::default() };
            let (found, figures) = groups(engine(), few(), GROUPS, &with(&emulated(model)));
            assert_eq!(found, expected, "{at:?} after {after}");
            faults += u32::from(only(&figures).fault.is_some());
            reused += u32::from(only(&figures).reused_bytes > 0);
        }
    }
    // A late fault may not happen at all, if the cores were faster.
    assert!(faults >= 15 && reused >= 10, "{faults} faults, {reused} had something from before");
}

/// Each has its own part of the points; one that is lost leaves it to the others.
#[test]
fn several_devices_keep_what_is_theirs() {
    let expected = expected(many());
    let lost = Model { faults: vec![Fault { at: FaultAt::Kernel, after: 30 }], ..Model::default() };
    let devices = [emulated(Model::default()), emulated(Model::default()), emulated(lost)];
    let options = Options { devices: devices.to_vec(), ..with(&devices[0]) };
    let (found, figures) = groups(engine(), many(), GROUPS, &options);
    assert_eq!(found, expected);
    assert!(figures.iter().any(|device| device.reused_bytes > 0), "{figures:?}");
    // The same devices take other points as well, of which they hold none.
    let (found, _) = groups(engine(), few(), GROUPS, &options);
    assert_eq!(found, groups(engine(), few(), GROUPS, &Options::default()).0);
}
