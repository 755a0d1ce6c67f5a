//! A device that fails, at any stage and time, gives its work back: the answer is that of the cores, and the
//! statistics name the fault. The same holds for several devices at once, and for little memory.

use super::inputs::{random, text};
use super::{emulated, engine, only};
use std::sync::{Arc, LazyLock};
use tegula::device::{Clock, DeviceFigures, Fault, FaultAt, Model};
use tegula::{Accelerator, Engine, Input, Options};
use tegula_apps::linreg::{Line, Points};
use tegula_apps::{Runs, WordCount};

fn points() -> &'static Vec<u8> {
    static POINTS: LazyLock<Vec<u8>> = LazyLock::new(|| random(11, 24 << 20));
    &POINTS
}

/// Returns the line's text, and the counts of devices.
fn line(engine: &Engine, devices: Vec<Arc<Accelerator>>) -> (String, Vec<DeviceFigures>) {
    let mut runs = Runs::new(engine, Options { devices, ..Options::default() });
    let line = Line::fit(&mut runs, Input::bytes(points().clone()), Points::Bytes).unwrap();
    (format!("{line:?}"), runs.stats().devices.clone())
}

#[test]
fn at_every_stage_and_time() {
    let (expected, _) = line(engine(), Vec::new());
    let (mut faults, mut given_back) = (0, 0);
    for at in [
        FaultAt::Compile,
        FaultAt::Open,
        FaultAt::Stage,
        FaultAt::Submit,
        FaultAt::Kernel,
        FaultAt::Snapshot,
    ] {
        for after in [0, 1, 30] {
            let faults_asked_for = vec![Fault { at, after }];
            let model = Model { faults: faults_asked_for, ..Model::default() };
            let (found, figures) = line(engine(), vec![emulated(model)]);
            assert_eq!(found, expected, "{at:?} after {after}");
            let device = only(&figures);
            faults += u32::from(device.fault.is_some());
            given_back += u32::from(device.given_back_bytes > 0);
        }
    }
    // A late fault may not happen at all, if the cores were faster.
    assert!(faults >= 8 && given_back >= 4, "{faults} faults, {given_back} gave back");
}

/// Word count, whose table is reset where it has overflowed.
#[test]
fn at_every_stage_with_a_table() {
    let text = text(12, 1 << 19, 20_000, 30);
    let count = |devices| {
        let options = Options { split_bytes: Some(16 << 10), devices, ..Options::default() };
        let input = Input::bytes(text.clone());
        let output = engine().job(&WordCount::default()).options(&options).run(input).unwrap();
        let counts = output.iter().unwrap().map(|(word, count)| (word.to_vec(), count));
        (counts.collect::<Vec<_>>(), output.stats().devices.clone())
    };
    let (expected, _) = count(Vec::new());
    let mut faults = 0;
    let places = [
        FaultAt::Stage,
        FaultAt::Submit,
        FaultAt::Kernel,
        FaultAt::Snapshot,
        FaultAt::Reset,
        FaultAt::Overflow,
    ];
    // On a busy machine the cores may be done before a device has come far: then it gets further chances.
    for at in places.into_iter().cycle().take(4 * places.len()) {
        if at == places[0] && faults >= 3 {
            break;
        }
        for after in [0, 1, 5, 30] {
            let faults_asked_for =
                vec![Fault { at, after }, Fault { at: FaultAt::Overflow, after: 3 }];
            // A large memory has a large table, which is slow to clear.
            let memory_bytes = 8 << 20;
            let model = Model { faults: faults_asked_for, memory_bytes, ..Model::default() };
            let (found, figures) = count(vec![emulated(model)]);
            assert!(found == expected, "{at:?} after {after}");
            let device = only(&figures);
            faults += u32::from(device.fault.is_some() || device.overflows > 0);
        }
    }
    // As above: a late fault may not happen at all.
    assert!(faults >= 3, "{faults} faults");
}

#[test]
fn several_devices_of_different_speed_share_a_job() {
    let (expected, _) = line(engine(), Vec::new());
    let slow = Model {
        name: "slow".to_owned(),
        link_bytes_s: 2e8,
        clock: Clock::Wall,
        ..Model::default()
    };
    let lost = Model { faults: vec![Fault { at: FaultAt::Kernel, after: 3 }], ..Model::default() };
    let devices = vec![emulated(Model::default()), emulated(slow), emulated(lost)];
    let (found, figures) = line(engine(), devices);
    assert_eq!(found, expected);
    assert_eq!(figures.len(), 3);
    assert!(figures.iter().map(|device| device.bytes).sum::<u64>() > 0, "{figures:?}");
}

/// Slots are counted in the budget: a sixteenth of it at most.
#[test]
fn slots_keep_to_the_limit_on_memory() {
    let (expected, _) = line(engine(), Vec::new());
    // What the drivers of devices take counts, too.
    let limited = Engine::builder().workers(2).memory_bytes(1 << 30).build().unwrap();
    let (found, figures) = line(&limited, vec![emulated(Model::default())]);
    assert_eq!(found, expected);
    let device = only(&figures);
    assert!(device.fault.is_none() && device.unit_bytes <= 16 << 20, "{device:?}");
}
