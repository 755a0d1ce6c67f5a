//! `tegula linreg`: the line, one figure per line.

use crate::devices::DeviceFlags;
use crate::flags::{AnswerFlags, RunFlags};
use crate::request::Request;
use crate::run::{self, Run};
use crate::show::{ShowFlags, ShowWhen};
use clap::{Args, ValueEnum};
use std::ffi::OsString;
use tegula::{Input, Options, Result};
use tegula_apps::linreg::{BytePoints, Line, Sums, TextPoints};

#[derive(Args)]
pub(crate) struct Flags {
    /// Files, folders (with all below them), patterns (* ? [...] **), or - for standard input.
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<OsString>,

    /// How points are written: x and y in a line of text; or in two signed bytes.
    #[arg(long, value_enum, default_value_t = Points::Text)]
    points: Points,

    #[command(flatten)]
    show: ShowWhen,

    #[command(flatten)]
    devices: DeviceFlags,

    #[command(flatten)]
    run: RunFlags,
}

#[derive(Clone, Copy, ValueEnum)]
enum Points {
    Text,
    Bytes,
}

pub(crate) fn run(flags: &Flags) -> Result<()> {
    let request = Request::of("linreg").choice("points", &flags.points);
    run::command_over(&flags.run, request, &flags.paths, |run| {
        if matches!(flags.points, Points::Bytes) {
            run.refuse_skip_bad("any two bytes are a point")?;
        }
        run.use_devices(flags.devices.open()?);
        run.writes("--show-to", flags.show.show_to.as_ref())?;
        let input = run.input(&flags.paths)?;
        // The state of the first of several jobs, as earlier versions named it.
        let options = run.options();
        let state = options.state.as_ref().and_then(|state| state.step(1));
        answer(run, input, flags.points, &flags.show, Options { state, ..options })
    })
}

#[cfg(feature = "state")]
pub(crate) fn show(request: &Request, flags: &RunFlags) -> Result<()> {
    let points: Points = request.chosen("points")?;
    run::command(flags, request.clone(), |run| {
        let (input, options) = (run.input(&[])?, run.options());
        answer(run, input, points, &ShowWhen::default(), options)
    })
}

/// Fits the line, shows it meanwhile if the flags say so, and writes it.
fn answer(
    run: &mut Run<'_>,
    input: Input,
    points: Points,
    show: &ShowWhen,
    options: Options,
) -> Result<()> {
    let flags = AnswerFlags { show: ShowFlags::whole(show), ..AnswerFlags::default() };
    let mut sums = Sums::default();
    match points {
        Points::Text => {
            let output =
                run.showing_with(&TextPoints, input, (&flags, options), |shows, shown| {
                    let mut sums = Sums::default();
                    shown.answers().for_each(|key, sum| {
                        sums.add(key, sum);
                        Ok(())
                    })?;
                    shows.write_text(shown, |_| text_so_far(sums))
                })?;
            output.for_each(|key, sum| sums.add(key, sum))?;
        }
        Points::Bytes => {
            let output =
                run.showing_with(&BytePoints, input, (&flags, options), |shows, shown| {
                    let mut sums = Sums::default();
                    shown.answers().for_each(|key, sum| {
                        sums.add_integer(key, sum);
                        Ok(())
                    })?;
                    shows.write_text(shown, |_| text_so_far(sums))
                })?;
            output.for_each(|key, sum| sums.add_integer(key, sum))?;
        }
    }
    let line = sums.line()?;
    run.write(|sink| sink.write(text_of(&line).as_bytes()))
}

/// Returns the line of a show, or why there is none yet.
fn text_so_far(sums: Sums) -> Vec<u8> {
    match sums.line() {
        Ok(line) => text_of(&line).into_bytes(),
        Err(none) => format!("# no line: {none}\n").into_bytes(),
    }
}

fn text_of(line: &Line) -> String {
    format!(
        "points\t{}\nslope\t{:?}\nintercept\t{:?}\nr\t{:?}\nmean_x\t{:?}\nmean_y\t{:?}\n",
        line.points, line.slope, line.intercept, line.correlation, line.mean_x, line.mean_y
    )
}
