//! `tegula kmeans`: one line per group, with the number of its points and its mean.

use crate::devices::DeviceFlags;
use crate::flags::{self, RunFlags};
#[cfg(feature = "state")]
use crate::request::NOTE;
use crate::request::Request;
use crate::rounds::RoundFlags;
use crate::{exit, run};
use clap::{Args, ValueEnum};
use std::ffi::OsString;
use std::io::Write;
use tegula::Result;
use tegula_apps::Matrix;
use tegula_apps::kmeans::{self, Groups, KMeans};

#[derive(Args)]
pub(crate) struct Flags {
    /// Points: files of text, one point per line, or .npy files of f32 or f64; folders, patterns
    /// (* ? [...] **), or - for text on standard input.
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<OsString>,

    /// The number of groups of points, each with its mean.
    #[arg(short = 'k', long, value_name = "N", value_parser = flags::count)]
    means: usize,

    /// Stop after N rounds [default: when no mean moves any more].
    #[arg(long, value_name = "N", value_parser = flags::count)]
    rounds: Option<usize>,

    /// The seed of the random first means. The same seed gives the same answer.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    /// The first means: random points, or random points far from each other (k-means++).
    #[arg(long, value_enum, default_value_t = Start::Random)]
    start: Start,

    #[command(flatten)]
    show: RoundFlags,

    #[command(flatten)]
    devices: DeviceFlags,

    #[command(flatten)]
    run: RunFlags,
}

#[derive(Clone, Copy, ValueEnum)]
enum Start {
    Random,
    Spread,
}

pub(crate) fn run(flags: &Flags) -> Result<()> {
    let job = KMeans {
        groups: flags.means,
        rounds_most: flags.rounds.unwrap_or(usize::MAX),
        seed: flags.seed,
        start: match flags.start {
            Start::Random => kmeans::Start::Random,
            Start::Spread => kmeans::Start::Spread,
        },
    };
    run::command_over(&flags.run, Request::of("kmeans"), &flags.paths, |run| {
        run.refuse_changes()?;
        run.refuse_direct()?;
        run.use_devices(flags.devices.open()?);
        if flags.show.show.is_some() {
            run.refuse_shows_over_nodes()?;
        }
        run.writes("--show-to", flags.show.show_to.as_ref())?;
        let input = run.input(&flags.paths)?;
        let mut rounds = flags.show.open()?;
        let groups = run.several(|runs| {
            let points = Matrix::read(runs, input)?;
            job.group_seen(runs, &points, &mut |groups| {
                let Some(rounds) = &mut rounds else { return Ok(()) };
                let is_last = groups.settled || groups.rounds == job.rounds_most;
                rounds.show(groups.rounds, is_last, &text_of(groups))
            })
        })?;
        let written = run.write(|sink| sink.write(&text_of(&groups)));
        if exit::is_done(&written) && !groups.settled {
            exit::say(&format!(
                "means still moved in round {}, the last that --rounds allows; more may group better",
                groups.rounds
            ));
        }
        written
    })
}

/// Writes the means of a round whose state the flags name.
#[cfg(feature = "state")]
pub(crate) fn show(request: &Request, flags: &RunFlags) -> Result<()> {
    let notes = request.listed(NOTE)?;
    let begun = notes.first().and_then(|note| kmeans::Begun::from_bytes(note));
    let begun = begun.ok_or_else(|| request.unread(NOTE))?;
    run::command(flags, request.clone(), |run| {
        let groups = run.look(|engine, options| begun.saved(engine, options))?;
        exit::say(&format!("round {}", begun.round));
        run.write(|sink| sink.write(&text_of(&groups)))
    })
}

/// Returns a line for each group: the number of its points and its mean.
fn text_of(groups: &Groups) -> Vec<u8> {
    let mut text = Vec::new();
    for (count, mean) in groups.counts.iter().zip(&groups.means) {
        // Writing to a vector cannot fail.
        let _ = write!(text, "{count}");
        let _ = mean.iter().try_for_each(|value| write!(text, "\t{value:?}"));
        text.push(b'\n');
    }
    text
}
