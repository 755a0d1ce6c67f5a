//! Runs of a partition stay few and in order.

use proptest::prelude::*;
use tegula_pairs::partial::{Contents, Run, Tiers};

proptest! {
    /// Whenever runs are joined, and whatever comes meanwhile: none is lost, their order stays,
    /// and there are few.
    #[test]
    fn runs_stay_few_and_in_order(fan_in in 2..6_usize, busy in prop::collection::vec(0..4_usize, 1..200)) {
        let mut tiers = Tiers::default();
        let mut next = 0;
        let mut push = |tiers: &mut Tiers| {
            let mut run = Run::new(0);
            run.add(next..next + 1, Contents { count: 1, held_bytes: 1 });
            next += 1;
            tiers.push(run);
        };
        for mut meanwhile in busy {
            push(&mut tiers);
            while let Some(full) = tiers.take_full(fan_in) {
                for _ in 0..std::mem::take(&mut meanwhile) {
                    push(&mut tiers);
                    prop_assert!(tiers.take_full(fan_in).is_none(), "one joins at a time");
                }
                let mut joined = Run { level: full.runs[0].level + 1, ..Run::new(0) };
                for extent in full.runs.iter().flat_map(|run| &run.extents) {
                    joined.add(extent.clone(), Contents { count: 1, held_bytes: 1 });
                }
                tiers.joined(&full, joined);
            }
        }
        let runs = tiers.runs_mut();
        let levels = next.ilog(fan_in as u64) as usize + 1;
        prop_assert!(runs.len() <= levels * (fan_in - 1) + 3, "{} of {next}", runs.len());
        prop_assert!(runs.is_sorted_by(|older, newer| older.level >= newer.level));
        let extents: Vec<_> = runs.iter().flat_map(|run| run.extents.clone()).collect();
        prop_assert!(extents.windows(2).all(|two| two[0].end == two[1].start));
        prop_assert_eq!((extents[0].start, extents[extents.len() - 1].end), (0, next));
    }
}
