//! `tegula`, the command line: reads flags, runs a ready-made job, writes its answer. The engine does
//! all work; this crate holds only what faces the user at the terminal.
//!
//! Each command is a module with a cargo feature, so that a build can hold one command alone.
#![cfg_attr(
    any(test, not(feature = "default")),
    allow(dead_code, reason = "commands share more than each of them needs")
)]

mod advice;
mod arguments;
#[cfg(feature = "serve")]
mod client;
mod control;
mod devices;
mod events;
mod exit;
mod flags;
mod format;
#[cfg(feature = "generate")]
mod generate;
#[cfg(feature = "grep")]
mod grep;
#[cfg(feature = "streaming")]
mod hadoop;
#[cfg(feature = "histogram")]
mod histogram;
#[cfg(feature = "index")]
mod index;
#[cfg(feature = "kmeans")]
mod kmeans;
#[cfg(feature = "linreg")]
mod linreg;
mod log;
#[cfg(feature = "logstats")]
mod logstats;
#[cfg(any(feature = "generate", feature = "tera"))]
mod making;
#[cfg(feature = "linalg")]
mod matmul;
#[cfg(feature = "native")]
mod native;
#[cfg(feature = "nodes")]
mod nodes;
#[cfg(feature = "offload")]
mod offload;
#[cfg(feature = "linalg")]
mod pca;
mod progress;
mod request;
#[cfg(feature = "kmeans")]
mod rounds;
mod run;
#[cfg(feature = "state")]
mod saved;
#[cfg(feature = "serve")]
mod serve;
mod session;
mod show;
mod signals;
mod size;
#[cfg(feature = "sort")]
mod sort;
#[cfg(feature = "state")]
mod state;
#[cfg(feature = "stations")]
mod stations;
mod stats;
#[cfg(feature = "streaming")]
mod streaming;
#[cfg(feature = "stringmatch")]
mod stringmatch;
#[cfg(feature = "serve")]
mod submit;
#[cfg(feature = "tera")]
mod teragen;
#[cfg(feature = "tera")]
mod teravalidate;
mod timeline;
#[cfg(feature = "top")]
mod top;
mod topology;
#[cfg(feature = "serve")]
mod watch;
#[cfg(feature = "wordcount")]
mod wordcount;

pub use arguments::{folders, input};

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Parser, Subcommand};
use std::ffi::OsString;
use std::process::ExitCode;
use std::sync::OnceLock;
use tegula::Result;

/// Parts that tests look into. They are no interface.
#[doc(hidden)]
pub mod parts {
    pub use crate::advice::of as advice_of;
    pub use crate::arguments::{is_url, without_remote};
    pub use crate::flags::Format;
    pub use crate::format::Line;
    #[cfg(feature = "nodes")]
    pub use crate::nodes::described as nodes;
    pub use crate::progress::{clock, json as progress_json, text as progress_text};
    pub use crate::request::Request;
    #[cfg(feature = "serve")]
    pub use crate::serve::{check as check_submitted, is_input};
    pub use crate::show::every;
    pub use crate::size::{
        AutoSize, parse as size, parse_or_auto as size_or_auto, show as shown_size,
    };

    /// Returns all commands with their flags.
    pub fn commands() -> clap::Command {
        <crate::Cli as clap::CommandFactory>::command()
    }

    /// Returns the message for a command that clap refused because this build lacks it.
    pub fn left_out(refused: &clap::Error, commands: &[(&str, &str)]) -> Option<String> {
        crate::left_out(refused, commands)
    }
}

/// MapReduce for one big machine.
#[derive(Parser)]
#[command(name = "tegula", version, max_term_width = 100, after_help = exit::HELP)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

/// Declares the commands: for each its help, its cargo feature, its name, and its module with the type
/// of its flags.
macro_rules! commands {
    ($($(#[$help:meta])* $feature:literal $name:literal $variant:ident($module:ident::$flags:ident),)*) => {
        #[derive(Subcommand)]
        enum Command {
            $(#[cfg(feature = $feature)] $(#[$help])* $variant($module::$flags),)*
            /// Run many jobs on parts of this machine, and show them live on a page.
            #[cfg(feature = "serve")]
            Serve(serve::Flags),
            /// Submit a job to a server.
            #[cfg(feature = "serve")]
            Submit(submit::Flags),
            /// List the jobs of a server.
            #[cfg(feature = "serve")]
            Ps(submit::PsFlags),
            /// Print what a job of a server has said on standard error.
            #[cfg(feature = "serve")]
            Logs(submit::LogsFlags),
            /// Wait for a job of a server, write its answer, and end with its exit code.
            #[cfg(feature = "serve")]
            Wait(submit::WaitFlags),
            /// Cancel a job of a server.
            #[cfg(feature = "serve")]
            Cancel(submit::JobFlags),
            /// Submit the command of a job of a server once more.
            #[cfg(feature = "serve")]
            Again(submit::JobFlags),
            /// Start nodes on this machine that commands with --nodes up share their work with.
            #[cfg(feature = "nodes")]
            #[command(subcommand)]
            Nodes(nodes::Command),
            /// Show the processors, caches and memory nodes that the engine sees.
            Topology(topology::Flags),
            /// Show the devices that can work beside the cores, the reasons why others cannot, and the rate
            /// at which they receive bytes.
            Devices,
        }

        fn carry_out(command: Command) -> Result<()> {
            match command {
                $(#[cfg(feature = $feature)] Command::$variant(flags) => $module::run(&flags),)*
                #[cfg(feature = "serve")]
                Command::Serve(flags) => serve::run(&flags),
                #[cfg(feature = "serve")]
                Command::Submit(flags) => submit::run(&flags),
                #[cfg(feature = "serve")]
                Command::Ps(flags) => submit::ps(&flags),
                #[cfg(feature = "serve")]
                Command::Logs(flags) => submit::logs(&flags),
                #[cfg(feature = "serve")]
                Command::Wait(flags) => submit::wait(&flags),
                #[cfg(feature = "serve")]
                Command::Cancel(flags) => submit::cancel(&flags),
                #[cfg(feature = "serve")]
                Command::Again(flags) => submit::again(&flags),
                #[cfg(feature = "nodes")]
                Command::Nodes(command) => nodes::run(&command),
                Command::Topology(flags) => topology::run(&flags),
                Command::Devices => devices::run(),
            }
        }

        /// Commands that this build lacks, each with its feature.
        const LEFT_OUT: &[(&str, &str)] = &[
            $(#[cfg(not(feature = $feature))] ($name, $feature),)*
            #[cfg(not(feature = "serve"))]
            ("serve", "serve"),
            #[cfg(not(feature = "nodes"))]
            ("nodes", "nodes"),
            #[cfg(not(feature = "serve"))]
            ("submit", "serve"),
            #[cfg(not(feature = "serve"))]
            ("ps", "serve"),
            #[cfg(not(feature = "serve"))]
            ("logs", "serve"),
            #[cfg(not(feature = "serve"))]
            ("wait", "serve"),
            #[cfg(not(feature = "serve"))]
            ("cancel", "serve"),
            #[cfg(not(feature = "serve"))]
            ("again", "serve"),
        ];
    };
}

commands! {
    /// Find the places of each word of the input, or of each word of a list: an inverted index.
    "index" "index" Index(index::Flags),
    /// Count how often each word is in the input.
    "wordcount" "wordcount" Wordcount(wordcount::Flags),
    /// The least, mean and greatest temperature of each station, from lines of name;temperature.
    "stations" "stations" Stations(stations::Flags),
    /// Add up logs: the time each user was online, or a web server's requests and bytes.
    "logstats" "logstats" Logstats(logstats::Flags),
    /// Count the matches of a regular expression, by file or by the text that matches.
    "grep" "grep" Grep(grep::Flags),
    /// The N most frequent values of a field, or those with the largest sums of another field.
    "top" "top" Top(top::Flags),
    /// Count the levels of red, green and blue in pictures.
    "histogram" "histogram" Histogram(histogram::Flags),
    /// Fit a line to points by least squares.
    "linreg" "linreg" Linreg(linreg::Flags),
    /// Group points around means.
    "kmeans" "kmeans" Kmeans(kmeans::Flags),
    /// Run a map of your own from a shared library, written against tegula.h.
    "native" "run" Run(native::Flags),
    /// Run a kernel of your own on devices.
    "offload" "offload" Offload(offload::Flags),
    /// Run a Hadoop Streaming job: commands map and reduce lines. -help lists Hadoop's options.
    "streaming" "streaming" Streaming(streaming::Flags),
    /// Stand in for Hadoop's own command: run streaming jobs for programs that call it, such as mrjob.
    "streaming" "hadoop" Hadoop(hadoop::Flags),
    /// Count, or find, the lines that equal one of some keys.
    "stringmatch" "stringmatch" Stringmatch(stringmatch::Flags),
    /// Multiply two matrices.
    "linalg" "matmul" Matmul(matmul::Flags),
    /// Find the principal components of rows of numbers.
    "linalg" "pca" Pca(pca::Flags),
    /// Write input for other commands, drawn by a seed.
    #[command(subcommand)]
    "generate" "generate" Generate(generate::Command),
    /// Sort lines or records of a fixed size.
    "sort" "sort" Sort(sort::Flags),
    /// Generate records of the TeraSort benchmark.
    "tera" "teragen" Teragen(teragen::Flags),
    /// Check that records of the TeraSort benchmark are sorted.
    "tera" "teravalidate" Teravalidate(teravalidate::Flags),
    /// Show the answers that a run has saved so far, from its state, while it runs or after.
    "state" "show" Show(saved::Flags),
    /// Look at, check or remove the states that runs have saved.
    #[command(subcommand)]
    "state" "state" State(state::Command),
}

/// The command line of this process, which is carried out once.
static COMMAND_LINE: OnceLock<Vec<OsString>> = OnceLock::new();

/// Carries out the command that this process was started with, and returns its exit code.
pub fn main() -> ExitCode {
    ExitCode::from(execute(std::env::args_os().collect()))
}

/// Carries out a command line, whose first word names the program, and returns its exit code. Help, and a command line
/// that makes no sense, end the process.
pub fn execute(command_line: Vec<OsString>) -> u8 {
    let command_line = COMMAND_LINE.get_or_init(|| command_line);
    match Cli::try_parse_from(command_line) {
        Ok(cli) => exit::code(&log::start().and_then(|()| carry_out(cli.command))),
        Err(refused) => match left_out(&refused, LEFT_OUT) {
            Some(message) => exit::wrong_usage(&message),
            None => refused.exit(),
        },
    }
}

/// Returns this program, unless it is a script that another program runs.
#[cfg(any(feature = "nodes", feature = "serve"))]
pub(crate) fn own_program() -> std::path::PathBuf {
    let named = COMMAND_LINE.get().and_then(|words| words.first()).cloned().unwrap_or_default();
    let named = std::path::PathBuf::from(named);
    match std::env::current_exe() {
        Ok(here) if here.file_name() == named.file_name() => here,
        _ => located(&named),
    }
}

/// Returns a program's path from anywhere; a name without a folder is looked for in `PATH`.
#[cfg(any(feature = "nodes", feature = "serve"))]
pub(crate) fn located(program: &std::path::Path) -> std::path::PathBuf {
    let has_folder = program.components().count() > 1;
    let absolute = has_folder.then(|| std::path::absolute(program).ok()).flatten();
    absolute.unwrap_or_else(|| program.to_path_buf())
}

/// Returns the message for a command that clap refused because this build lacks it.
fn left_out(refused: &clap::Error, commands: &[(&str, &str)]) -> Option<String> {
    let is_unknown = refused.kind() == ErrorKind::InvalidSubcommand;
    let Some(ContextValue::String(name)) = refused.get(ContextKind::InvalidSubcommand) else {
        return None;
    };
    let (name, feature) = commands.iter().find(|(command, _)| is_unknown && command == name)?;
    Some(built_without(name, feature))
}

/// Returns the feature of a command that this build lacks.
#[cfg(feature = "state")]
fn feature_left_out(command: &str) -> Option<&'static str> {
    LEFT_OUT.iter().find(|(name, _)| *name == command).map(|(_, feature)| *feature)
}

/// Returns the message for a part that this build lacks.
fn built_without(part: &str, feature: &str) -> String {
    format!(
        "{part}: this program was built without it; build it with `make build`, or with cargo's `--features \
         {feature}`"
    )
}
