//! A job to run, with the input and the options of the run.

use crate::parts::Parts;
use tegula::{Engine, Input, Job, Options};

/// A run that is to be made, wherever.
#[derive(Debug)]
pub struct Task<'a, J: Job> {
    /// This machine's engine.
    pub engine: &'a Engine,
    /// The job.
    pub job: &'a J,
    /// Its input.
    pub input: Input,
    /// The options of the run.
    pub options: &'a Options,
    /// Where nodes write the answer, if the driver does not.
    pub parts: Option<Parts<'a, J>>,
}
