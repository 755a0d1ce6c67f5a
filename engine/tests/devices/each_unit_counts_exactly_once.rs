//! Every split counts exactly once, after any fault of a device: in ten thousand machines that a seed draws,
//! with faults at every stage, tables that overflow, splits that only cores can do, and memory of 256 KB
//! upwards, which no session exceeds.

use crate::machine::{Chance, Machine, PLACES, dense, table};
use std::time::Duration;
use tegula::device::{Fault, FaultAt, Model, Shape};

const RUNS: u64 = 10_000;

fn drawn(seed: u64) -> Machine {
    let mut chance = Chance::of(seed);
    let split_bytes = 64 << chance.below(11);
    let splits = 1 + chance.below(400);
    let is_table = chance.below(2) == 0;
    // A table that has room for as few as one split's numbers.
    let partial = if is_table {
        Shape::Table(3 + chance.below(2 * splits) as usize)
    } else {
        Shape::Dense(1 + chance.below(768) as usize)
    };
    let mut faults = Vec::new();
    for _ in 0..chance.below(4) {
        let at = PLACES[chance.below(PLACES.len() as u64) as usize];
        faults.push(Fault { at, after: chance.below(40) });
    }
    Machine {
        splits,
        split_bytes,
        tile_splits: 1 + chance.below(64),
        cores: 1 + chance.below(4) as usize,
        core_bytes_s: 1e6 * (1 << chance.below(12)) as f64,
        beside: 1.0,
        feeder_bytes_s: (chance.below(2) == 0).then(|| 1e6 * (1 << chance.below(12)) as f64),
        model: Model {
            faults,
            memory_bytes: (256 << 10) << chance.below(4),
            link_bytes_s: 1e6 * (1 << chance.below(12)) as f64,
            kernel_bytes_s: 1e6 * (1 << chance.below(12)) as f64,
            overhead: Duration::from_nanos(chance.below(100_000)),
            noise: 0.2,
            seed,
            ..Model::default()
        },
        partial,
        kernel: if is_table { table } else { dense },
        unfit: (chance.below(8) == 0).then(|| chance.below(splits)),
        shown_bytes: 16,
        unit_bytes: None,
        fetched_every: (chance.below(2) == 0).then(|| 1 + chance.below(splits)),
    }
}

#[test]
fn no_split_is_lost_or_doubled() {
    let (mut by_device, mut overflows, mut faults, mut given_back) = (0, 0, 0, 0);
    let (mut by_several, mut several_failed) = (0, 0);
    for seed in 0..RUNS {
        let machine = drawn(seed);
        let outcome = machine.run();
        let device = outcome.device;
        assert!(outcome.counted.iter().all(|&times| times == 1), "seed {seed}: {device:?}");
        // And its numbers are in the sums, each once.
        let mut expected = vec![0; outcome.sums.len()];
        (0..machine.splits as usize).for_each(|split| expected[split % outcome.sums.len()] += 2);
        assert!(outcome.sums == expected, "seed {seed}: {device:?}");
        by_device += u64::from(device.bytes > 0);
        overflows += u64::from(device.overflows > 0);
        faults += u64::from(device.fault.is_some());
        given_back += u64::from(device.given_back_bytes > 0);
        let is_by_several = outcome.fed.iter().skip(2).any(|&splits| splits > 0);
        by_several += u64::from(is_by_several);
        several_failed += u64::from(is_by_several && device.fault.is_some());
    }
    // The draws have covered all cases.
    let told = (by_device, overflows, faults, given_back);
    assert!(by_device > RUNS / 4 && overflows > RUNS / 20, "{told:?}");
    assert!(faults > RUNS / 10 && given_back > RUNS / 20, "{told:?}");
    assert!(by_several > RUNS / 50 && several_failed > 10, "{by_several}, {several_failed}");
}

#[test]
fn a_device_that_fails_anywhere_is_named_and_the_cores_do_the_rest() {
    for at in PLACES.into_iter().filter(|&at| at != FaultAt::Overflow) {
        let mut machine = drawn(7);
        machine.splits = 300;
        machine.split_bytes = 64 << 10;
        machine.tile_splits = 16;
        machine.partial = Shape::Table(401);
        machine.kernel = table;
        machine.unfit = None;
        machine.model = Model {
            name: "the card".to_owned(),
            // The table is reset after it has overflowed.
            faults: vec![Fault { at, after: 0 }, Fault { at: FaultAt::Overflow, after: 2 }],
            ..Model::default()
        };
        let outcome = machine.run();
        assert!(outcome.counted.iter().all(|&times| times == 1), "{at:?}");
        let fault = outcome.device.fault.unwrap_or_default();
        assert!(
            fault.contains("the card") && fault.contains("a fault was asked for"),
            "{at:?}: {fault}"
        );
        assert_eq!(outcome.device.bytes, 0, "{at:?}");
    }
}
