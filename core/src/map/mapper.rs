//! The mapper of a worker: the job's map and the container that takes its pairs. The job's type ends here:
//! the map stage holds mappers as trait objects, one call for each split, so it is compiled once for all jobs
//! with the same aggregate.

use crate::aggregate::Aggregate;
use crate::bad::BadRecords;
use crate::container::{HandedOver, Inlet, Making, OVERREAD_BYTES};
use crate::device::ARGUMENTS;
use crate::error::{MemoryError, Result};
use crate::failure::guard;
use crate::job::Job;
use crate::memory::InputBuffer;
use crate::origin::{Origin, OriginKind};
use crate::partial::{Partial, Upkeep};
use crate::slots::PairRef;
use crate::split::Split;
use crate::tokenize::fold_ascii;
use std::ops::Range;
use std::path::Path;
use std::ptr::NonNull;

/// Records of one file that lie in a buffer.
pub(crate) struct FileRecords<'a> {
    pub(super) records: Range<usize>,
    pub(super) origin: Origin<'a>,
    /// Where they begin in the file.
    pub(super) offset: u64,
    pub(super) file: u32,
}

/// A worker's map and container, of a job that is not named.
pub(crate) trait Mapper<'p, C: Aggregate>: Send {
    /// Maps the records of a part of `buffer`, which belong to split `number`, and takes all of their
    /// pairs in.
    fn map(
        &mut self,
        buffer: &mut InputBuffer,
        part: FileRecords<'_>,
        number: u32,
        bad: &BadRecords,
    ) -> Result<()>;

    /// Emits the pairs of a partial that a device made.
    fn unload(&mut self, partial: &[u64], bad: &BadRecords) -> Result<()>;

    /// Returns the numbers with which a device is sent the records of a split; `None` if only the map can do
    /// them.
    fn launch(&self, split: &Split<'_>) -> Option<[u64; ARGUMENTS]>;

    /// As [`Inlet::end_piece`].
    fn end_piece(&mut self) -> Result<(), MemoryError>;

    /// As [`Inlet::hand_over`].
    fn hand_over(&mut self) -> Result<(), MemoryError>;

    /// As [`Inlet::redirect`].
    fn redirect(&mut self, partial: &'p Partial<C::Accumulator>);

    /// As [`Inlet::upkeep`].
    fn upkeep(&mut self) -> &mut Upkeep<C>;

    /// As [`Inlet::emitted`].
    fn emitted(&self) -> u64;

    /// As [`Inlet::handed_over`].
    fn handed_over(&self) -> HandedOver;

    /// As [`Inlet::held`].
    fn held(&self) -> u64;

    /// As [`Inlet::each`].
    fn each(
        &self,
        wants: &dyn Fn(&C::Accumulator) -> bool,
        see: &mut dyn FnMut(PairRef<'_, C::Accumulator>),
    ) -> bool;

    /// As [`Inlet::get`].
    fn get(&self, key: &[u8]) -> Option<&C::Accumulator>;
}

/// Makes mappers, one for each worker.
pub(crate) trait Mappers<C: Aggregate>: Sync {
    fn mapper<'p>(&'p self, making: &Making<'p, C>) -> Result<Box<dyn Mapper<'p, C> + 'p>>;
}

/// The mappers of a job.
pub(crate) struct JobMappers<'j, J>(pub(crate) &'j J);

impl<J: Job> Mappers<J::Combine> for JobMappers<'_, J> {
    fn mapper<'p>(
        &'p self,
        making: &Making<'p, J::Combine>,
    ) -> Result<Box<dyn Mapper<'p, J::Combine> + 'p>> {
        Ok(Box::new(JobMapper { job: self.0, inlet: Inlet::new(making)? }))
    }
}

struct JobMapper<'p, J: Job> {
    job: &'p J,
    inlet: Inlet<'p, J>,
}

impl<'p, J: Job> Mapper<'p, J::Combine> for JobMapper<'p, J> {
    fn map(
        &mut self,
        buffer: &mut InputBuffer,
        part: FileRecords<'_>,
        number: u32,
        bad: &BadRecords,
    ) -> Result<()> {
        let FileRecords { records, origin, offset, file } = part;
        let (job, inlet) = (self.job, &mut self.inlet);
        if job.folds_ascii() {
            fold_ascii(&mut buffer.bytes_mut()[records.clone()]);
        }
        let bytes = &buffer.bytes()[records.clone()];
        let split = Split::new(bytes, origin, offset, file, bad).numbered(number);
        let mapped = guard(
            || origin.place(None, offset),
            || {
                // SAFETY: the records lie in the buffer, which has OVERREAD_BYTES initialised bytes
                // after its capacity; it stays borrowed, hence unchanged, until the split is finished
                // or abandoned below.
                let mut emit = unsafe {
                    let start = buffer.start().add(records.start);
                    inlet.begin_split(start, bytes.len(), number)
                };
                job.map(split, &mut emit)?;
                drop(emit);
                inlet.finish_split(&split)
            },
        );
        mapped.inspect_err(|_| self.inlet.abandon_split())
    }

    fn unload(&mut self, partial: &[u64], bad: &BadRecords) -> Result<()> {
        static NOTHING: [u8; OVERREAD_BYTES] = [0; OVERREAD_BYTES];
        let (job, inlet) = (self.job, &mut self.inlet);
        let kind = OriginKind::Stream { name: Path::new("a device's partial"), newlines: None };
        let origin = Origin { part: 0, kind };
        let split = Split::new(&NOTHING[..0], origin, 0, 0, bad);
        let unloaded = guard(
            || origin.place(None, 0),
            || {
                // SAFETY: the split is empty, and OVERREAD_BYTES initialised bytes follow it that nobody ever
                // writes to; emitted keys live as long as they do, or are copied.
                let mut emit = unsafe { inlet.begin_split(NonNull::from(&NOTHING).cast(), 0, 0) };
                if let Some(device) = job.device() {
                    device.unload(partial, &mut emit)?;
                }
                drop(emit);
                inlet.finish_split(&split)
            },
        );
        unloaded.inspect_err(|_| self.inlet.abandon_split())
    }

    fn launch(&self, split: &Split<'_>) -> Option<[u64; ARGUMENTS]> {
        self.job.device()?.launch(split)
    }

    fn end_piece(&mut self) -> Result<(), MemoryError> {
        self.inlet.end_piece()
    }

    fn hand_over(&mut self) -> Result<(), MemoryError> {
        self.inlet.hand_over()
    }

    fn redirect(&mut self, partial: &'p Partial<<J::Combine as Aggregate>::Accumulator>) {
        self.inlet.redirect(partial);
    }

    fn upkeep(&mut self) -> &mut Upkeep<J::Combine> {
        self.inlet.upkeep()
    }

    fn emitted(&self) -> u64 {
        self.inlet.emitted()
    }

    fn handed_over(&self) -> HandedOver {
        self.inlet.handed_over()
    }

    fn held(&self) -> u64 {
        self.inlet.held()
    }

    fn each(
        &self,
        wants: &dyn Fn(&<J::Combine as Aggregate>::Accumulator) -> bool,
        see: &mut dyn FnMut(PairRef<'_, <J::Combine as Aggregate>::Accumulator>),
    ) -> bool {
        self.inlet.each(wants, see)
    }

    fn get(&self, key: &[u8]) -> Option<&<J::Combine as Aggregate>::Accumulator> {
        self.inlet.get(key)
    }
}
