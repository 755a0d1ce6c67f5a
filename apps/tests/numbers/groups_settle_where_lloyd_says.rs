//! k-means beside Lloyd's rounds in plain loops, with exact sums.

use super::*;
use proptest::prelude::*;
use tegula::Result;
use tegula_apps::kmeans::{Groups, KMeans, Start};
use tegula_apps::matrix::Number;
use tegula_apps::{Matrix, Runs};

fn group(job: KMeans, points: &Matrix, engine: &Engine, options: Options) -> Result<Groups> {
    job.group(&mut Runs::new(engine, options), points)
}

/// Returns one round over whole numbers, whose sums are exact.
fn lloyd(points: &[Vec<f64>], means: &mut [Vec<f64>]) -> Vec<u64> {
    let mut sums = vec![(0, vec![0.0; points[0].len()]); means.len()];
    for point in points {
        let apart =
            |mean: &Vec<f64>| mean.iter().zip(point).map(|(a, b)| (a - b) * (a - b)).sum::<f64>();
        let mut nearest = 0;
        for group in 1..means.len() {
            if apart(&means[group]) < apart(&means[nearest]) {
                nearest = group;
            }
        }
        sums[nearest].0 += 1;
        sums[nearest].1.iter_mut().zip(point).for_each(|(sum, value)| *sum += value);
    }
    for ((count, sum), mean) in sums.iter().zip(means) {
        if *count > 0 {
            *mean = sum.iter().map(|sum| sum / *count as f64).collect();
        }
    }
    sums.into_iter().map(|(count, _)| count).collect()
}

/// The groups of all rounds, from the means that the job itself begins with.
fn check<T: Number>(points: &[Vec<T>], job: KMeans, split: u64) {
    let columns = points[0].len();
    let matrix = Matrix::of(columns, &points.concat());
    let wide: Vec<Vec<f64>> =
        points.iter().map(|point| point.iter().map(|value| value.wide()).collect()).collect();
    let start = KMeans { rounds_most: 0, ..job };
    let mut means = group(start, &matrix, &engines()[0], Options::default()).unwrap().means;
    assert!(means.iter().all(|mean| wide.contains(mean)), "rounds begin at points");
    for rounds in 1..=job.rounds_most {
        let before = means.clone();
        let counts = lloyd(&wide, &mut means);
        let expected = Groups { means: means.clone(), counts, rounds, settled: means == before };
        let found = same(split, |engine, options| {
            group(KMeans { rounds_most: rounds, ..job }, &matrix, engine, options).unwrap()
        });
        assert_eq!(found, expected);
        if expected.settled {
            let found = group(
                KMeans { rounds_most: usize::MAX, ..job },
                &matrix,
                &engines()[1],
                Options::default(),
            );
            assert_eq!(found.unwrap(), expected);
            break;
        }
    }
}

proptest! {
    #![proptest_config(cases(16))]

    #[test]
    fn of_any_points(
        columns in 1usize..6,
        values in prop::collection::vec(-20i8..20, 60..400),
        groups in 1usize..20,
        spread: bool,
        single: bool,
        seed: u64,
        split in 1u64..600,
    ) {
        let start = if spread { Start::Spread } else { Start::Random };
        let groups = groups.min(values.len() / columns);
        let job = KMeans { groups, rounds_most: 4, seed, start };
        let rows = values.chunks_exact(columns);
        if single {
            let points: Vec<Vec<f32>> = rows.map(|r| r.iter().map(|&v| v.into()).collect()).collect();
            check(&points, job, split);
        } else {
            let points: Vec<Vec<f64>> = rows.map(|r| r.iter().map(|&v| v.into()).collect()).collect();
            check(&points, job, split);
        }
    }
}

#[test]
fn groups_without_points_keep_their_mean() {
    let points = vec![vec![1.0], vec![1.0], vec![1.0]];
    for start in [Start::Random, Start::Spread] {
        let job = KMeans { groups: 3, rounds_most: 9, seed: 1, start };
        let found = group(job, &Matrix::of(1, &points.concat()), &engines()[0], Options::default());
        let found = found.unwrap();
        assert_eq!((found.counts, found.rounds, found.settled), (vec![3, 0, 0], 1, true));
        assert_eq!(found.means, points);
    }
}

#[test]
fn seeds_choose_and_chance_is_fair() {
    let points: Vec<f64> = (0..100).map(f64::from).collect();
    let matrix = Matrix::of(1, &points);
    let start = |seed| {
        let job = KMeans { groups: 10, rounds_most: 0, seed, start: Start::Random };
        group(job, &matrix, &engines()[0], Options::default()).unwrap().means
    };
    assert_ne!(start(1), start(2));
    let mut chosen = [0; 100];
    for seed in 0..1000 {
        let mut means: Vec<usize> = start(seed).iter().map(|mean| mean[0] as usize).collect();
        means.sort_unstable();
        means.dedup();
        assert_eq!(means.len(), 10, "different points");
        means.into_iter().for_each(|point| chosen[point] += 1);
    }
    // 100 each in the mean, with a deviation of 9.5.
    assert!(chosen.iter().all(|&times| (50..150).contains(&times)), "{chosen:?}");
}

#[test]
fn what_cannot_be_grouped_is_named() {
    let job = |groups| KMeans { groups, rounds_most: 1, seed: 1, start: Start::Random };
    for (groups, points, part) in [
        (3, vec![1.0, 2.0], "groups: 3 of 2 points"),
        (0, vec![1.0, 2.0], "groups: 0 of 2 points"),
        (1, vec![1.0, f64::NAN], "not a finite number in row 2, column 1"),
        (1, vec![-1e154, 2.0], "beyond the largest number; scale the points down"),
    ] {
        let result = group(job(groups), &Matrix::of(1, &points), &engines()[0], Options::default());
        let said = result.unwrap_err().to_string();
        assert!(said.contains(part), "{said}");
    }
}
