//! The compression of part files.

use crate::options::CommandLine;
use crate::settings::simple_name;
use flate2::Compression;
use flate2::write::{GzEncoder, ZlibEncoder};
use std::io::{self, Write};
use tegula::Result;

/// How part files are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Codec {
    None,
    Gzip,
    /// `DefaultCodec`, zlib's own form.
    Deflate,
}

/// Compresses what is written to a part file.
pub(crate) enum Encoder<W: Write> {
    None(W),
    Gzip(GzEncoder<W>),
    Deflate(ZlibEncoder<W>),
}

impl Codec {
    /// Returns the codec that a job's properties name.
    pub(crate) fn of(line: &CommandLine) -> Result<Codec> {
        const PROPERTY: &str = "mapreduce.output.fileoutputformat.compress.codec";
        if !line.conf.flag("mapreduce.output.fileoutputformat.compress", false) {
            return Ok(Codec::None);
        }
        let class = line.conf.class(PROPERTY).unwrap_or("DefaultCodec");
        match simple_name(class) {
            "GzipCodec" => Ok(Codec::Gzip),
            "DefaultCodec" | "DeflateCodec" => Ok(Codec::Deflate),
            _ => Err(line.of_hadoop_engine("-D", &format!("{PROPERTY}={class}"))),
        }
    }

    /// Returns the end of a part file's name.
    pub(crate) fn extension(self) -> &'static str {
        match self {
            Codec::None => "",
            Codec::Gzip => ".gz",
            Codec::Deflate => ".deflate",
        }
    }

    pub(crate) fn encoder<W: Write>(self, to: W) -> Encoder<W> {
        match self {
            Codec::None => Encoder::None(to),
            Codec::Gzip => Encoder::Gzip(GzEncoder::new(to, Compression::default())),
            Codec::Deflate => Encoder::Deflate(ZlibEncoder::new(to, Compression::default())),
        }
    }
}

impl<W: Write> Encoder<W> {
    /// Writes the end, and returns where it was written to.
    pub(crate) fn finish(self) -> io::Result<W> {
        match self {
            Encoder::None(to) => Ok(to),
            Encoder::Gzip(encoder) => encoder.finish(),
            Encoder::Deflate(encoder) => encoder.finish(),
        }
    }
}

impl<W: Write> Write for Encoder<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Encoder::None(to) => to.write(bytes),
            Encoder::Gzip(to) => to.write(bytes),
            Encoder::Deflate(to) => to.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Encoder::None(to) => to.flush(),
            Encoder::Gzip(to) => to.flush(),
            Encoder::Deflate(to) => to.flush(),
        }
    }
}
