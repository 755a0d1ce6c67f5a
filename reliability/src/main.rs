//! Deliberate faults. `kills` runs jobs with a state and kills them, at random times and at named calls of
//! the disk, in their first run and while they recover, until one run is left alone. Then the answer must be
//! that of an undisturbed run, and no other file may remain. `faults` makes calls of the disk fail, `full` runs jobs on
//! disks without room, `shapes` runs them in all shapes, and `soak` one engine for an hour. All choices follow from a
//! seed, and a failure prints the command that repeats it.

mod child;
mod faults;
mod files;
mod full;
mod jobs;
mod kills;
mod random;
mod shape;
mod shapes;
mod soak;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

#[derive(Parser)]
#[command(about = "Breaks runs of Tegula on purpose")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Kill runs and resume them.
    Kills(kills::Flags),
    /// Fail calls of the disk, and let the next run go on.
    Faults(faults::Flags),
    /// Run jobs on disks that become full, and again with room.
    Full(full::Flags),
    /// Run jobs in random shapes.
    Shapes(shapes::Flags),
    /// Run mixed jobs on one engine for a long time.
    Soak(soak::Flags),
    /// One run, as `kills` starts them.
    Child(child::Flags),
}

fn main() -> ExitCode {
    let result = match Cli::parse().command {
        Command::Kills(flags) => kills::run(&flags),
        Command::Faults(flags) => faults::run(&flags),
        Command::Full(flags) => full::run(&flags),
        Command::Shapes(flags) => shapes::run(&flags),
        Command::Soak(flags) => soak::run(&flags),
        Command::Child(flags) => child::run(&flags).map_err(|error| error.to_string()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("reliability: {message}");
            ExitCode::FAILURE
        }
    }
}
