//! The stages compiled for one aggregate. Those of the common aggregates are compiled in this crate, so a crate
//! that runs a job with one of them compiles the job's map and nothing else of the engine.

use crate::aggregate::Aggregate;
use crate::combine::{Count, Sum};
use crate::core::Core;
use crate::error::Result;
use crate::held::{Answer, HoldingJob, hold};
use crate::input::Input;
use crate::options::Options;
use crate::output::Finished;
use crate::reduce::Ranking;
use crate::run::{Ended, ErasedJob, run};
use crate::saved::answers_of;
use crate::show::Showing;
use crate::state::{Asked, SavedPartials, StateReport};
use std::any::Any;
use std::sync::Arc;

type Run<C> = fn(
    &Arc<Core>,
    ErasedJob<'_, C>,
    Input,
    &Options,
    Option<Showing<'_, C>>,
    Option<Asked<'_>>,
) -> Result<Ended<C>>;

type Saved<C> =
    fn(&Arc<Core>, Ranking<'_, C>, &Options, SavedPartials) -> Result<(StateReport, Finished<C>)>;

type Holding<C> = for<'e> fn(
    &'e Arc<Core>,
    HoldingJob<'e, C>,
    Input,
    &Options,
) -> Result<Box<dyn Answer<C> + 'e>>;

/// The functions of the engine that are generic over the aggregate alone.
pub(crate) struct Compiled<C: Aggregate> {
    pub(crate) run: Run<C>,
    pub(crate) saved: Saved<C>,
    pub(crate) hold: Holding<C>,
}

static COUNT: Compiled<Count> = Compiled::here();
static SUM: Compiled<Sum<u64>> = Compiled::here();
static SIGNED_SUM: Compiled<Sum<i64>> = Compiled::here();

impl<C: Aggregate> Compiled<C> {
    /// Returns the functions for an aggregate: those of this crate if it holds them, or else as compiled by
    /// the crate that calls this.
    pub(crate) fn get() -> Compiled<C> {
        if C::IS_COMPILED { Compiled::found() } else { Compiled::here() }
    }

    const fn here() -> Compiled<C> {
        Compiled { run: run::<C>, saved: answers_of::<C>, hold: hold::<C> }
    }

    fn found() -> Compiled<C> {
        let all: [&dyn Any; 3] = [&COUNT, &SUM, &SIGNED_SUM];
        let mut found = all.iter().filter_map(|one| one.downcast_ref::<Compiled<C>>());
        let Some(Compiled { run, saved, hold }) = found.next() else {
            unreachable!("an aggregate that says so is in the list above");
        };
        Compiled { run: *run, saved: *saved, hold: *hold }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_that_say_so_are_compiled_here() {
        const { assert!(Count::IS_COMPILED) };
        const { assert!(Sum::<u64>::IS_COMPILED && Sum::<i64>::IS_COMPILED) };
        assert!(std::ptr::fn_addr_eq(Compiled::<Count>::get().run, COUNT.run));
        assert!(std::ptr::fn_addr_eq(Compiled::<Sum<u64>>::get().run, SUM.run));
        assert!(std::ptr::fn_addr_eq(Compiled::<Sum<i64>>::get().run, SIGNED_SUM.run));
    }
}
