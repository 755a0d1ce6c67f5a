//! Simulates a hundred mixed jobs on 1 to 256 cores under four ways to divide the machine, one of them the server's own
//! (`divide`), and writes the table between two marks of a page, and a plot of it:
//!
//!     cargo run --release -p tegula-server --example parts -- bench/results/split_costs.txt docs/serve.md docs/serve.svg
//!
//! A job begins with what one core does (starting the process, planning), and then maps splits of recorded costs on the
//! cores that it has. Where more threads run than there are cores, work costs more, as measured on two.
#![allow(clippy::unwrap_used, reason = "an example fails by panicking")]

use std::ops::Range;
use tegula_server::{Cores, Demand, divide, usual_at_once};

/// A tiny word count as a process, in seconds: what no further core makes shorter; and the part of it (45 % as measured)
/// before its engine has begun, in which the server lends its other cores.
const ALONE_S: f64 = 0.0083;
const STARTS_S: f64 = 0.45 * ALONE_S;
/// The cost of work with twice as many threads as cores, beside as many: 17.1 and 13.7 CPU seconds for the same jobs.
const CROWDED: f64 = 17.1 / 13.7;
const JOBS: usize = 100;
/// Splits of 100 MB, at 128 KiB each.
const SPLITS: usize = 763;
/// Cores that share a cache.
const GROUP: usize = 8;
const CORES: [usize; 9] = [1, 2, 4, 8, 16, 32, 64, 128, 256];
const BEGIN: &str = "<!-- simulation -->\n";
const END: &str = "<!-- end of the simulation -->";

#[derive(Clone)]
struct Job {
    id: usize,
    alone_s: f64,
    /// Seconds of cores that are left.
    work_s: f64,
    cores: Cores,
}

/// How the machine is divided.
#[derive(Clone, Copy, PartialEq)]
enum Way {
    AfterAnother,
    /// As many parts as Ostrich's best: a job a part, of this number of cores.
    Fixed(usize),
    AllAtOnce,
    Server,
}

/// Throughput in jobs a second, and the time within which 95 of 100 jobs were over.
struct Outcome {
    jobs_s: f64,
    waited_s: f64,
}

fn jobs_of(costs: &[Vec<f64>]) -> Vec<Job> {
    let mut random = 9_u64;
    let job = |id: usize| {
        random = random.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        // A quarter to four times the usual size.
        let size = 4_f64.powf((random >> 11) as f64 / (1_u64 << 52) as f64 - 1.0);
        let kind = &costs[id % costs.len()];
        let mean = kind.iter().sum::<f64>() / kind.len() as f64;
        Job { id, alone_s: ALONE_S, work_s: mean * SPLITS as f64 * size, cores: Vec::new() }
    };
    (0..JOBS).map(job).collect()
}

fn simulate(way: Way, cores: usize, jobs: &[Job]) -> Outcome {
    let groups: Vec<Range<usize>> = (0..cores.div_ceil(GROUP))
        .map(|group| group * GROUP..((group + 1) * GROUP).min(cores))
        .collect();
    let at_once = match way {
        Way::AfterAnother => 1,
        Way::Fixed(part) => (cores / part).max(1),
        Way::AllAtOnce => JOBS,
        Way::Server => usual_at_once(cores),
    };
    let mut waiting = jobs.iter();
    let (mut running, mut ended): (Vec<Job>, Vec<f64>) = (Vec::new(), Vec::new());
    let mut now_s = 0.0;
    loop {
        running.extend(waiting.by_ref().take(at_once - running.len()).cloned());
        if running.is_empty() {
            break;
        }
        let shares: Vec<f64> = match way {
            Way::AfterAnother => vec![cores as f64],
            Way::Fixed(part) => running.iter().map(|_| part.min(cores) as f64).collect(),
            Way::AllAtOnce => {
                let crowd = running.len().max(1) as f64;
                let cost = if crowd > 1.0 { CROWDED } else { 1.0 };
                running.iter().map(|_| cores as f64 / crowd / cost).collect()
            }
            Way::Server => {
                let demand = |job: &Job| {
                    let starts = job.alone_s > ALONE_S - STARTS_S;
                    Demand { weight: 1.0, least: 1, most: if starts { 1 } else { cores } }
                };
                let demands: Vec<Demand> = running.iter().map(demand).collect();
                let before: Vec<Cores> = running.iter().map(|job| job.cores.clone()).collect();
                let parts = divide(&demands, &groups, &before);
                let shares = parts.iter().map(|part| part.len() as f64).collect();
                running.iter_mut().zip(parts).for_each(|(job, part)| job.cores = part);
                shares
            }
        };
        // The next moment at which a job ends what one core does, or is over.
        let left = |(job, share): (&Job, &f64)| match job.alone_s {
            alone_s if alone_s > ALONE_S - STARTS_S => {
                (alone_s - ALONE_S + STARTS_S) / share.min(1.0)
            }
            alone_s if alone_s > 0.0 => alone_s / share.min(1.0),
            _ => job.work_s / share,
        };
        let step = running.iter().zip(&shares).map(left).fold(f64::INFINITY, f64::min);
        now_s += step;
        for (job, share) in running.iter_mut().zip(&shares) {
            match job.alone_s > 0.0 {
                true => job.alone_s -= step * share.min(1.0),
                false => job.work_s -= step * share,
            }
            // A moment is reached but for rounding.
            for moment in [ALONE_S - STARTS_S, 0.0] {
                if (job.alone_s - moment).abs() < 1e-12 {
                    job.alone_s = moment;
                }
            }
        }
        running.retain(|job| {
            let is_over = job.alone_s == 0.0 && job.work_s < 1e-9;
            ended.extend(is_over.then_some(now_s));
            !is_over
        });
    }
    debug_assert!(jobs.iter().all(|job| job.id < JOBS) && ended.len() == JOBS);
    Outcome { jobs_s: JOBS as f64 / now_s, waited_s: ended[JOBS * 95 / 100 - 1] }
}

/// Reads the costs of splits, in seconds, by job.
fn read(text: &str) -> Vec<Vec<f64>> {
    let mut jobs: Vec<Vec<f64>> = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        if line.starts_with("job") {
            jobs.push(Vec::new());
        } else if let Some(costs) = jobs.last_mut() {
            costs.extend(
                line.split(' ').filter_map(|cost| cost.parse::<f64>().ok()).map(|us| us / 1e6),
            );
        }
    }
    jobs
}

/// Draws jobs a second over cores, both by their logarithms, for the four ways of the table.
fn plot(lines: &[Vec<f64>; 4]) -> String {
    const WAYS: [(&str, &str, &str); 4] = [
        ("one after another", "#64748b", ""),
        ("best fixed parts", "#c2410c", ""),
        ("all at once", "#15803d", "6 4"),
        ("the server", "#1d4ed8", ""),
    ];
    let (width, height) = (520.0, 360.0);
    let x = |step: usize| width * step as f64 / (CORES.len() - 1) as f64;
    // From 2 to 2048 jobs a second.
    let y = |jobs_s: f64| height * (1.0 - (jobs_s.log2() - 1.0) / 10.0);
    let mut svg = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 700 440\" font-family=\"sans-serif\" \
                   font-size=\"12\">\n<rect width=\"700\" height=\"440\" fill=\"white\"/>\n\
                   <g transform=\"translate(60 30)\">\n<text y=\"-12\" font-weight=\"bold\">jobs a second</text>\n"
        .to_owned();
    for (step, cores) in CORES.iter().enumerate() {
        let x = x(step);
        svg.push_str(&format!(
            "<path d=\"M{x} 0V{height}\" stroke=\"#ddd\"/><text x=\"{x}\" y=\"{}\" text-anchor=\"middle\">{cores}</text>\n",
            height + 18.0
        ));
    }
    for power in 1..=11 {
        let (jobs_s, y) = (1 << power, y(f64::from(1 << power)));
        svg.push_str(&format!(
            "<path d=\"M0 {y:.1}H{width}\" stroke=\"#ddd\"/><text x=\"-8\" y=\"{:.1}\" text-anchor=\"end\">{jobs_s}</text>\n",
            y + 4.0
        ));
    }
    svg.push_str(&format!(
        "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">cores</text>\n",
        width / 2.0,
        height + 36.0
    ));
    let mut label_before = f64::NEG_INFINITY;
    let mut ways: Vec<_> = WAYS.iter().zip(lines).collect();
    ways.sort_by(|(_, a), (_, b)| b.last().unwrap().total_cmp(a.last().unwrap()));
    for ((name, colour, dashes), line) in ways {
        let points = line
            .iter()
            .enumerate()
            .map(|(step, &jobs_s)| format!("{:.1},{:.1}", x(step), y(jobs_s)));
        let label = (y(*line.last().unwrap()) + 4.0).max(label_before + 16.0);
        label_before = label;
        svg.push_str(&format!(
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\" stroke-dasharray=\"{dashes}\"/>\
             <text x=\"{}\" y=\"{label:.1}\" fill=\"{colour}\">{name}</text>\n",
            points.collect::<Vec<_>>().join(" "),
            width + 8.0
        ));
    }
    svg.push_str("</g>\n</svg>\n");
    svg
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let mut path = || arguments.next().unwrap();
    let (costs, page, picture) = (path(), path(), path());
    let jobs = jobs_of(&read(&std::fs::read_to_string(costs).unwrap()));
    let mut table = "| cores | one after another | best fixed parts | all at once | the server | \
                     gain | 95 % over: one after another | the server |\n|---:|---:|---:|---:|---:|---:|---:|---:|\n"
        .to_owned();
    let mut lines: [Vec<f64>; 4] = Default::default();
    for cores in CORES {
        let way = |way| simulate(way, cores, &jobs);
        let sizes = (0..9).map(|power| 1 << power).filter(|&part| part <= cores);
        let fixed = sizes.map(|part| way(Way::Fixed(part)).jobs_s).fold(0.0, f64::max);
        let (after, all, server) = (way(Way::AfterAnother), way(Way::AllAtOnce), way(Way::Server));
        let jobs_s = [after.jobs_s, fixed, all.jobs_s, server.jobs_s];
        lines.iter_mut().zip(jobs_s).for_each(|(line, jobs_s)| line.push(jobs_s));
        table.push_str(&format!(
            "| {cores} | {:.1} | {fixed:.1} | {:.1} | {:.1} | {:.2} x | {:.2} s | {:.2} s |\n",
            after.jobs_s,
            all.jobs_s,
            server.jobs_s,
            server.jobs_s / after.jobs_s,
            after.waited_s,
            server.waited_s
        ));
    }
    print!("{table}");
    let text = std::fs::read_to_string(&page).unwrap();
    let (before, rest) = text.split_once(BEGIN).unwrap();
    let (_, after) = rest.split_once(END).unwrap();
    std::fs::write(page, format!("{before}{BEGIN}{table}{END}{after}")).unwrap();
    std::fs::write(picture, plot(&lines)).unwrap();
}
