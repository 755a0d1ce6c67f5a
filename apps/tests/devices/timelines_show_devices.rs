//! The timeline shows the work of each device beside the threads: copies in and out on one track and kernels
//! on another, with the durations of the statistics, in order, and inside the run.

use super::inputs::random;
use super::{accelerator, devices, engine, only};
use std::sync::Arc;
use std::time::Duration;
use tegula::device::{Clock, Emulated, Model};
use tegula::timeline::{Kind, LaneRecording, Recording};
use tegula::{Accelerator, Input, Options, Timeline};
use tegula_apps::Runs;
use tegula_apps::linreg::{Line, Points};

/// Runs until the device had a part in it.
fn recorded(device: &Arc<Accelerator>) -> (Recording, tegula::device::DeviceFigures) {
    let points = random(17, 48 << 20);
    for _ in 0..20 {
        let timeline = Timeline::new("devices");
        let options = Options {
            devices: vec![Arc::clone(device)],
            timeline: Some(timeline.clone()),
            ..Options::default()
        };
        let mut runs = Runs::new(engine(), options);
        Line::fit(&mut runs, Input::bytes(points.clone()), Points::Bytes).unwrap();
        let figures = only(&runs.stats().devices).clone();
        if figures.units > 0 {
            return (timeline.read(), figures);
        }
    }
    panic!("no unit was done by {device:?}");
}

fn track<'r>(recording: &'r Recording, name: &str) -> &'r LaneRecording {
    let mut tracks = recording.lanes.iter().filter(|lane| lane.is_device);
    tracks.find(|lane| lane.name == name).unwrap()
}

#[test]
fn copies_and_kernels_stand_beside_the_threads() {
    let wall = Model { clock: Clock::Wall, link_bytes_s: 2e9, ..Model::default() };
    let mut all = vec![accelerator(Emulated::new(wall))];
    all.extend(devices().iter().filter(|device| device.caps().backend != "emulated").cloned());
    for device in &all {
        let (recording, figures) = recorded(device);
        let (copies, kernels) =
            (track(&recording, "device-0 copies"), track(&recording, "device-0 kernels"));
        for (lane, kind, took) in [
            (copies, Kind::CopyIn, figures.copy),
            (copies, Kind::CopyOut, figures.copy_out),
            (kernels, Kind::Kernel, figures.kernel),
        ] {
            let shown = Duration::from_nanos(lane.ns(kind, recording.wall_ns));
            // The tracks use another clock; a span that begins a little too early is cut.
            assert!(shown <= took && shown >= took.mul_f64(0.9), "{kind:?}: {shown:?} of {took:?}");
            assert!(shown > Duration::ZERO, "{kind:?} on {device:?}");
            assert!(lane.spans.is_sorted_by(|a, b| a.end_ns <= b.begin_ns));
        }
        let thread = recording.lanes.iter().find(|lane| lane.name == "device-0").unwrap();
        assert!(!thread.is_device && thread.ns(Kind::Read, recording.wall_ns) > 0);
        let place = |name| recording.lanes.iter().position(|lane| lane.name == name).unwrap();
        assert_eq!(place("device-0 copies") + 1, place("device-0 kernels"));
        let mut picture = Vec::new();
        tegula_timeline_draw::write_svg(&recording, &mut picture).unwrap();
        let picture = String::from_utf8(picture).unwrap();
        assert!(picture.contains("device-0 kernels: kernel "), "{device:?}");
    }
}
