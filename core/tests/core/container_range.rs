//! Ranges of integer keys.

use tegula_core::container::KeyRange;

#[test]
fn places_count_from_the_first_key_and_end_at_the_last() {
    let range = KeyRange::new(10, 12).unwrap();
    let places: Vec<_> = (9..14).map(|number| range.place_of(number)).collect();
    assert_eq!(places, [None, Some(0), Some(1), Some(2), None]);
    assert_eq!(range.keys(), Some(3));
    assert_eq!(KeyRange::new(2, 1), None);
    assert_eq!(KeyRange::ALL.keys(), None);
    assert_eq!(KeyRange::ALL.place_of(u64::MAX), Some(u64::MAX));
}
