//! The engine compiled for one aggregate: a table of the functions that are generic over it, but for the job's
//! map. The tables of the common aggregates are compiled in this crate, so a crate that defines a job with one
//! of them compiles its map and nothing else of the engine.

use crate::aggregate::Aggregate;
use crate::cancel::Cancel;
use crate::container::{Batched, Container};
use crate::engine::Core;
use crate::error::{MemoryError, Result};
use crate::input::Input;
use crate::memory::ChunkPool;
use crate::options::Options;
use crate::output::{Finished, Format};
use crate::reduce::Ranking;
use crate::run::{ErasedJob, run_erased};
use crate::saved::answers_of;
use crate::show::Showing;
use crate::sizing::TableLimits;
use crate::state::{SavedPartials, StateReport};
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

type Run<C> = fn(
    &Arc<Core>,
    ErasedJob<'_, C>,
    Input,
    &Options,
    Option<Showing<'_, C>>,
) -> Result<Finished<C>>;

type Saved<C> =
    fn(&Arc<Core>, Ranking<'_, C>, &Options, SavedPartials) -> Result<(StateReport, Finished<C>)>;

type Tables<C> =
    fn(Container, &Arc<ChunkPool>, TableLimits, u64) -> Result<Box<dyn Batched<C>>, MemoryError>;

type WriteAnswer<C> = fn(
    &Finished<C>,
    &mut (dyn Write + Send),
    &Path,
    &Cancel,
    &Format<'_, <C as Aggregate>::Reduced>,
) -> Result<()>;

/// The engine's functions for the aggregate `C`. Opaque: aggregates hand it out, and the engine calls it.
pub struct Compiled<C: Aggregate> {
    pub(crate) run: Run<C>,
    pub(crate) saved: Saved<C>,
    pub(crate) tables: Tables<C>,
    pub(crate) write: WriteAnswer<C>,
}

impl<C: Aggregate> Compiled<C> {
    /// The functions, compiled by the crate that names this.
    pub const HERE: Compiled<C> = Compiled {
        run: run_erased::<C>,
        saved: answers_of::<C>,
        tables: Container::tables::<C>,
        write: Finished::<C>::write,
    };
}

/// Has this crate compile the engine for an aggregate, in whose `impl` it stands.
macro_rules! compiled_here {
    ($aggregate:ty) => {
        #[doc(hidden)]
        fn compiled() -> &'static $crate::compiled::Compiled<Self> {
            static HERE: $crate::compiled::Compiled<$aggregate> = $crate::compiled::Compiled::HERE;
            &HERE
        }
    };
}
pub(crate) use compiled_here;
