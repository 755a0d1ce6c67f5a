//! Pairs that are folded again and again, with new ones each time, are those that are folded once, in the same order.

use proptest::prelude::*;
use std::sync::Arc;
use tegula_pairs::aggregate::{Aggregate, Collect};
use tegula_pairs::combine::{Count, Sum};
use tegula_pairs::memory::{BlockPool, Budget, ChunkPool, ValueStore};
use tegula_pairs::partial::{Folder, PARTITIONS, Partial};

/// What is done with the pairs of a partial after a table was handed over.
#[derive(Clone, Copy, Debug)]
enum Then {
    Nothing,
    Compress,
    CompressCanonically,
}

type Tables = Vec<(Vec<(Vec<u8>, u64)>, Then)>;

/// Adds a table's pairs. `value_of` makes the accumulator of one.
fn add<C: Aggregate>(
    partial: &Partial<C::Accumulator>,
    pool: &Arc<ChunkPool>,
    pairs: &[(Vec<u8>, u64)],
    value_of: impl Fn(u64, &mut ValueStore) -> C::Accumulator,
) {
    let mut store = ValueStore::new(pool);
    for (key, value) in pairs {
        partial.restore(false).put(key, value_of(*value, &mut store)).unwrap();
    }
    partial.keep_values(&mut store);
}

/// Returns the pairs in the order in which they stand, each value in its byte form.
fn pairs_of<C: Aggregate>(partial: &Partial<C::Accumulator>) -> Vec<(Vec<u8>, Vec<u8>)> {
    let form = |value: &C::Accumulator| {
        let mut form = Vec::new();
        C::encode(value, &mut form);
        form
    };
    let partitions = (0..PARTITIONS).map(|number| partial.partition(number));
    partitions
        .flat_map(|partition| {
            let pairs = partition.pairs.iter();
            pairs.map(|pair| (pair.key.to_vec(), form(pair.value))).collect::<Vec<_>>()
        })
        .collect()
}

fn compress<C: Aggregate>(partial: &Partial<C::Accumulator>, pool: &Arc<ChunkPool>, then: Then) {
    let mut folder = Folder::<C>::new(pool).unwrap();
    for number in 0..PARTITIONS {
        let mut partition = partial.partition(number);
        match then {
            Then::Nothing => {}
            Then::Compress => folder.compress(&mut partition).unwrap(),
            Then::CompressCanonically => folder.compress_canonically(&mut partition).unwrap(),
        }
    }
}

fn check<C: Aggregate>(
    tables: &Tables,
    value_of: impl Fn(u64, &mut ValueStore) -> C::Accumulator + Copy,
) {
    let pool = ChunkPool::new(BlockPool::new(Budget::new(None)));
    let partial = Partial::new(&pool, None);
    for (at, (pairs, then)) in tables.iter().enumerate() {
        add::<C>(&partial, &pool, pairs, value_of);
        compress::<C>(&partial, &pool, *then);
        if matches!(then, Then::CompressCanonically) {
            let once = Partial::new(&pool, None);
            tables[..=at].iter().for_each(|(pairs, _)| add::<C>(&once, &pool, pairs, value_of));
            compress::<C>(&once, &pool, *then);
            assert_eq!(pairs_of::<C>(&partial), pairs_of::<C>(&once));
        }
    }
}

/// Keys of all classes, some of them often.
fn keys() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        3 => prop::collection::vec(b'a'..=b'c', 0..4),
        1 => prop::collection::vec(any::<u8>(), 0..16),
        1 => prop::collection::vec(b'x'..=b'y', 16..20),
        1 => prop::collection::vec(b'x'..=b'y', 32..36),
    ]
}

fn tables() -> impl Strategy<Value = Tables> {
    let then = prop_oneof![
        1 => Just(Then::Nothing),
        1 => Just(Then::Compress),
        4 => Just(Then::CompressCanonically),
    ];
    let table = (prop::collection::vec((keys(), 0_u64..3), 0..300), then);
    prop::collection::vec(table, 1..8)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn sums(tables in tables()) {
        check::<Sum<u64>>(&tables, |value, _| value);
    }

    /// The lists of a key come in the order in which they were handed over.
    #[test]
    fn lists(tables in tables()) {
        check::<Collect<u64>>(&tables, |value, store| {
            let mut list = Collect::<u64>::identity();
            Collect::<u64>::absorb(&mut list, value, store);
            list
        });
    }

    /// A key of which all was taken out is gone.
    #[test]
    fn keys_that_are_gone(tables in tables()) {
        check::<Count>(&tables, |value, _| match value {
            0 => u64::MAX,
            value => value,
        });
    }
}
