//! The map stage of a job that devices do alone, for it has no map or the cores are to be left out: what they
//! cannot be given is refused before anything begins, and what they leave undone fails the run.

use super::assignment::Assignment;
use super::devices::Crew;
use super::worker::Worker;
use super::{Before, MapStage, Reading, hand_out};
use crate::aggregate::Aggregate;
use crate::device::DeviceError;
use crate::error::{Error, InputError, Result};
use crate::ingest::Feed;
use crate::plan::{Part, Ranged};
use crate::schedule::PerWorker;
use crate::stats::add_figures;

impl<'r, C: Aggregate> MapStage<'r, C> {
    /// Refuses what devices cannot be given, if only they can do the job.
    pub(super) fn check_alone(&self) -> Result<()> {
        if self.alone.is_none() {
            return Ok(());
        }
        let why_not = match self.devices {
            [] => Some("none is given, and the cores are left out"),
            _ => self.offload().err(),
        };
        if let Some(why_not) = why_not {
            let cause = format!("only devices may do this job: {why_not}");
            return Err(Error::Option { option: "devices", cause });
        }
        let refused = self.plan.parts.iter().find_map(|part| match part {
            Part::Ranged(_) => None,
            Part::Packed(packed) => Some((
                packed.origin(0, None).place(None, 0).source,
                "compressed files and those in framed records",
                "decompress them, or read them as they are",
            )),
            Part::Stream(stream) => {
                Some((stream.name.clone(), "pipes and standard input", "give a file"))
            }
        });
        match refused {
            None => Ok(()),
            Some((path, kind, advice)) => Err(InputError::CoresOnly { path, kind, advice }.into()),
        }
    }

    /// Has the devices do a part of the input.
    pub(super) fn map_alone(
        &'r self,
        ranged: &Ranged,
        before: Before,
        workers: &PerWorker<Worker<'r, C>>,
        reading: &mut Reading,
    ) -> Result<()> {
        let ends: Vec<u64> = ranged.layout.tile_ends().collect();
        let assignment = Assignment::of(self, ranged);
        let done = self.covered(ranged).unwrap_or(&assignment.held);
        let hand_out = hand_out(&ends, 0, done, self.placement);
        let (blocks, count) = (self.chunks.blocks(), self.pool.workers());
        let feed = Feed::new(ranged, &self.plan.cut, hand_out, 0, &reading.units, blocks, count);
        let crew = Crew::of(self, ranged, &feed, &reading.units, before, assignment);
        crew.beside(workers, || ());
        let is_done = crew.has_done_all();
        let figures = crew.figures();
        self.failure.check()?;
        if !is_done {
            let faults = figures.iter().map(|device| {
                device.fault.clone().unwrap_or_else(|| format!("{}: nothing", device.name))
            });
            let faults = faults.collect::<Vec<_>>().join("; ");
            return Err(DeviceError::Alone { faults }.into());
        }
        add_figures(&mut reading.spread.devices, &figures);
        Ok(())
    }
}
