//! Lists of values, small enough for Miri: added by several stores, joined in any order, encoded and
//! decoded, compared with vectors.

use std::cmp::Ordering;
use std::sync::Arc;
use tegula_pairs::aggregate::{Aggregate, Collect, Fixed, Group, List, Reduce, Values};
use tegula_pairs::memory::{BlockPool, Budget, ChunkPool, ValueStore};
use tegula_pairs::relocation::{Relocation, Standing};

fn pool() -> Arc<ChunkPool> {
    ChunkPool::new(BlockPool::new(Budget::new(None)))
}

/// Values by the split they come from, on their way into one list a worker.
type Splits<V> = Vec<(u32, Vec<V>)>;

/// Makes the list of each worker: split `i` goes to worker `i % stores.len()`.
fn lists<'v, A: Aggregate>(
    splits: &Splits<A::Value<'v>>,
    stores: &mut [ValueStore],
) -> Vec<A::Accumulator> {
    let mut lists = vec![A::identity(); stores.len()];
    for (split, values) in splits {
        let worker = *split as usize % stores.len();
        stores[worker].set_split(*split);
        for value in values {
            A::absorb(&mut lists[worker], A::hold(*value), &mut stores[worker]);
        }
    }
    lists
}

/// Returns sizes of splits that make lists of one block and of many.
fn sizes() -> Vec<usize> {
    let many = if cfg!(miri) { 40 } else { 5000 };
    vec![1, 0, 3, many, 2, 1, many / 2, 7]
}

fn numbers() -> Splits<u64> {
    let mut next = 0;
    let split = |(split, size): (u32, usize)| {
        let values = (next..next + size as u64).collect();
        next += size as u64;
        (split, values)
    };
    (0..).zip(sizes()).map(split).collect()
}

#[test]
fn values_come_in_the_order_of_their_splits_however_lists_are_put_together() {
    let splits = numbers();
    let expected: Vec<u64> = splits.iter().flat_map(|split| split.1.clone()).collect();
    for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0]] {
        let pool = pool();
        let mut stores = [0; 3].map(|_| ValueStore::new(&pool));
        let lists = lists::<Collect<u64>>(&splits, &mut stores);
        let mut all = Collect::<u64>::identity();
        for worker in order {
            Collect::<u64>::merge(&mut all, &lists[worker], &mut stores[0]);
        }
        // Lists are valid as long as the memory of their stores is kept.
        let kept = stores.map(|mut store| store.seal());
        assert_eq!(Collect::finish(&all).len(), expected.len());
        assert!(Collect::finish(&all).eq(expected.iter().copied()), "{order:?}");
        drop(kept);
    }
}

/// Lists of one value, as of a key that comes once in a tile, and longer ones, joined from the left and from the
/// right, come as one list of all; so they do from their byte forms.
#[test]
fn lists_of_one_value_are_joined_with_others() {
    fn check<T: Fixed + PartialEq + std::fmt::Debug>(value: impl Fn(u64) -> T) {
        let sizes =
            [[1, 1, 1, 1, 1, 1], [1, 3, 1, 1, 2, 1], [2, 1, 0, 1, 40, 1], [0, 1, 1, 0, 0, 5]];
        for (sizes, order) in sizes.iter().flat_map(|sizes| [(sizes, 0), (sizes, 1), (sizes, 2)]) {
            let pool = pool();
            let mut store = ValueStore::new(&pool);
            let (mut lists, mut expected) = (Vec::new(), Vec::new());
            for (split, &size) in (0..).zip(sizes) {
                store.set_split(split);
                let mut list = Collect::<T>::identity();
                for _ in 0..size {
                    let value = value(expected.len() as u64);
                    Collect::<T>::absorb(&mut list, value, &mut store);
                    expected.push(value);
                }
                let mut form = Vec::new();
                Collect::<T>::encode(&list, &mut form);
                lists.push(match order {
                    2 => Collect::<T>::decode(&mut &form[..], &mut store).unwrap(),
                    _ => list,
                });
            }
            if order == 1 {
                lists.reverse();
            }
            let mut all = Collect::<T>::identity();
            lists.iter().for_each(|list| Collect::<T>::merge(&mut all, list, &mut store));
            store.check().unwrap();
            assert!(Collect::finish(&all).eq(expected.iter().copied()), "{sizes:?}, {order}");
        }
    }
    check(|value| value);
    check(|value| value as u8);
    check(|value| (value as u32, value));
    // The last one's record is as long as its place, this one's is longer.
    check(|value| [value as u8; 13]);
}

#[test]
fn bytes_of_any_length_are_copied_and_survive_being_written_down() {
    let words: Vec<Vec<u8>> =
        sizes().into_iter().chain([20_000, 16_384]).map(|size| vec![size as u8; size]).collect();
    let splits: Splits<&[u8]> = (0..).zip(words.iter().map(|word| vec![&word[..], b""])).collect();
    let pool = pool();
    let mut stores = [0; 2].map(|_| ValueStore::new(&pool));
    let lists = lists::<Collect<[u8]>>(&splits, &mut stores);
    let mut all = lists[1];
    Collect::<[u8]>::merge(&mut all, &lists[0], &mut stores[0]);
    let expected: Vec<Vec<u8>> = words.iter().flat_map(|word| [word.clone(), Vec::new()]).collect();
    assert!(Collect::finish(&all).eq(expected.iter().map(Vec::as_slice)));

    let mut written = Vec::new();
    Collect::<[u8]>::encode(&all, &mut written);
    let mut store = ValueStore::new(&pool);
    let mut bytes = [&written[..], b"next"].concat();
    let mut rest = &bytes[..];
    let read = Collect::<[u8]>::decode(&mut rest, &mut store).unwrap();
    assert_eq!(rest, b"next");
    assert!(Collect::finish(&read).eq(expected.iter().map(Vec::as_slice)));
    let mut again = Vec::new();
    Collect::<[u8]>::encode(&read, &mut again);
    assert!(again == written);
    for cut in [1, 5, written.len() / 2] {
        bytes.truncate(written.len() - cut);
        assert!(Collect::<[u8]>::decode(&mut &bytes[..], &mut store).is_none());
    }
}

#[test]
fn what_is_read_back_is_relocated() {
    let by = |from: u64, to: u64| {
        let standing = |at| Standing { split: at, file: at, offset: 1000 * at };
        standing(from).relocation(&standing(to))
    };
    let splits = |at: u32| -> Splits<Place> {
        let split = |(split, size): (u32, usize)| {
            let place = |i| Place(at, 1000 * u64::from(at) + i);
            (at + split, (0..size as u64).map(place).collect())
        };
        (0..).zip(sizes()).map(split).collect()
    };
    let pool = pool();
    let mut written = Vec::new();
    let [mut early, late] = [3, 40].map(|at| {
        let mut stores = [ValueStore::new(&pool)];
        let [list] = lists::<Collect<Place>>(&splits(at), &mut stores)[..] else { panic!() };
        written.clear();
        Collect::<Place>::encode(&list, &mut written);
        // The first of the two parts comes after the other.
        let [mut store] = stores;
        store.set_relocation(if at == 3 { by(3, 70) } else { by(40, 2) });
        let mut rest = &written[..];
        let read = Collect::<Place>::decode(&mut rest, &mut store).unwrap();
        assert!(
            rest.is_empty() && Collect::<Place>::decode(&mut &written[1..], &mut store).is_none()
        );
        // Values that come later are after those that were read.
        store.set_split(if at == 3 { 90 } else { 20 });
        let mut read = read;
        Collect::<Place>::absorb(&mut read, Place(at, 0), &mut store);
        (read, store.seal())
    });
    let mut store = ValueStore::new(&pool);
    Collect::<Place>::merge(&mut early.0, &late.0, &mut store);
    let of = |at, last| {
        let places: Vec<Place> = splits(at).into_iter().flat_map(|split| split.1).collect();
        [places, vec![Place(last, 0)]].concat()
    };
    assert!(Collect::finish(&early.0).eq([of(2, 40), of(70, 3)].concat()));
}

/// A place that knows its new position.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Place(u32, u64);

impl Fixed for Place {
    type Bytes = [u8; 12];
    const RELOCATES: bool = true;

    fn to_bytes(self) -> [u8; 12] {
        (self.0, self.1).to_bytes()
    }

    fn from_bytes(bytes: [u8; 12]) -> Place {
        let (file, offset) = <(u32, u64)>::from_bytes(bytes);
        Place(file, offset)
    }

    fn relocate(self, by: Relocation) -> Place {
        Place(by.file(self.0), by.offset(self.1))
    }
}

#[test]
fn a_refusal_of_memory_is_kept_until_it_is_asked_for() {
    let pool = ChunkPool::new(BlockPool::new(Budget::new(Some(64 << 10))));
    let mut store = ValueStore::new(&pool);
    let mut list: List<[u8; 1000]> = Collect::<[u8; 1000]>::identity();
    (0..100).for_each(|_| Collect::<[u8; 1000]>::absorb(&mut list, [7; 1000], &mut store));
    assert!(store.check().is_err());
    assert!(store.check().is_ok());
    assert!(Collect::finish(&list).all(|value| value == [7; 1000]));
    let mut form = 100_u64.to_le_bytes().to_vec();
    form.resize(8 + 100 * 1004, 0);
    Collect::<[u8; 1000]>::decode(&mut &form[..], &mut store).unwrap();
    assert!(store.check().is_err());
}

/// The value in the middle.
struct Median;

impl Reduce for Median {
    type Value = u64;
    type Output = u64;

    fn reduce(_: &[u8], values: Values<'_, u64>) -> u64 {
        let mut values: Vec<u64> = values.collect();
        values.sort_unstable();
        values[values.len() / 2]
    }

    fn rank(a: &u64, b: &u64) -> Ordering {
        a.cmp(b)
    }
}

#[test]
fn a_group_sees_all_values_of_its_key() {
    let pool = pool();
    let mut stores = [0; 3].map(|_| ValueStore::new(&pool));
    let lists = lists::<Group<Median>>(&numbers(), &mut stores);
    let mut all = Group::<Median>::identity();
    lists.iter().for_each(|list| Group::<Median>::merge(&mut all, list, &mut stores[0]));
    let count = sizes().iter().sum::<usize>() as u64;
    assert_eq!(Group::<Median>::reduce(b"key", &all), count / 2);
}

#[test]
fn fixed_values_come_back_from_their_bytes() {
    fn check<T: Fixed + PartialEq + std::fmt::Debug>(value: T, bytes: &[u8]) {
        assert_eq!(value.to_bytes().as_ref(), bytes);
        assert_eq!(T::from_bytes(value.to_bytes()), value);
    }
    check(0x0102_u16, &[2, 1]);
    check(-2_i32, &[254, 255, 255, 255]);
    check(1.0_f64, &[0, 0, 0, 0, 0, 0, 0xf0, 0x3f]);
    check((1_u32, 2_u64), &[1, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0]);
    check(*b"abc", b"abc");
}
