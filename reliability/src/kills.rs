//! Kills: at random times and, twice as often, at named calls of the disk; in a first run and while a run
//! recovers; once, or several in a row; in much memory or little, with a device or without, now this, now that; over
//! an input that stays, or, with tiles that are found again, changes between runs; over one text, or, sorts, over
//! files of which some are compressed.

use crate::child::{self, POINTS};
use crate::files::{self, digest};
use crate::jobs::Which;
use crate::random::Random;
use clap::Args;
use std::fs;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

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

/// The jobs of rounds.
const KILLED: [Which; 5] =
    [Which::Words, Which::Words, Which::Places, Which::Longest, Which::Sorted];
/// The most kills of one round.
const IN_A_ROW: u64 = 4;
/// A run is killed at one of this number of calls of a kind: some kinds are called once or twice, others
/// often.
const MOST_CALLS: [u64; 3] = [2, 4, 12];
/// A memory of each worker that is nearly the least: sorts save their piles before they are full, other jobs spill.
const SORTER_BYTES: u64 = 6 << 20;
const WORKER_BYTES: u64 = 24 << 20;
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
    let mut random = Random::of_round(seed, round);
    let folder = tempfile::tempdir().map_err(|cause| format!("no folder: {cause}"))?;
    let path = |name: &str| folder.path().join(name);
    let job = random.one_of(&KILLED);
    let is_sort = job == Which::Sorted;
    if is_sort && random.below(2) == 0 {
        files::make(&path("input"), &mut random, true)?;
    } else {
        let most = if is_sort { 2_000_000 } else { 300_000 };
        let count = 20_000 + random.below(most);
        let text = files::words(&mut random, count);
        fs::write(path("input"), text).map_err(|cause| cause.to_string())?;
    }
    fs::create_dir(path("state")).map_err(|cause| cause.to_string())?;
    let mut flags = child::Flags {
        job,
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
    flags.incremental = !is_sort && random.below(2) == 0;
    let is_incremental = flags.incremental;
    let change = |random: &mut Random| match is_incremental && random.below(2) == 0 {
        true => files::change(&plain.input, random),
        false => Ok(()),
    };
    for _ in 0..1 + random.below(IN_A_ROW) {
        let by_time = vary(&mut flags, &mut random);
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
    flags.device = !is_sort && random.below(2) == 0;
    change(&mut random)?;
    finish(start(&flags)?)?.then_some(()).ok_or("the run that was left alone failed")?;
    if digest(&flags.output)? != expected()? {
        return Err("the answer is another than that of an undisturbed run".to_owned());
    }
    files::check_nothing_lies_about(
        &path("state"),
        folder.path(),
        &["expected", "input", "output", "state"],
    )?;
    tally.rounds += 1;
    Ok(())
}

/// Draws what may differ from run to run. Returns whether the run is killed at a random time.
fn vary(flags: &mut child::Flags, random: &mut Random) -> bool {
    let is_sort = flags.job == Which::Sorted;
    flags.workers = 1 + random.below(3) as usize;
    flags.device = !is_sort && random.below(2) == 0;
    let of_worker = if is_sort { SORTER_BYTES } else { WORKER_BYTES };
    let times = random.one_of(&[None, Some(1), Some(2)]);
    flags.memory = times.map(|times| times * of_worker * flags.workers as u64);
    flags.every_tiles = random.one_of(&[Some(1), Some(1), Some(4), None]);
    let by_time = random.below(3) == 0;
    let point = random.one_of(&POINTS);
    let most = random.one_of(&MOST_CALLS);
    flags.kill_at = (!by_time).then(|| (point, 1 + random.below(most)));
    by_time
}

fn start(flags: &child::Flags) -> Result<Child, String> {
    let program = std::env::current_exe().map_err(|cause| cause.to_string())?;
    let mut command = Command::new(program);
    command.arg("child").arg("--job").arg(flags.job.name());
    command.arg("--input").arg(&flags.input).arg("--output").arg(&flags.output);
    command
        .arg("--workers")
        .arg(flags.workers.to_string())
        .arg("--tile")
        .arg(flags.tile.to_string());
    if let Some(bytes) = flags.memory {
        command.arg("--memory").arg(bytes.to_string());
    }
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
