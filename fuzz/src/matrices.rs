//! Matrices, as text and as .npy: refused by name, or the same with one worker and three.

use crate::{choice, file, named, shape};
use tegula::{Input, Result};
use tegula_apps::{Matrix, Runs};

pub(crate) fn run(bytes: &[u8]) {
    let Some((which, data)) = choice(bytes) else { return };
    let name = if which & 1 == 0 { "matrix.npy" } else { "matrix.txt" };
    let path = file(name, data);
    let read = |of: u8| -> Result<Matrix> {
        let (engine, options) = shape(of);
        named(Matrix::read(&mut Runs::new(engine, options), Input::paths([&path])?))
    };
    let [one, other] = [7, 0b0100_1000 | (which & 6)].map(read);
    assert_eq!(one.is_ok(), other.is_ok(), "{one:?} {other:?}");
    if let (Ok(one), Ok(other)) = (one, other) {
        assert_eq!(one, other);
        assert_eq!(one.bytes.len(), one.rows * one.row_bytes());
    }
}
