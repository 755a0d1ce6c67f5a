//! `tegula linreg`: the line, one figure per line.

use crate::devices::DeviceFlags;
use crate::flags::RunFlags;
use crate::request::Request;
use crate::run::{self, Run};
use clap::{Args, ValueEnum};
use std::ffi::OsString;
use tegula::Result;
use tegula_apps::linreg::{self, Line};

#[derive(Args)]
pub(crate) struct Flags {
    /// Files, folders (with all below them), patterns (* ? [...] **), or - for standard input.
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<OsString>,

    /// How points are written: x and y in a line of text; or in two signed bytes.
    #[arg(long, value_enum, default_value_t = Points::Text)]
    points: Points,

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

impl From<Points> for linreg::Points {
    fn from(points: Points) -> linreg::Points {
        match points {
            Points::Text => linreg::Points::Text,
            Points::Bytes => linreg::Points::Bytes,
        }
    }
}

pub(crate) fn run(flags: &Flags) -> Result<()> {
    let request = Request::of("linreg").choice("points", &flags.points);
    let points = flags.points.into();
    run::command(&flags.run, request, |run| {
        run.use_devices(flags.devices.open()?);
        let input = run.input(&flags.paths)?;
        let line = run.several(|runs| Line::fit(runs, input, points))?;
        write(run, &line)
    })
}

#[cfg(feature = "state")]
pub(crate) fn show(request: &Request, flags: &RunFlags) -> Result<()> {
    let points: Points = request.chosen("points")?;
    run::command(flags, request.clone(), |run| {
        let (report, line) = Line::saved(run.engine(), &run.options(), points.into())?;
        run.say_how_far(&report, None);
        write(run, &line)
    })
}

fn write(run: &mut Run<'_>, line: &Line) -> Result<()> {
    let text = format!(
        "points\t{}\nslope\t{:?}\nintercept\t{:?}\nr\t{:?}\nmean_x\t{:?}\nmean_y\t{:?}\n",
        line.points, line.slope, line.intercept, line.correlation, line.mean_x, line.mean_y
    );
    run.write(|sink| sink.write(text.as_bytes()))
}
