//! A share of the workers counts for devices, too: while it is empty they take nothing, their threads have only cores
//! of the share, and one of its workers at least maps.

use crate::machine::Chance;
use crate::numbers::{Numbers, lines, numbers};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;
use tegula::device::{Clock, Emulated, Model, Offload};
use tegula::schedule::Share;
use tegula::{
    Accelerator, Cut, Emit, Engine, Input, Job, Offloadable, Options, Progress, Result, Split,
    Stats, Sum,
};

const BYTES: usize = 8 * 400_000;

fn device(feeders: usize, model: Model) -> Arc<Accelerator> {
    Arc::new(Accelerator::new(Emulated::new(model)).feeders(feeders))
}

fn input() -> Vec<u8> {
    numbers(&mut Chance::of(6), (BYTES / 8) as u64)
}

fn expected(bytes: &[u8]) -> String {
    lines(&Engine::new().unwrap().job(&Numbers::DENSE).run(Input::bytes(bytes.to_vec())).unwrap())
}

#[test]
fn nothing_is_sent_while_the_share_is_empty() {
    let (bytes, share) = (input(), Arc::new(Share::new()));
    let expected = expected(&bytes);
    for alone in [true, false] {
        let progress = Arc::new(Progress::default());
        let options = Options {
            devices: vec![device(1, Model::default())],
            devices_alone: alone,
            share: Some(Arc::clone(&share)),
            progress: Some(Arc::clone(&progress)),
            split_bytes: Some(4 << 10),
            ..Options::default()
        };
        share.set([]);
        let output = thread::scope(|scope| {
            scope.spawn(|| {
                thread::sleep(Duration::from_millis(100));
                assert_eq!(progress.read().bytes_done, 0, "devices alone: {alone}");
                share.set([1]);
            });
            let engine = Engine::builder().workers(2).build().unwrap();
            engine.job(&Numbers::DENSE).options(&options).run(Input::bytes(bytes.clone())).unwrap()
        });
        assert_eq!(lines(&output), expected);
        let by_device = output.stats().devices[0].bytes;
        assert!(!alone || by_device >= BYTES as u64, "{by_device}");
    }
}

/// A device that is at work stops when the share becomes empty, and goes on with it.
#[test]
fn devices_rest_while_the_share_is_empty() {
    let count = 2_000_000;
    let (bytes, share) = (numbers(&mut Chance::of(7), count), Arc::new(Share::new()));
    let expected = expected(&bytes);
    for alone in [true, false] {
        let progress = Arc::new(Progress::default());
        // Two seconds for the whole input.
        let model =
            Model { link_bytes_s: 4.0 * count as f64, clock: Clock::Wall, ..Model::default() };
        let device = Accelerator::new(Emulated::new(model)).unit_bytes(4 << 10);
        let options = Options {
            devices: vec![Arc::new(device)],
            devices_alone: alone,
            share: Some(Arc::clone(&share)),
            progress: Some(Arc::clone(&progress)),
            split_bytes: Some(4 << 10),
            ..Options::default()
        };
        let seen = || progress.read().bytes_done;
        share.set(0..1);
        let output = thread::scope(|scope| {
            scope.spawn(|| {
                while seen() == 0 {
                    thread::sleep(Duration::from_millis(1));
                }
                share.set([]);
                // What was begun is ended.
                let mut before = 0;
                while before < seen() {
                    before = seen();
                    thread::sleep(Duration::from_millis(200));
                }
                assert!(before < bytes.len() as u64, "devices alone: {alone}");
                share.set(0..1);
            });
            let engine = Engine::builder().workers(1).build().unwrap();
            engine.job(&Numbers::DENSE).options(&options).run(Input::bytes(bytes.clone())).unwrap()
        });
        assert_eq!(lines(&output), expected);
    }
}

/// Counts numbers, and notes the threads that map.
struct Noting<'n>(&'n Mutex<BTreeSet<String>>);

impl Job for Noting<'_> {
    type Key = u64;
    type Combine = Sum<u64>;

    fn cut(&self) -> Cut {
        Cut::Fixed(8)
    }

    fn device(&self) -> Option<&dyn Offloadable<Self>> {
        Some(self)
    }

    fn map<'s>(&self, split: Split<'s>, emit: &mut impl Emit<'s, Self>) -> Result<()> {
        let name = thread::current().name().unwrap_or_default().to_owned();
        self.0.lock().unwrap().insert(name);
        thread::sleep(Duration::from_micros(100));
        for number in split.bytes().as_chunks().0 {
            emit.emit(u64::from_le_bytes(*number), 1);
        }
        Ok(())
    }
}

impl Offloadable for Noting<'_> {
    fn offload(&self) -> Offload {
        Numbers::DENSE.offload()
    }

    fn unload(&self, partial: &[u64], emit: &mut dyn Emit<'_, Self>) -> Result<()> {
        let counts = (0..).zip(partial).filter(|&(_, &count)| count > 0);
        counts.for_each(|(number, &count)| emit.emit(number, count));
        Ok(())
    }
}

/// Returns the threads that map on four workers with a share, and the figures of the run.
fn mapping(share: impl IntoIterator<Item = usize>, devices: usize) -> (Vec<String>, Stats) {
    let (threads, held) = (Mutex::default(), Arc::new(Share::new()));
    held.set(share);
    let model = || Model { link_bytes_s: 40e6, clock: Clock::Wall, ..Model::default() };
    let options = Options {
        devices: (0..devices).map(|_| device(4, model())).collect(),
        share: Some(held),
        split_bytes: Some(4 << 10),
        ..Options::default()
    };
    let engine = Engine::builder().workers(4).build().unwrap();
    let job = Noting(&threads);
    let output = engine.job(&job).options(&options).run(Input::bytes(input())).unwrap();
    let stats = output.stats().clone();
    (threads.into_inner().unwrap().into_iter().collect(), stats)
}

#[test]
fn threads_of_devices_have_cores_of_the_share_alone_and_one_worker_maps() {
    for (share, devices, most) in
        [(vec![2, 3], 1, 2), (vec![1, 2, 3], 1, 3), (vec![3], 1, 1), (vec![0, 3], 2, 1)]
    {
        let (threads, stats) = mapping(share.clone(), devices);
        let of_share =
            |name: &String| share.iter().any(|worker| *name == format!("tegula-{worker}"));
        assert!(!threads.is_empty() && threads.iter().all(of_share), "{share:?}: {threads:?}");
        for device in &stats.devices {
            assert!(device.feeders <= most, "{share:?}: {device:?}");
        }
    }
}
