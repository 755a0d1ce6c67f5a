//! Several threads fill a device's slots, each a part of every unit: the answer is that of the cores, for any
//! number of threads, ends of records, and faults. Statistics and timeline show the number of threads.

use super::inputs::{Numbers, points, ppm, random, text};
use super::{groups, only};
use std::fs;
use std::sync::{Arc, LazyLock};
use tegula::device::{DeviceFigures, Emulated, Fault, FaultAt, Model};
use tegula::{Accelerator, Engine, Input, Options, Timeline};
use tegula_apps::histogram::Histogram;
use tegula_apps::linreg::{Line, Points};
use tegula_apps::{Runs, WordCount};

/// Of as many cores that up to four threads can fill slots.
fn engine() -> &'static Engine {
    static ENGINE: LazyLock<Engine> =
        LazyLock::new(|| Engine::builder().workers(4).build().unwrap());
    &ENGINE
}

/// Returns a device that begins with this number; its clock stops while slots are filled, so it keeps the
/// number.
fn fed_by(feeders: usize, model: Model) -> Arc<Accelerator> {
    Arc::new(Accelerator::new(Emulated::new(model)).feeders(feeders))
}

fn alone(device: Arc<Accelerator>) -> Options {
    Options { devices: vec![device], devices_alone: true, ..Options::default() }
}

fn line(points: &[u8], options: Options) -> (String, Vec<DeviceFigures>) {
    let mut runs = Runs::new(engine(), options);
    let line = Line::fit(&mut runs, Input::bytes(points), Points::Bytes).unwrap();
    (format!("{line:?}"), runs.stats().devices.clone())
}

#[test]
fn every_job_has_the_answer_of_the_cores() {
    let bytes = random(21, 24 << 20);
    let rows = points::<f32>(Numbers::Any, 22, 40_000, 3);
    let folder = tempfile::tempdir().unwrap();
    // Words at the end of parts, and such as are longer than a part has room for beside its splits.
    let words = text(23, 400_000, 3000, 200);
    fs::write(folder.path().join("words"), &words).unwrap();
    fs::write(folder.path().join("a.ppm"), ppm(2001, 1500, 24)).unwrap();
    let count = |options: &Options| {
        let input = Input::paths([folder.path().join("words")]).unwrap();
        let output = engine().job(&WordCount::default()).options(options).run(input).unwrap();
        let counts = output.iter().unwrap().map(|(word, count)| (word.to_vec(), count));
        counts.collect::<Vec<_>>()
    };
    let levels = |options: &Options| {
        let input = Input::paths([folder.path().join("a.ppm")]).unwrap();
        let job = Histogram::of(&input).unwrap();
        Histogram::levels(&engine().job(&job).options(options).run(input).unwrap()).unwrap()
    };
    let cores = Options::default();
    let (line_expected, count_expected) = (line(&bytes, cores.clone()).0, count(&cores));
    let (levels_expected, groups_expected) = (levels(&cores), groups(engine(), &rows, 4, &cores).0);
    for feeders in 1..=4 {
        let options = alone(fed_by(feeders, Model::default()));
        let (found, figures) = line(&bytes, options.clone());
        assert_eq!(found, line_expected, "{feeders} threads");
        assert_eq!(only(&figures).feeders, feeders as u64);
        assert!(levels(&options) == levels_expected, "{feeders} threads");
        assert_eq!(groups(engine(), &rows, 4, &options).0, groups_expected);
        // The cores count around words for which no table has room.
        let options = Options { devices_alone: false, ..options };
        assert!(count(&options) == count_expected, "{feeders} threads");
    }
}

#[test]
fn faults_at_every_stage_change_no_answer() {
    let bytes = random(25, 24 << 20);
    let (expected, _) = line(&bytes, Options::default());
    let (mut faults, mut given_back) = (0, 0);
    for at in [FaultAt::Stage, FaultAt::Submit, FaultAt::Kernel, FaultAt::Snapshot] {
        for after in [0, 1, 5, 30] {
            let model = Model { faults: vec![Fault { at, after }], ..Model::default() };
            let devices = vec![fed_by(4, model)];
            let (found, figures) = line(&bytes, Options { devices, ..Options::default() });
            assert_eq!(found, expected, "{at:?} after {after}");
            let device = only(&figures);
            faults += u32::from(device.fault.is_some());
            given_back += u32::from(device.given_back_bytes > 0);
        }
    }
    // A late fault may not happen at all, if the cores were faster.
    assert!(faults >= 6 && given_back >= 3, "{faults} faults, {given_back} gave back");
}

#[test]
fn a_job_has_no_more_than_cores_to_spare_and_the_timeline_shows_each() {
    let bytes = random(26, 24 << 20);
    let timeline = Timeline::new("feeders");
    let device = fed_by(100, Model::default());
    let options = Options { timeline: Some(timeline.clone()), ..alone(device) };
    let (_, figures) = line(&bytes, options);
    assert_eq!(only(&figures).feeders, 4, "{figures:?}");
    let recording = timeline.read();
    let reads = |name: &str| {
        let lane = recording.lanes.iter().find(|lane| lane.name == name);
        lane.map(|lane| lane.ns(tegula::timeline::Kind::Read, recording.wall_ns))
    };
    for name in ["device-0", "device-0 feeder-2", "device-0 feeder-3", "device-0 feeder-4"] {
        let lanes: Vec<_> = recording.lanes.iter().map(|lane| &lane.name).collect();
        assert!(reads(name).is_some_and(|ns| ns > 0), "{name}: {:?} of {lanes:?}", reads(name));
    }
    assert_eq!(reads("device-0 feeder-5"), None);
}
