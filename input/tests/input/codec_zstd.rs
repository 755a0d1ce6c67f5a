//! The memory that a frame asks for is known from its header.

use tegula_input::codec::window_bytes;

#[test]
fn windows_are_those_of_the_header() {
    let frame = |rest: &[u8]| window_bytes(&[&[0x28, 0xb5, 0x2f, 0xfd], rest].concat());
    assert_eq!(frame(&[0x04, 0x58]), 2 << 20);
    assert_eq!(frame(&[0x04, 0x59]), (2 << 20) + (2 << 20) / 8);
    assert_eq!(frame(&[0x20, 200]), 200);
    assert_eq!(frame(&[0x61, 7, 1, 2]), 256 + 513);
    assert_eq!(frame(&[0xe0, 0, 0, 0, 0, 1, 0, 0, 0]), 1 << 32);
    assert_eq!(window_bytes(b"\x50\x2a\x4d\x18"), 0);
}
