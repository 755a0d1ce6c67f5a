//! A device that fails, at whatever stage and whenever, gives its work back: the answer is that of the
//! cores, and the figures say what happened. So do several devices at once, and little memory.

use super::inputs::random;
use super::{emulated, engine, only};
use std::sync::{Arc, LazyLock};
use tegula::device::{Clock, DeviceFigures, Fault, FaultAt, Model};
use tegula::{Accelerator, Engine, Input, Options};
use tegula_apps::Runs;
use tegula_apps::linreg::{Line, Points};

fn points() -> &'static Vec<u8> {
    static POINTS: LazyLock<Vec<u8>> = LazyLock::new(|| random(11, 24 << 20));
    &POINTS
}

/// The line's text, and what devices did.
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
        for after in [0, 1, 5, 30] {
            let faults_asked_for = vec![Fault { at, after }];
            let model = Model { faults: faults_asked_for, ..Model::default() };
            let (found, figures) = line(engine(), vec![emulated(model)]);
            assert_eq!(found, expected, "{at:?} after {after}");
            let device = only(&figures);
            faults += u32::from(device.fault.is_some());
            given_back += u32::from(device.given_back_bytes > 0);
        }
    }
    // What strikes late may not strike at all, as far as the cores were faster.
    assert!(faults >= 8 && given_back >= 4, "{faults} faults, {given_back} gave back");
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
    let limited = Engine::builder().workers(2).memory_bytes(256 << 20).build().unwrap();
    let (found, figures) = line(&limited, vec![emulated(Model::default())]);
    assert_eq!(found, expected);
    let device = only(&figures);
    assert!(device.fault.is_none() && device.unit_bytes <= 16 << 20, "{device:?}");
}
