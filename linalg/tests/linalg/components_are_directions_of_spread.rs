//! Means and covariances against the textbook's sums; components by their defining properties.

use super::*;
use proptest::prelude::*;
use tegula_apps::Matrix;
use tegula_linalg::Pca;

fn check(matrix: &Matrix, count: usize) {
    let pca = same(|runs| Pca::of(runs, matrix, count).unwrap());
    let (n, columns) = (matrix.rows as f64, matrix.columns);
    let numbers = matrix.wide_rows(0..matrix.rows);
    let rows = || numbers.chunks_exact(columns);
    for (column, found) in pca.means.iter().enumerate() {
        let expected = rows().map(|row| row[column]).sum::<f64>() / n;
        assert!((found - expected).abs() <= 1e-12, "{found} {expected}");
    }
    for i in 0..columns {
        for j in 0..columns {
            let about = |row: &[f64]| (row[i] - pca.means[i]) * (row[j] - pca.means[j]);
            let expected = rows().map(about).sum::<f64>() / (n - 1.0);
            let found = pca.covariance[i * columns + j];
            assert!((found - expected).abs() <= 1e-11, "{found} {expected}");
            assert_eq!(found.to_bits(), pca.covariance[j * columns + i].to_bits());
        }
    }
    assert_eq!(
        (pca.components.len(), pca.variances.len()),
        (count.min(columns), count.min(columns))
    );
    assert!(pca.variances.windows(2).all(|pair| pair[0] >= pair[1]));
    assert!(pca.variances.iter().all(|variance| *variance >= 0.0));
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    for (place, (component, variance)) in pca.components.iter().zip(&pca.variances).enumerate() {
        for (row, coordinate) in pca.covariance.chunks_exact(columns).zip(component) {
            let (found, expected) = (dot(row, component), variance * coordinate);
            assert!((found - expected).abs() <= 1e-10, "{found} {expected}");
        }
        for (other, longer) in pca.components.iter().enumerate() {
            let expected = f64::from(u8::from(other == place));
            assert!((dot(component, longer) - expected).abs() <= 1e-10);
        }
        let largest = component.iter().copied().max_by(|a, b| a.abs().total_cmp(&b.abs()));
        assert!(largest.unwrap() > 0.0);
    }
    // All of the spread is along some component.
    if count >= columns {
        let trace: f64 = (0..columns).map(|i| pca.covariance[i * columns + i]).sum();
        assert!((pca.variances.iter().sum::<f64>() - trace).abs() <= 1e-9);
    }
}

proptest! {
    #![proptest_config(cases(12))]

    #[test]
    fn of_any_rows(rows in 2usize..1500, columns in 1usize..20, count in 0usize..25, seed: u64) {
        let numbers = drawn(rows * columns, seed);
        check(&Matrix::of(columns, &numbers), count);
        let single: Vec<f32> = numbers.iter().map(|&number| number as f32).collect();
        check(&Matrix::of(columns, &single), count);
    }
}

#[test]
fn a_line_of_points_has_one_direction() {
    let points: Vec<f64> = (0..600).flat_map(|n| [f64::from(n), -2.0 * f64::from(n)]).collect();
    let pca = same(|runs| Pca::of(runs, &Matrix::of(2, &points), 2).unwrap());
    assert_eq!(pca.means, [299.5, -599.0]);
    let length = 5.0_f64.sqrt();
    let [x, y] = pca.components[0][..] else { panic!("two coordinates") };
    assert!((x + 1.0 / length).abs() < 1e-12 && (y - 2.0 / length).abs() < 1e-12, "{x} {y}");
    assert!(pca.variances[1] < 1e-9, "{:?}", pca.variances);
}

#[test]
fn rows_that_do_not_vary_have_no_variance() {
    let pca = same(|runs| Pca::of(runs, &Matrix::of(3, &[7.0; 30]), 9).unwrap());
    assert_eq!((pca.means, pca.variances), (vec![7.0; 3], vec![0.0; 3]));
}

#[test]
fn what_has_no_components_is_named() {
    for (numbers, part) in [
        (vec![1.0, 2.0], "fewer than two rows"),
        (vec![1.0, 2.0, 3.0, f64::NAN], "row 2, column 2"),
        (vec![1.0, 1e160, 3.0, -1e160], "beyond the largest number; scale the columns down"),
        (vec![1e308, 2.0, 1.5e308, 2.0], "beyond the largest number; scale the columns down"),
    ] {
        let matrix = Matrix::of(2, &numbers);
        let said = same(|runs| Pca::of(runs, &matrix, 1).unwrap_err().to_string());
        assert!(said.contains(part), "{said}");
    }
}
