//! Counts decompressed files and bytes by format, for the statistics of a run.

use crate::input::Format;
use crate::sync::Mutex;

/// Files of one format that a run decompressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FormatFigures {
    /// `gzip`, `zstd`, `bzip2` or `lz4`.
    pub format: &'static str,
    /// Files.
    pub files: u64,
    /// Their compressed size in bytes.
    pub compressed_bytes: u64,
    /// Their decompressed size in bytes.
    pub bytes: u64,
}

impl FormatFigures {
    /// Adds figures to those of the same format.
    #[doc(hidden)]
    pub fn add_to(self, all: &mut Vec<FormatFigures>) {
        match all.iter_mut().find(|known| known.format == self.format) {
            Some(known) => {
                known.files += self.files;
                known.compressed_bytes += self.compressed_bytes;
                known.bytes += self.bytes;
            }
            None => all.push(self),
        }
    }
}

/// Counters that workers increment per file.
#[derive(Debug, Default)]
pub struct Tally(Mutex<Vec<FormatFigures>>);

impl Tally {
    /// Counts a file that was read to its end.
    pub fn add(&self, format: Format, compressed_bytes: u64, bytes: u64) {
        if format != Format::Plain {
            let one = FormatFigures { format: format.name(), files: 1, compressed_bytes, bytes };
            one.add_to(&mut self.0.lock());
        }
    }

    /// Returns the figures of each format that occurred, by name.
    pub fn figures(&self) -> Vec<FormatFigures> {
        let mut all = self.0.lock().clone();
        all.sort_unstable_by_key(|figures| figures.format);
        all
    }
}
