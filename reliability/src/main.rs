//! Deliberate faults. `kills` runs jobs with a state and kills them, at random times and at named calls of
//! the disk, in their first run and while they recover, until one run is left alone. Then the answer must be
//! that of an undisturbed run, and no other file may remain. All choices follow from a seed, and a failure
//! prints the command that repeats it.

mod child;
mod kills;
mod random;

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
    /// One run, as `kills` starts them.
    Child(child::Flags),
}

fn main() -> ExitCode {
    let result = match Cli::parse().command {
        Command::Kills(flags) => kills::run(&flags),
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
