//! One run of a job with a state, which may kill itself at a call of the disk.

use crate::jobs::{Run, Which};
use crate::shape::device;
use clap::{Args, ValueEnum};
use std::path::PathBuf;
use std::sync::Arc;
use tegula::storage::{Disk, Storage};
use tegula::{Engine, Error, Incremental, Keep, Options, Order, Result, SaveEvery, State};
use tegula_testing::{Call, Fault, Faulty};

#[derive(Args, Clone, Debug)]
pub(crate) struct Flags {
    #[arg(long)]
    pub(crate) job: Which,
    #[arg(long)]
    pub(crate) input: PathBuf,
    #[arg(long)]
    pub(crate) output: PathBuf,
    /// Where the state is; no state without it.
    #[arg(long)]
    pub(crate) state: Option<PathBuf>,
    #[arg(long, default_value_t = 1)]
    pub(crate) workers: usize,
    /// A limit of the memory; the run takes twice as much where that is too little.
    #[arg(long)]
    pub(crate) memory: Option<u64>,
    #[arg(long, default_value_t = 1 << 20)]
    pub(crate) tile: u64,
    /// Tiles after which a worker saves; by time without it.
    #[arg(long)]
    pub(crate) every_tiles: Option<u64>,
    #[arg(long)]
    pub(crate) keep_partials: bool,
    /// Tiles are found again; the input may have changed since the last run.
    #[arg(long)]
    pub(crate) incremental: bool,
    /// An emulated device works beside the workers.
    #[arg(long)]
    pub(crate) device: bool,
    /// Kills itself at a call of the disk: its kind and number, as `rename:3`.
    #[arg(long, value_parser = point)]
    pub(crate) kill_at: Option<(Point, u64)>,
}

/// A kind of call of a state on its disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Point {
    Create,
    Open,
    Rename,
    Remove,
    List,
    SyncFolder,
    ReadAt,
    WriteAt,
    SyncFile,
}

pub(crate) const POINTS: [Point; 9] = [
    Point::Create,
    Point::Open,
    Point::Rename,
    Point::Remove,
    Point::List,
    Point::SyncFolder,
    Point::ReadAt,
    Point::WriteAt,
    Point::SyncFile,
];

impl Point {
    fn call(self) -> Call {
        match self {
            Point::Create => Call::Create,
            Point::Open => Call::Open,
            Point::Rename => Call::Rename,
            Point::Remove => Call::Remove,
            Point::List => Call::List,
            Point::SyncFolder => Call::SyncFolder,
            Point::ReadAt => Call::ReadAt,
            Point::WriteAt => Call::WriteAt,
            Point::SyncFile => Call::SyncFile,
        }
    }

    pub(crate) fn name(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }
}

fn point(text: &str) -> Result<(Point, u64), String> {
    let (point, number) = text.split_once(':').ok_or("write rename:3")?;
    let number = number.parse().map_err(|_| "write a number after the colon")?;
    Ok((Point::from_str(point, false)?, number))
}

/// Runs the job; again with twice the memory as long as that is too little.
pub(crate) fn run(flags: &Flags) -> Result<()> {
    match run_in(flags, flags.memory) {
        Err(Error::Memory(_)) if flags.memory.is_some() => {
            run(&Flags { memory: flags.memory.map(|bytes| 2 * bytes), ..flags.clone() })
        }
        ended => ended,
    }
}

fn run_in(flags: &Flags, memory: Option<u64>) -> Result<()> {
    let engine = &Engine::builder().workers(flags.workers).memory_bytes(memory).build()?;
    let options = Options {
        order: Order::Key,
        tile_bytes: Some(flags.tile),
        state: flags.state.as_ref().map(|folder| state(flags, folder)),
        devices: flags.device.then(device).into_iter().collect(),
        ..Options::default()
    };
    let output = flags.output.clone();
    flags.job.run(Run { engine, input: &flags.input, options, shows: None, output, room: None })
}

fn state(flags: &Flags, folder: &PathBuf) -> State {
    let mut storage: Arc<dyn Storage> = Arc::new(Disk::new(folder));
    if let Some((point, number)) = flags.kill_at {
        storage = Arc::new(Faulty::new(storage, 0).fail_once(point.call(), number, Fault::Kill));
    }
    let every = flags.every_tiles.map_or(SaveEvery::Auto, SaveEvery::Tiles);
    let keep = if flags.keep_partials { Keep::Partials } else { Keep::Result };
    let state = State::on(storage).save_every(every).keep(keep);
    if flags.incremental { state.incremental(Incremental::default()) } else { state }
}
