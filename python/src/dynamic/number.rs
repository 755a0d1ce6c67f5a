//! A number of Python's: an integer or a float, in one total order.

use std::cmp::Ordering;

/// An integer or a float.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Number {
    Int(i128),
    Float(f64),
}

impl Number {
    /// Compares by value, and exactly: an integer with a float as the numbers that they are. Floats among
    /// themselves are in the order of [`f64::total_cmp`], in which a NaN is beyond the infinity of its sign.
    pub(crate) fn compare(self, other: Number) -> Ordering {
        match (self, other) {
            (Number::Int(a), Number::Int(b)) => a.cmp(&b),
            (Number::Float(a), Number::Float(b)) => a.total_cmp(&b),
            (Number::Int(a), Number::Float(b)) => int_with_float(a, b),
            (Number::Float(a), Number::Int(b)) => int_with_float(b, a).reverse(),
        }
    }
}

/// An `i128` as a float is rounded, so that those which round to the same float are compared as integers.
fn int_with_float(int: i128, float: f64) -> Ordering {
    match (int as f64).partial_cmp(&float) {
        Some(Ordering::Equal) => int.cmp(&(float as i128)),
        Some(order) => order,
        None if float.is_sign_negative() => Ordering::Greater,
        None => Ordering::Less,
    }
}
