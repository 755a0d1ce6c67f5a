//! Each fault of a device is named with the device, and what must be done by devices alone fails where they cannot.

use crate::machine::Chance;
use crate::numbers::{NUMBERS, Numbers, numbers};
use std::io::Write;
use std::sync::Arc;
use tegula::device::{Device, Emulated, Fault, FaultAt, Kernel, Model, Room, Shape};
use tegula::{Accelerator, DeviceError, Engine, Error, Input, InputError, Options};

fn emulated(model: Model) -> Emulated {
    Emulated::new(Model { name: "the card".to_owned(), ..model })
}

fn kernel() -> Kernel {
    Kernel {
        entry: "count".into(),
        file: "count.c".into(),
        source: "".into(),
        defines: Vec::new(),
        emulated: Some(crate::machine::dense),
    }
}

fn room(slot_bytes: usize) -> Room {
    let (partial, broadcast_words) = (Shape::Dense(NUMBERS), 0);
    Room { slots: 2, slot_bytes, partial, broadcast_words, resident_bytes: 0 }
}

/// Runs a job that devices must do alone, on one that has a fault.
fn alone(input: Input, faults: Vec<Fault>) -> Error {
    let device = Arc::new(Accelerator::new(emulated(Model { faults, ..Model::default() })));
    let options = Options { devices: vec![device], devices_alone: true, ..Options::default() };
    let job = Numbers { alone: true, ..Numbers::DENSE };
    Engine::new().unwrap().job(&job).options(&options).run(input).unwrap_err()
}

#[test]
fn a_kernel_that_it_cannot_run() {
    let kernel = Kernel { emulated: None, ..kernel() };
    let Err(error) = emulated(Model::default()).compile(&kernel) else { panic!("it compiles") };
    assert!(matches!(error, DeviceError::Unfit { .. }), "{error:?}");
    assert!(error.to_string().starts_with("the card: count.c has no twin"), "{error}");
}

#[test]
fn memory_that_it_does_not_have() {
    let device = emulated(Model { memory_bytes: 1 << 10, ..Model::default() });
    let program = device.compile(&kernel()).unwrap();
    let Err(error) = program.open(&room(1 << 20)) else { panic!("it opens") };
    assert!(matches!(error, DeviceError::TooSmall { memory_bytes: 1024, .. }), "{error:?}");
}

#[test]
fn an_operation_that_fails() {
    let faults = vec![Fault { at: FaultAt::Open, after: 0 }];
    let device = emulated(Model { faults, ..Model::default() });
    let program = device.compile(&kernel()).unwrap();
    let Err(error) = program.open(&room(1 << 12)) else { panic!("it opens") };
    assert!(matches!(error, DeviceError::Failed { action: "take memory", .. }), "{error:?}");
}

#[test]
fn a_job_of_devices_alone_that_they_do_not_end() {
    let input = Input::bytes(numbers(&mut Chance::of(1), 100_000));
    let error = alone(input, vec![Fault { at: FaultAt::Kernel, after: 0 }]);
    assert!(matches!(error, Error::Device(DeviceError::Alone { .. })), "{error:?}");
    let said = error.to_string();
    assert!(said.starts_with("only devices may do this job, and") && said.contains("the card"));
}

#[test]
fn input_that_does_not_reach_devices() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("numbers.gz");
    let packed = std::fs::File::create(&path).unwrap();
    let mut packed = flate2::write::GzEncoder::new(packed, flate2::Compression::fast());
    packed.write_all(&numbers(&mut Chance::of(1), 1000)).unwrap();
    packed.finish().unwrap();
    let error = alone(Input::paths([&path]).unwrap(), Vec::new());
    assert!(matches!(error, Error::Input(InputError::CoresOnly { .. })), "{error:?}");
    assert!(error.to_string().contains("do not reach devices"), "{error}");
}
