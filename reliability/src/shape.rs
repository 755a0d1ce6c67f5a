//! The shape of a run: all that may be chosen and changes no byte of its answer.

use crate::jobs::Which;
use crate::random::Random;
use std::sync::Arc;
use std::time::Duration;
use tegula::device::{Clock, Emulated, Model};
use tegula::storage::Storage;
use tegula::{
    Accelerator, Container, Engine, EngineBuilder, Every, Grouping, Incremental, Keep, Options,
    Order, Pipeline, Result, SaveEvery, State,
};

const WORKERS_MOST: u64 = 16;
const DEVICE_BYTES_S: f64 = 20e6;

#[derive(Clone, Debug)]
pub(crate) struct Shape {
    workers: usize,
    groups: Option<usize>,
    /// The limit of the run's own memory; what the process has besides is not counted.
    memory_bytes: Option<u64>,
    tile_bytes: Option<u64>,
    split_bytes: Option<u64>,
    container: Container,
    pipeline: Pipeline,
    has_device: bool,
    /// How often shows are made, and whether each is of a prefix of the input.
    pub(crate) shows: Option<(Every, bool)>,
    pub(crate) saving: Option<Saving>,
}

/// How a run saves.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Saving {
    pub(crate) every: SaveEvery,
    pub(crate) keep: Keep,
    pub(crate) is_incremental: bool,
}

impl Shape {
    /// Some workers, and nothing else chosen.
    pub(crate) fn plain(workers: usize) -> Shape {
        Shape {
            workers,
            groups: None,
            memory_bytes: None,
            tile_bytes: None,
            split_bytes: None,
            container: Container::Adaptive,
            pipeline: Pipeline::On,
            has_device: false,
            shows: None,
            saving: None,
        }
    }

    /// Draws a shape; over compressed files no tiles are found again, and shows come in no order.
    pub(crate) fn random(random: &mut Random, job: Which, is_packed: bool) -> Shape {
        let is_sort = job == Which::Sorted;
        let size = |random: &mut Random| match random.below(4) {
            0 => None,
            1 => Some(1 + random.below(64)),
            2 => Some(64 + random.below(6000)),
            _ => Some((16 << 10) << random.below(7)),
        };
        // Values in the order of the input are not gone on with over compressed files.
        let may_save = !(is_packed && job == Which::Places);
        let saving = (may_save && random.below(2) == 0).then(|| Saving {
            every: random.one_of(&[SaveEvery::Auto, SaveEvery::Tiles(1), SaveEvery::Tiles(4)]),
            keep: random.one_of(&[Keep::Result, Keep::Partials, Keep::Nothing]),
            is_incremental: !is_sort && !is_packed && random.below(2) == 0,
        });
        let is_incremental = saving.is_some_and(|saving| saving.is_incremental);
        let has_order = !is_incremental && !is_packed;
        let containers = [Container::Adaptive, Container::Hash, Container::Append];
        let every = [
            Every::Part(0.3),
            Every::Bytes((64 << 10) + random.below(1 << 20)),
            Every::Time(Duration::from_millis(1 + random.below(20))),
        ];
        let shows = (!is_sort && random.below(3) == 0)
            .then(|| (random.one_of(&every), has_order && random.below(2) == 0));
        let tile_bytes = match size(random) {
            // Each tile is a file of the state, and a part of the answer to be found again.
            Some(bytes) if saving.is_some() => Some(bytes.max(16 << 10)),
            bytes => bytes,
        };
        Shape {
            workers: 1 + random.below(WORKERS_MOST) as usize,
            groups: random.one_of(&[None, None, Some(1), Some(2)]),
            memory_bytes: (random.below(2) == 0).then(|| (24 << 20) + random.below(60 << 20)),
            tile_bytes,
            split_bytes: size(random),
            container: random.one_of(&containers),
            pipeline: random.one_of(&[Pipeline::On, Pipeline::Off]),
            has_device: !is_sort && random.below(3) == 0,
            shows,
            saving,
        }
    }

    /// Returns a shape that can go on with what a run of this one has saved.
    pub(crate) fn successor(&self, random: &mut Random, job: Which, is_packed: bool) -> Shape {
        let next = Shape::random(random, job, is_packed);
        let Shape { tile_bytes, split_bytes, container, saving, .. } = self.clone();
        let shows = next.shows.map(|(every, _)| (every, false));
        Shape { tile_bytes, split_bytes, container, saving, shows, ..next }
    }

    /// Draws a shape with a state, whose tiles and splits are no smaller than a disk's pages.
    pub(crate) fn with_state(random: &mut Random, job: Which, is_packed: bool) -> Shape {
        let shape = Shape::random(random, job, is_packed);
        let saving = shape.saving.or(Some(Saving {
            every: SaveEvery::Tiles(1),
            keep: random.one_of(&[Keep::Result, Keep::Partials, Keep::Nothing]),
            is_incremental: false,
        }));
        let coarse = |bytes: Option<u64>| bytes.map(|bytes| bytes.max(16 << 10));
        let (tile_bytes, split_bytes) = (coarse(shape.tile_bytes), coarse(shape.split_bytes));
        Shape { saving, tile_bytes, split_bytes, ..shape }
    }

    /// Returns this shape with a limit of memory, and so few workers that a small one will do.
    pub(crate) fn with_memory(&self, bytes: u64) -> Shape {
        Shape { workers: self.workers.min(3), memory_bytes: Some(bytes), ..self.clone() }
    }

    /// Returns the shape of one worker with memory that can go on with what a run of this one has saved.
    pub(crate) fn alone(&self) -> Shape {
        let Shape { tile_bytes, split_bytes, container, saving, .. } = self.clone();
        Shape { tile_bytes, split_bytes, container, saving, ..Shape::plain(1) }
    }

    pub(crate) fn engine(&self, scratch: Option<Arc<dyn Storage>>) -> Result<Engine> {
        let builder = Engine::builder().workers(self.workers).memory_bytes(self.memory_bytes);
        let builder = builder.groups(self.groups.map_or(Grouping::Auto, Grouping::Count));
        let builder = builder.held_bytes(0);
        scratch.into_iter().fold(builder, EngineBuilder::storage).build()
    }

    pub(crate) fn options(&self, state: Option<Arc<dyn Storage>>) -> Options {
        let state = state.zip(self.saving).map(|(storage, saving)| {
            let state = State::on(storage).save_every(saving.every).keep(saving.keep);
            match saving.is_incremental {
                true => state.incremental(Incremental::default()),
                false => state,
            }
        });
        Options {
            order: Order::Key,
            tile_bytes: self.tile_bytes,
            split_bytes: self.split_bytes,
            container: self.container,
            pipeline: self.pipeline,
            devices: self.has_device.then(device).into_iter().collect(),
            state,
            ..Options::default()
        }
    }
}

/// Returns a device about as fast as a worker, so that both have a part; it keeps to the wall clock.
pub(crate) fn device() -> Arc<Accelerator> {
    let model = Model { link_bytes_s: DEVICE_BYTES_S, clock: Clock::Wall, ..Model::default() };
    Arc::new(Accelerator::new(Emulated::new(model)))
}
