//! A room keeps to its budget.

use tegula_device::{Caps, Device, DeviceError, Emulated, Model, Room, Shape};

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
    // Odd sizes of units fit even if only these are requested.
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

#[test]
fn units_of_any_size_are_refused_with_the_memory_that_they_need() {
    let device = Emulated::new(Model::default());
    for least in [1 << 40, u64::MAX / 8 + 9, u64::MAX / 2, u64::MAX - 62, u64::MAX] {
        for most in [least, u64::MAX] {
            let room = Room::within(device.caps(), 1 << 30, (least, most), Shape::Dense(768), 0);
            let Err(DeviceError::TooSmall { least_bytes, .. }) = room else {
                panic!("{least} bytes fit: {room:?}")
            };
            assert!(least_bytes >= least, "{least_bytes} of {least}");
        }
    }
}
