//! Clusters of 2 to 512 unequal nodes in virtual time, with the very ledger that a carrier uses, beside other ways
//! to divide the work. Replaces the table between the marks in `docs/nodes.md`.
//!
//! ```sh
//! cargo run --release -p tegula-nodes --example leases -- docs/nodes.md
//! ```

mod cluster;
mod managers;

use cluster::{Cluster, Outcome};
use managers::{Fixed, Leases, Manager};
use std::fmt::Write;
use std::process::ExitCode;
use std::{env, fs};

const MARKS: [&str; 2] = ["<!-- simulated -->\n", "<!-- end -->"];
const NODES: [usize; 5] = [2, 8, 32, 128, 512];
const SEEDS: u64 = 9;

type Make = fn(&Cluster) -> Box<dyn Manager>;

const POLICIES: [(&str, Make, bool); 7] = [
    ("equal parts", |cluster| Box::new(Fixed::parts(cluster, |_| 1.0)), false),
    (
        "parts by rates known to 20 %",
        |cluster| Box::new(Fixed::parts(cluster, |node| cluster.known_rate(node))),
        false,
    ),
    ("units of 1 tile", |cluster| Box::new(Fixed::units(cluster, 1)), false),
    ("units of 16 tiles", |cluster| Box::new(Fixed::units(cluster, 16)), false),
    ("units of 64 tiles", |cluster| Box::new(Fixed::units(cluster, 64)), false),
    ("**leases by rate**", |cluster| Box::new(Leases::new(cluster)), false),
    (
        "leases by rate, a quarter of the nodes is lost",
        |cluster| Box::new(Leases::new(cluster)),
        true,
    ),
];

fn main() -> ExitCode {
    let Some(page) = env::args().nth(1) else {
        eprintln!("usage: leases PAGE");
        return ExitCode::from(2);
    };
    match report(&page) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("leases: {page}: {error}");
            ExitCode::FAILURE
        }
    }
}

fn report(page: &str) -> Result<(), String> {
    let text = fs::read_to_string(page).map_err(|error| error.to_string())?;
    let missing = || format!("`{}` and `{}` are not there", MARKS[0].trim(), MARKS[1]);
    let (before, rest) = text.split_once(MARKS[0]).ok_or_else(missing)?;
    let (_, after) = rest.split_once(MARKS[1]).ok_or_else(missing)?;
    let table = table().map_err(|error| error.to_string())?;
    fs::write(page, format!("{before}{}{table}{}{after}", MARKS[0], MARKS[1]))
        .map_err(|error| error.to_string())
}

/// The median over all seeds, with the least and the largest.
fn table() -> Result<String, std::fmt::Error> {
    let mut text = String::from("| policy |");
    NODES.iter().try_for_each(|nodes| write!(text, " {nodes} nodes |"))?;
    writeln!(text, "\n|---|{}", "---:|".repeat(NODES.len()))?;
    let mut cost = Vec::new();
    for (name, make, has_losses) in POLICIES {
        write!(text, "| {name} |")?;
        for nodes in NODES {
            let run = |seed| {
                let cluster = Cluster::new(nodes, seed, has_losses);
                cluster.run(make(&cluster))
            };
            let mut runs: Vec<Outcome> = (0..SEEDS).map(run).collect();
            runs.sort_by(|a, b| a.share.total_cmp(&b.share));
            let Outcome { share, leases, .. } = runs[runs.len() / 2];
            write!(
                text,
                " {share:.3} ({:.3}-{:.3}), {leases} |",
                runs[0].share,
                runs[runs.len() - 1].share
            )?;
            if name.starts_with("**") {
                cost.push((nodes, runs[runs.len() / 2].seconds_per_lease));
            }
        }
        writeln!(text)?;
    }
    write!(text, "\nTime of the ledger for a lease:")?;
    for (at, (nodes, seconds)) in cost.iter().enumerate() {
        let comma = if at == 0 { "" } else { "," };
        write!(text, "{comma} {:.1} µs with {nodes} nodes", seconds * 1e6)?;
    }
    writeln!(text, ".")?;
    Ok(text)
}
