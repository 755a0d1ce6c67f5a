//! A run with a state that lost its power at any call of the disk resumes, whether the run before it had
//! devices, failing ones, or none: the same bytes come out. A run that finds a split in two snapshots refuses
//! the state, so each resumed run has checked that there is none.

use crate::machine::{Chance, PLACES};
use crate::numbers::{Numbers, lines, numbers};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tegula::device::{Clock, Emulated, Fault, FaultAt, Model};
use tegula::storage::{Disk, Storage};
use tegula::{
    Accelerator, Engine, Error, Incremental, Input, Keep, Options, SaveEvery, State, Stats,
};
use tegula_testing::{Call, Faulty};

const SEEDS: u64 = 120;
const TILE_BYTES: u64 = 32 << 10;
const SPLIT_BYTES: u64 = 4 << 10;

fn emulated(model: Model) -> Arc<Accelerator> {
    Arc::new(Accelerator::new(Emulated::new(model)))
}

/// Takes about a tenth of a second for the inputs here, so that the saver keeps up.
fn slow() -> Model {
    Model { link_bytes_s: 16e6, clock: Clock::Wall, ..Model::default() }
}

fn drawn(chance: &mut Chance) -> Arc<Accelerator> {
    let mut faults = Vec::new();
    for _ in 0..chance.below(3) {
        let at = PLACES[chance.below(PLACES.len() as u64) as usize];
        faults.push(Fault { at, after: chance.below(30) });
    }
    let memory_bytes = (256 << 10) << chance.below(4);
    emulated(Model { faults, memory_bytes, ..Model::default() })
}

fn options(state: State, devices: Vec<Arc<Accelerator>>) -> Options {
    let (tile_bytes, split_bytes) = (Some(TILE_BYTES), Some(SPLIT_BYTES));
    Options { state: Some(state), tile_bytes, split_bytes, devices, ..Options::default() }
}

fn engine(workers: usize) -> Engine {
    Engine::builder().workers(workers).build().unwrap()
}

fn device_bytes(stats: &Stats) -> u64 {
    stats.devices.iter().map(|device| device.bytes).sum()
}

fn expected(bytes: &[u8]) -> String {
    let output = engine(2).job(&Numbers::DENSE).run(Input::bytes(bytes.to_vec())).unwrap();
    lines(&output)
}

#[test]
fn after_any_loss_of_power() {
    let engines = [engine(1), engine(2)];
    let (mut by_device, mut lost, mut faults, mut overflows, mut mixed) = (0, 0, 0, 0, 0);
    for seed in 0..SEEDS {
        let chance = &mut Chance::of(seed);
        let count = 20_000 + chance.below(60_000);
        let bytes = numbers(chance, count);
        let expected = expected(&bytes);
        let folder = tempfile::tempdir().unwrap();
        let disk: Arc<dyn Storage> = Arc::new(Disk::new(folder.path()));
        let keep = [Keep::Result, Keep::Partials, Keep::Nothing][chance.below(3) as usize];
        let losses = chance.below(4);
        for run in 0..=losses {
            let one_of = [Numbers::DENSE, Numbers::TABLE, Numbers::CROWDED];
            let job = one_of[chance.below(3) as usize];
            let mut faulty = Faulty::new(Arc::clone(&disk), seed);
            if run < losses {
                let calls = [Call::Create, Call::WriteAt, Call::SyncFile, Call::Rename];
                let call = calls[chance.below(4) as usize];
                let nth = 1 + chance.below(12);
                faulty = faulty.fail_once(call, nth, tegula_testing::Fault::PowerLoss);
            }
            let every = match chance.below(6) {
                0 => SaveEvery::Auto,
                1 => SaveEvery::Time(Duration::from_millis(1)),
                tiles => SaveEvery::Tiles(1 + tiles / 4),
            };
            let devices = (0..chance.below(3)).map(|_| drawn(chance)).collect();
            let state = State::on(Arc::new(faulty.clone())).save_every(every).keep(keep);
            let input = Input::bytes(bytes.clone());
            let engine = &engines[chance.below(2) as usize];
            match engine.job(&job).options(&options(state, devices)).run(input) {
                Ok(output) => {
                    assert!(lines(&output) == expected, "seed {seed}");
                    let stats = output.stats();
                    assert_eq!(stats.bytes, bytes.len() as u64, "seed {seed}");
                    let all = || stats.devices.iter();
                    by_device += u64::from(device_bytes(stats) > 0);
                    faults += all().filter(|device| device.fault.is_some()).count();
                    overflows += all().map(|device| device.overflows).sum::<u64>();
                    let restored = stats.restored_bytes > 0 && stats.restored_bytes < stats.bytes;
                    mixed += u64::from(restored && device_bytes(stats) > 0);
                }
                Err(Error::Storage(_)) => {
                    lost += 1;
                    faulty.lose_power();
                }
                Err(error) => panic!("seed {seed}: {error:?}"),
            }
        }
    }
    // The draws have covered all cases.
    let told =
        format!("{by_device} by devices, {lost} lost, {faults} faults, {overflows} overflows");
    assert!(by_device > SEEDS / 4 && lost > SEEDS / 3, "{told}");
    assert!(faults as u64 > SEEDS / 8 && overflows > SEEDS / 4, "{told}");
    assert!(mixed > SEEDS / 12, "{told}, {mixed} went on");
}

/// The work of a device in an interrupted run is in the state, up to a few units: the next run, without it,
/// does only the missing part. And the reverse.
#[test]
fn what_a_device_did_is_not_done_again() {
    let bytes = numbers(&mut Chance::of(1), 200_000);
    let expected = expected(&bytes);
    let alone = |partial| Numbers { partial, alone: true };
    for job in [Numbers::DENSE, Numbers::TABLE, Numbers::CROWDED].map(|job| alone(job.partial)) {
        let folder = tempfile::tempdir().unwrap();
        let state = || {
            let disk = Disk::new(folder.path());
            State::on(Arc::new(disk)).save_every(SaveEvery::Tiles(1)).keep(Keep::Partials)
        };
        // It dies on the way, and no core takes its place.
        let model = Model { faults: vec![Fault { at: FaultAt::Snapshot, after: 6 }], ..slow() };
        let run = |job: &Numbers, devices| {
            engine(2).job(job).options(&options(state(), devices)).run(Input::bytes(bytes.clone()))
        };
        let stopped = run(&job, vec![emulated(model)]).map(|output| lines(&output));
        assert!(matches!(stopped, Err(Error::Device(_))), "{stopped:?}");
        let cores = run(&Numbers { alone: false, ..job }, Vec::new()).unwrap();
        let restored = cores.stats().restored_bytes;
        assert!(lines(&cores) == expected);
        assert!(restored >= SPLIT_BYTES && restored < bytes.len() as u64, "{restored}");
        // All is there now: a device finds nothing to do, and is not even started.
        let model =
            Model { faults: vec![Fault { at: FaultAt::Compile, after: 0 }], ..Model::default() };
        let again = run(&job, vec![emulated(model)]).unwrap();
        assert!(lines(&again) == expected && again.stats().restored_bytes == bytes.len() as u64);
        assert_eq!((device_bytes(again.stats()), &again.stats().devices[0].fault), (0, &None));
    }
}

/// A device fetches its partial whenever it must be saved, and no more often.
#[test]
fn a_device_saves_as_often_as_was_asked_for() {
    let bytes = numbers(&mut Chance::of(2), 200_000);
    let snapshots = |every| {
        let folder = tempfile::tempdir().unwrap();
        let state = State::new(folder.path(), "numbers").save_every(every).keep(Keep::Partials);
        let job = Numbers { alone: true, ..Numbers::DENSE };
        let options = options(state, vec![emulated(slow())]);
        let output =
            engine(1).job(&job).options(&options).run(Input::bytes(bytes.clone())).unwrap();
        (count(&folder.path().join("numbers")), output.stats().devices[0].snapshots)
    };
    let tiles = (bytes.len() as u64).div_ceil(TILE_BYTES);
    // Saves for which the saver had no time joined the next one.
    let (saved, fetched) = snapshots(SaveEvery::Tiles(2));
    assert!(fetched >= tiles / 6 && fetched <= tiles / 2 + 1, "{fetched} of {tiles} tiles");
    assert!(saved > 1 && saved <= fetched, "{saved} of {fetched}");
    assert_eq!(snapshots(SaveEvery::Time(Duration::from_secs(100))).0, 1);
    assert_eq!(snapshots(SaveEvery::Auto).0, 1);
}

/// Snapshots in a state's folder.
fn count(folder: &Path) -> u64 {
    let names = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
    names.filter(|name| name.to_string_lossy().starts_with("snapshot-")).count() as u64
}

#[test]
fn tiles_that_are_found_again_are_done_by_cores() {
    let bytes = numbers(&mut Chance::of(3), 50_000);
    let folder = tempfile::tempdir().unwrap();
    let state = State::new(folder.path(), "numbers").incremental(Incremental::default());
    let options = options(state, vec![emulated(Model::default())]);
    let output =
        engine(2).job(&Numbers::DENSE).options(&options).run(Input::bytes(bytes.clone())).unwrap();
    assert!(lines(&output) == expected(&bytes));
    let device = &output.stats().devices[0];
    let says = device.fault.as_deref().unwrap_or_default();
    assert!(device.bytes == 0 && says.contains("tiles that are found again"), "{says}");
}
