//! Covered ranges are the set of what was added, also from their bytes.

use proptest::prelude::*;
use tegula_core::coverage::{Coverage, Ranges};
use tegula_machine::encoding::Reading;

proptest! {
    #[test]
    fn ranges_are_the_set_of_what_was_added(
        added in prop::collection::vec((0u64..300, 0u64..40), 0..40),
        asked in (0u64..300, 1u64..100),
    ) {
        let mut ranges = Ranges::default();
        let mut set = [false; 400];
        for (start, len) in added {
            let range = start..start + len;
            let was_there = range.clone().any(|number| set[number as usize]);
            prop_assert_eq!(ranges.add(range.clone()), was_there);
            range.for_each(|number| set[number as usize] = true);
        }
        let held: Vec<u64> = ranges.iter().flatten().collect();
        let expected: Vec<u64> = (0..400).filter(|&number| set[number as usize]).collect();
        prop_assert_eq!(held, expected);
        let list: Vec<_> = ranges.iter().collect();
        prop_assert!(list.windows(2).all(|pair| pair[0].end < pair[1].start));
        let asked = asked.0..asked.0 + asked.1;
        let gaps: Vec<u64> = ranges.gaps(asked.clone()).flatten().collect();
        let free = asked.clone().filter(|&number| !set[number as usize]);
        prop_assert_eq!(gaps, free.collect::<Vec<_>>());
        let first = asked.clone().find(|&number| !set[number as usize]);
        let gap = first.map(|first| {
            first..(first..asked.end).find(|&number| set[number as usize]).unwrap_or(asked.end)
        });
        prop_assert_eq!(ranges.first_gap(asked), gap);
        let mut coverage = Coverage::default();
        ranges.iter().for_each(|range| assert!(!coverage.add(1, 7, range)));
        let mut bytes = Vec::new();
        coverage.encode(&mut bytes);
        let mut reading = Reading::new(&bytes);
        prop_assert_eq!(Coverage::decode(&mut reading), Some(coverage.clone()));
        prop_assert!(reading.is_at_end());
        prop_assert_eq!(coverage.clone().add_all(&coverage), !coverage.is_empty());
    }
}
