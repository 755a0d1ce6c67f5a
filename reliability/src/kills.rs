//! Kills: at random times and, twice as often, at named calls of the disk; in a first run and while a run
//! recovers; once, or several in a row; with a device or without, now this, now that; over an input that stays, or,
//! with tiles that are found again, changes between runs.

use crate::child::{self, POINTS, Which};
use crate::random::Random;
use clap::{Args, ValueEnum};
use rustix::fs::{Mode, OFlags};
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use twox_hash::XxHash3_128;

#[derive(Args)]
pub(crate) struct Flags {
    /// The number of runs to kill.
    #[arg(long, default_value_t = 50)]
    kills: u64,
    /// The seed of all random choices; each round has its own.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The round to begin with, as a failure prints it.
    #[arg(long, default_value_t = 0)]
    round: u64,
}

/// The most kills of one round.
const IN_A_ROW: u64 = 4;
/// A run is killed at one of this number of calls of a kind: some kinds are called once or twice, others
/// often.
const MOST_CALLS: [u64; 3] = [2, 4, 12];
/// The progress is printed after this number of kills.
const KILLS_PER_NOTE: u64 = 100;
/// A run that takes longer hangs.
const PATIENCE: Duration = Duration::from_secs(120);

/// The counts of killed runs.
#[derive(Default)]
struct Tally {
    rounds: u64,
    by_time: u64,
    by_point: u64,
    /// Of these, while a run before had left something.
    in_recovery: u64,
}

impl Tally {
    fn kills(&self) -> u64 {
        self.by_time + self.by_point
    }
}

pub(crate) fn run(flags: &Flags) -> Result<(), String> {
    let mut tally = Tally::default();
    let mut round = flags.round;
    let mut noted = 0;
    while tally.kills() < flags.kills {
        play(flags.seed, round, &mut tally).map_err(|failure| {
            let again =
                format!("reliability kills --kills 1 --seed {} --round {round}", flags.seed);
            format!("round {round}: {failure}\n  again: {again}")
        })?;
        round += 1;
        if tally.kills() / KILLS_PER_NOTE > noted {
            noted = tally.kills() / KILLS_PER_NOTE;
            eprintln!("{} kills of {}", tally.kills(), flags.kills);
        }
    }
    let Tally { rounds, by_time, by_point, in_recovery } = tally;
    println!(
        "{} kills in {rounds} rounds: {by_time} at random times, {by_point} at calls of the disk, \
         {in_recovery} of them while a run went on; every answer was that of an undisturbed run",
        tally.kills()
    );
    Ok(())
}

/// One round: a job that is killed a few times, then left alone.
fn play(seed: u64, round: u64, tally: &mut Tally) -> Result<(), String> {
    let mut random = Random(seed ^ round.wrapping_mul(0x2545_f491_4f6c_dd1d));
    let folder = tempfile::tempdir().map_err(|cause| format!("no folder: {cause}"))?;
    let path = |name: &str| folder.path().join(name);
    fs::write(path("input"), text(&mut random)).map_err(|cause| cause.to_string())?;
    fs::create_dir(path("state")).map_err(|cause| cause.to_string())?;
    let mut flags = child::Flags {
        job: random.one_of(&[Which::Words, Which::Words, Which::Places, Which::Longest]),
        input: path("input"),
        output: path("expected"),
        state: None,
        workers: 1,
        memory: None,
        tile: random.one_of(&[64 << 10, 256 << 10, 1 << 20]),
        every_tiles: None,
        keep_partials: false,
        incremental: false,
        device: false,
        kill_at: None,
    };
    let plain = flags.clone();
    let expected = || {
        finish(start(&plain)?)?.then_some(()).ok_or("the undisturbed run failed")?;
        digest(&plain.output)
    };
    let began = Instant::now();
    expected()?;
    let took = began.elapsed();

    flags.output = path("output");
    flags.state = Some(path("state"));
    flags.keep_partials = random.below(3) == 0;
    flags.incremental = random.below(2) == 0;
    let change = |random: &mut Random| match flags.incremental && random.below(2) == 0 {
        true => change(&plain.input, random),
        false => Ok(()),
    };
    for _ in 0..1 + random.below(IN_A_ROW) {
        flags.workers = 1 + random.below(3) as usize;
        flags.device = random.below(2) == 0;
        flags.every_tiles = random.one_of(&[Some(1), Some(1), Some(4), None]);
        let by_time = random.below(3) == 0;
        let point = random.one_of(&POINTS);
        let most = random.one_of(&MOST_CALLS);
        flags.kill_at = (!by_time).then(|| (point, 1 + random.below(most)));
        change(&mut random)?;
        let recovers = path("state").join("manifest").exists();
        // The file that replaces an output has a hidden name for a moment, and a kill just then would leave
        // it.
        let _ = fs::remove_file(path("output"));
        let mut child = start(&flags)?;
        if by_time {
            std::thread::sleep(took.mul_f64(random.below(1500) as f64 / 1000.0));
            // It may have ended by itself.
            let _ = child.kill();
        }
        if !finish(child)? {
            *(if by_time { &mut tally.by_time } else { &mut tally.by_point }) += 1;
            tally.in_recovery += u64::from(recovers);
        }
    }
    flags.kill_at = None;
    flags.device = random.below(2) == 0;
    change(&mut random)?;
    finish(start(&flags)?)?.then_some(()).ok_or("the run that was left alone failed")?;
    if digest(&flags.output)? != expected()? {
        return Err("the answer is another than that of an undisturbed run".to_owned());
    }
    check_nothing_lies_about(&path("state"), folder.path())?;
    tally.rounds += 1;
    Ok(())
}

/// Words that repeat and words that do not.
fn text(random: &mut Random) -> String {
    let words = 20_000 + random.below(300_000);
    let mut text = String::new();
    for number in 0..words {
        let word = match random.below(4) {
            0 => format!("{number:x}"),
            1 => format!("a-rather-long-word-that-is-not-in-a-slot-{}", random.below(1000)),
            _ => format!("w{}", random.below(500)),
        };
        text.push_str(&word);
        text.push(if number % 13 == 0 { '\n' } else { ' ' });
    }
    text
}

/// Inserts or deletes at some places.
fn change(input: &Path, random: &mut Random) -> Result<(), String> {
    let mut text = fs::read(input).map_err(|cause| cause.to_string())?;
    for _ in 0..1 + random.below(3) {
        let at = random.below(text.len() as u64 + 1) as usize;
        if random.below(2) == 0 {
            text.splice(at..at, format!(" inserted{} ", random.below(50)).into_bytes());
        } else {
            text.drain(at..text.len().min(at + random.below(5000) as usize));
        }
    }
    fs::write(input, text).map_err(|cause| cause.to_string())
}

fn start(flags: &child::Flags) -> Result<Child, String> {
    let program = std::env::current_exe().map_err(|cause| cause.to_string())?;
    let mut command = Command::new(program);
    let job = flags.job.to_possible_value().map(|value| value.get_name().to_owned());
    command.arg("child").arg("--job").arg(job.unwrap_or_default());
    command.arg("--input").arg(&flags.input).arg("--output").arg(&flags.output);
    command
        .arg("--workers")
        .arg(flags.workers.to_string())
        .arg("--tile")
        .arg(flags.tile.to_string());
    if let Some(state) = &flags.state {
        command.arg("--state").arg(state);
    }
    if let Some(tiles) = flags.every_tiles {
        command.arg("--every-tiles").arg(tiles.to_string());
    }
    if flags.keep_partials {
        command.arg("--keep-partials");
    }
    if flags.incremental {
        command.arg("--incremental");
    }
    if flags.device {
        command.arg("--device");
    }
    if let Some((point, number)) = flags.kill_at {
        command.arg("--kill-at").arg(format!("{}:{number}", point.name()));
    }
    command.stdin(Stdio::null()).spawn().map_err(|cause| format!("cannot start a run: {cause}"))
}

/// Waits for a run; returns whether it ended well. One that fails by itself is an error: a kill is the only
/// thing that was done to it.
fn finish(mut child: Child) -> Result<bool, String> {
    let began = Instant::now();
    loop {
        match child.try_wait().map_err(|cause| cause.to_string())? {
            Some(status) if status.success() => return Ok(true),
            Some(status) if status.code().is_none() => return Ok(false),
            Some(status) => return Err(format!("a run ended with {status}")),
            None if began.elapsed() > PATIENCE => {
                let _ = child.kill();
                return Err("a run hangs".to_owned());
            }
            None => std::thread::sleep(Duration::from_millis(2)),
        }
    }
}

fn digest(path: &Path) -> Result<u128, String> {
    fs::read(path)
        .map(|bytes| XxHash3_128::oneshot(&bytes))
        .map_err(|cause| format!("{}: {cause}", path.display()))
}

fn check_nothing_lies_about(state: &Path, folder: &Path) -> Result<(), String> {
    let storage = tegula::Disk::new(state);
    let known = tegula::state::files_of(&storage).map_err(|error| error.to_string())?;
    if let Some(stray) = names(state)?.into_iter().find(|name| !known.contains(name)) {
        return Err(format!("{stray} was left in the state"));
    }
    // Where files without a name cannot be had, a run that is killed leaves its output under a hidden one.
    let flags = OFlags::TMPFILE | OFlags::WRONLY;
    let leaves_hidden = rustix::fs::open(folder, flags, Mode::RUSR).is_err();
    let known = ["expected", "input", "output", "state"];
    let is_known = |name: &String| {
        known.contains(&name.as_str()) || leaves_hidden && name.starts_with(".output")
    };
    match names(folder)?.into_iter().find(|name| !is_known(name)) {
        Some(stray) => Err(format!("{stray} was left beside")),
        None => Ok(()),
    }
}

fn names(folder: &Path) -> Result<Vec<String>, String> {
    let fault = |cause| format!("{}: {cause}", folder.display());
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).map_err(fault)? {
        names.push(entry.map_err(fault)?.file_name().to_string_lossy().into_owned());
    }
    Ok(names)
}
