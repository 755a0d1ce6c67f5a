//! The work of a run's devices on a part of its input: none, with the reason, or the job's kernel; and the
//! units that each of them already has, from an earlier run over the same bytes.

use super::MapStage;
use crate::aggregate::Aggregate;
use crate::coverage::Ranges;
use crate::device::Offload;
use crate::input::Material;
use crate::plan::Ranged;
use std::collections::VecDeque;
use std::ops::Range;

/// The work of a run's devices on one part of its input.
pub(super) struct Assignment {
    /// Or the reason why they do nothing.
    pub(super) offload: Result<Offload, &'static str>,
    /// For each device the splits of the units that it has.
    pub(super) queues: Vec<VecDeque<Range<u64>>>,
    /// All of these, which are not to be handed out.
    pub(super) held: Ranges,
}

impl Assignment {
    pub(super) fn of<C: Aggregate>(stage: &MapStage<'_, C>, ranged: &Ranged) -> Assignment {
        let offload = stage.terms.offload(stage.facts).cloned();
        let mut assignment = Assignment { offload, queues: Vec::new(), held: Ranges::default() };
        assignment.queues.resize(stage.terms.devices.len(), VecDeque::new());
        let Ok(offload) = &mut assignment.offload else { return assignment };
        // Devices have units only of the same bytes. If a part of the bytes is done, or these are some tiles of them, some
        // units are not needed; and without cores, nobody would take from the queue of a lost device.
        offload.residence.take_if(|residence| match &ranged.material {
            Material::Memory(bytes) => {
                let is_part = stage.leased.is_some() || stage.covered(ranged).is_some();
                is_part || stage.terms.alone.is_some() || !residence.is_of(bytes)
            }
            Material::Files(_) | Material::Ranges(..) => true,
        });
        let Some(residence) = &offload.residence else { return assignment };
        residence.begin(ranged.layout.tile_bytes(), ranged.layout.split_bytes());
        for (queue, device) in assignment.queues.iter_mut().zip(stage.terms.devices) {
            queue.extend(residence.held_by(device));
            for splits in queue.iter() {
                assignment.held.add(splits.clone());
            }
        }
        assignment
    }
}
