//! The table and the plot of `docs/groups.md`. Takes recorded costs; replaces the text between the marks in
//! the page, and the plot.

use crate::machine::Machine;
use crate::record::{Costs, read};
use crate::simulate::{Scheduler, Simulated, simulate};
use std::error::Error;
use std::fmt::Write;
use std::path::Path;

/// Of 32 MiB each: 16 GiB.
const TILES: usize = 512;
const CORES: [usize; 13] = [1, 2, 4, 6, 12, 24, 36, 48, 72, 96, 144, 192, 256];
const PER_CHIP: [usize; 2] = [6, 12];
const MARKS: [&str; 2] = ["<!-- simulated -->\n", "<!-- end -->"];

struct Row {
    cores: usize,
    chips: usize,
    flat: Simulated,
    grouped: Simulated,
    waiting: Simulated,
}

struct Panel {
    title: String,
    one_core_ns: u64,
    rows: Vec<Row>,
}

pub(crate) fn report(costs: &Path, doc: &Path, svg: &Path) -> Result<(), Box<dyn Error>> {
    let jobs = read(costs)?;
    let mut panels = Vec::new();
    for job in &jobs {
        for per_chip in PER_CHIP {
            panels.push(panel(job, per_chip)?);
        }
    }
    let page =
        std::fs::read_to_string(doc).map_err(|error| format!("{}: {error}", doc.display()))?;
    let missing =
        || format!("{}: `{}` and `{}` are not there", doc.display(), MARKS[0].trim(), MARKS[1]);
    let (before, rest) = page.split_once(MARKS[0]).ok_or_else(missing)?;
    let (_, after) = rest.split_once(MARKS[1]).ok_or_else(missing)?;
    let tables: String = panels.iter().map(table).collect();
    std::fs::write(doc, format!("{before}{}{tables}{}{after}", MARKS[0], MARKS[1]))?;
    std::fs::write(svg, plot(&panels))?;
    Ok(())
}

fn panel(job: &Costs, per_chip: usize) -> Result<Panel, Box<dyn Error>> {
    let run = |cores, scheduler| simulate(job, TILES, Machine { cores, per_chip }, scheduler);
    let mut rows = Vec::new();
    for cores in CORES {
        let (flat, grouped) = (run(cores, Scheduler::Flat)?, run(cores, Scheduler::Grouped)?);
        let waiting = run(cores, Scheduler::Waiting)?;
        rows.push(Row { cores, chips: cores.div_ceil(per_chip), flat, grouped, waiting });
    }
    let title = format!("{}, chips of {per_chip} cores", job.name);
    Ok(Panel { title, one_core_ns: rows[0].flat.nanoseconds, rows })
}

impl Panel {
    fn speed_up(&self, run: &Simulated) -> f64 {
        self.one_core_ns as f64 / run.nanoseconds.max(1) as f64
    }
}

fn table(panel: &Panel) -> String {
    let mut text = format!("\n**{}**\n\n", panel.title);
    text += "| cores | chips | speed-up, flat | grouped | remote splits, flat | grouped | idle, flat | grouped | tiles stolen | flat, tiles wait | idle |\n";
    text += "|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n";
    for row in &panel.rows {
        let Row { cores, chips, flat, grouped, waiting } = row;
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "| {cores} | {chips} | {:.1} | {:.1} | {:.1} % | {:.1} % | {:.2} % | {:.2} % | {} | {:.1} | {:.2} % |",
            panel.speed_up(flat),
            panel.speed_up(grouped),
            flat.remote * 100.0,
            grouped.remote * 100.0,
            flat.idle * 100.0,
            grouped.idle * 100.0,
            grouped.tiles_stolen,
            panel.speed_up(waiting),
            waiting.idle * 100.0,
        );
    }
    text + "\n"
}

const SIDE: f64 = 300.0;
const GAP: f64 = 60.0;
/// The plot shows speed-up per core from 1 down by so much.
const PART_SHOWN: f64 = 0.25;
const FLAT: &str = "#c2410c";
const GROUPED: &str = "#1d4ed8";

/// Speed-up for each core, over cores in doublings; a panel for each job and machine.
fn plot(panels: &[Panel]) -> String {
    let across = 2;
    let down = panels.len().div_ceil(across);
    let (width, height) =
        (across as f64 * (SIDE + GAP) + GAP, down as f64 * (SIDE + GAP + 20.0) + GAP);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
         font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"white\"/>\n"
    );
    for (at, panel) in panels.iter().enumerate() {
        let left = GAP + (at % across) as f64 * (SIDE + GAP);
        let top = GAP + (at / across) as f64 * (SIDE + GAP + 20.0);
        let _ = writeln!(svg, "<g transform=\"translate({left} {top})\">");
        draw(&mut svg, panel);
        svg += "</g>\n";
    }
    svg + "</svg>\n"
}

fn draw(svg: &mut String, panel: &Panel) {
    let across = |cores: f64| cores.log2() / 8.0 * SIDE;
    let down = |part: f64| (1.0 - part).clamp(0.0, PART_SHOWN) / PART_SHOWN * SIDE;
    // Writing to a string cannot fail.
    let _ = writeln!(svg, "<text y=\"-10\" font-weight=\"bold\">{}</text>", panel.title);
    for cores in [1, 2, 4, 8, 16, 32, 64, 128, 256] {
        let x = across(f64::from(cores));
        let _ = writeln!(
            svg,
            "<path d=\"M{x} 0V{SIDE}\" stroke=\"#ddd\"/>\
             <text x=\"{x}\" y=\"{}\" text-anchor=\"middle\">{cores}</text>",
            SIDE + 16.0,
        );
    }
    for percent in [75, 80, 85, 90, 95, 100] {
        let y = down(f64::from(percent) / 100.0);
        let _ = writeln!(
            svg,
            "<path d=\"M0 {y}H{SIDE}\" stroke=\"#ddd\"/>\
             <text x=\"-6\" y=\"{}\" text-anchor=\"end\">{percent} %</text>",
            y + 4.0,
        );
    }
    let (middle, bottom) = (SIDE / 2.0, SIDE + 32.0);
    let _ =
        writeln!(svg, "<text x=\"{middle}\" y=\"{bottom}\" text-anchor=\"middle\">cores</text>");
    for (number, (name, colour)) in [("flat", FLAT), ("grouped", GROUPED)].into_iter().enumerate() {
        let points: Vec<String> = panel
            .rows
            .iter()
            .map(|row| {
                let run = if name == "flat" { &row.flat } else { &row.grouped };
                let cores = row.cores as f64;
                format!("{:.1},{:.1}", across(cores), down(panel.speed_up(run) / cores))
            })
            .collect();
        let y = SIDE - 30.0 + 16.0 * number as f64;
        let _ = writeln!(
            svg,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>\
             <text x=\"12\" y=\"{y}\" fill=\"{colour}\">{name}</text>",
            points.join(" "),
        );
    }
}
