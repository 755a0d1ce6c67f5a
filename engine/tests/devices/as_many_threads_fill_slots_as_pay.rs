//! The number of threads that fill a device's slots is found by the total rate of cores and device: several
//! where the link is faster than one thread copies, one where it is slower, and none where the device brings
//! less than it costs. With any number, each split counts once, and the sums are the same.

use crate::machine::{Machine, Outcome, SUMS};
use std::time::Duration;
use tegula::device::{Fault, FaultAt, Model};

const SPLIT_BYTES: u64 = 512 << 10;

/// Eight cores that map a gigabyte a second each, beside a device of such a link.
fn machine(gb: f64, link_gb_s: f64, feeder_gb_s: f64, seed: u64) -> Machine {
    let model = Model {
        memory_bytes: 16 << 30,
        link_bytes_s: link_gb_s * 1e9,
        kernel_bytes_s: 400e9,
        noise: 0.05,
        seed,
        ..Model::default()
    };
    let feeder_bytes_s = Some(feeder_gb_s * 1e9);
    Machine { feeder_bytes_s, ..Machine::histogram(gb, SPLIT_BYTES, 8, model) }
}

fn counted(machine: &Machine) -> Outcome {
    let outcome = machine.run();
    assert!(outcome.counted.iter().all(|&times| times == 1), "{:?}", outcome.device);
    let mut expected = vec![0; SUMS];
    (0..machine.splits as usize).for_each(|split| expected[split % SUMS] += 1);
    assert!(outcome.sums == expected, "{:?}", outcome.device);
    outcome
}

/// Returns the part of the bytes in slots that those numbers of threads read.
fn part(outcome: &Outcome, feeders: impl Fn(usize) -> bool) -> f64 {
    let of = |feeders: &dyn Fn(usize) -> bool| -> u64 {
        let fed = outcome.fed.iter().enumerate();
        fed.filter(|&(number, _)| feeders(number)).map(|(_, &splits)| splits).sum()
    };
    of(&feeders) as f64 / of(&|_| true).max(1) as f64
}

#[test]
fn a_link_faster_than_one_thread_copies_has_several() {
    for seed in 0..5 {
        // Five threads fill it.
        let outcome = counted(&machine(150.0, 50.0, 10.0, seed));
        let device = &outcome.device;
        assert!((4..=6).contains(&device.feeders), "{device:?}");
        assert!(part(&outcome, |feeders| (4..=6).contains(&feeders)) > 0.5, "{:?}", outcome.fed);
        // Three cores map beside a link that is full.
        assert!(outcome.seconds < 1.15 * 150.0 / (50.0 + 4.0), "{} s, {device:?}", outcome.seconds);
        let alone = Machine { feeder_bytes_s: None, ..machine(150.0, 10.0, 10.0, seed) };
        assert!(outcome.seconds < 0.5 * counted(&alone).seconds, "than with one thread");
    }
}

#[test]
fn a_link_slower_than_one_thread_copies_has_one() {
    for seed in 0..5 {
        let outcome = counted(&machine(40.0, 6.0, 10.0, seed));
        assert_eq!(outcome.device.feeders, 1, "{:?}", outcome.device);
        assert!(part(&outcome, |feeders| feeders == 1) > 0.8, "{:?}", outcome.fed);
    }
}

#[test]
fn a_device_slower_than_the_core_it_costs_has_none() {
    for seed in 0..5 {
        // The thread that fills its slots has an eighth of the cores' time, and it does half as much.
        let outcome = counted(&Machine { beside: 7.0 / 8.0, ..machine(80.0, 0.5, 10.0, seed) });
        let device = &outcome.device;
        assert_eq!(device.fault.as_deref(), Some("the cores alone were faster"));
        assert!((device.bytes as f64) < 0.1 * 80e9, "{device:?}");
    }
}

#[test]
fn faults_at_every_stage_lose_nothing_of_what_several_threads_filled() {
    let mut by_several = 0;
    for at in [FaultAt::Stage, FaultAt::Submit, FaultAt::Kernel, FaultAt::Snapshot] {
        for after in [0, 1, 7, 60, 200, 500] {
            let mut machine = machine(30.0, 50.0, 10.0, after);
            machine.model.faults.push(Fault { at, after });
            machine.model.overhead = Duration::from_micros(20);
            by_several += u32::from(part(&counted(&machine), |feeders| feeders > 1) > 0.0);
        }
    }
    assert!(by_several >= 6, "{by_several} runs by several");
}
