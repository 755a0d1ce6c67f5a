//! The room of a session: how a budget of device memory is divided. Takes the budget and what the job
//! needs; hands on how many slots of which size there are.

use super::{Caps, DeviceError, Piece, Shape};

/// What a session takes of its device's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// Units that can be in flight or be filled at once.
    pub slots: usize,
    /// Bytes of each, a multiple of [`Piece::ALIGNMENT`].
    pub slot_bytes: usize,
    /// The partial.
    pub partial: Shape,
    /// Words that every launch sees.
    pub broadcast_words: usize,
    /// Bytes of units that may stay ([`Session::submit_and_keep`](super::Session::submit_and_keep)).
    pub resident_bytes: u64,
}

/// Slots, and how many of the smallest units each must have room for. A unit is filled, copied or mapped
/// while others are: three stages that overlap, and one slot more, so that the longest of them never
/// waits. Where memory is small, larger units are worth more than that, and two still overlap.
const SLOTS: [(usize, u64); 3] = [(4, 8), (3, 4), (SLOTS_LEAST, 1)];
const SLOTS_LEAST: usize = 2;
/// The part of the budget that a table may take.
const TABLE_PART: u64 = 4;

impl Room {
    /// The room within `budget_bytes` of a device for units of `unit_least` to `unit_most` bytes.
    ///
    /// # Errors
    /// [`DeviceError::TooSmall`] if two of the smallest units and the partial do not fit.
    pub fn within(
        caps: &Caps,
        budget_bytes: u64,
        (unit_least, unit_most): (u64, u64),
        partial: Shape,
        broadcast_words: usize,
    ) -> Result<Room, DeviceError> {
        let budget = budget_bytes.min(caps.memory_bytes);
        // What is no multiple would never have room in slots, which are.
        let unit_most = unit_most.next_multiple_of(Piece::ALIGNMENT as u64);
        let unit_least = unit_least.next_multiple_of(Piece::ALIGNMENT as u64);
        let partial = match partial {
            Shape::Table(words) => Shape::Table(words.min((budget / TABLE_PART / 8) as usize)),
            Shape::Dense(_) => partial,
        };
        let beside = 8 * (partial.words() + broadcast_words) as u64;
        let slot = |slots: usize| {
            let share = budget.saturating_sub(beside) / slots as u64;
            let bytes = share.min(caps.allocation_bytes).min(unit_most);
            bytes / Piece::ALIGNMENT as u64 * Piece::ALIGNMENT as u64
        };
        let wanted = |units: u64| unit_most.min(units * unit_least);
        let fitting = SLOTS.into_iter().find(|&(slots, units)| slot(slots) >= wanted(units));
        let Some((slots, _)) = fitting else {
            let least = SLOTS_LEAST as u64 * unit_least + beside;
            return Err(DeviceError::TooSmall {
                device: caps.name.clone(),
                memory_bytes: budget,
                least_bytes: least,
            });
        };
        let slot_bytes = slot(slots) as usize;
        Ok(Room { slots, slot_bytes, partial, broadcast_words, resident_bytes: 0 })
    }

    /// As much room beside it for units that stay as a budget has left.
    #[must_use]
    pub(super) fn with_residents(self, budget_bytes: u64) -> Room {
        Room { resident_bytes: budget_bytes.saturating_sub(self.passing_bytes()), ..self }
    }

    /// Panics unless a unit of so many bytes has room in a slot, and its pieces lie inside of it.
    pub(super) fn check(&self, bytes: usize, pieces: &[Piece]) {
        let inside = |piece: &Piece| piece.start + piece.bytes <= bytes;
        assert!(bytes <= self.slot_bytes && pieces.iter().all(inside), "pieces in their slot");
    }

    /// What it comes to, in bytes.
    pub fn bytes(&self) -> u64 {
        self.passing_bytes() + self.resident_bytes
    }

    /// What it takes of the host's memory, at most: where that is the device's too, all.
    pub fn host_bytes(&self, caps: &Caps) -> u64 {
        if caps.is_processor { self.bytes() } else { self.passing_bytes() }
    }

    /// All but the units that stay.
    fn passing_bytes(&self) -> u64 {
        let words = self.partial.words() + self.broadcast_words;
        (self.slots * self.slot_bytes + 8 * words) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::super::Device;
    use super::super::{Emulated, Model};
    use super::*;

    #[test]
    fn a_room_keeps_to_its_budget_and_has_fewer_slots_where_that_is_small() {
        let device = Emulated::new(Model { memory_bytes: 256 << 10, ..Model::default() });
        let caps = device.caps();
        let least = 64 << 10;
        for (budget, slots) in [(1 << 30, 2), (256 << 10, 2), (150 << 10, 2)] {
            let room = Room::within(caps, budget, (least, 1 << 30), Shape::Dense(768), 0).unwrap();
            assert!(room.bytes() <= budget.min(256 << 10), "{room:?} in {budget}");
            assert!(room.slots == slots && room.slot_bytes as u64 >= least, "{room:?}");
        }
        // Odd sizes of units have room where these are all that is asked for.
        let room = Room::within(caps, 256 << 10, (1001, 1001), Shape::Dense(1), 0).unwrap();
        assert_eq!((room.slots, room.slot_bytes), (4, 1024));
        let room = Room::within(caps, 150 << 10, (least, 1 << 30), Shape::Dense(768), 0).unwrap();
        let with_residents = room.with_residents(200 << 10);
        assert_eq!(with_residents.bytes(), 200 << 10);
        assert_eq!(with_residents.host_bytes(caps), 200 << 10);
        let card = Caps { is_processor: false, ..caps.clone() };
        assert_eq!(with_residents.host_bytes(&card), room.bytes());
        let table = Shape::Table(1 << 20);
        let room = Room::within(caps, 240 << 10, (least, 1 << 30), table, 0).unwrap();
        assert_eq!(room.partial, Shape::Table((60 << 10) / 8));
        let room = Room::within(caps, 100 << 10, (least, 1 << 30), Shape::Dense(768), 0);
        let told = room.unwrap_err().to_string();
        assert!(told.contains("137216") && told.contains("102400"), "{told}");
    }
}
