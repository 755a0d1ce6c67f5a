//! A device beside cores ends the job about when the best division of the work would: within a tenth, on
//! devices of very different kinds, though nothing is known of them when the job begins.

use crate::machine::Machine;
use std::time::Duration;
use tegula::device::Model;

/// A kind of device beside cores.
struct Kind {
    name: &'static str,
    overhead_us: u64,
    kernel_least_us: u64,
    link_gb_s: f64,
    kernel_gb_s: f64,
    cliff_bytes: Option<u64>,
    memory_bytes: u64,
    cores: usize,
    core_gb_s: f64,
    /// Input sizes that are simulated.
    inputs_gb: &'static [f64],
}

const SPLIT_BYTES: u64 = 64 << 10;

#[rustfmt::skip]
const KINDS: [Kind; 5] = [
    // A GPU whose link is the limit.
    Kind { name: "link", overhead_us: 15, kernel_least_us: 30, link_gb_s: 52.0, kernel_gb_s: 400.0,
        cliff_bytes: None, memory_bytes: 16 << 30, cores: 16, core_gb_s: 2.0, inputs_gb: &[2.0, 20.0] },
    // A GPU that counts words, whose table leaves the cache beyond 96 MB.
    Kind { name: "words", overhead_us: 15, kernel_least_us: 400, link_gb_s: 52.0, kernel_gb_s: 30.0,
        cliff_bytes: Some(96_000_000), memory_bytes: 16 << 30, cores: 16, core_gb_s: 2.0, inputs_gb: &[2.0, 20.0] },
    // A card that is slow to start and slower than the cores together.
    Kind { name: "slow", overhead_us: 200, kernel_least_us: 2000, link_gb_s: 10.0, kernel_gb_s: 6.0,
        cliff_bytes: None, memory_bytes: 16 << 30, cores: 16, core_gb_s: 2.0, inputs_gb: &[2.0, 20.0] },
    // An OpenCL device that is the processor itself.
    Kind { name: "processor", overhead_us: 60, kernel_least_us: 100, link_gb_s: 5.0, kernel_gb_s: 0.3,
        cliff_bytes: None, memory_bytes: 16 << 30, cores: 2, core_gb_s: 0.4, inputs_gb: &[2.0, 20.0] },
    // A node as small as the SPEs of the Cell: local stores of 256 KB, two of which are one device here.
    Kind { name: "small", overhead_us: 5, kernel_least_us: 5, link_gb_s: 20.0, kernel_gb_s: 4.0,
        cliff_bytes: None, memory_bytes: 512 << 10, cores: 2, core_gb_s: 1.0, inputs_gb: &[0.5, 2.0] },
];

impl Kind {
    fn machine(&self, gb: f64, noise: f64, seed: u64) -> Machine {
        let model = Model {
            memory_bytes: self.memory_bytes,
            link_bytes_s: self.link_gb_s * 1e9,
            overhead: Duration::from_micros(self.overhead_us),
            kernel_least: Duration::from_micros(self.kernel_least_us),
            kernel_bytes_s: self.kernel_gb_s * 1e9,
            cliff_bytes: self.cliff_bytes,
            noise,
            seed,
            ..Model::default()
        };
        let core_bytes_s = self.core_gb_s * 1e9;
        Machine { core_bytes_s, ..Machine::histogram(gb, SPLIT_BYTES, self.cores, model) }
    }

    /// Seconds without anything to find out, nor a tail, and with the best unit size there may be: a 64th
    /// of the input, a third of the device's memory.
    fn ideal_s(&self, bytes: f64) -> f64 {
        let unit_s = |unit: f64| {
            let copy = unit / (self.link_gb_s * 1e9);
            let kernel = self.kernel_least_us as f64 / 1e6 + unit / (self.kernel_gb_s * 1e9);
            let slower = match self.cliff_bytes {
                Some(cliff) if unit > cliff as f64 => 1.6,
                _ => 1.0,
            };
            self.overhead_us as f64 / 1e6 + copy.max(kernel * slower)
        };
        let sizes = (0..15).map(|power| 64e3 * f64::from(1 << power));
        let most = (bytes / 64.0).min(self.memory_bytes as f64 / 3.0);
        let sizes = sizes.filter(|&size| size <= most);
        let best = sizes.map(|size| size / unit_s(size)).fold(0.0, f64::max);
        bytes / (best + self.cores as f64 * self.core_gb_s * 1e9)
    }
}

#[test]
fn jobs_end_within_a_tenth_of_the_ideal() {
    for noise in [0.05, 0.25] {
        for kind in &KINDS {
            for &gb in kind.inputs_gb {
                let ideal = kind.ideal_s(gb * 1e9);
                let runs = (0..10).map(|seed| {
                    let outcome = kind.machine(gb, noise, seed).run();
                    assert!(outcome.counted.iter().all(|&times| times == 1), "{}", kind.name);
                    outcome
                });
                let runs: Vec<_> = runs.collect();
                let mean = runs.iter().map(|run| run.seconds).sum::<f64>() / runs.len() as f64;
                let device = &runs[0].device;
                let told = format!(
                    "{} {gb} GB, noise {noise}: {:.3} of the ideal, {:.0}% by the device in units of {} bytes",
                    kind.name,
                    mean / ideal,
                    100.0 * device.bytes as f64 / (gb * 1e9),
                    device.unit_bytes,
                );
                println!("{told}");
                assert!(mean <= 1.1 * ideal, "{told}");
            }
        }
    }
}

/// Units that are set keep their size, and nothing is found; else the figures say after how many units the size was
/// known, and after how much of the time.
#[test]
fn sizes_are_set_or_found_soon() {
    for kind in &KINDS[..3] {
        let mut machine = kind.machine(20.0, 0.05, 1);
        let outcome = machine.run();
        let device = &outcome.device;
        assert!((2..=40).contains(&device.sizing_units), "{}: {device:?}", kind.name);
        assert!(device.sizing < device.span / 4 && !device.sizing.is_zero(), "{device:?}");
        let size = SPLIT_BYTES * 3;
        machine.unit_bytes = Some(size + 1);
        let outcome = machine.run();
        let device = &outcome.device;
        assert!(outcome.counted.iter().all(|&times| times == 1));
        assert_eq!(device.unit_bytes, size, "{}", kind.name);
        assert!(device.sizing_units == 0 && device.sizing.is_zero());
        // All but those at the end are of that size.
        assert!(device.bytes / device.units > size * 9 / 10, "{device:?}");
    }
}

/// A device that costs the cores more than it brings is left alone, and one that brings more than it costs
/// is not.
#[test]
fn a_device_that_is_of_no_use_is_not_used() {
    let [.., processor, _] = &KINDS;
    // Two cores of 0.4 GB a second; the device does 0.3 GB a second.
    for (beside, is_used) in [(0.9, true), (0.5, false)] {
        let mut machine = processor.machine(20.0, 0.05, 1);
        machine.beside = beside;
        let outcome = machine.run();
        assert!(outcome.counted.iter().all(|&times| times == 1));
        let alone_s = 20e9 / (2.0 * 0.4e9);
        let part = outcome.device.bytes as f64 / 20e9;
        assert!(outcome.seconds < 1.05 * alone_s, "{} s, {alone_s} s alone", outcome.seconds);
        assert!((part > 0.2) == is_used && (part < 0.05) != is_used, "{part} by the device");
        let fault = (!is_used).then_some("the cores alone were faster");
        assert_eq!(outcome.device.fault.as_deref(), fault);
    }
}
