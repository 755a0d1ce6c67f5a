//! Integer keys and every combiner, also one of a user's own: one answer, to the bit, for every
//! number of workers and every cut.

use crate::support::{Answer, cases, engines, text_of};
use proptest::prelude::*;
use std::cmp::Ordering;
use std::fmt::Debug;
use std::marker::PhantomData;
use tegula::{
    Combine, Count, Cut, Emit, Input, Job, Key, Max, Mean, Min, Options, Order, Result, Split, Sum,
};

/// A record: a key and a value, 8 bytes each.
const RECORD: usize = 16;

type Record = (i64, u64);

fn bytes_of(records: &[Record]) -> Vec<u8> {
    let bytes = |&(key, value): &Record| [key.to_le_bytes(), value.to_le_bytes()].concat();
    records.iter().flat_map(bytes).collect()
}

/// Combines the values of records by key, both as `Row` reads them.
struct Table<R>(PhantomData<R>);

/// The way in which a table's job reads a record.
trait Row: Sync {
    type Key: for<'s> Key<Borrowed<'s>: Debug + Ord> + ?Sized;
    type Combine: Combine<Output: Debug>;

    fn key<'s>(key: i64) -> <Self::Key as Key>::Borrowed<'s>;
    fn value(value: u64) -> <Self::Combine as Combine>::Value;
}

impl<R: Row> Job for Table<R> {
    type Key = R::Key;
    type Combine = R::Combine;

    fn cut(&self) -> Cut {
        Cut::Fixed(RECORD as u64)
    }

    fn map<'s>(&self, split: Split<'s>, emit: &mut impl Emit<'s, Self>) -> Result<()> {
        for (at, record) in split.bytes().as_chunks::<RECORD>().0.iter().enumerate() {
            let [key, value] = [&record[..8], &record[8..]].map(|half| half.try_into().unwrap());
            let (key, value) = (R::key(i64::from_le_bytes(key)), u64::from_le_bytes(value));
            match at % 2 {
                0 => emit.emit(key, R::value(value)),
                _ => emit.emit_copied(key, R::value(value)),
            }
        }
        Ok(())
    }
}

/// Returns the answer made one record after the other, a line per key.
fn naive<R: Row>(records: &[Record]) -> Vec<u8> {
    let mut sorted: Vec<&Record> = records.iter().collect();
    sorted.sort_by_key(|record| R::key(record.0));
    let mut text = Vec::new();
    for group in sorted.chunk_by(|a, b| R::key(a.0) == R::key(b.0)) {
        let mut sum = R::Combine::identity();
        group.iter().for_each(|record| R::Combine::absorb(&mut sum, R::value(record.1)));
        line::<Table<R>>(R::key(group[0].0), R::Combine::finish(&sum), &mut text);
    }
    text
}

#[expect(clippy::needless_pass_by_value, reason = "outputs are written so")]
fn line<J: Job>(key: <J::Key as Key>::Borrowed<'_>, answer: Answer<'_, J>, text: &mut Vec<u8>)
where
    for<'s> <J::Key as Key>::Borrowed<'s>: Debug,
    for<'a> Answer<'a, J>: Debug,
{
    // `Debug` of floats tells all values apart but NaNs.
    text.extend_from_slice(format!("{key:?}\t{answer:?}\n").as_bytes());
}

fn check<R: Row>(records: &[Record], split: u64) -> Result<(), TestCaseError> {
    let expected = naive::<R>(records);
    let (mut by_value, mut by_none) = (None, None);
    for engine in engines() {
        let text = |order, split_bytes| {
            let options = Options { order, split_bytes, ..Options::default() };
            let input = Input::bytes(bytes_of(records));
            let output = engine.job(&Table::<R>(PhantomData)).options(&options).run(input).unwrap();
            text_of(&output, line::<Table<R>>)
        };
        let by_key = text(Order::Key, Some(split));
        prop_assert_eq!(String::from_utf8_lossy(&by_key), String::from_utf8_lossy(&expected));
        for (order, seen) in [(Order::Value, &mut by_value), (Order::None, &mut by_none)] {
            let text = text(order, (engine.workers() > 1).then_some(split));
            prop_assert_eq!(&text, seen.get_or_insert_with(|| text.clone()));
            prop_assert_eq!(text.len(), expected.len());
        }
    }
    Ok(())
}

/// Rows of the engine's own keys and combiners: a name, its key and combine, and how it reads both.
macro_rules! rows {
    ($($name:ident: $key:ty, $combine:ty, $read_key:expr, $read_value:expr;)*) => {$(
        struct $name;

        impl Row for $name {
            type Key = $key;
            type Combine = $combine;

            fn key<'s>(key: i64) -> <$key as Key>::Borrowed<'s> {
                $read_key(key)
            }

            fn value(value: u64) -> <$combine as Combine>::Value {
                $read_value(value)
            }
        }
    )*};
}

/// Returns a finite number of any size.
fn float(bits: u64) -> f64 {
    let value = f64::from_bits(bits);
    if value.is_finite() { value } else { bits as f64 }
}

rows! {
    SumOfSigned: u64, Sum<i64>, i64::cast_unsigned, |value: u64| value.cast_signed() >> 20;
    SumOfFloats: i64, Sum<f64>, |key| key, float;
    MeanOfFloats: u8, Mean<f64>, |key| key as u8, float;
    MinOfFloats: i16, Min<f64>, |key| key as i16, float;
    MaxOfSigned: u32, Max<i64>, |key| key as u32, u64::cast_signed;
    BitsSeen: i8, Seen, |key| key as i8, |value| value;
    CountOfNames: [u8], Count, name, |_| ();
}

/// Keys that lie in no split but live as long.
fn name<'s>(key: i64) -> &'s [u8] {
    const NAMES: [&str; 5] = [
        "",
        "a",
        "a name of twenty bytes",
        "another name, as long as keys that do not fit a slot",
        "a name of twenty byteS",
    ];
    NAMES[key.rem_euclid(5) as usize].as_bytes()
}

/// A combine of a user's own, 40 bytes large: which of 256 values were seen, and how many times any.
struct Seen;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct SeenBits {
    bits: [u64; 4],
    times: u64,
}

impl Combine for Seen {
    type Value = u64;
    type Accumulator = SeenBits;
    type Output = SeenBits;

    fn identity() -> SeenBits {
        SeenBits { bits: [0; 4], times: 0 }
    }

    fn absorb(into: &mut SeenBits, value: u64) {
        into.bits[(value >> 6 & 3) as usize] |= 1 << (value & 63);
        into.times += 1;
    }

    fn merge(into: &mut SeenBits, other: &SeenBits) {
        into.bits.iter_mut().zip(&other.bits).for_each(|(into, other)| *into |= other);
        into.times += other.times;
    }

    fn finish(seen: &SeenBits) -> SeenBits {
        *seen
    }

    fn rank(a: &SeenBits, b: &SeenBits) -> Ordering {
        a.times.cmp(&b.times)
    }

    fn encode(seen: &SeenBits, out: &mut Vec<u8>) {
        seen.bits.iter().for_each(|word| out.extend(word.to_le_bytes()));
        out.extend(seen.times.to_le_bytes());
    }

    fn decode(bytes: &mut &[u8]) -> Option<SeenBits> {
        let mut words = [0; 5];
        for word in &mut words {
            let (first, rest) = bytes.split_first_chunk()?;
            (*word, *bytes) = (u64::from_le_bytes(*first), rest);
        }
        let [a, b, c, d, times] = words;
        Some(SeenBits { bits: [a, b, c, d], times })
    }
}

fn records() -> impl Strategy<Value = Vec<Record>> {
    let key = prop_oneof![-3..3_i64, -300..300_i64, any::<i64>()];
    prop::collection::vec((key, any::<u64>()), 0..600)
}

/// A test of each row.
macro_rules! agree {
    ($($test:ident: $row:ty;)*) => {
        proptest! {
            #![proptest_config(cases(16))]
            $(
                #[test]
                fn $test(records in records(), split in 1..5000_u64) {
                    check::<$row>(&records, split)?;
                }
            )*
        }
    };
}

agree! {
    sums_of_signed: SumOfSigned;
    sums_of_floats: SumOfFloats;
    means_of_floats: MeanOfFloats;
    least_floats: MinOfFloats;
    greatest_signed: MaxOfSigned;
    a_combine_of_the_users_own: BitsSeen;
    counts_of_keys_outside_the_split: CountOfNames;
}
