//! The map stage of a job that devices do alone, because it has no map or the cores are left out. Input that
//! devices cannot take is refused before anything begins, and work that they leave undone fails the run.

use super::MapStage;
use super::devices::Crew;
use crate::aggregate::Aggregate;
use crate::device::{DeviceError, DeviceFigures};
use crate::error::{Error, InputError, Result};
use crate::plan::Part;

impl<C: Aggregate> MapStage<'_, C> {
    /// Refuses input that devices cannot take, if only they can do the job.
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
