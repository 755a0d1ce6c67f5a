//! Jobs whose kernels run on devices: the same bytes as with the cores alone, whatever the device is like
//! and whatever goes wrong with it. One file per behaviour.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[cfg(feature = "cuda")]
mod checked;
mod devices_that_fail_change_no_answer;
mod inputs;
mod kernels_give_the_bytes_of_the_cores;
#[cfg(feature = "offload")]
mod own_kernels_are_done_by_devices_alone;
#[cfg(feature = "offload")]
mod own_tables_and_floats;
mod points_stay_on_devices;
mod several_threads_fill_slots;
mod slow_devices_are_left_out_of_short_jobs;
#[cfg(feature = "offload")]
mod specs_are_read_as_meant;
mod timelines_show_devices;

use std::sync::{Arc, LazyLock};
use tegula::device::{Device, DeviceFigures, Emulated, Model, Present};
use tegula::{Accelerator, Engine, Options};
use tegula_apps::kmeans::{KMeans, Start};
use tegula_apps::{Matrix, Runs};

fn engine() -> &'static Engine {
    static ENGINE: LazyLock<Engine> =
        LazyLock::new(|| Engine::builder().workers(2).build().unwrap());
    &ENGINE
}

fn accelerator(device: impl Device + 'static) -> Arc<Accelerator> {
    Arc::new(Accelerator::new(device))
}

fn emulated(model: Model) -> Arc<Accelerator> {
    accelerator(Emulated::new(model))
}

/// Returns the devices to test: emulated ones, and those that are present; prints why others are not usable.
fn devices() -> &'static [Arc<Accelerator>] {
    static DEVICES: LazyLock<Vec<Arc<Accelerator>>> = LazyLock::new(|| {
        let small = Model { memory_bytes: 256 << 10, ..Model::default() };
        let several = Accelerator::new(Emulated::new(Model::default())).feeders(3);
        let mut devices = vec![emulated(Model::default()), emulated(small), Arc::new(several)];
        #[cfg(feature = "cuda")]
        devices.push(accelerator(checked::Checked::new()));
        let Present { devices: present, unusable } = Present::look();
        unusable.iter().for_each(|why| eprintln!("skipped: {why}"));
        let real = present.into_iter().filter(|device| device.caps().backend != "emulated");
        devices.extend(real.map(Arc::new));
        devices
    });
    &DEVICES
}

/// Returns the counts of the only device of a run.
fn only(figures: &[DeviceFigures]) -> &DeviceFigures {
    assert_eq!(figures.len(), 1);
    &figures[0]
}

const ROUNDS_MOST: usize = 6;

/// Returns the text of the groups of points after some rounds, which has every bit of the means, and the
/// counts of devices.
fn groups(
    engine: &Engine,
    points: &Matrix,
    groups: usize,
    options: &Options,
) -> (String, Vec<DeviceFigures>) {
    let mut runs = Runs::new(engine, options.clone());
    let job = KMeans { groups, rounds_most: ROUNDS_MOST, seed: 1, start: Start::Random };
    let groups = job.group(&mut runs, points).unwrap();
    (format!("{groups:?}"), runs.stats().devices.clone())
}
