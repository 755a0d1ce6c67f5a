//! The last bytes of a file that are less than a record of a fixed size: they are refused, or skipped and counted as a bad
//! record. Takes lengths of files, known before or after they are read; hands on the bytes of whole records.

use crate::bad::{BadRecord, BadRecords};
use crate::error::InputError;
use crate::input::Cut;
use crate::plan::Plan;
use std::path::PathBuf;

/// What is done with them.
#[derive(Debug, Default)]
pub struct Torn {
    /// `None`: they are refused.
    skipped: Option<BadRecords>,
}

impl Torn {
    pub fn new(skip: bool) -> Torn {
        Torn { skipped: skip.then(|| BadRecords::new(true, false)) }
    }

    pub fn are_skipped(&self) -> bool {
        self.skipped.is_some()
    }

    /// Returns how many of the `length` bytes of a file of a part are whole records.
    ///
    /// # Errors
    /// [`InputError::Ragged`] if that is not all of them, and the rest is not skipped.
    pub fn whole(
        &self,
        cut: &Cut,
        length: u64,
        (part, file): (usize, usize),
        path: impl FnOnce() -> PathBuf,
    ) -> Result<u64, InputError> {
        let whole = cut.whole_bytes(length);
        match (cut, &self.skipped) {
            (&Cut::Fixed(record), None) if whole < length => {
                return Err(InputError::Ragged { path: path(), length, record });
            }
            (Cut::Fixed(record), Some(skipped)) if whole < length => {
                let cause = format!("the file ends after {} of its {record} bytes", length - whole);
                skipped.skip((part, file, whole), cause);
            }
            _ => {}
        }
        Ok(whole)
    }

    /// Returns the number of those that were skipped, and the first of them.
    pub fn finish(&self, plan: &Plan) -> (u64, Vec<BadRecord>) {
        self.skipped.as_ref().map_or((0, Vec::new()), |skipped| plan.bad_records(skipped))
    }
}
