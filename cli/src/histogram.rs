//! `tegula histogram`: one line per channel and level, and the counts as a picture.

use crate::devices::DeviceFlags;
use crate::flags::{Format, RunFlags};
use crate::format::Line;
use crate::request::Request;
use crate::run;
use clap::Args;
use std::ffi::OsString;
use std::path::PathBuf;
use tegula::output::AtomicFile;
use tegula::{Options, Result};
use tegula_apps::histogram::Histogram;

#[derive(Args)]
pub(crate) struct Flags {
    /// Pictures, 24-bit BMP or binary PPM: files, folders (with all below them) or patterns
    /// (* ? [...] **).
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<OsString>,

    /// Draw the counts to FILE, as an SVG picture.
    #[arg(long, value_name = "FILE", help_heading = "Answer")]
    svg: Option<PathBuf>,

    /// tsv: channel, tab, level, tab, count. jsonl: {"channel":"red","level":N,"count":N}.
    #[arg(long, value_enum, default_value_t = Format::Tsv, help_heading = "Answer")]
    format: Format,

    #[command(flatten)]
    devices: DeviceFlags,

    #[command(flatten)]
    run: RunFlags,
}

pub(crate) fn run(flags: &Flags) -> Result<()> {
    run::command(&flags.run, Request::of("histogram"), |run| {
        if let Some(svg) = &flags.svg {
            AtomicFile::probe(svg)?;
        }
        run.use_devices(flags.devices.open()?);
        let input = run.input(&flags.paths)?;
        let job = Histogram::of(&input)?;
        let options = Options { split_bytes: Some(Histogram::SPLIT_BYTES), ..run.options() };
        let levels = Histogram::levels(&run.job(&job, input, &options)?)?;
        if let Some(svg) = &flags.svg {
            run.write_beside(svg, Histogram::svg(&levels).as_bytes())?;
        }
        let mut text = Vec::new();
        for (channel, counts) in ["red", "green", "blue"].iter().zip(&levels) {
            for (level, &count) in counts.iter().enumerate() {
                let mut line = Line::begin(flags.format, &mut text);
                line.bytes("channel", channel.as_bytes());
                line.integer("level", level).integer("count", count);
                line.end();
            }
        }
        run.write(|sink| sink.write(&text))
    })
}
