//! What the devices of a run are to do with a part of its input: nothing, and why, or the job's kernel; and
//! which units each of them has already, from a run before over the same bytes.

use super::MapStage;
use crate::aggregate::Aggregate;
use crate::device::Offload;
use crate::input::Material;
use crate::options::Pipeline;
use crate::plan::Ranged;
use crate::show::Epochs;
use crate::state::Ranges;
use std::collections::VecDeque;
use std::ops::Range;

/// What the devices of a run are to do with one part of its input.
pub(super) struct Assignment {
    /// Or why they do nothing.
    pub(super) offload: Result<Offload, &'static str>,
    /// For each device the splits of the units that it has.
    pub(super) queues: Vec<VecDeque<Range<u64>>>,
    /// All of these, which are not to be handed out.
    pub(super) held: Ranges,
}

impl Assignment {
    pub(super) fn of<C: Aggregate>(stage: &MapStage<'_, C>, ranged: &Ranged) -> Assignment {
        let offload = stage.offload();
        let mut assignment = Assignment { offload, queues: Vec::new(), held: Ranges::default() };
        assignment.queues.resize(stage.devices.len(), VecDeque::new());
        let Ok(offload) = &mut assignment.offload else { return assignment };
        // Only of the same bytes a device has anything; where a part of them is done, not all that it has is to do;
        // and where no cores stand by, nobody would take from the queue of a device that is lost.
        offload.residence.take_if(|residence| match &ranged.material {
            Material::Memory(bytes) => {
                stage.alone.is_some() || stage.covered(ranged).is_some() || !residence.is_of(bytes)
            }
            Material::Files(_) | Material::Ranges(..) => true,
        });
        let Some(residence) = &offload.residence else { return assignment };
        residence.begin(ranged.layout.tile_bytes(), ranged.layout.split_bytes());
        for (queue, device) in assignment.queues.iter_mut().zip(stage.devices) {
            queue.extend(residence.held_by(device));
            for splits in queue.iter() {
                assignment.held.add(splits.clone());
            }
        }
        assignment
    }
}

impl<C: Aggregate> MapStage<'_, C> {
    /// What devices are to do with the job's input, or why they do nothing.
    pub(super) fn offload(&self) -> Result<Offload, &'static str> {
        if self.devices.is_empty() {
            Err("there are none")
        } else if self.keeps_tiles_apart() {
            Err("tiles that are found again are mapped by the cores alone")
        } else if self.pipeline == Pipeline::Off {
            Err("runs without a pipeline use the cores alone")
        } else if self.epochs.is_some_and(Epochs::in_order) {
            Err("shows in the order of the input are of what the cores map")
        } else {
            self.facts.offload.clone().ok_or("the job has no kernel for devices")
        }
    }
}
