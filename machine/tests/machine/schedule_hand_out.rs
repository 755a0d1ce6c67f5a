//! Splits are handed out whole, once and to the right groups, in any order of requests.

use proptest::prelude::*;
use std::ops::Range;
use tegula_machine::schedule::{GroupShare, HandOut, Placement};
use tegula_machine::topology::{Group, Node, Topology};

/// Returns a machine whose group i has `groups[i]` processors.
fn machine(groups: &[usize]) -> Topology {
    let mut first = 0;
    let groups = groups.iter().enumerate().map(|(number, &count)| {
        let processors: Vec<u32> = (first..first + count as u32).collect();
        first += count as u32;
        Group { node: number as u32, cores: processors.len(), processors, cache_bytes: None }
    });
    let groups = groups.collect();
    let (processors, caches, nodes) = Default::default();
    Topology { processors, caches, nodes, groups, quota: None, unknown: Vec::new() }
}

fn ends(tiles: &[u64]) -> Vec<u64> {
    tiles
        .iter()
        .scan(0, |end, &splits| {
            *end += splits;
            Some(*end)
        })
        .collect()
}

/// Lets workers ask in the order of `asking` until each of them gets nothing; returns their splits.
fn all_taken(
    hand_out: &HandOut<'_>,
    workers: usize,
    most: u64,
    mut asking: impl FnMut(usize) -> usize,
) -> Vec<(usize, Range<u64>)> {
    let mut taken = Vec::new();
    let mut at_work: Vec<usize> = (0..workers).collect();
    while !at_work.is_empty() {
        let at = asking(at_work.len());
        match hand_out.take(at_work[at], most) {
            Some(splits) => taken.push((at_work[at], splits)),
            None => {
                at_work.swap_remove(at);
            }
        }
    }
    taken
}

fn sum(shares: &[GroupShare]) -> GroupShare {
    let mut sum = GroupShare::default();
    shares.iter().for_each(|share| sum.add(share));
    sum
}

proptest! {
    #[test]
    fn each_split_is_given_once_in_every_shape_and_order(
        groups in prop::collection::vec(1usize..9, 1..9),
        workers in 1usize..40,
        tiles in prop::collection::vec(1u64..20, 0..60),
        most in 1u64..12,
        asking in prop::collection::vec(any::<prop::sample::Index>(), 1..200),
    ) {
        let topology = machine(&groups);
        let placement = Placement::new(&topology, workers);
        prop_assert_eq!(placement.workers(), workers);
        prop_assert!(placement.groups() <= groups.len().min(workers));
        let ends = ends(&tiles);
        let hand_out = HandOut::new(ends.iter().copied(), &placement);
        let mut turns = asking.iter().cycle();
        let taken =
            all_taken(&hand_out, workers, most, |count| turns.next().map_or(0, |i| i.index(count)));
        let mut splits = Vec::new();
        for (_, range) in &taken {
            prop_assert!(range.start < range.end && range.end - range.start <= most);
            let tile = ends.partition_point(|&end| end <= range.start);
            prop_assert!(range.end <= ends[tile], "of one tile");
            splits.extend(range.clone());
        }
        splits.sort_unstable();
        prop_assert!(splits.into_iter().eq(0..ends.last().copied().unwrap_or(0)));
        let shares = hand_out.shares();
        let sum = sum(&shares);
        prop_assert_eq!((sum.tiles, sum.splits), (tiles.len() as u64, tiles.iter().sum::<u64>()));
        prop_assert!(sum.tiles_stolen <= sum.tiles && sum.splits_remote <= sum.splits);
        prop_assert_eq!(shares.iter().map(|share| share.workers).sum::<usize>(), workers);
        if placement.groups() == 1 {
            prop_assert_eq!((sum.tiles_stolen, sum.splits_remote), (0, 0));
        }
    }

    #[test]
    fn a_device_at_the_other_end_takes_what_no_worker_takes(
        groups in prop::collection::vec(1usize..5, 1..5),
        tiles in prop::collection::vec(1u64..20, 0..40),
        most in (1u64..12, 1u64..50),
        turns in prop::collection::vec(any::<prop::sample::Index>(), 1..200),
    ) {
        let topology = machine(&groups);
        let placement = Placement::new(&topology, groups.iter().sum());
        let all = ends(&tiles);
        let hand_out = HandOut::new(all.iter().copied(), &placement);
        // Worker 0 plays the device, with more turns than any other.
        let (mut taken, mut at_work) = (Vec::new(), vec![true; placement.workers() + 1]);
        for turn in turns.iter().cycle() {
            if at_work.iter().all(|at_work| !at_work) {
                break;
            }
            let who = turn.index(at_work.len() + 2).saturating_sub(2);
            let left = hand_out.left();
            let splits = match who {
                0 => hand_out.take_last(most.1),
                worker => hand_out.take(worker - 1, most.0),
            };
            match splits {
                Some(splits) => {
                    let count = splits.end - splits.start;
                    let most = if who == 0 { most.1 } else { most.0 };
                    prop_assert!(count <= most);
                    prop_assert_eq!(hand_out.left(), left - count);
                    taken.extend(splits);
                }
                // With one thread nothing moves during a search: `None` means that nothing is left.
                None => {
                    prop_assert_eq!(left, 0);
                    at_work.fill(false);
                }
            }
        }
        taken.sort_unstable();
        prop_assert!(taken.into_iter().eq(0..hand_out.splits()));
    }

    #[test]
    fn workers_are_spread_in_proportion(
        groups in prop::collection::vec(1usize..30, 1..20), workers in 1usize..200,
    ) {
        let topology = machine(&groups);
        let placement = Placement::new(&topology, workers);
        let processors: usize = groups.iter().sum();
        let mut next = 0;
        for group in 0..placement.groups() {
            let own = placement.workers_of(group);
            prop_assert!(own.start == next && own.clone().all(|w| placement.group_of(w) == group));
            next = own.end;
            let fair = workers as f64 * groups[placement.number_of(group)] as f64 / processors as f64;
            prop_assert!((own.len() as f64 - fair).abs() < 1.0);
            let mut others = placement.others(group).to_vec();
            others.push(group);
            others.sort_unstable();
            prop_assert!(others.into_iter().eq(0..placement.groups()));
        }
        prop_assert_eq!(next, workers);
        for group in 0..placement.groups() {
            let all = &topology.groups[placement.number_of(group)].processors;
            let own = placement.workers_of(group);
            let mut bound: Vec<u32> =
                own.clone().flat_map(|worker| placement.processors_of(&topology, worker)).collect();
            bound.sort_unstable();
            if own.len() == all.len() {
                prop_assert_eq!(&bound, all, "a processor for each worker");
            } else {
                prop_assert_eq!(bound.len(), own.len() * all.len(), "all processors for each worker");
            }
        }
    }
}

#[test]
fn threads_take_each_split_once() {
    let placement = Placement::new(&machine(&[2, 1, 1]), 4);
    let ends: Vec<u64> = (1..=300).map(|tile| tile * 7).collect();
    for _ in 0..20 {
        let hand_out = HandOut::new(ends.iter().copied(), &placement);
        let take_all = |worker| {
            std::iter::from_fn(|| hand_out.take(worker, 3)).flatten().collect::<Vec<u64>>()
        };
        let mut taken: Vec<u64> = std::thread::scope(|scope| {
            let threads: Vec<_> =
                (0..4).map(|worker| scope.spawn(move || take_all(worker))).collect();
            threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
        });
        taken.sort_unstable();
        assert!(taken.into_iter().eq(0..2100));
    }
}

#[test]
fn a_group_works_on_its_own_tiles_then_steals_the_last_of_its_neighbour_whole() {
    let placement = Placement::new(&machine(&[1, 1]), 2);
    let hand_out = HandOut::new([4, 8, 12, 16].into_iter(), &placement);
    let starts = |worker, count: usize| -> Vec<u64> {
        (0..count).map(|_| hand_out.take(worker, 1).unwrap().start).collect()
    };
    assert_eq!(starts(1, 8), [8, 9, 10, 11, 12, 13, 14, 15]);
    assert_eq!(starts(0, 1), [0]);
    // Tile 1 whole, although the neighbour takes the rest of tile 0 meanwhile.
    assert_eq!(starts(1, 1), [4]);
    assert_eq!(starts(0, 3), [1, 2, 3]);
    // Only the rest of that tile is left, which both share split by split.
    assert_eq!((starts(0, 1), starts(1, 1), starts(0, 1)), (vec![5], vec![6], vec![7]));
    assert_eq!((hand_out.take(0, 1), hand_out.take(1, 1)), (None, None));
    let share = |tiles, tiles_stolen, splits, splits_remote| GroupShare {
        workers: 1,
        tiles,
        tiles_stolen,
        splits,
        splits_remote,
    };
    assert_eq!(hand_out.shares(), [share(2, 0, 6, 0), share(2, 1, 10, 2)]);
}

#[test]
fn pieces_become_smaller_towards_the_end() {
    let placement = Placement::flat(2);
    let hand_out = HandOut::new(std::iter::once(64), &placement);
    let mut sizes = Vec::new();
    while let Some(splits) = hand_out.take(sizes.len() % 2, 8) {
        sizes.push(splits.end - splits.start);
    }
    assert!(sizes.is_sorted_by(|a, b| a >= b), "{sizes:?}");
    assert_eq!((sizes[0], sizes[sizes.len() - 1]), (8, 1));
}

#[test]
fn near_groups_are_asked_first() {
    let mut topology = machine(&[1, 1, 1, 1]);
    let node = |id, distances| Node { id, bytes: 0, processors: Vec::new(), distances };
    topology.nodes = vec![
        node(0, vec![10, 30, 16, 30]),
        node(1, vec![30, 10, 30, 16]),
        node(2, vec![16, 30, 10, 30]),
        node(3, vec![30, 16, 30, 10]),
    ];
    let placement = Placement::new(&topology, 4);
    assert_eq!(placement.others(0), [2, 1, 3]);
    assert_eq!(placement.others(3), [1, 0, 2]);
}
