//! The transfer rate of a device.

use tegula_device::{Accelerator, Emulated, Model};

#[test]
fn the_rate_of_a_link_is_measured() {
    let model = Model { link_bytes_s: 3e9, memory_bytes: 64 << 20, ..Model::default() };
    let rate = Accelerator::new(Emulated::new(model)).copy_bytes_s().unwrap();
    assert!((2.9e9..3.1e9).contains(&rate), "{rate}");
}
