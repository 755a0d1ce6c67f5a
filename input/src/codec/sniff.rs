//! Recognises the format of a file from its first bytes. If the file's name does not suggest the format,
//! not only the magic number but all fixed bits of the header must match. So fewer than one in 2^32 files
//! of random bytes are mistaken, and such a file fails as damaged.

use super::Format;
use super::zstd::Fields;

/// Number of first bytes that suffice, if frames without data before the first real frame are short.
pub const HEAD_BYTES: usize = 512;
/// The size of the shortest compressed file of any format.
pub(crate) const FILE_BYTES_LEAST: u64 = 9;

/// The facts about a file before it is read.
pub struct Head<'h> {
    /// Its first [`HEAD_BYTES`] bytes, or all.
    pub bytes: &'h [u8],
    /// The format that its name suggests.
    pub named: Option<Format>,
}

/// Returns the format of a file, or `None` if its bytes do not match the format that its name suggests.
pub fn sniff(head: &Head<'_>) -> Option<Format> {
    let compressed = &Format::ALL[1..];
    match head.named {
        Some(named) => has_magic(named, head.bytes).then_some(named),
        None => Some(
            *compressed.iter().find(|&&format| fits(format, head.bytes)).unwrap_or(&Format::Plain),
        ),
    }
}

/// Returns whether more bytes could still reveal a format.
pub fn may_become(bytes: &[u8]) -> bool {
    const FIRST: [&[u8]; 5] = [GZIP, ZSTD, BZIP2, LZ4, LZ4_LEGACY];
    let begins = |magic: &&[u8]| magic.iter().zip(bytes).all(|(a, b)| a == b);
    let skippable = [0x50, 0x2a, 0x4d, 0x18].iter().zip(bytes);
    let skippable =
        skippable.enumerate().all(|(at, (a, b))| *a == if at == 0 { b & 0xf0 } else { *b });
    skippable || FIRST.iter().any(begins)
}

const GZIP: &[u8] = b"\x1f\x8b\x08";
const ZSTD: &[u8] = b"\x28\xb5\x2f\xfd";
const BZIP2: &[u8] = b"BZh";
const LZ4: &[u8] = b"\x04\x22\x4d\x18";
const LZ4_LEGACY: &[u8] = b"\x02\x21\x4c\x18";

/// Tests the magic number only, which is enough if the name suggests the same format.
fn has_magic(format: Format, bytes: &[u8]) -> bool {
    match format {
        Format::Plain => true,
        Format::Gzip => bytes.starts_with(GZIP),
        Format::Zstd => bytes.starts_with(ZSTD) || skippable(bytes).is_some(),
        Format::Bzip2 => bytes.starts_with(BZIP2),
        Format::Lz4 => {
            bytes.starts_with(LZ4) || bytes.starts_with(LZ4_LEGACY) || skippable(bytes).is_some()
        }
    }
}

/// Tests all fixed bits of the format's header.
fn fits(format: Format, bytes: &[u8]) -> bool {
    match format {
        Format::Plain => true,
        Format::Gzip => fits_gzip(bytes),
        Format::Zstd => fits_zstd(after_skippable(bytes)),
        Format::Bzip2 => fits_bzip2(bytes),
        Format::Lz4 => fits_lz4(after_skippable(bytes)),
    }
}

/// RFC 1952, section 2.3.1: no reserved flag, and only defined extra flags and systems.
fn fits_gzip(bytes: &[u8]) -> bool {
    match bytes {
        [0x1f, 0x8b, 0x08, flags, _, _, _, _, extra, system, ..] => {
            flags & 0xe0 == 0 && matches!(extra, 0 | 2 | 4) && matches!(system, 0..=13 | 255)
        }
        _ => false,
    }
}

/// RFC 8878, section 3.1.1: no reserved bit, and a first block of a valid type and size.
fn fits_zstd(bytes: &[u8]) -> bool {
    let [0x28, 0xb5, 0x2f, 0xfd, descriptor, rest @ ..] = bytes else { return false };
    let Fields { window_bytes, id_bytes, size_bytes } = Fields::of(*descriptor);
    let block = rest.get(window_bytes + id_bytes + size_bytes..).and_then(<[u8]>::first_chunk);
    let Some(&[a, b, c]) = block else { return false };
    let block = u32::from_le_bytes([a, b, c, 0]);
    // The size of a run is the number of its repeated bytes, up to the size of a block.
    descriptor & 8 == 0 && block >> 1 & 3 != 3 && block >> 3 <= 128 << 10
}

/// A block size, then the magic number of a block or of the end.
fn fits_bzip2(bytes: &[u8]) -> bool {
    match bytes {
        [b'B', b'Z', b'h', b'1'..=b'9', rest @ ..] => {
            rest.starts_with(&super::bzip2::BLOCK_MAGIC.to_be_bytes()[2..])
                || rest.starts_with(&super::bzip2::END_MAGIC.to_be_bytes()[2..])
        }
        _ => false,
    }
}

/// All fixed bits of the header; for the legacy form, the size of the first block.
fn fits_lz4(bytes: &[u8]) -> bool {
    if let Some([a, b, c, d]) = bytes.strip_prefix(LZ4_LEGACY).and_then(<[u8]>::first_chunk) {
        return u32::from_le_bytes([*a, *b, *c, *d]) <= 9 << 20;
    }
    super::lz4_frames::Header::of(bytes).is_some()
}

/// Returns the length of a zstd or LZ4 frame without data, if the bytes begin with one.
pub(super) fn skippable(bytes: &[u8]) -> Option<usize> {
    let [0x50..=0x5f, 0x2a, 0x4d, 0x18, a, b, c, d, ..] = *bytes else { return None };
    Some(8 + u32::from_le_bytes([a, b, c, d]) as usize)
}

fn after_skippable(mut bytes: &[u8]) -> &[u8] {
    while let Some(length) = skippable(bytes) {
        bytes = bytes.get(length..).unwrap_or(&[]);
    }
    bytes
}
