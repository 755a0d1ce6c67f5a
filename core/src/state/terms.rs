//! The terms of a run: its options on which a state depends. The identity of a state is that of its job, followed by
//! these, so that pairs which other options would make differently are never taken in.

use super::manifest::Manifest;
use super::{Incremental, tiles};
use crate::encoding::Digest;
use crate::identity::Identity;
use crate::plan::Plan;

/// By which an identity names the size of tiles, and how they are known.
const TILE_BYTES: &str = "tile bytes";
const KNOWN: &str = "tiles";
const BY_PLACE: &str = "by place";
/// Fields of a state's identity after those of its job.
const ADDED: usize = 5;

/// Options that are a run's own.
#[derive(Clone, Copy)]
pub(crate) struct Terms {
    /// Whether bad records are counted instead of refused.
    pub(crate) skip_bad: bool,
    /// Whether compressed files are read as they are.
    pub(crate) plain: bool,
    /// Devices that work beside the cores.
    pub(crate) devices: usize,
}

/// Returns a job's identity with the options and facts of the plan that decide the splits.
pub(super) fn identity_of(
    identity: &Identity,
    plan: &Plan,
    terms: Terms,
    incremental: Option<Incremental>,
) -> Identity {
    let known = incremental.map_or_else(|| BY_PLACE.to_owned(), |of| tiles::said(of.hashing));
    let added: [(&str, String); ADDED] = [
        (TILE_BYTES, plan.tile_bytes.to_string()),
        (tiles::SPLIT_BYTES, plan.split_bytes.to_string()),
        ("bad records", if terms.skip_bad { "skipped" } else { "refused" }.to_owned()),
        ("compressed files", if terms.plain { "as they are" } else { "decompressed" }.to_owned()),
        (KNOWN, known),
    ];
    added.into_iter().fold(identity.clone(), |all, (name, value)| all.with(name, value))
}

/// Returns the first difference of a job, run with whatever options, from that of a state.
pub(super) fn difference_of_job(state: &Identity, job: &Identity) -> Option<String> {
    state.difference_of_job(job, ADDED)
}

pub(super) fn digest_of(identity: &Identity) -> u128 {
    let mut bytes = Vec::new();
    identity.encode(&mut bytes);
    Digest::of(&bytes)
}

/// Whether the run of a state knows its tiles by their places.
pub(super) fn is_by_place(found: &Manifest) -> bool {
    found.identity.fields().any(|field| field == (KNOWN, BY_PLACE))
}

/// Whether two states differ only in how tiles are cut and known.
pub(super) fn is_same_job(found: &Manifest, identity: &Identity) -> bool {
    let of = |identity: &Identity| -> Vec<(String, String)> {
        let is_of_job =
            |(name, _): &(&str, &str)| ![TILE_BYTES, tiles::SPLIT_BYTES, KNOWN].contains(name);
        let fields = identity.fields().filter(is_of_job);
        fields.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
    };
    of(&found.identity) == of(identity)
}
