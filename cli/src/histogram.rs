//! `tegula histogram`: one line per channel and level, and the counts as a picture.

use crate::devices::DeviceFlags;
use crate::flags::{AnswerFlags, Format, RunFlags};
use crate::format::Line;
use crate::request::Request;
use crate::run::{self, Run};
use crate::show::{ShowFlags, ShowWhen};
use clap::Args;
use std::ffi::OsString;
use std::path::PathBuf;
use tegula::output::AtomicFile;
use tegula::{Input, Options, Result};
use tegula_apps::histogram::{Histogram, Levels};

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
    show: ShowWhen,

    #[command(flatten)]
    devices: DeviceFlags,

    #[command(flatten)]
    run: RunFlags,
}

pub(crate) fn run(flags: &Flags) -> Result<()> {
    let request = Request::of("histogram").choice("format", &flags.format);
    run::command_over(&flags.run, request, &flags.paths, |run| {
        run.refuse_skip_bad(
            "a file is a picture as a whole or none; leave out those that are not",
        )?;
        run.refuse_plain("pictures are always read as they are")?;
        run.refuse_append_only("a picture that grows is another one; leave it out")?;
        run.writes("--svg", flags.svg.as_ref())?;
        run.writes("--show-to", flags.show.show_to.as_ref())?;
        if let Some(svg) = &flags.svg {
            AtomicFile::probe(svg)?;
        }
        run.use_devices(flags.devices.open()?);
        let input = run.input(&flags.paths)?;
        let job = Histogram::of(&input)?.whole(flags.run.incremental);
        let levels = count(run, &job, input, flags.format, &flags.show)?;
        let text = text_of(&levels, flags.format);
        let Some(svg) = &flags.svg else { return run.write(|sink| sink.write(&text)) };
        let picture = Histogram::svg(&levels);
        run.write_beside((svg, picture.as_bytes()), |sink| sink.write(&text))
    })
}

#[cfg(feature = "state")]
pub(crate) fn show(request: &Request, flags: &RunFlags) -> Result<()> {
    let format: Format = request.chosen("format")?;
    run::command(flags, request.clone(), |run| {
        let input = run.input(&[])?;
        let levels = count(run, &Histogram::default(), input, format, &ShowWhen::default())?;
        run.write(|sink| sink.write(&text_of(&levels, format)))
    })
}

/// Counts levels, and shows them meanwhile if the flags say so.
fn count(
    run: &mut Run<'_>,
    job: &Histogram,
    input: Input,
    format: Format,
    show: &ShowWhen,
) -> Result<Levels> {
    let options = run.options();
    let split_bytes = options.split_bytes.or(Some(Histogram::SPLIT_BYTES));
    let options = Options { split_bytes, ..options };
    let flags = AnswerFlags { format, show: ShowFlags::whole(show), ..AnswerFlags::default() };
    let output = run.showing_with(job, input, (&flags, options), |shows, shown| {
        let levels = Histogram::levels_shown(shown.answers())?;
        shows.write_text(shown, |format| text_of(&levels, format))
    })?;
    Histogram::levels(&output)
}

/// Returns a line for each channel and level.
fn text_of(levels: &Levels, format: Format) -> Vec<u8> {
    let mut text = Vec::new();
    for (channel, counts) in ["red", "green", "blue"].iter().zip(levels) {
        for (level, &count) in counts.iter().enumerate() {
            let mut line = Line::begin(format, &mut text);
            line.bytes("channel", channel.as_bytes());
            line.integer("level", level).integer("count", count);
            line.end();
        }
    }
    text
}
