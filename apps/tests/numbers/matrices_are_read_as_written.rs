//! Matrices from text and `.npy` files, in every cut; and invalid files, which are refused.

use super::*;
use proptest::prelude::*;
use tegula::{Error, Input, Result};
use tegula_apps::matrix::Element;
use tegula_apps::{Matrix, Runs};

fn read(input: Input, engine: &Engine, options: Options) -> Result<Matrix> {
    Matrix::read(&mut Runs::new(engine, options), input)
}

fn npy(matrix: &Matrix) -> Vec<u8> {
    [matrix.npy_header(), matrix.bytes.to_vec()].concat()
}

proptest! {
    #![proptest_config(cases(30))]

    #[test]
    fn in_both_forms(
        columns in 1usize..9,
        numbers in prop::collection::vec(prop::num::f64::NORMAL | prop::num::f64::ZERO, 9..200),
        single: bool,
        split in 1u64..300,
    ) {
        let numbers = &numbers[..numbers.len() / columns * columns];
        let matrix = if single {
            let numbers: Vec<f32> = numbers.iter().map(|&n| n as f32).filter(|n| n.is_finite()).collect();
            Matrix::of(1, &numbers)
        } else {
            Matrix::of(columns, numbers)
        };
        prop_assume!(matrix.rows > 0);
        let folder = tempfile::tempdir().unwrap();
        let path = write(folder.path(), "m.npy", npy(&matrix));
        let found = same(split, |engine, options| {
            read(Input::paths([&path]).unwrap(), engine, options).unwrap()
        });
        prop_assert_eq!(&found, &matrix);
        let mut text = Vec::new();
        matrix.write_text(0..matrix.rows, &mut text);
        let found = same(split, |engine, options| {
            read(Input::bytes(text.clone()), engine, options)
        }.unwrap());
        prop_assert_eq!(found.element, Element::F64);
        let mut again = Vec::new();
        found.write_text(0..found.rows, &mut again);
        if !single {
            prop_assert_eq!(found, matrix);
            prop_assert_eq!(again, text);
        }
    }
}

#[test]
fn several_files_are_one_matrix_in_their_order() {
    let folder = tempfile::tempdir().unwrap();
    let text = write(folder.path(), "z.txt", "1 2\n\n3,4\n");
    let more = write(folder.path(), "a.txt", "5\t6");
    let expected = Matrix::of(2, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 1.0, 2.0, 3.0, 4.0]);
    let found = same(3, |engine, options| {
        read(Input::paths([&text, &more, &text]).unwrap(), engine, options).unwrap()
    });
    assert_eq!(found, expected);
    let one = write(folder.path(), "1.npy", npy(&Matrix::of(2, &[1.0_f32, 2.0])));
    let two = write(folder.path(), "2.npy", npy(&Matrix::of(2, &[3.0_f32, 4.0])));
    let found = read(Input::paths([one, two]).unwrap(), &engines()[0], Options::default());
    assert_eq!(found.unwrap(), Matrix::of(2, &[1.0_f32, 2.0, 3.0, 4.0]));
}

/// A file that is named twice is longer than a split, so that its pieces are cut in two ways.
#[test]
fn a_file_that_is_named_twice_has_its_rows_twice() {
    let rows: Vec<f64> = (0..6000).map(f64::from).collect();
    let (matrix, mut twice) = (Matrix::of(2, &rows), rows.clone());
    twice.extend_from_slice(&rows);
    let (folder, mut text) = (tempfile::tempdir().unwrap(), Vec::new());
    matrix.write_text(0..matrix.rows, &mut text);
    let path = write(folder.path(), "m.txt", text);
    for split in [100, 1000, 7000, 64 << 10] {
        let found = same(split, |engine, options| {
            read(Input::paths([&path, &path]).unwrap(), engine, options).unwrap()
        });
        assert!(found == Matrix::of(2, &twice), "{split}");
    }
}

#[test]
fn a_matrix_that_does_not_fit_is_refused() {
    let rows: Vec<f64> = (0..4_000_000).map(f64::from).collect();
    let (matrix, folder) = (Matrix::of(4, &rows), tempfile::tempdir().unwrap());
    let mut text = Vec::new();
    matrix.write_text(0..matrix.rows, &mut text);
    let of_npy = write(folder.path(), "m.npy", npy(&matrix));
    let of_text = write(folder.path(), "m.txt", text);
    let engine = |bytes| Engine::builder().workers(2).memory_bytes(bytes).held_bytes(0).build();
    for path in [of_npy, of_text] {
        let input = || Input::paths([&path]).unwrap();
        let refused = read(input(), &engine(30 << 20).unwrap(), Options::default()).unwrap_err();
        assert!(matches!(refused, Error::Memory(_)), "{refused}");
        let found = read(input(), &engine(100 << 20).unwrap(), Options::default());
        assert!(found.unwrap() == matrix);
    }
}

/// As `numpy.save` of version 2.4 wrote it.
#[test]
fn numpy_writes_what_is_read_and_reads_what_is_written() {
    let matrix = Matrix::of(3, &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
    let mut saved =
        b"\x93NUMPY\x01\0v\0{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }".to_vec();
    saved.resize(127, b' ');
    saved.push(b'\n');
    assert_eq!(matrix.npy_header(), saved);
    // Versions 2 and 3 have longer lengths.
    let mut later = b"\x93NUMPY\x02\0\x76\0\0\0".to_vec();
    later.extend_from_slice(&saved[10..]);
    later.extend_from_slice(&matrix.bytes);
    let folder = tempfile::tempdir().unwrap();
    let path = write(folder.path(), "later.npy", later);
    let found = read(Input::paths([path]).unwrap(), &engines()[0], Options::default());
    assert_eq!(found.unwrap(), matrix);
}

#[test]
fn what_is_no_matrix_is_named() {
    let good = npy(&Matrix::of(2, &[1.0, 2.0]));
    let with = |from: &str, to: &str| {
        let header = String::from_utf8_lossy(&good[10..]).replacen(from, to, 1);
        [&good[..10], &header.as_bytes()[..good.len() - 26], &good[good.len() - 16..]].concat()
    };
    let other = npy(&Matrix::of(1, &[1.0_f32]));
    let cases: &[(&[&[u8]], &str)] = &[
        (&[b""], "no numbers"),
        (&[b"\n \n"], "no numbers"),
        (&[b"1 2\n3 four\n"], "line 2, byte 6: \"four\" is no finite number"),
        (&[b"1 2\n3 nan\n"], "no finite number"),
        (&[b"1,2\n3,,4\n"], "line 2, byte 6: no number before, between or after commas"),
        (&[b"1 2\n,3 4\n"], "line 2, byte 4: no number"),
        (&[b"1, 2\n3, \n"], "line 2, byte 7: no number"),
        (&[b"1 2\n\n3\n"], "byte 5: a row of 1 numbers, where the first has 2"),
        (&[b"1 2\n", b"1 2 3\n"], "byte 0: a row of 3 numbers"),
        (&[&good[..3]], "no finite number"),
        (&[&good[..9]], "not a .npy file"),
        (&[&good[..40]], "header is cut short"),
        (&[&good[..good.len() - 1]], "cut short or damaged"),
        (&[&[&good[..], b"x"].concat()], "cut short or damaged"),
        (&[&with("<f8", ">f8")], "not little-endian floats"),
        (&[&with("<f8", "<i8")], "not little-endian floats"),
        (&[&with("False", "True ")], "stored by columns"),
        (&[&with("(1, 2)", "(2,)  ")], "not a matrix"),
        (&[&with("(1, 2)", "(1, 0)")], "not a matrix"),
        (&[b"\x93NUMPY\x01\0\xff\xff"], "header is cut short"),
        (&[b"\x93NUMPY\x02\0\xff\xff\xff\xff"], "which no matrix has"),
        (&[b"\x93NUMPY\x09\0\xff\xff\xff\xff"], "not a .npy file"),
        (&[&good, &other], "give files of one shape"),
        (&[&good, b"1 2\n"], "not a .npy file"),
    ];
    for (number, (files, part)) in cases.iter().enumerate() {
        let folder = tempfile::tempdir().unwrap();
        for (name, bytes) in files.iter().enumerate() {
            write(folder.path(), &name.to_string(), bytes);
        }
        let input = Input::paths([folder.path()]).unwrap();
        let said = read(input, &engines()[1], Options::default()).unwrap_err().to_string();
        assert!(said.contains(folder.path().to_str().unwrap()), "{said}");
        assert!(said.contains(part), "case {number}: {said}");
    }
    let said = read(Input::default(), &engines()[0], Options::default()).unwrap_err().to_string();
    assert!(said.contains("no file"), "{said}");
}
