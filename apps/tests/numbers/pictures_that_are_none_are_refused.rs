//! Files that are no pictures, or not whole, are refused by name before anything is counted.

use super::*;
use tegula::Input;
use tegula_apps::histogram::Histogram;

/// Returns a header of 40 bytes, with these fields in it.
fn bmp(width: i32, height: i32, bits: u16, compression: u32, start: u32) -> Vec<u8> {
    let mut bytes = b"BM\0\0\0\0\0\0\0\0".to_vec();
    bytes.extend(start.to_le_bytes());
    bytes.extend(40_u32.to_le_bytes());
    bytes.extend([width, height].map(i32::to_le_bytes).concat());
    bytes.extend([1, bits].map(u16::to_le_bytes).concat());
    bytes.extend(compression.to_le_bytes());
    bytes.resize(54, 0);
    bytes
}

#[test]
fn each_with_its_reason() {
    let whole = |mut header: Vec<u8>, pixels: usize| {
        header.resize(header.len() + pixels, 0);
        header
    };
    let cases: &[(&str, Vec<u8>, &str)] = &[
        ("empty", Vec::new(), "not a BMP or binary PPM"),
        ("text", b"hello".to_vec(), "not a BMP or binary PPM"),
        ("ascii", b"P3\n1 1\n255\n0 0 0\n".to_vec(), "not a BMP or binary PPM"),
        ("stub", b"BM".to_vec(), "header is cut short"),
        ("half", bmp(2, 2, 24, 0, 54)[..30].to_vec(), "header is cut short"),
        (
            "odd",
            b"BM\0\0\0\0\0\0\0\0\0\0\0\0\x0d\0\0\0".to_vec(),
            "of 13 bytes, which is no known one",
        ),
        ("short", whole(bmp(2, 2, 24, 0, 54), 13), "cut short"),
        ("huge", bmp(i32::MAX, i32::MIN, 24, 0, 54), "cut short"),
        ("palette", whole(bmp(2, 2, 8, 0, 54), 16), "8 bits a pixel"),
        ("deep", whole(bmp(2, 2, 32, 0, 54), 16), "32 bits a pixel"),
        ("packed", whole(bmp(2, 2, 24, 1, 54), 16), "compressed"),
        ("flat", bmp(2, 0, 24, 0, 54), "damaged BMP header"),
        ("thin", bmp(-2, 2, 24, 0, 54), "damaged BMP header"),
        ("inside", whole(bmp(2, 2, 24, 0, 20), 16), "damaged BMP header"),
        ("sixteen", b"P6\n1 1\n65535\n\0\0\0\0\0\0".to_vec(), "65535 levels"),
        ("wordy", b"P6\none 1\n255\n\0\0\0".to_vec(), "damaged PPM header"),
        ("none", b"P6\n0 1\n255\n".to_vec(), "damaged PPM header"),
        ("cut", b"P6\n2 2\n255\n\0\0\0".to_vec(), "cut short"),
        ("two", b"P6\n1 1\n255\n\0\0\0P6\n1 1\n255\n\0\0\0".to_vec(), "one picture a file"),
    ];
    let folder = tempfile::tempdir().unwrap();
    for (name, bytes, part) in cases {
        let path = write(folder.path(), name, bytes);
        let said = Histogram::of(&Input::paths([&path]).unwrap()).err().unwrap().to_string();
        assert!(said.contains(path.to_str().unwrap()) && said.contains(part), "{name}: {said}");
    }
    let said = Histogram::of(&Input::stdin()).err().unwrap().to_string();
    assert!(said.contains("standard input") && said.contains("not a file"), "{said}");
}
