//! The forms that a file's bytes may have: compressed or not, and how.

use std::path::Path;

/// The form of a file's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Format {
    /// As they are.
    Plain,
    /// RFC 1952, of any number of members.
    Gzip,
    /// RFC 8878, of any number of frames.
    Zstd,
    /// Of any number of streams.
    Bzip2,
    /// The LZ4 frame format, of any number of frames.
    Lz4,
}

impl Format {
    #[doc(hidden)]
    pub const ALL: [Format; 5] =
        [Format::Plain, Format::Gzip, Format::Zstd, Format::Bzip2, Format::Lz4];

    /// Returns the name in messages and statistics.
    pub fn name(self) -> &'static str {
        match self {
            Format::Plain => "plain",
            Format::Gzip => "gzip",
            Format::Zstd => "zstd",
            Format::Bzip2 => "bzip2",
            Format::Lz4 => "lz4",
        }
    }

    /// Returns the format that the ending of a file's name names, letters of any case.
    pub fn of_name(path: &Path) -> Option<Format> {
        let ending = path.extension()?.to_ascii_lowercase();
        match ending.as_encoded_bytes() {
            b"gz" | b"bgz" => Some(Format::Gzip),
            b"zst" | b"zstd" => Some(Format::Zstd),
            b"bz2" => Some(Format::Bzip2),
            b"lz4" => Some(Format::Lz4),
            _ => None,
        }
    }
}
