//! Formats are recognised by all fixed bits of their headers.

use proptest::prelude::*;
use tegula_input::codec::{Head, may_become, sniff};
use tegula_input::input::Format;

/// The magic numbers of all formats.
const MAGIC: [&[u8]; 6] = [
    b"\x1f\x8b\x08",
    b"\x28\xb5\x2f\xfd",
    b"BZh",
    b"\x04\x22\x4d\x18",
    b"\x02\x21\x4c\x18",
    b"\x5a\x2a\x4d\x18",
];

fn of(bytes: &[u8]) -> Option<Format> {
    sniff(&Head { bytes, named: None })
}

#[test]
fn headers_are_recognised_after_frames_without_data_too() {
    let zstd = b"\x28\xb5\x2f\xfd\x24\x05\x29\x00\x00hello";
    let lz4 = b"\x04\x22\x4d\x18\x64\x40\xa7\x06\0\0\x80hello\n\0\0\0\0";
    let skipped = |frame: &[u8]| [b"\x51\x2a\x4d\x18\x03\0\0\0abc", frame].concat();
    assert_eq!(of(b"\x1f\x8b\x08\0\0\0\0\0\0\x03+I-."), Some(Format::Gzip));
    assert_eq!(of(b"BZh91AY&SY"), Some(Format::Bzip2));
    assert_eq!(of(b"BZh9\x17\x72\x45\x38\x50\x90\0\0\0\0"), Some(Format::Bzip2));
    assert_eq!((of(zstd), of(&skipped(zstd))), (Some(Format::Zstd), Some(Format::Zstd)));
    assert_eq!((of(lz4), of(&skipped(lz4))), (Some(Format::Lz4), Some(Format::Lz4)));
    assert_eq!(of(b"\x02\x21\x4c\x18\x0b\0\0\0\xa0hello"), Some(Format::Lz4));
}

#[test]
fn a_magic_number_alone_is_not_enough_without_a_name() {
    let begun: [&[u8]; 5] = [
        b"\x1f\x8b\x08\xe0\0\0\0\0\0\x03",
        b"BZh9 is not a format",
        b"\x28\xb5\x2f\xfd\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
        b"\x04\x22\x4d\x18\x64\x40\xa8",
        b"",
    ];
    assert!(begun.iter().all(|bytes| of(bytes) == Some(Format::Plain)));
    let named = |bytes, named| sniff(&Head { bytes, named: Some(named) });
    assert_eq!(named(begun[0], Format::Gzip), Some(Format::Gzip));
    assert_eq!(named(begun[0], Format::Zstd), None);
    assert_eq!(named(begun[4], Format::Gzip), None);
}

proptest! {
    #[test]
    fn random_bytes_are_plain(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        prop_assert_eq!(of(&bytes), Some(Format::Plain));
    }

    #[test]
    fn what_may_not_become_a_format_is_none(
        magic in prop::sample::select(MAGIC.to_vec()),
        length in 0usize..8,
        flip in 0usize..64,
    ) {
        let mut bytes = magic[..length.min(magic.len())].to_vec();
        prop_assert!(may_become(&bytes));
        if flip / 8 < bytes.len() {
            bytes[flip / 8] ^= 1 << (flip % 8);
            prop_assert!(may_become(&bytes) || of(&bytes) == Some(Format::Plain));
        }
    }
}
