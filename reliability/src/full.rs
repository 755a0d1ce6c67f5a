//! Full disks: each round runs a job on a disk that has no room for all that the job writes, in sizes from nothing to
//! what an undisturbed run writes. The disk is that of the state, of the storage that memory overflows into, of the answer,
//! or one for all three. A run that meets its end must name the path and the cause, and leave neither an output nor a file
//! that is half written; once there is room again, the next one must give the answer of an undisturbed run.

use crate::files::{self, digest};
use crate::jobs::{JOBS, Run, Which};
use crate::random::Random;
use crate::shape::Shape;
use clap::Args;
use std::fmt;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tegula::storage::{Disk, Storage};
use tegula::{Error, OutputError, Result, StorageError};
use tegula_testing::{Room, Small};

#[derive(Args)]
pub(crate) struct Flags {
    /// The number of disks that become full.
    #[arg(long, default_value_t = 400)]
    disks: u64,
    /// The sizes of a round's disks, at least 2.
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u64).range(2..))]
    sizes: u64,
    /// The seed of all random choices; each round has its own.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The round to begin with, as a failure prints it.
    #[arg(long, default_value_t = 0)]
    round: u64,
}

/// The progress is printed after this number of disks.
const DISKS_PER_NOTE: u64 = 1000;
/// The least memory that a job is tried with, so that it overflows.
const MEMORY_BYTES_LEAST: u64 = 2 << 20;
/// Words that do not fit in that.
const WORDS: u64 = 150_000;

/// What is on the small disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum On {
    State,
    Scratch,
    Answer,
    One,
}

const ALL: [On; 4] = [On::State, On::Scratch, On::Answer, On::One];

/// The room of the disks that a run has.
struct Rooms {
    state: Room,
    scratch: Room,
    answer: Room,
    small: Room,
}

impl Rooms {
    /// Returns one small disk, and others that are large enough.
    fn of(on: On, bytes: u64) -> Rooms {
        let small = Room::of(bytes);
        let room = |place| match on == place || on == On::One {
            true => small.clone(),
            false => Room::without_end(),
        };
        let [state, scratch, answer] = [On::State, On::Scratch, On::Answer].map(room);
        Rooms { state, scratch, answer, small }
    }
}

#[derive(Default)]
struct Tally {
    rounds: u64,
    runs: u64,
    /// Disks that became full, by what was on them.
    full: [u64; ALL.len()],
    named: u64,
}

impl Tally {
    fn full(&self) -> u64 {
        self.full.iter().sum()
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Tally { rounds, runs, full: [state, scratch, answer, one], named } = self;
        write!(
            f,
            "{} full disks in {rounds} rounds of {runs} runs ({state} of a state, {scratch} of scratch files, {answer} of an \
             answer, {one} of all three): {named} were named, {} borne, and with room every answer was that of an \
             undisturbed run",
            self.full(),
            self.full() - named
        )
    }
}

pub(crate) fn run(flags: &Flags) -> Result<(), String> {
    let (mut tally, mut noted) = (Tally::default(), 0);
    for round in flags.round.. {
        if tally.full() >= flags.disks {
            break;
        }
        let Flags { seed, sizes, .. } = *flags;
        let again =
            format!("reliability full --disks 1 --sizes {sizes} --seed {seed} --round {round}");
        play((seed, round), sizes, &mut tally)
            .map_err(|failure| format!("round {round}: {failure}\n  again: {again}"))?;
        if tally.full() / DISKS_PER_NOTE > noted {
            noted = tally.full() / DISKS_PER_NOTE;
            eprintln!("{} full disks of {}", tally.full(), flags.disks);
        }
    }
    println!("{tally}");
    Ok(())
}

/// What the runs of a round have in common.
struct Round {
    job: Which,
    on: On,
    folder: PathBuf,
    expected: u128,
}

/// One round: a job that runs undisturbed, and on disks of some sizes. Twenty rounds are of all jobs and disks.
fn play((seed, round): (u64, u64), sizes: u64, tally: &mut Tally) -> Result<(), String> {
    let mut random = Random::of_round(seed, round);
    let folder = tempfile::tempdir().map_err(|cause| format!("no folder: {cause}"))?;
    let job = JOBS[round as usize % JOBS.len()];
    let on = ALL[round as usize / JOBS.len() % ALL.len()];
    let mut this = Round { job, on, folder: folder.path().to_owned(), expected: 0 };
    let may_overflow = matches!(on, On::Scratch | On::One);
    let is_packed = job != Which::Places && random.below(4) == 0;
    files::make(&this.path("input"), &mut random, is_packed)?;
    if may_overflow {
        let words = files::words(&mut random, WORDS);
        fs::write(this.path("input/words"), words).map_err(|cause| cause.to_string())?;
    }
    this.once(&Shape::plain(1), None, "expected").map_err(|error| error.to_string())?;
    this.expected = digest(&this.path("expected"))?;
    let mut shape = Shape::with_state(&mut random, job, is_packed);
    let mut memory_bytes = MEMORY_BYTES_LEAST;
    let written = loop {
        if may_overflow {
            shape = shape.with_memory(memory_bytes);
        }
        let rooms = Rooms::of(on, u64::MAX);
        this.clear()?;
        match this.once(&shape, Some(&rooms), "output") {
            Ok(()) => break rooms.small.taken(),
            Err(Error::Memory(_)) if may_overflow => memory_bytes *= 2,
            // So little memory is refused in each run.
            Err(Error::Memory(_)) => return Ok(()),
            Err(error) => return Err(format!("undisturbed: {error}: {shape:?}")),
        }
    };
    for number in 0..sizes {
        let bytes = written * number / (sizes - 1);
        this.fill(&shape, bytes, tally).map_err(|failure| {
            let name = job.name();
            format!("{name}, {on:?} on {bytes} of {written} bytes: {failure}: {shape:?}")
        })?;
    }
    tally.rounds += 1;
    Ok(())
}

impl Round {
    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Removes the state and the output of the runs before.
    fn clear(&self) -> Result<(), String> {
        for name in ["state", "scratch"] {
            let _ = fs::remove_dir_all(self.path(name));
            fs::create_dir(self.path(name)).map_err(|cause| format!("{name}: {cause}"))?;
        }
        let _ = fs::remove_file(self.path("output"));
        Ok(())
    }

    /// Runs the job on a disk of this size, and again with room.
    fn fill(&self, shape: &Shape, bytes: u64, tally: &mut Tally) -> Result<(), String> {
        self.clear()?;
        let rooms = Rooms::of(self.on, bytes);
        let result = self.once(shape, Some(&rooms), "output");
        let is_full = rooms.small.refused() > 0;
        tally.runs += 1;
        tally.full[ALL.iter().position(|on| *on == self.on).unwrap_or_default()] +=
            u64::from(is_full);
        match result {
            Err(error) if self.path("output").exists() => {
                return Err(format!("a run failed and left an output: {error}"));
            }
            Ok(()) if digest(&self.path("output"))? != self.expected => {
                return Err("another answer".to_owned());
            }
            Ok(()) => {}
            Err(error) if is_full && names_disk(&error, &self.folder) => {
                tally.named += 1;
                self.check_nothing_lies_about()?;
            }
            Err(error) => return Err(format!("not the full disk's error: {error}")),
        }
        let _ = fs::remove_file(self.path("output"));
        let rooms = Rooms::of(self.on, u64::MAX);
        self.once(shape, Some(&rooms), "output").map_err(|error| format!("with room: {error}"))?;
        if digest(&self.path("output"))? != self.expected {
            return Err("another answer with room".to_owned());
        }
        self.check_nothing_lies_about()
    }

    fn check_nothing_lies_about(&self) -> Result<(), String> {
        let known = ["expected", "input", "output", "scratch", "state"];
        files::check_nothing_lies_about(&self.path("state"), &self.folder, &known)?;
        match files::names(&self.path("scratch"))?.first() {
            Some(stray) => Err(format!("{stray} was left in the scratch storage")),
            None => Ok(()),
        }
    }

    /// Runs the job; without rooms, without a state.
    fn once(&self, shape: &Shape, rooms: Option<&Rooms>, output: &str) -> Result<()> {
        let small = |name: &str, room: &Room| {
            let disk = Arc::new(Disk::new(self.path(name)));
            Arc::new(Small::new(disk, room.clone())) as Arc<dyn Storage>
        };
        let state = rooms.map(|rooms| small("state", &rooms.state));
        let scratch = rooms.map(|rooms| small("scratch", &rooms.scratch));
        let engine = &shape.engine(scratch)?;
        self.job.run(Run {
            engine,
            input: &self.path("input"),
            options: shape.options(state),
            shows: shape.shows,
            output: self.path(output),
            room: rooms.map(|rooms| rooms.answer.clone()),
        })
    }
}

/// Returns whether an error says that a disk is full, and names a path in the folder of the round.
fn names_disk(error: &Error, folder: &Path) -> bool {
    let is_full = match error {
        Error::Storage(StorageError::Full { .. }) => true,
        Error::Output(OutputError::Write { cause, .. }) => cause.kind() == ErrorKind::StorageFull,
        _ => false,
    };
    let said = error.to_string();
    is_full && said.contains(&*folder.to_string_lossy()) && said.contains("No space left")
}
