//! A device that takes long to open is not opened for a job that the cores end sooner. It is opened where there
//! is no other way, and where it keeps its input for later rounds.

use super::inputs::{Numbers, points, random};
use super::{emulated, engine, groups, only};
use std::time::Duration;
use tegula::device::{DeviceFigures, Model};
use tegula::{Input, Options};
use tegula_apps::Runs;
use tegula_apps::linreg::{Line, Points};

fn slow() -> Model {
    Model { opening: Duration::from_secs(3600), ..Model::default() }
}

fn line(bytes: &[u8], options: Options) -> (String, Option<DeviceFigures>) {
    let mut runs = Runs::new(engine(), options);
    let line = Line::fit(&mut runs, Input::bytes(bytes.to_vec()), Points::Bytes).unwrap();
    (format!("{line:?}"), runs.stats().devices.first().cloned())
}

#[test]
fn the_cores_do_the_job() {
    for bytes in [4, 1 << 10, 16 << 20] {
        let bytes = random(3, bytes);
        let (expected, _) = line(&bytes, Options::default());
        let devices = vec![emulated(slow())];
        let (found, figures) = line(&bytes, Options { devices, ..Options::default() });
        assert_eq!(found, expected);
        let figures = figures.unwrap();
        assert!(figures.bytes == 0 && figures.fault.is_none(), "{figures:?}");
    }
}

#[test]
fn a_device_alone_does_the_job() {
    let bytes = random(4, 4 << 20);
    let (expected, _) = line(&bytes, Options::default());
    let options =
        Options { devices: vec![emulated(slow())], devices_alone: true, ..Options::default() };
    let (found, figures) = line(&bytes, options);
    assert_eq!((found, figures.unwrap().bytes), (expected, bytes.len() as u64));
}

#[test]
fn a_device_that_keeps_its_input_is_opened() {
    let points = points::<f32>(Numbers::Even, 6, 1 << 19, 3);
    let (expected, _) = groups(engine(), &points, 4, &Options::default());
    let used = (0..20).any(|_| {
        let options = Options { devices: vec![emulated(slow())], ..Options::default() };
        let (found, figures) = groups(engine(), &points, 4, &options);
        assert_eq!(found, expected);
        only(&figures).bytes > 0
    });
    assert!(used);
}
