//! Decides whether to compress a block: only if that is faster. Compressing costs time and saves writing
//! time. Both are measured on the blocks themselves; now and then the other way is tried again.

use std::time::{Duration, Instant};

/// The way not taken is tried once in this number of blocks.
const TRY_EVERY: u32 = 64;
/// The weight of a new figure beside the old ones.
const WEIGHT: f64 = 0.25;
/// The time to compress and decompress, in terms of that to compress.
const AND_BACK: f64 = 1.5;

/// Compresses blocks where it pays.
#[derive(Default)]
pub struct Compressor {
    blocks: u32,
    /// Nanoseconds of writing a byte that is stored.
    write_ns: Option<f64>,
    /// Nanoseconds of compressing a byte, and the bytes that one becomes.
    compress: Option<(f64, f64)>,
}

impl Compressor {
    /// Returns the most bytes that a payload can become.
    pub fn most_bytes(payload: usize) -> usize {
        lz4_flex::block::get_maximum_output_size(payload)
    }

    /// Appends the payload in LZ4's block form to `out` if that is the faster way; returns whether it did.
    pub fn compress(&mut self, payload: &[u8], out: &mut Vec<u8>) -> bool {
        self.blocks = self.blocks.wrapping_add(1);
        let pays = self.pays();
        let tries = self.blocks % TRY_EVERY == 2;
        if payload.is_empty() || pays == tries {
            return false;
        }
        let (before, began) = (out.len(), Instant::now());
        out.resize(before + Compressor::most_bytes(payload.len()), 0);
        let Ok(count) = lz4_flex::block::compress_into(payload, &mut out[before..]) else {
            out.truncate(before);
            return false;
        };
        let bytes = payload.len() as f64;
        let figures = (began.elapsed().as_nanos() as f64 / bytes, count as f64 / bytes);
        let old = self.compress.unwrap_or(figures);
        self.compress = Some((mix(old.0, figures.0), mix(old.1, figures.1)));
        let smaller = count < payload.len();
        out.truncate(if smaller { before + count } else { before });
        smaller
    }

    /// Notes the time that it took to write `bytes`.
    pub fn wrote(&mut self, bytes: usize, took: Duration) {
        let figure = took.as_nanos() as f64 / bytes.max(1) as f64;
        self.write_ns = Some(mix(self.write_ns.unwrap_or(figure), figure));
    }

    /// Returns whether compressing costs less than it saves, by the figures so far.
    fn pays(&self) -> bool {
        match (self.write_ns, self.compress) {
            (Some(write_ns), Some((compress_ns, ratio))) => {
                compress_ns * AND_BACK + write_ns * ratio * 2.0 < write_ns * 2.0
            }
            _ => false,
        }
    }
}

fn mix(old: f64, new: f64) -> f64 {
    old + WEIGHT * (new - old)
}
