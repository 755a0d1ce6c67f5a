//! Compressed texts, made with the libraries that the formats' encoders come from.

use flate2::{Compression, GzBuilder};
use lz4_flex::frame::{BlockMode, BlockSize, FrameEncoder, FrameInfo};
use std::io::Write;

/// A way to compress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Packing {
    Gzip,
    /// Gzip of members that store their length.
    Bgzip,
    Zstd,
    Bzip2,
    /// In independent blocks.
    Lz4,
    /// In blocks that refer to earlier ones.
    Lz4Linked,
}

pub(crate) const PACKINGS: [Packing; 6] = [
    Packing::Gzip,
    Packing::Bgzip,
    Packing::Zstd,
    Packing::Bzip2,
    Packing::Lz4,
    Packing::Lz4Linked,
];

impl Packing {
    pub(crate) fn ending(self) -> &'static str {
        match self {
            Packing::Gzip | Packing::Bgzip => "gz",
            Packing::Zstd => "zst",
            Packing::Bzip2 => "bz2",
            Packing::Lz4 | Packing::Lz4Linked => "lz4",
        }
    }

    pub(crate) fn format(self) -> &'static str {
        match self {
            Packing::Gzip | Packing::Bgzip => "gzip",
            Packing::Zstd => "zstd",
            Packing::Bzip2 => "bzip2",
            Packing::Lz4 | Packing::Lz4Linked => "lz4",
        }
    }

    /// Returns one member, frame or stream.
    pub(crate) fn pack(self, text: &[u8]) -> Vec<u8> {
        match self {
            Packing::Gzip => {
                let mut encoder =
                    GzBuilder::new().filename("text").write(Vec::new(), Compression::fast());
                encoder.write_all(text).unwrap();
                encoder.finish().unwrap()
            }
            Packing::Bgzip if text.is_empty() => bgzip_member(text),
            Packing::Bgzip => text.chunks(30_000).flat_map(bgzip_member).collect(),
            Packing::Zstd => {
                let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
                encoder.include_checksum(true).unwrap();
                encoder.write_all(text).unwrap();
                encoder.finish().unwrap()
            }
            Packing::Bzip2 => {
                let mut encoder =
                    bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
                encoder.write_all(text).unwrap();
                encoder.finish().unwrap()
            }
            Packing::Lz4 => lz4(text, BlockMode::Independent),
            Packing::Lz4Linked => lz4(text, BlockMode::Linked),
        }
    }

    /// Returns the text in pieces, each a member, frame or stream of its own.
    pub(crate) fn pack_in_pieces(self, text: &[u8], piece: usize) -> Vec<u8> {
        if text.is_empty() {
            return self.pack(text);
        }
        text.chunks(piece).flat_map(|piece| self.pack(piece)).collect()
    }
}

fn lz4(text: &[u8], mode: BlockMode) -> Vec<u8> {
    let info = FrameInfo::new().block_size(BlockSize::Max64KB).block_mode(mode);
    let info = info.content_checksum(true).block_checksums(true);
    let mut encoder = FrameEncoder::with_frame_info(info, Vec::new());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

/// By the SAM/BAM format specification, section 4.1.
fn bgzip_member(text: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(text).unwrap();
    let data = encoder.finish().unwrap();
    let mut sum = flate2::Crc::new();
    sum.update(text);
    let length = u16::try_from(18 + data.len() + 8 - 1).unwrap();
    let header = [0x1f, 0x8b, 8, 4, 0, 0, 0, 0, 0, 255, 6, 0, b'B', b'C', 2, 0];
    let length_and_data = [&length.to_le_bytes()[..], &data].concat();
    let trailer = [sum.sum().to_le_bytes(), (text.len() as u32).to_le_bytes()].concat();
    [&header[..], &length_and_data, &trailer].concat()
}
