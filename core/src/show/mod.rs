//! Shows: a job's answers so far, while it runs (online aggregation: Ostrich, section 6.1; Hellerstein,
//! Haas and Wang, "Online Aggregation", 1997). A show takes the pairs of the input that is mapped so far,
//! reduces and orders them like the answer, and passes them to a function of the caller's.
//!
//! # How workers keep running
//! Pairs go to the partial of an **epoch** (`epochs.rs`), the stretch of the input between two shows. When
//! a show is due, each worker hands its tables over at the end of its present work, and takes its next work
//! in the next epoch. A worker that waits for input is woken to do so. The last worker closes the epoch.
//!
//! Nobody can add to a closed epoch. A thread beside the workers (`stage.rs`) moves its pairs to the run's
//! own partial, to which nobody else adds while maps run. It then shows the contents of that partial by the
//! same stages that make the answer, run by that thread alone, and leaves the partial unchanged. The thread
//! runs on the processors of the group whose worker closed the epoch. It is not a worker, so the caller's
//! function may take any time, and run jobs on the same engine.
//!
//! A show covers whole pieces of work: the bytes that it reports are exactly the bytes that it has counted.
//! If shows are due faster than they are made, some are left out; nothing waits for them.
//!
//! # Cost
//! For each show, every worker hands over one table and starts again with an empty one. The show's thread
//! folds those tables with the distinct pairs so far, and passes over these. Without an order, the pairs so far stay in
//! canonical order: the new ones are folded and merged with them, and the function gets them where they are. With a
//! top N, only the N pairs are sorted. The last show of a top N is made of the answer's pairs, in one pass over them.
//!
//! Most shows of a top N are made of samples (`sample.rs`), if the job and its combine allow it
//! ([`Job::LARGEST_FIRST`], [`Combine::SHARE`](crate::combine::Combine::SHARE)). Workers then keep their tables and
//! give only the pairs that may come first. Such a show costs each worker one pass over its table.
//!
//! # In the order of the input
//! Tiles end in any order, but a show in order covers a prefix of the input (the online bitmap). Splits are
//! then handed out ascending, to all groups from one queue, and epochs end where tiles do. An epoch counts
//! its missing splits. Pairs of later splits are kept in epochs of their own until those before are closed.
//! The cost is a hand-over per worker and epoch, and the gain of groups. A run that resumes holds the pairs that were
//! saved as a whole, so its first epoch reaches to the last split of those.

mod epochs;
mod estimates;
mod sample;
mod seat;
mod shown;
mod stability;
mod stage;

pub(crate) use epochs::Epochs;
pub use estimates::{Estimate, Estimates};
pub use sample::{Base, Highest, MARGIN, Sample, highest, least};
pub(crate) use shown::Moment;
pub use shown::Shown;
pub use stability::{STABLE_KEYS_MOST, Stability};
pub(crate) use stage::{LastShow, ShowStage};

use crate::aggregate::Aggregate;
use crate::error::{Error, Result};
use crate::job::Job;
use crate::options::{Options, Order};
use crate::plan::{Part, Plan};
use std::fmt;
use std::time::Duration;

/// How often a show is made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Every {
    /// After each such part of the input, above 0 and at most 1. The input's length must be known, which
    /// excludes streams.
    Part(f64),
    /// After each such number of mapped bytes, at least 1. Compressed files count with their compressed
    /// bytes.
    Bytes(u64),
    /// After each such time, more than zero. No show is made if nothing was mapped meanwhile.
    Time(Duration),
}

/// The shows of a job: how often, which part of its answers, and the function that gets them.
///
/// ```
/// use tegula::{Emit, Engine, Every, Input, Job, Options, Order, Result, Show, Split, Sum};
///
/// struct Words;
///
/// impl Job for Words {
///     type Key = [u8];
///     type Combine = Sum<u64>;
///
///     fn map<'s>(&self, split: Split<'s>, emit: &mut impl Emit<'s, Self>) -> Result<()> {
///         split.fields().for_each(|word| emit.emit(word, 1));
///         Ok(())
///     }
/// }
///
/// # fn main() -> Result<()> {
/// let show = Show::new(Every::Part(0.1), |shown| {
///     for (word, count) in shown.answers().iter()? {
///         println!("{} bytes seen: {} {count}", shown.bytes, String::from_utf8_lossy(word));
///     }
///     Ok(())
/// });
/// let input = Input::bytes("to be or not to be");
/// let show = show.top(3).order(Order::Value);
/// let output = Engine::new()?.job(&Words).show(show).run(input)?;
/// assert_eq!(output.len(), 4);
/// # Ok(())
/// # }
/// ```
pub struct Show<'s, J: Job> {
    pub(crate) wanted: Wanted,
    see: Box<See<'s, J>>,
    /// Whether an answer may stand that these shows have not seen.
    pub(crate) lets_stand: bool,
}

/// How often shows are made, and of which pairs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted {
    every: Every,
    /// `None`: like the answer.
    top: Option<Option<usize>>,
    order: Option<Order>,
    in_order: bool,
}

/// Shows as the stages make them: the job is gone.
pub(crate) struct Showing<'s, C: Aggregate> {
    pub(crate) wanted: Wanted,
    /// Whether the largest value comes first, so that samples may do.
    pub(crate) is_largest_first: bool,
    pub(crate) see: &'s mut (dyn FnMut(&Moment<'_, C>) -> Result<()> + Send + 's),
}

/// The function that gets each show.
type See<'s, J> = dyn FnMut(&Shown<'_, J>) -> Result<()> + Send + 's;

impl<J: Job> fmt::Debug for Show<'_, J> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Wanted { every, top, order, in_order } = &self.wanted;
        let mut out = f.debug_struct("Show");
        out.field("every", every).field("top", top).field("order", order);
        out.field("in_order", in_order).finish_non_exhaustive()
    }
}

impl<'s, J: Job> Show<'s, J> {
    /// Makes shows as often as `every` says, in the order of the answer and with its top N, and passes them
    /// to `see`. Shows come one after the other, with ascending input. The last is of all of it: it follows the
    /// map stage or, if it has a top N, the reduce stage. The function runs on a thread of its own while workers
    /// map, and for the last show of a top N on the caller's; it may run jobs on the same engine. An error that
    /// it returns, or a panic, fails the job.
    pub fn new(
        every: Every,
        see: impl FnMut(&Shown<'_, J>) -> Result<()> + Send + 's,
    ) -> Show<'s, J> {
        let wanted = Wanted { every, top: None, order: None, in_order: false };
        Show { wanted, see: Box::new(see), lets_stand: false }
    }

    /// Shows only the N pairs that come first by value. Default: [`Options::top`].
    pub fn top(mut self, most: usize) -> Show<'s, J> {
        self.wanted.top = Some(Some(most));
        self
    }

    /// Makes shows only if the run makes the answer: [`JobRun::renew`](crate::JobRun::renew) leaves a file that is the answer
    /// already, and then there are none. Otherwise a run with shows makes the answer again.
    pub fn lets_stand(mut self) -> Show<'s, J> {
        self.lets_stand = true;
        self
    }

    /// Shows all pairs, also if the answer will have fewer.
    pub fn all(mut self) -> Show<'s, J> {
        self.wanted.top = Some(None);
        self
    }

    /// Sets the order of pairs in a show. Default: [`Options::order`].
    pub fn order(mut self, order: impl Into<Option<Order>>) -> Show<'s, J> {
        self.wanted.order = order.into();
        self
    }

    /// Makes each show of a prefix of the input: of exactly the records that begin in its first
    /// [`Shown::bytes`] bytes, up to the end of a tile ([`Options::tile_bytes`]). Not for streams and
    /// compressed files, whose tile ends are not known beforehand. A run that resumes makes its first show when all
    /// is mapped before the last split that was saved. Not for incremental runs.
    pub fn in_order(mut self, in_order: bool) -> Show<'s, J> {
        self.wanted.in_order = in_order;
        self
    }

    /// Gives one show to the caller's function.
    pub(crate) fn see(&mut self, moment: &Moment<'_, J::Combine>) -> Result<()> {
        (self.see)(&Shown::of(moment))
    }
}

impl Wanted {
    pub(crate) fn is_in_order(&self) -> bool {
        self.in_order
    }

    /// Returns the number of pairs in a show, and their order.
    fn cut(&self, options: &Options) -> (Option<usize>, Order) {
        (self.top.unwrap_or(options.top), self.order.unwrap_or(options.order))
    }

    /// Checks that an input allows such shows.
    pub(crate) fn check(&self, plan: &Plan, is_incremental: bool) -> Result<()> {
        let fault = |option, cause: &str| Err(Error::Option { option, cause: cause.to_owned() });
        let refuse = |cause| fault("show", cause);
        let streams = plan.parts.iter().any(|part| matches!(part, Part::Stream(_)));
        let ranged = plan.parts.iter().all(|part| matches!(part, Part::Ranged(_)));
        match self.every {
            Every::Part(part) if !(part > 0.0 && part <= 1.0) => {
                refuse("a part of the input is more than 0 and at most 1 (100%)")
            }
            Every::Bytes(0) => refuse("0 bytes; give at least 1"),
            Every::Time(Duration::ZERO) => refuse("no time at all; give more"),
            Every::Part(_) if streams => refuse(
                "the length of a stream is not known, so no part of it either; give a time or bytes",
            ),
            _ if self.in_order && !ranged => fault(
                "in_order",
                "shows in the order of the input are of files that can be read at any offset; \
                 leave the order, or decompress or save the input first",
            ),
            _ if self.in_order && is_incremental => fault(
                "in_order",
                "a run that finds the tiles of another one begins with tiles from anywhere, so its shows cannot \
                 be in the order of the input; leave the order, or the tiles",
            ),
            _ => Ok(()),
        }
    }
}
