//! The facts of a job: plain data that is read from it once, before the run. Only the map and the containers
//! know the job's type; all stages after them take these facts, so they are compiled once for all jobs.

use crate::aggregate::Aggregate;
use crate::container::KeyRange;
use crate::device::{Alone, Offload};
use crate::error::Result;
use crate::identity::Identity;
use crate::input::Cut;
use crate::job::{Job, Offloadable, Resumable, Sees};

/// Data that the stages of a run need to know of its job.
pub(crate) struct JobFacts {
    /// Where the input may be cut.
    pub(crate) cut: Cut,
    /// The keys that the map may emit, if they are integers of a known range.
    pub(crate) key_range: Option<KeyRange>,
    /// The positions of records that the map sees, as far as kept pairs show them.
    pub(crate) sees: Sees,
    /// The job's identity in a state.
    pub(crate) identity: Option<Identity>,
    /// The kernel that can replace the map.
    pub(crate) offload: Option<Offload>,
    /// Whether only devices can do the job.
    pub(crate) alone: Option<Alone>,
    /// Whether a value can be taken out of a total again.
    pub(crate) has_inverse: bool,
    /// Whether the largest value comes first in an order by value.
    pub(crate) is_largest_first: bool,
}

impl JobFacts {
    /// Reads the facts of a job.
    ///
    /// # Errors
    /// [`Error::Option`](crate::error::Error::Option) for a cut or a range of keys that cannot be meant.
    pub(crate) fn of<J: Job>(job: &J) -> Result<JobFacts> {
        let cut = job.cut();
        cut.check()?;
        let (state, device) = (job.state(), job.device());
        Ok(JobFacts {
            cut,
            key_range: KeyRange::of(job)?,
            sees: match state.map_or(Sees::Places, Resumable::sees) {
                Sees::Relocatable if !J::Combine::RELOCATES => Sees::Places,
                sees => sees,
            },
            identity: state.map(Resumable::identity),
            offload: device.map(Offloadable::offload),
            alone: device.and_then(Offloadable::alone),
            has_inverse: J::Combine::INVERSE.is_some(),
            is_largest_first: J::LARGEST_FIRST,
        })
    }
}
