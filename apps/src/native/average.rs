//! The mean of a key's values, which are integers or floats as a flag says: one combine for both, because the engine
//! is compiled anew for each combine.

use super::Value;
use std::cmp::Ordering;
use tegula::{Binned, Combine, Count};

/// Integers up to this magnitude are floats.
const WHOLE_MOST: u64 = 1 << f64::MANTISSA_DIGITS;

/// The mean of integers or floats, as [`Mean`](tegula::Mean) has it. A [`Binned`] sum of integers is exact: its bins
/// hold the 64 bits below the highest bit, and an `i64` has no more.
///
/// Byte form: that of `Mean<f64>`.
#[derive(Clone, Copy, Debug)]
pub struct Average {
    sum: Binned,
    count: u64,
}

impl Combine for Average {
    type Value = Value;
    type Accumulator = Average;
    type Output = f64;

    fn identity() -> Average {
        Average { sum: Binned::ZERO, count: 0 }
    }

    fn absorb(into: &mut Average, value: Value) {
        match value {
            Value::Ignored => {}
            Value::Float(float) => into.sum.add(float),
            Value::Int(int) if int.unsigned_abs() <= WHOLE_MOST => into.sum.add(int as f64),
            Value::Int(int) => {
                let low = int & i64::from(u32::MAX);
                into.sum.add((int - low) as f64);
                into.sum.add(low as f64);
            }
        }
        Count::absorb(&mut into.count, ());
    }

    fn merge(into: &mut Average, other: &Average) {
        into.sum.merge(&other.sum);
        Count::merge(&mut into.count, &other.count);
    }

    fn finish(accumulator: &Average) -> f64 {
        accumulator.sum.over(accumulator.count)
    }

    fn rank(a: &Average, b: &Average) -> Ordering {
        Self::finish(a).total_cmp(&Self::finish(b))
    }

    fn encode(accumulator: &Average, out: &mut Vec<u8>) {
        accumulator.sum.encode(out);
        Count::encode(&accumulator.count, out);
    }

    fn decode(bytes: &mut &[u8]) -> Option<Average> {
        Some(Average { sum: Binned::decode(bytes)?, count: Count::decode(bytes)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use tegula::Mean;

    fn mean<C: Combine<Output = f64>>(values: &[C::Value]) -> (u64, Vec<u8>) {
        let mut all = C::identity();
        for half in values.chunks(values.len().div_ceil(2)) {
            let mut part = C::identity();
            half.iter().for_each(|&value| C::absorb(&mut part, value));
            C::merge(&mut all, &part);
        }
        let mut form = Vec::new();
        C::encode(&all, &mut form);
        let read = C::decode(&mut &form[..]).expect("its own form");
        assert_eq!(C::finish(&read).to_bits(), C::finish(&all).to_bits());
        (C::finish(&all).to_bits(), form)
    }

    fn int() -> impl Strategy<Value = i64> {
        let end = prop_oneof![Just(i64::MIN), Just(i64::MAX), Just(1 << 53), Just(-(1 << 53))];
        prop_oneof![
            any::<i64>(),
            -9_i64..9,
            (end, -3_i64..3).prop_map(|(end, by)| end.wrapping_add(by))
        ]
    }

    proptest! {
        #[test]
        fn the_mean_of_integers_is_exact(ints in prop::collection::vec(int(), 1..99)) {
            let values: Vec<_> = ints.iter().map(|&int| Value::Int(int)).collect();
            prop_assert_eq!(mean::<Average>(&values).0, mean::<Mean<i64>>(&ints).0);
        }

        #[test]
        fn the_mean_of_floats_has_the_bytes_of_the_other(bits in prop::collection::vec(any::<u64>(), 1..99)) {
            let floats: Vec<_> = bits.into_iter().map(f64::from_bits).collect();
            let values: Vec<_> = floats.iter().map(|&float| Value::Float(float)).collect();
            prop_assert_eq!(mean::<Average>(&values), mean::<Mean<f64>>(&floats));
        }
    }
}
