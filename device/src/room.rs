//! The room of a session: the division of a device's memory. Takes the budget and the job's needs; hands on
//! the number and size of slots.

use super::{Caps, DeviceError, Piece, Shape};

/// The memory that a session takes on its device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// Units that can be in flight or being filled at once.
    pub slots: usize,
    /// Bytes of each, a multiple of [`Piece::ALIGNMENT`].
    pub slot_bytes: usize,
    /// The partial.
    pub partial: Shape,
    /// Words that every launch sees.
    pub broadcast_words: usize,
    /// Bytes for resident units ([`Session::submit_and_keep`](super::Session::submit_and_keep)).
    pub resident_bytes: u64,
}

/// Numbers of slots, each with the number of smallest units that a slot must have room for. A unit is
/// filled, copied or mapped while others are: these three stages overlap, and one more slot keeps the
/// longest of them from waiting. If memory is small, larger units are worth more than that, and two slots
/// still overlap.
const SLOTS: [(usize, u64); 3] = [(4, 8), (3, 4), (SLOTS_LEAST, 1)];
const SLOTS_LEAST: usize = 2;
/// A table may take this fraction of the budget.
const TABLE_PART: u64 = 4;

/// Returns the least multiple of the alignment that is not less, as far as numbers go.
fn aligned(bytes: u64) -> u64 {
    bytes.checked_next_multiple_of(Piece::ALIGNMENT as u64).unwrap_or(u64::MAX)
}

impl Room {
    /// Divides `budget_bytes` of a device for units of `unit_least` to `unit_most` bytes.
    ///
    /// # Errors
    /// Returns [`DeviceError::TooSmall`] if two of the smallest units and the partial do not fit.
    pub fn within(
        caps: &Caps,
        budget_bytes: u64,
        (unit_least, unit_most): (u64, u64),
        partial: Shape,
        broadcast_words: usize,
    ) -> Result<Room, DeviceError> {
        let budget = budget_bytes.min(caps.memory_bytes);
        // Slots are multiples of the alignment, so the largest unit must be one, too.
        let unit_most = aligned(unit_most);
        let unit_least = aligned(unit_least);
        let partial = match partial {
            Shape::Table(words) => Shape::Table(words.min((budget / TABLE_PART / 8) as usize)),
            Shape::Dense(_) => partial,
        };
        let beside = 8_u64.saturating_mul(partial.words().saturating_add(broadcast_words) as u64);
        let slot = |slots: usize| {
            let share = budget.saturating_sub(beside) / slots as u64;
            let bytes = share.min(caps.allocation_bytes).min(unit_most);
            bytes / Piece::ALIGNMENT as u64 * Piece::ALIGNMENT as u64
        };
        let wanted = |units: u64| unit_most.min(units.saturating_mul(unit_least));
        let fitting = SLOTS.into_iter().find(|&(slots, units)| slot(slots) >= wanted(units));
        let Some((slots, _)) = fitting else {
            let least = (SLOTS_LEAST as u64).saturating_mul(unit_least).saturating_add(beside);
            return Err(DeviceError::TooSmall {
                device: caps.name.clone(),
                memory_bytes: budget,
                least_bytes: least,
            });
        };
        let slot_bytes = slot(slots) as usize;
        Ok(Room { slots, slot_bytes, partial, broadcast_words, resident_bytes: 0 })
    }

    /// Adds the rest of a budget as room for resident units.
    #[must_use]
    pub fn with_residents(self, budget_bytes: u64) -> Room {
        Room { resident_bytes: budget_bytes.saturating_sub(self.passing_bytes()), ..self }
    }

    /// Panics unless a unit of `bytes` bytes has room in a slot and its pieces are inside of it.
    pub(super) fn check(&self, bytes: usize, pieces: &[Piece]) {
        let inside = |piece: &Piece| piece.start + piece.bytes <= bytes;
        assert!(bytes <= self.slot_bytes && pieces.iter().all(inside), "pieces in their slot");
    }

    /// Returns its size in bytes.
    pub fn bytes(&self) -> u64 {
        self.passing_bytes() + self.resident_bytes
    }

    /// Returns the most host memory that it takes, in bytes: all of it if the device's memory is the
    /// host's.
    pub fn host_bytes(&self, caps: &Caps) -> u64 {
        if caps.is_processor { self.bytes() } else { self.passing_bytes() }
    }

    /// Returns the bytes without resident units.
    fn passing_bytes(&self) -> u64 {
        let words = self.partial.words() + self.broadcast_words;
        (self.slots * self.slot_bytes + 8 * words) as u64
    }
}
