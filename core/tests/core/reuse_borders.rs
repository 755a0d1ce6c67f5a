//! The border of a tile is the least hash that is like no other.

use proptest::prelude::*;
use tegula_core::reuse::least_unlike;

proptest! {
    /// The same as with all of them sorted, with many or few that are alike.
    #[test]
    fn the_least_that_is_like_no_other(hashes in prop::collection::vec(0..60_u64, 0..120), step in 1..9_u64) {
        let mut borders: Vec<_> = (0..).zip(&hashes).map(|(at, hash)| (hash / step, at)).collect();
        let count = |hash| borders.iter().filter(|border| border.0 == hash).count();
        let unlike = borders.iter().filter(|border| count(border.0) == 1).min();
        let expected = unlike.or(borders.iter().min()).map(|border| border.1);
        prop_assert_eq!(least_unlike(&mut borders), expected);
    }
}
