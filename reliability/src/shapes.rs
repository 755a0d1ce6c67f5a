//! Shapes: each job over random bytes in random shapes, with a state and without. Every run must give the bytes of one
//! worker, or fail because its memory is too little and leave no output.

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

#[derive(Args)]
pub(crate) struct Flags {
    /// The number of shapes.
    #[arg(long, default_value_t = 20)]
    shapes: u64,
    /// The seed of all random choices; each round has its own.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The round to begin with, as a failure prints it.
    #[arg(long, default_value_t = 0)]
    round: u64,
}

/// The progress is printed after this number of shapes.
const SHAPES_PER_NOTE: u64 = 100;

#[derive(Default)]
struct Tally {
    runs: u64,
    /// Of these, over what an earlier run had saved.
    over_states: u64,
    without_memory: u64,
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Tally { runs, over_states, without_memory } = self;
        write!(
            f,
            "{runs} runs of {} jobs, {over_states} of them over a state: every answer was that of one worker; \
             {without_memory} more had too little memory, said so, and wrote nothing",
            JOBS.len()
        )
    }
}

pub(crate) fn run(flags: &Flags) -> Result<(), String> {
    let mut tally = Tally::default();
    for round in flags.round..flags.round + flags.shapes {
        let again = format!("reliability shapes --shapes 1 --seed {} --round {round}", flags.seed);
        play(flags.seed, round, &mut tally)
            .map_err(|failure| format!("round {round}: {failure}\n  again: {again}"))?;
        let done = round + 1 - flags.round;
        if done.is_multiple_of(SHAPES_PER_NOTE) {
            eprintln!("{done} shapes of {}", flags.shapes);
        }
    }
    println!("{} shapes: {tally}", flags.shapes);
    Ok(())
}

/// One shape for each job, over one input.
fn play(seed: u64, round: u64, tally: &mut Tally) -> Result<(), String> {
    let mut random = Random::of_round(seed, round);
    let folder = tempfile::tempdir().map_err(|cause| format!("no folder: {cause}"))?;
    let input = folder.path().join("input");
    let is_packed = random.below(3) == 0;
    files::make(&input, &mut random, is_packed)?;
    for job in JOBS {
        let path = |name: &str| folder.path().join(format!("{name}-{}", job.name()));
        let expected = path("expected");
        let plain = Shape::plain(1);
        once(job, &plain, &input, None, expected.clone()).map_err(|error| error.to_string())?;
        let expected = digest(&expected)?;
        let mut shape = Shape::random(&mut random, job, is_packed);
        let state = path("state");
        std::fs::create_dir(&state).map_err(|cause| cause.to_string())?;
        let runs = if shape.saving.is_some() { 2 } else { 1 };
        for number in 0..runs {
            let output = path(&format!("output-{number}"));
            match once(job, &shape, &input, Some(&state), output.clone()) {
                Ok(()) if digest(&output)? == expected => tally.runs += 1,
                Ok(()) => return Err(format!("{}: another answer: {shape:?}", job.name())),
                Err(Error::Memory(_)) if !output.exists() => tally.without_memory += 1,
                Err(error) => return Err(format!("{}: {error}: {shape:?}", job.name())),
            }
            tally.over_states += number;
            shape = shape.successor(&mut random, job, is_packed);
        }
    }
    Ok(())
}

fn once(
    job: Which,
    shape: &Shape,
    input: &Path,
    state: Option<&Path>,
    output: PathBuf,
) -> Result<()> {
    let engine = &shape.engine(None)?;
    let state = state.map(|folder| Arc::new(Disk::new(folder)) as Arc<dyn Storage>);
    job.run(Run {
        engine,
        input,
        options: shape.options(state),
        shows: shape.shows,
        output,
        room: None,
    })
}
