//! Tegula: MapReduce for one big machine.
//!
//! A job is a map that emits pairs of a key and a value, and a named type that combines the values of
//! one key. The engine cuts the input into tiles and splits, maps splits on all cores while they are
//! in cache, combines in tables of each worker's own, hands tables over by partition, and gives the
//! answer sorted, ranked or unordered, with the same bytes for any number of workers.
//!
//! [`Job`] shows a whole program. This crate is the interface of five others, which do the work;
//! `ARCHITECTURE.md` describes the design.

pub use tegula_core::{
    Answers, Container, Emit, Engine, EngineBuilder, Estimate, Estimates, Every, Grouping,
    Incremental, Job, JobRun, Keep, Offloadable, Options, Order, Output, Pair, PairSort, Pipeline,
    Putting, Records, Renewed, Resumable, STABLE_KEYS_MOST, SaveEvery, Saved, Sees, Show, Shown,
    Sort, SortTo, SortedPairs, StageTime, State, Stats,
};
pub use tegula_device::{Accelerator, DeviceError};
pub use tegula_input::bad::{BAD_RECORDS_SHOWN, BadRecord};
pub use tegula_input::input::{
    ByteSet, Cut, Delimited, Delimiter, Input, InputFile, RangeSource, TileSource,
};
pub use tegula_input::plan::{DEFAULT_TILE_BYTES, FormatFigures, INCREMENTAL_TILE_BYTES, Reads};
pub use tegula_input::split::{Lines, Split};
pub use tegula_machine::cancel::Cancel;
pub use tegula_machine::error::{
    Error, InputError, MemoryError, OutputError, Place, Result, StateError, StorageError,
};
pub use tegula_machine::process::process_cpu;
pub use tegula_machine::progress::{
    CellPlace, GridPlaces, GridReading, Progress, ProgressReading, Stage, TileGrid, TileState,
};
pub use tegula_machine::relocation::Relocation;
pub use tegula_pairs::identity::Identity;
pub use tegula_pairs::key::Key;

pub use aggregate::*;
pub use combine::*;
pub use storage::{Disk, Folders, Storage, StoredFile};
pub use timeline::Timeline;
pub use tokenize::WordClass;
pub use topology::Topology;

/// Treatments of the values of one key.
pub mod aggregate {
    pub use tegula_pairs::aggregate::{
        Aggregate, ByteArray, Collect, Element, Fixed, Group, List, Reduce, Values,
    };
}

/// Aggregates that merge values into one.
pub mod combine {
    pub use tegula_pairs::combine::{
        Binned, Combine, Count, Inverse, Max, Mean, MeanAccumulator, Min, Share, Sum,
    };
}

/// Devices beside the cores.
pub mod device {
    #[cfg(feature = "cuda")]
    pub use tegula_device::Cuda;
    #[cfg(feature = "opencl")]
    pub use tegula_device::OpenCl;
    pub use tegula_device::{
        ARGUMENTS, Accelerator, Alone, Caps, Device, DeviceError, DeviceFigures, Done, Driver,
        EmulatedKernel, Kernel, Launch, Offload, Outcome, Outlook, Piece, Present, Program, Read,
        Residence, Room, Session, Shape, Slot, Turn, Work,
    };
    #[cfg(feature = "emulated")]
    pub use tegula_device::{Clock, Emulated, Fault, FaultAt, Model};
}

/// What one of several machines has of a job.
pub mod holding {
    pub use tegula_core::holding::{
        Hold, Holding, Mapped, PARTITIONS, PartAnswer, Pull, ReduceTotals, Spool, listed,
    };
}

/// The answer of a run, and files that appear only when all of them is written.
pub mod output {
    pub use tegula_core::output::{Answers, AtomicFile, Output, Portion};
}

/// The ways to see whether a file's content is still the same.
pub mod reuse {
    pub use tegula_core::reuse::Hashing;
}

/// The division of tiles among workers.
pub mod schedule {
    pub use tegula_machine::schedule::{GroupShare, Placement, Share};
}

/// The sizes with which a run begins.
pub mod sizing {
    pub use tegula_machine::sizing::{SPLIT_BYTES, unit_bytes};
}

/// The state of a run, which outlives it.
pub mod state {
    pub use tegula_core::state::{
        AnswerFile, Incremental, Keep, SaveEvery, State, StateReport, files_of, jobs_of, remove,
        report, verify,
    };
}

/// The files that a run writes and reads back.
pub mod storage {
    pub use tegula_machine::storage::{AtomicFile, Disk, Folders, Storage, StoredFile};
}

/// Timelines: the work of each thread over time.
pub mod timeline {
    #[doc(hidden)]
    pub use tegula_machine::timeline::Track;
    pub use tegula_machine::timeline::{
        KINDS, Kind, LaneRecording, Recording, Sample, Span, Timeline,
    };
}

/// Words of a text.
pub mod tokenize {
    pub use tegula_input::tokenize::{Records, Simd, Tokens, WordClass, fold_ascii};
}

/// The processors, caches and memory nodes of a machine.
pub mod topology {
    pub use tegula_machine::topology::{ASSUMED_L2_BYTES, Cache, Group, Node, Processor, Topology};
}
