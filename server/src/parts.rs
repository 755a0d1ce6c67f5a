//! The division of the machine's cores among jobs: a pure function, so that it can be tested and simulated for any
//! machine. Takes what each job wants and what it has; hands on the cores of each.
//!
//! How many: as fair as `least` and `most` allow, in proportion to weights (max-min fairness), and no core is left idle
//! that some job may use. Which: a job keeps the cores that it has as far as it may, those of its largest groups first;
//! then whole groups, because workers of one group share a cache and a queue of tiles; then a part of a group.

use std::cmp::Reverse;
use std::ops::Range;

/// The most jobs that run at once, unless somebody says otherwise.
const AT_ONCE_MOST: usize = 32;

/// What a job wants.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Demand {
    /// Its part beside that of others, more than 0.
    pub weight: f64,
    /// The cores without which it cannot be.
    pub least: usize,
    /// The cores that it can use, at least `least`.
    pub most: usize,
}

/// Numbers of cores, ascending. A core is a worker of each job's engine.
pub type Cores = Vec<usize>;

/// Divides the cores of a machine, whose groups are `groups`, among jobs, which have the cores in `before` so far (none
/// if they are new). Where there are too few cores for all `least`, later jobs get fewer. Costs the product of groups
/// and jobs, and the sort of each.
pub fn divide(demands: &[Demand], groups: &[Range<usize>], before: &[Cores]) -> Vec<Cores> {
    let all = groups.iter().map(Range::len).sum();
    let counts = counts(demands, all);
    let group_of = |core: usize| groups.iter().position(|group| group.contains(&core));
    let mut parts: Vec<Cores> = vec![Vec::new(); demands.len()];
    let mut free: Vec<Cores> = groups.iter().map(|group| group.clone().collect()).collect();
    for (number, part) in parts.iter_mut().enumerate() {
        let mut had: Vec<Cores> = vec![Vec::new(); groups.len()];
        for &core in before.get(number).map_or(&[][..], Vec::as_slice) {
            if let Some(group) = group_of(core).filter(|&group| free[group].contains(&core)) {
                had[group].push(core);
            }
        }
        had.sort_by_key(|cores| Reverse(cores.len()));
        part.extend(had.into_iter().flatten().take(counts[number]));
        for group in &mut free {
            group.retain(|core| !part.contains(core));
        }
    }
    let mut needy: Vec<usize> = (0..demands.len()).collect();
    needy.sort_by_key(|&number| Reverse(counts[number] - parts[number].len()));
    for number in needy {
        while parts[number].len() < counts[number] {
            let wanted = counts[number] - parts[number].len();
            let Some(group) = best_group(&free, groups, &parts[number], wanted) else { break };
            let taken = wanted.min(free[group].len());
            parts[number].extend(free[group].drain(..taken));
        }
    }
    parts.iter_mut().for_each(|part| part.sort_unstable());
    parts
}

/// Returns the group that a job gets its next cores of: a whole one that it needs all of, the one where it has most, the
/// smallest rest that is enough, or the largest rest.
fn best_group(
    free: &[Cores],
    groups: &[Range<usize>],
    part: &[usize],
    wanted: usize,
) -> Option<usize> {
    let rank = |&group: &usize| {
        let rest = free[group].len();
        let is_whole = rest == groups[group].len() && rest <= wanted;
        let own = part.iter().filter(|core| groups[group].contains(core)).count();
        let fits =
            if rest >= wanted { (1, Reverse(rest)) } else { (0, Reverse(usize::MAX - rest)) };
        (is_whole, own, fits, Reverse(group))
    };
    (0..groups.len()).filter(|&group| !free[group].is_empty()).max_by_key(rank)
}

/// Returns how many of `all` cores each job gets.
fn counts(demands: &[Demand], all: usize) -> Vec<usize> {
    let mut left = all;
    let bounds: Vec<(usize, usize)> = demands
        .iter()
        .map(|demand| {
            let least = demand.least.min(left);
            left -= least;
            (least, demand.most.min(all).max(least))
        })
        .collect();
    let most: usize = bounds.iter().map(|(_, most)| most).sum();
    let total = all.min(most);
    // The level to which all are filled, in cores by weight, found by halving.
    let share = |level: f64, number: usize| {
        let (least, most) = bounds[number];
        (level * demands[number].weight).clamp(least as f64, most as f64)
    };
    let filled = |level: f64| (0..demands.len()).map(|number| share(level, number)).sum::<f64>();
    let (mut low, mut high) = (0.0, 1.0);
    while filled(high) < total as f64 && high < 1e12 {
        high *= 2.0;
    }
    for _ in 0..100 {
        let middle = f64::midpoint(low, high);
        if filled(middle) < total as f64 { low = middle } else { high = middle }
    }
    let shares: Vec<f64> = (0..demands.len()).map(|number| share(high, number)).collect();
    // A share that is whole but for rounding is whole.
    let mut counts: Vec<usize> =
        shares.iter().map(|share| (share + 1e-6).floor() as usize).collect();
    let mut by_rest: Vec<usize> = (0..demands.len()).collect();
    let rest = |number: usize| shares[number] - counts[number] as f64;
    by_rest.sort_by(|&a, &b| rest(b).total_cmp(&rest(a)).then(a.cmp(&b)));
    let mut missing = total.saturating_sub(counts.iter().sum());
    for &number in by_rest.iter().cycle().take(2 * by_rest.len()) {
        if missing > 0 && counts[number] < bounds[number].1 {
            counts[number] += 1;
            missing -= 1;
        }
    }
    counts
}

/// Returns how many jobs run at once unless somebody says otherwise: three eighths of the cores. More gain
/// little (docs/serve.md), and each has a thread a core and its part of the memory.
pub fn usual_at_once(cores: usize) -> usize {
    (3 * cores / 8).clamp(2, AT_ONCE_MOST).min(cores)
}

/// Formats cores as `0-3,8`.
pub(crate) fn text(cores: &[usize]) -> String {
    let mut ranges: Vec<Range<usize>> = Vec::new();
    for &core in cores {
        match ranges.last_mut() {
            Some(last) if last.end == core => last.end += 1,
            _ => ranges.push(core..core + 1),
        }
    }
    let one = |range: &Range<usize>| match range.len() {
        1 => range.start.to_string(),
        _ => format!("{}-{}", range.start, range.end - 1),
    };
    ranges.iter().map(one).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const fn demand(weight: f64, least: usize, most: usize) -> Demand {
        Demand { weight, least, most }
    }

    fn groups_of(lengths: &[usize]) -> Vec<Range<usize>> {
        let mut start = 0;
        let group = |length: &usize| {
            start += length;
            start - length..start
        };
        lengths.iter().map(group).collect()
    }

    #[test]
    fn cases() {
        let whole = demand(1.0, 1, usize::MAX >> 1);
        // Demands, groups, before; the cores of each.
        type Case<'c> = (&'c [Demand], &'c [usize], &'c [&'c str], &'c [&'c str]);
        let cases: &[Case<'_>] = &[
            (&[], &[4], &[], &[]),
            (&[whole], &[4, 4], &[], &["0-7"]),
            (&[whole, whole], &[4, 4], &[], &["0-3", "4-7"]),
            (&[whole, whole], &[4, 4], &["0-7"], &["0-3", "4-7"]),
            (&[whole, whole], &[4, 4], &["", "0-7"], &["4-7", "0-3"]),
            (&[demand(3.0, 1, 8), whole], &[4, 4], &[], &["0-5", "6-7"]),
            (&[demand(1.0, 1, 1), whole], &[4], &[], &["3", "0-2"]),
            (&[whole, whole, whole], &[2], &[], &["0", "1", ""]),
            (&[demand(1.0, 3, 8), demand(9.0, 1, 8)], &[4], &[], &["0-2", "3"]),
        ];
        for (demands, lengths, before, expected) in cases {
            let before: Vec<Cores> = before.iter().map(|cores| parse(cores)).collect();
            let parts = divide(demands, &groups_of(lengths), &before);
            let parts: Vec<String> = parts.iter().map(|part| text(part)).collect();
            assert_eq!(parts, *expected, "{demands:?} {lengths:?} {before:?}");
        }
    }

    fn parse(cores: &str) -> Cores {
        let parts = cores.split(',').filter(|part| !part.is_empty());
        let range = |part: &str| {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            first.parse::<usize>().unwrap()..=last.parse::<usize>().unwrap()
        };
        parts.flat_map(range).collect()
    }

    fn any_demand() -> impl Strategy<Value = Demand> {
        (1..9_u32, 1..4_usize, 0..40_usize)
            .prop_map(|(weight, least, more)| demand(f64::from(weight), least, least + more))
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn parts_are_apart_within_bounds_whole_and_stable(
            first in proptest::collection::vec(any_demand(), 0..9),
            second in proptest::collection::vec(any_demand(), 0..9),
            lengths in proptest::collection::vec(1..9_usize, 1..9),
        ) {
            let groups = groups_of(&lengths);
            let all: usize = lengths.iter().sum();
            let before = divide(&first, &groups, &[]);
            for (demands, before) in [(&first, &Vec::new()), (&second, &before)] {
                let parts = divide(demands, &groups, before);
                let mut seen: Vec<usize> = parts.concat();
                seen.sort_unstable();
                let given = seen.len();
                seen.dedup();
                prop_assert_eq!(given, seen.len(), "a core is of one job");
                prop_assert!(seen.iter().all(|&core| core < all));
                let (mut least, mut most) = (0, 0);
                for demand in demands {
                    least += demand.least;
                    most += demand.most;
                }
                prop_assert_eq!(given, all.min(most), "no core is idle that a job can use");
                for (demand, part) in demands.iter().zip(&parts) {
                    prop_assert!(part.len() <= demand.most);
                    prop_assert!(least > all || part.len() >= demand.least);
                    prop_assert!(part.is_sorted());
                }
                prop_assert_eq!(&divide(demands, &groups, &parts), &parts, "nothing moves without a reason");
                for ((part, had), demand) in parts.iter().zip(before).zip(demands) {
                    let kept = part.iter().filter(|core| had.contains(core)).count();
                    prop_assert_eq!(kept, had.len().min(part.len()), "{:?}", demand);
                }
            }
        }
    }
}
