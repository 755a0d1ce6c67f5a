//! Shows of a run with devices: the bytes that a show reports are those that its answers count, to the byte,
//! with a state and without; and the work of a device is fetched for it.

use crate::machine::Chance;
use crate::numbers::{Numbers, lines, numbers};
use std::sync::Arc;
use std::time::Duration;
use tegula::device::{Clock, Emulated, Fault, FaultAt, Model};
use tegula::{Accelerator, Engine, Every, Input, Options, SaveEvery, Show, State};

/// Returns a device that is about as slow as a core here, so that both have a part.
fn emulated(faults: Vec<Fault>) -> Arc<Accelerator> {
    let model = Model { link_bytes_s: 3e7, clock: Clock::Wall, faults, ..Model::default() };
    Arc::new(Accelerator::new(Emulated::new(model)))
}

/// Runs with shows; returns the answer, the counted and the reported bytes of each show, and the counts of
/// the device.
fn shown(
    job: &Numbers,
    bytes: &[u8],
    options: &Options,
    every: Every,
    top: Option<usize>,
) -> (String, Vec<(u64, u64)>, u64) {
    let engine = Engine::builder().workers(2).build().unwrap();
    let mut seen = Vec::new();
    let show = Show::new(every, |shown| {
        let counted: u64 = shown.answers().iter()?.map(|(_, count)| count).sum();
        seen.push((counted * 8, shown.bytes));
        Ok(())
    });
    let show = if let Some(top) = top { show.top(top) } else { show.all() };
    let output =
        engine.job(job).options(options).show(show).run(Input::bytes(bytes.to_vec())).unwrap();
    let device = output.stats().devices.iter().map(|device| device.bytes).sum();
    (lines(&output), seen, device)
}

#[test]
fn what_is_said_to_be_seen_is_counted() {
    let bytes = numbers(&mut Chance::of(5), 1 << 20);
    let engine = Engine::builder().workers(2).build().unwrap();
    let expected = lines(&engine.job(&Numbers::DENSE).run(Input::bytes(bytes.clone())).unwrap());
    let faults = [vec![], vec![Fault { at: FaultAt::Kernel, after: 20 }]];
    let (mut shows, mut by_device) = (0, 0);
    for job in [Numbers::DENSE, Numbers::TABLE, Numbers::CROWDED] {
        for (number, every) in
            [Every::Part(0.05), Every::Time(Duration::from_millis(2))].into_iter().enumerate()
        {
            for is_saved in [false, true] {
                let folder = tempfile::tempdir().unwrap();
                let state = State::new(folder.path(), "numbers").save_every(SaveEvery::Tiles(4));
                let options = Options {
                    devices: vec![emulated(faults[number].clone())],
                    tile_bytes: Some(64 << 10),
                    split_bytes: Some(4 << 10),
                    state: is_saved.then_some(state),
                    ..Options::default()
                };
                let (answer, seen, device) = shown(&job, &bytes, &options, every, None);
                assert!(answer == expected);
                assert!(seen.iter().all(|&(counted, said)| counted == said), "{seen:?}");
                assert!(seen.is_sorted() && seen.last().unwrap().1 == bytes.len() as u64);
                shows += seen.len();
                by_device += u64::from(device > 0);
            }
        }
    }
    assert!(shows > 30 && by_device > 6, "{shows} shows, {by_device} with a device");
}

/// A device has all of the work, in few partials by itself: shows have them fetched.
#[test]
fn a_show_fetches_what_the_device_has() {
    let bytes = numbers(&mut Chance::of(6), 1 << 20);
    let job = Numbers { alone: true, ..Numbers::DENSE };
    let options = Options {
        devices: vec![emulated(Vec::new())],
        split_bytes: Some(4 << 10),
        ..Options::default()
    };
    let every = Every::Time(Duration::from_millis(20));
    let (_, seen, device) = shown(&job, &bytes, &options, every, None);
    assert_eq!(device, bytes.len() as u64);
    assert!(seen.iter().all(|&(counted, said)| counted == said), "{seen:?}");
    // It takes about 0.28 seconds, and would fetch nothing before its 128th unit.
    assert!(seen.len() > 3, "{seen:?}");
}

/// Of the top, most shows are made of samples, which no device gives.
#[test]
fn shows_of_the_top_do_not_wait_for_a_device() {
    // Few numbers, so that the top has all.
    let bytes: Vec<u8> = (0..1_u64 << 20).flat_map(|at| (at % 3).to_le_bytes()).collect();
    let options = Options {
        devices: vec![emulated(Vec::new())],
        split_bytes: Some(4 << 10),
        ..Options::default()
    };
    let (_, seen, device) = shown(&Numbers::DENSE, &bytes, &options, Every::Part(0.02), Some(3));
    assert!(device > 0);
    assert!(seen.len() > 2 && seen.iter().all(|&(counted, said)| counted == said), "{seen:?}");
    assert_eq!(seen.last().unwrap().1, bytes.len() as u64);
}

/// The last tiles come first on a device: a show in order cannot have them.
#[test]
fn shows_in_order_are_of_what_cores_do() {
    let bytes = numbers(&mut Chance::of(7), 100_000);
    let engine = Engine::builder().workers(2).build().unwrap();
    let options = Options { devices: vec![emulated(Vec::new())], ..Options::default() };
    let show = Show::new(Every::Part(0.1), |_| Ok(())).in_order(true);
    let input = Input::bytes(bytes);
    let output = engine.job(&Numbers::DENSE).options(&options).show(show).run(input).unwrap();
    let device = &output.stats().devices[0];
    let says = device.fault.as_deref().unwrap_or_default();
    assert!(device.bytes == 0 && says.contains("in the order of the input"), "{says}");
}
