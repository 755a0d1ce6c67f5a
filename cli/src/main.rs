//! `tegula`, the command line: reads flags, runs a ready-made job, writes its answer. All work is
//! done by the engine; here is only what faces the person at the terminal.

mod arguments;
mod devices;
mod exit;
mod flags;
mod format;
mod generate;
mod grep;
mod histogram;
mod index;
mod kmeans;
mod linreg;
mod log;
mod logstats;
#[cfg(feature = "linalg")]
mod matmul;
#[cfg(feature = "offload")]
mod offload;
#[cfg(feature = "linalg")]
mod pca;
mod progress;
mod run;
mod saved;
mod session;
mod show;
mod signals;
mod size;
mod sort;
mod state;
mod stations;
mod stats;
mod stringmatch;
mod teragen;
mod teravalidate;
mod timeline;
mod top;
mod topology;
mod wordcount;

use clap::{Parser, Subcommand};
use std::process::ExitCode;
use tegula::Result;

/// MapReduce for one big machine.
#[derive(Parser)]
#[command(name = "tegula", version, max_term_width = 100, after_help = exit::HELP)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Find where each word of the input stands, or each word of a list: an inverted index.
    Index(index::Flags),
    /// Count how often each word stands in the input.
    Wordcount(wordcount::Flags),
    /// The least, mean and greatest temperature of each station, from lines of name;temperature.
    Stations(stations::Flags),
    /// Add up logs: the time each user was online, or a web server's requests and bytes.
    Logstats(logstats::Flags),
    /// Count the matches of a regular expression, by file or by what matches.
    Grep(grep::Flags),
    /// The N most frequent values of a field, or those with the largest sums of another field.
    Top(top::Flags),
    /// Count the levels of red, green and blue in pictures.
    Histogram(histogram::Flags),
    /// Fit a line to points by least squares.
    Linreg(linreg::Flags),
    /// Group points around means.
    Kmeans(kmeans::Flags),
    /// Run a kernel of your own on devices.
    #[cfg(feature = "offload")]
    Offload(offload::Flags),
    /// Count, or find, the lines that equal one of some keys.
    Stringmatch(stringmatch::Flags),
    /// Multiply two matrices.
    #[cfg(feature = "linalg")]
    Matmul(matmul::Flags),
    /// Find the principal components of rows of numbers.
    #[cfg(feature = "linalg")]
    Pca(pca::Flags),
    /// Write input for other commands, drawn by a seed.
    #[command(subcommand)]
    Generate(generate::Command),
    /// Sort lines or records of a fixed size.
    Sort(sort::Flags),
    /// Generate records of the TeraSort benchmark.
    Teragen(teragen::Flags),
    /// Check that records of the TeraSort benchmark are sorted.
    Teravalidate(teravalidate::Flags),
    /// Show the answers of what a run has saved so far, from its state, while it runs or after.
    Show(saved::Flags),
    /// Look at, check or remove what runs have saved.
    #[command(subcommand)]
    State(state::Command),
    /// Show the processors, caches and memory nodes that the engine sees.
    Topology(topology::Flags),
    /// Show the devices that can work beside the cores, why others cannot, and how fast bytes come to them.
    Devices,
}

fn main() -> ExitCode {
    let command = Cli::parse().command;
    exit::code(log::start().and_then(|()| carry_out(command)))
}

fn carry_out(command: Command) -> Result<()> {
    match command {
        Command::Index(flags) => index::run(&flags),
        Command::Wordcount(flags) => wordcount::run(&flags),
        Command::Stations(flags) => stations::run(&flags),
        Command::Logstats(flags) => logstats::run(&flags),
        Command::Grep(flags) => grep::run(&flags),
        Command::Top(flags) => top::run(&flags),
        Command::Histogram(flags) => histogram::run(&flags),
        Command::Linreg(flags) => linreg::run(&flags),
        Command::Kmeans(flags) => kmeans::run(&flags),
        #[cfg(feature = "offload")]
        Command::Offload(flags) => offload::run(&flags),
        Command::Stringmatch(flags) => stringmatch::run(&flags),
        #[cfg(feature = "linalg")]
        Command::Matmul(flags) => matmul::run(&flags),
        #[cfg(feature = "linalg")]
        Command::Pca(flags) => pca::run(&flags),
        Command::Generate(command) => generate::run(&command),
        Command::Sort(flags) => sort::run(&flags),
        Command::Teragen(flags) => teragen::run(&flags),
        Command::Teravalidate(flags) => teravalidate::run(&flags),
        Command::Show(flags) => saved::run(&flags),
        Command::State(command) => state::run(&command),
        Command::Topology(flags) => topology::run(&flags),
        Command::Devices => devices::run(),
    }
}
