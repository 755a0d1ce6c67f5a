//! Sizes of units are kept from process to process.

use std::fs;
use std::path::Path;
use tegula_device::sizes::{LINES_MOST, Sizes};
use tegula_device::{Device, Emulated, Kernel, Model};

fn kernel(source: &str) -> Kernel {
    let (entry, file, source) = ("k".into(), "k.c".into(), source.to_owned().into());
    Kernel { entry, file, source, defines: Vec::new(), emulated: None }
}

#[test]
fn sizes_are_found_again_by_device_and_kernel() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a folder/units");
    let sizes = Sizes::in_file(&path);
    let device = |name: &str| Emulated::new(Model { name: name.to_owned(), ..Model::default() });
    let (a, b) = (device("a\tdevice\n"), device("b"));
    assert_eq!(sizes.find(a.caps(), &kernel("1")), None);
    for (device, source, bytes) in [(&a, "1", 5), (&b, "1", 6), (&a, "2", 7), (&a, "1", 8)] {
        sizes.keep(device.caps(), &kernel(source), bytes);
    }
    let again = Sizes::in_file(&path);
    assert_eq!(again.find(a.caps(), &kernel("1")), Some(8));
    assert_eq!(again.find(b.caps(), &kernel("1")), Some(6));
    assert_eq!(again.find(a.caps(), &kernel("2")), Some(7));
    assert_eq!(again.find(b.caps(), &kernel("2")), None);
    for number in 0..LINES_MOST {
        sizes.keep(b.caps(), &kernel(&format!("more {number}")), 9);
    }
    assert_eq!(again.find(a.caps(), &kernel("1")), None);
    assert_eq!(fs::read_to_string(&path).unwrap().lines().count(), LINES_MOST);
    // Any other file is treated as missing, and is replaced.
    fs::write(&path, b"\xff\n9").unwrap();
    assert_eq!(again.find(b.caps(), &kernel("1")), None);
    sizes.keep(b.caps(), &kernel("1"), 3);
    assert_eq!(again.find(b.caps(), &kernel("1")), Some(3));
    // If nothing can be written, nothing is kept, and nothing fails.
    let nowhere = Sizes::in_file(Path::new("/proc/none/units"));
    nowhere.keep(b.caps(), &kernel("1"), 3);
    assert_eq!(nowhere.find(b.caps(), &kernel("1")), None);
}
