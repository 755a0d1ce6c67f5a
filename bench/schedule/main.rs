//! Hand-out by groups beside hand-out to all alike: real costs of splits are recorded, machines of 1 to 256
//! cores are simulated with them, and the hand-out itself is timed. `docs/groups.md` shows the results.

mod machine;
mod record;
mod report;
mod simulate;
mod takes;

use std::path::Path;
use std::process::ExitCode;

const USAGE: &str = "usage: schedule record NAME WORDS_FILE...   costs of the splits of a word count, to standard output
       schedule report COSTS DOC SVG           simulates machines with them; writes table and plot
       schedule takes                          times the hand-out, per split";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match &arguments[..] {
        ["record", name, files @ ..] if !files.is_empty() => record::record(name, files),
        ["report", costs, doc, svg] => {
            report::report(Path::new(costs), Path::new(doc), Path::new(svg))
        }
        ["takes"] => takes::time(),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("schedule: {error}");
            ExitCode::FAILURE
        }
    }
}
