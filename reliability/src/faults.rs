//! Faults of the disk: each round fails a call of a kind, once or from then on, in a run's state or in the storage that
//! memory overflows into. A run that bears it must give the answer of an undisturbed one; a run that fails must name the
//! storage and leave no output, and the next one must give that answer.

use crate::files::{self, digest};
use crate::jobs::{JOBS, Run, Which};
use crate::random::Random;
use crate::shape::Shape;
use clap::Args;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tegula::storage::{Disk, Storage};
use tegula::{Error, Result};
use tegula_testing::{Call, Fault, Faulty};

#[derive(Args)]
pub(crate) struct Flags {
    /// The number of faults that come to pass.
    #[arg(long, default_value_t = 500)]
    faults: u64,
    /// The seed of all random choices; each round has its own.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The round to begin with, as a failure prints it.
    #[arg(long, default_value_t = 0)]
    round: u64,
}

/// The progress is printed after this number of faults.
const FAULTS_PER_NOTE: u64 = 1000;
/// The most runs of a round that are disturbed.
const IN_A_ROW: u64 = 6;
const OF_STATES: [Call; 11] = [
    Call::Create,
    Call::Open,
    Call::Rename,
    Call::Remove,
    Call::List,
    Call::SyncFolder,
    Call::ReadAt,
    Call::WriteAt,
    Call::Bytes,
    Call::SetBytes,
    Call::SyncFile,
];
const OF_SCRATCH: [Call; 4] = [Call::Scratch, Call::ReadAt, Call::WriteAt, Call::Punch];
const FAULTS: [Fault; 7] = [
    Fault::Io,
    Fault::Full,
    Fault::Interrupted,
    Fault::Short,
    Fault::Torn,
    Fault::Flipped,
    Fault::PowerLoss,
];

#[derive(Default)]
struct Tally {
    rounds: u64,
    /// Faults that came to pass, by kind.
    faults: [u64; FAULTS.len()],
    borne: u64,
    named: u64,
}

impl Tally {
    fn faults(&self) -> u64 {
        self.faults.iter().sum()
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Tally { rounds, faults, borne, named } = self;
        let [io, full, interrupted, short, torn, flipped, power] = faults;
        write!(
            f,
            "{} faults in {rounds} rounds ({io} EIO, {full} ENOSPC, {interrupted} EINTR, {short} short, {torn} torn, \
             {flipped} with another bit, {power} without power): {borne} were borne, {named} named, and every answer was that of an undisturbed run",
            self.faults()
        )
    }
}

pub(crate) fn run(flags: &Flags) -> Result<(), String> {
    let (mut tally, mut noted) = (Tally::default(), 0);
    for round in flags.round.. {
        if tally.faults() >= flags.faults {
            break;
        }
        let again = format!("reliability faults --faults 1 --seed {} --round {round}", flags.seed);
        play(flags.seed, round, &mut tally)
            .map_err(|failure| format!("round {round}: {failure}\n  again: {again}"))?;
        if tally.faults() / FAULTS_PER_NOTE > noted {
            noted = tally.faults() / FAULTS_PER_NOTE;
            eprintln!("{} faults of {}", tally.faults(), flags.faults);
        }
    }
    println!("{tally}");
    Ok(())
}

/// A fault that is planned for a storage.
#[derive(Debug)]
struct Plan {
    call: Call,
    nth: u64,
    fault: Fault,
    is_for_good: bool,
}

impl Plan {
    /// Draws a fault, and one of the calls of an undisturbed run that can have it; `None` if there was none.
    fn random(random: &mut Random, calls: &[Call], undisturbed: &Faulty) -> Option<Plan> {
        // A disk without names has nothing that outlives the power.
        let faults = if calls.contains(&Call::Scratch) { &FAULTS[..6] } else { &FAULTS[..] };
        let fault = random.one_of(faults);
        // Other calls than reads and writes fail or do not: none is short or torn, and a signal interrupts none.
        let can_have_it = |call: &Call| match fault {
            Fault::Interrupted | Fault::Short | Fault::Torn => {
                matches!(call, Call::ReadAt | Call::WriteAt)
            }
            Fault::Flipped => *call == Call::ReadAt,
            _ => true,
        };
        let made = calls.iter().copied().filter(|call| undisturbed.calls(*call) > 0);
        let made: Vec<Call> = made.filter(can_have_it).collect();
        if made.is_empty() {
            return None;
        }
        let call = random.one_of(&made);
        let nth = 1 + random.below(undisturbed.calls(call));
        // A call that is interrupted for good is made for good.
        let is_for_good = random.below(3) == 0 && fault != Fault::Interrupted;
        Some(Plan { call, nth, fault, is_for_good })
    }

    fn on(&self, faulty: Faulty) -> Faulty {
        match self.is_for_good {
            true => faulty.fail_from(self.call, self.nth, self.fault),
            false => faulty.fail_once(self.call, self.nth, self.fault),
        }
    }

    fn came_to_pass(&self, faulty: &Faulty) -> bool {
        faulty.calls(self.call) >= self.nth
    }

    /// Whether a run must bear it: the call is made again, for the rest.
    fn must_be_borne(&self) -> bool {
        matches!(self.fault, Fault::Short | Fault::Interrupted)
    }
}

/// One round: a job that runs undisturbed, then a few times with faults, and then until its end.
fn play(seed: u64, round: u64, tally: &mut Tally) -> Result<(), String> {
    let mut random = Random::of_round(seed, round);
    let folder = tempfile::tempdir().map_err(|cause| format!("no folder: {cause}"))?;
    let path = |name: &str| folder.path().join(name);
    let job = random.one_of(&JOBS);
    // Values in the order of the input are not gone on with over compressed files.
    let is_packed = job != Which::Places && random.below(4) == 0;
    files::make(&path("input"), &mut random, is_packed)?;
    let input = path("input");
    let plain = Shape::plain(1);
    once(job, &plain, &input, None, path("expected")).map_err(|error| error.to_string())?;
    let expected = digest(&path("expected"))?;

    let mut shape = Shape::with_state(&mut random, job, is_packed);
    let on_disk = |name: &str| -> Result<Arc<dyn Storage>, String> {
        std::fs::create_dir_all(path(name)).map_err(|cause| cause.to_string())?;
        Ok(Arc::new(Disk::new(path(name))))
    };
    let disturb = |plan: &Option<Plan>, storage: Arc<dyn Storage>, seed: u64| {
        let faulty = Faulty::new(storage, seed);
        plan.as_ref().map_or(faulty.clone(), |plan| plan.on(faulty))
    };
    let [state, scratch] = ["undisturbed", "scratch"].map(on_disk);
    let (state, scratch) = (disturb(&None, state?, 0), disturb(&None, scratch?, 0));
    let storages = (Some(Arc::new(state.clone()) as Arc<dyn Storage>), scratch.clone());
    match once(job, &shape, &input, Some(storages), path("output")) {
        // So little memory is refused in each run.
        Err(Error::Memory(_)) => return Ok(()),
        result => result.map_err(|error| format!("undisturbed: {error}: {shape:?}"))?,
    }
    let undisturbed = (state, scratch);
    let disk = on_disk("state")?;
    for _ in 0..1 + random.below(IN_A_ROW) {
        let of_state = Plan::random(&mut random, &OF_STATES, &undisturbed.0);
        let of_scratch = Plan::random(&mut random, &OF_SCRATCH, &undisturbed.1);
        let state = disturb(&of_state, Arc::clone(&disk), random.next());
        let scratch = disturb(&of_scratch, on_disk("scratch")?, random.next());
        let storages = (Some(Arc::new(state.clone()) as Arc<dyn Storage>), scratch.clone());
        let _ = std::fs::remove_file(path("output"));
        let result = once(job, &shape, &input, Some(storages), path("output"));
        let plans = [(of_state.as_ref(), &state), (of_scratch.as_ref(), &scratch)];
        let passed = plans.into_iter().filter_map(|(plan, faulty)| Some((plan?, faulty)));
        let passed = passed.filter(|(plan, faulty)| plan.came_to_pass(faulty));
        let passed: Vec<&Plan> = passed.map(|(plan, _)| plan).collect();
        judge(result, &passed, &path("output"), expected, tally)
            .map_err(|failure| format!("{failure}: {}, {passed:?}: {shape:?}", job.name()))?;
        if passed.iter().any(|plan| plan.fault == Fault::PowerLoss) {
            state.lose_power();
        }
        shape = shape.successor(&mut random, job, is_packed);
    }
    let last = shape.alone();
    let storages = (Some(disk), disturb(&None, on_disk("scratch")?, 0));
    once(job, &last, &input, Some(storages), path("output"))
        .map_err(|error| format!("the undisturbed run: {error}: {}, {shape:?}", job.name()))?;
    if digest(&path("output"))? != expected {
        return Err(format!("the undisturbed run gave another answer: {}, {shape:?}", job.name()));
    }
    files::check_nothing_lies_about(
        &path("state"),
        folder.path(),
        &["expected", "input", "output", "scratch", "state", "undisturbed"],
    )?;
    tally.rounds += 1;
    Ok(())
}

/// Counts the faults that came to pass in a run, and refuses what it made of them.
fn judge(
    result: Result<()>,
    passed: &[&Plan],
    output: &Path,
    expected: u128,
    tally: &mut Tally,
) -> Result<(), String> {
    for plan in passed {
        let kind = FAULTS.iter().position(|fault| *fault == plan.fault).unwrap_or_default();
        tally.faults[kind] += 1;
    }
    let folder = output.parent().unwrap_or(output).to_string_lossy();
    match result {
        Err(error) if output.exists() => Err(format!("a run failed and left an output: {error}")),
        Ok(()) if digest(output)? != expected => Err("another answer".to_owned()),
        Ok(()) => {
            tally.borne += passed.len() as u64;
            Ok(())
        }
        Err(Error::Memory(_)) => Ok(()),
        Err(Error::Storage(error)) if passed.iter().any(|plan| !plan.must_be_borne()) => {
            tally.named += passed.len() as u64;
            let names_folder = error.to_string().contains(&*folder);
            names_folder.then_some(()).ok_or(format!("the message names no path: {error}"))
        }
        Err(error) => Err(error.to_string()),
    }
}

type Storages = (Option<Arc<dyn Storage>>, Faulty);

fn once(
    job: Which,
    shape: &Shape,
    input: &Path,
    storages: Option<Storages>,
    output: PathBuf,
) -> Result<()> {
    let (state, scratch) = storages.unzip();
    let engine = &shape.engine(scratch.map(|scratch| Arc::new(scratch) as Arc<dyn Storage>))?;
    let options = shape.options(state.flatten());
    job.run(Run { engine, input, options, shows: shape.shows, output, room: None })
}
