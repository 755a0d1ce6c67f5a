//! The part that devices have in a run, and the map stage of a job that they do alone, because it has no map or the
//! cores are left out. Input that devices cannot take is refused before the run touches anything, also its state, and
//! work that they leave undone fails the run.

use super::devices::Crew;
use crate::aggregate::Aggregate;
use crate::device::{Accelerator, Alone, DeviceError, DeviceFigures, Offload};
use crate::error::{Error, InputError, Result};
use crate::facts::JobFacts;
use crate::plan::{Part, Plan};
use std::sync::Arc;

/// The choices of a run that decide about its devices.
#[derive(Clone, Copy)]
pub(crate) struct DeviceTerms<'r> {
    /// The devices that work beside the cores.
    pub(crate) devices: &'r [Arc<Accelerator>],
    /// Set if the cores do nothing.
    pub(crate) alone: Option<Alone>,
    /// Whether a worker begins the next tile while others are at the last one.
    pub(crate) overlaps: bool,
    /// Whether tiles are handed out in the order of the input.
    pub(crate) in_order: bool,
    /// Whether each tile is one worker's alone.
    pub(crate) tiles_apart: bool,
}

impl DeviceTerms<'_> {
    /// Returns the kernel for the job's input, or the reason why devices do nothing.
    pub(super) fn offload<'f>(&self, facts: &'f JobFacts) -> Result<&'f Offload, &'static str> {
        if self.devices.is_empty() {
            Err("there are none")
        } else if self.tiles_apart {
            Err("tiles that are found again are mapped by the cores alone")
        } else if !self.overlaps {
            Err("runs without a pipeline use the cores alone")
        } else if self.in_order {
            Err("shows in the order of the input need the cores to map all of it")
        } else {
            facts.offload.as_ref().ok_or("the job has no kernel for devices")
        }
    }

    /// Refuses a job and input that devices cannot take, if only they may do it.
    pub(crate) fn check(&self, facts: &JobFacts, plan: &Plan) -> Result<()> {
        if self.alone.is_none() {
            return Ok(());
        }
        let why_not = match self.devices {
            [] => Some("none is given, and the cores are left out"),
            _ => self.offload(facts).err(),
        };
        if let Some(why_not) = why_not {
            let cause = format!("only devices may do this job: {why_not}");
            return Err(Error::Option { option: "devices", cause });
        }
        let refused = plan.parts.iter().find_map(|part| match part {
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
}

impl<C: Aggregate> Crew<'_, '_, C> {
    /// Returns the counts of devices that did a part of the input alone; an error if the part is not
    /// complete.
    pub(super) fn figures_of_all(self) -> Result<Vec<DeviceFigures>> {
        let is_done = self.has_done_all();
        let figures = self.figures();
        if is_done {
            return Ok(figures);
        }
        let faults = figures.iter().map(|device| {
            device.fault.clone().unwrap_or_else(|| format!("{}: nothing", device.name))
        });
        let faults = faults.collect::<Vec<_>>().join("; ");
        Err(DeviceError::Alone { faults }.into())
    }
}
