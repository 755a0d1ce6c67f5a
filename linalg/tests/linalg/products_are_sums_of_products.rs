//! Products of any shapes that fit, of several blocks each way among them.

use super::*;
use proptest::prelude::*;
use tegula_apps::Matrix;
use tegula_linalg::product;

/// Row by row and column by column, in double precision.
fn plain(a: &Matrix, b: &Matrix) -> Vec<f64> {
    let (x, y) = (a.wide_rows(0..a.rows), b.wide_rows(0..b.rows));
    let element = |row: usize, column: usize| {
        (0..a.columns).map(|i| x[row * a.columns + i] * y[i * b.columns + column]).sum()
    };
    (0..a.rows).flat_map(|row| (0..b.columns).map(move |column| element(row, column))).collect()
}

fn check(a: &Matrix, b: &Matrix, error: f64) {
    let found = same(|runs| product(runs, a, b).unwrap());
    assert_eq!((found.rows, found.columns, found.element), (a.rows, b.columns, a.element));
    let expected = plain(a, b);
    for (found, expected) in found.wide_rows(0..found.rows).iter().zip(&expected) {
        assert!((found - expected).abs() <= error * a.columns as f64, "{found} {expected}");
    }
    assert_eq!(found.bytes.len(), expected.len() * found.element.bytes());
}

proptest! {
    #![proptest_config(cases(12))]

    #[test]
    fn of_any_shape(rows in 1usize..2200, inner in 1usize..12, columns in 1usize..600, seed: u64) {
        let (a, b) = (drawn(rows * inner, seed), drawn(inner * columns, !seed));
        check(&Matrix::of(inner, &a), &Matrix::of(columns, &b), 1e-15);
        let single = |numbers: &[f64]| numbers.iter().map(|&n| n as f32).collect::<Vec<f32>>();
        check(&Matrix::of(inner, &single(&a)), &Matrix::of(columns, &single(&b)), 1e-6);
    }
}

#[test]
fn of_whole_numbers_exactly() {
    let numbers: Vec<f64> = (0..300 * 300).map(|n| f64::from(n % 17 - 8)).collect();
    let matrix = Matrix::of(300, &numbers);
    let found = same(|runs| product(runs, &matrix, &matrix).unwrap());
    assert_eq!(found.wide_rows(0..300), plain(&matrix, &matrix));
}

#[test]
fn shapes_that_do_not_fit_are_named() {
    let of = |columns| Matrix::of(columns, &[1.0; 12]);
    for (a, b, part) in [
        (of(4), of(4), "3 x 4 of f64 times 3 x 4 of f64: the first must have as many columns"),
        (of(3), of(6), "4 x 3 of f64 times 2 x 6 of f64"),
        (of(3), Matrix::of(4, &[1.0_f32; 12]), "f32: give both the same type"),
    ] {
        let said = same(|runs| product(runs, &a, &b).unwrap_err().to_string());
        assert!(said.contains(part), "{said}");
    }
}

#[test]
fn of_no_rows_there_are_none() {
    let none = Matrix::of::<f64>(3, &[]);
    let found = same(|runs| product(runs, &none, &Matrix::of(2, &[1.0; 6])).unwrap());
    assert_eq!((found.rows, found.columns), (0, 2));
}

/// Of two small files: 200 TB, for which there are not even addresses.
#[test]
fn one_for_which_there_is_no_memory_is_an_error() {
    let ones = vec![1.0; 5_000_000];
    let (column, row) = (Matrix::of(1, &ones), Matrix::of(ones.len(), &ones));
    let said = same(|runs| product(runs, &column, &row).unwrap_err().to_string());
    assert!(said.contains("gave no memory for a matrix (200000000000000 bytes)"), "{said}");
}
