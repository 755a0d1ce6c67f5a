//! From a partial to an answer, in every order, against a sorted `BTreeMap`. It is here, and not only
//! among the engine's tests, for Miri to see that no key is read that is gone.

use super::ReduceStage;
use crate::cancel::Cancel;
use crate::combine::Sum;
use crate::container::{Entry, LongKey, ShortKey, SlotKey, Table, hash_bytes};
use crate::failure::Failure;
use crate::memory::{BlockPool, Budget, ByteArena, ChunkPool};
use crate::merge;
use crate::options::Order;
use crate::partial::{PairRef, Partial};
use crate::schedule::Pool;
use std::cmp::Reverse;
use std::ptr::NonNull;
use std::sync::Arc;

/// Enough for an answer of several ranges; for Miri, for one.
const WORDS: u64 = if cfg!(miri) { 40 } else { 10_000 };

type Pair = (Vec<u8>, u64);

/// Words that begin alike, of the short and the long class, and values that many share.
fn pairs() -> Vec<Pair> {
    let pair = |number: u64| match number % 2 {
        0 => (format!("word {number:07}").into_bytes(), number % 10),
        _ => (format!("word {number:07} and so on, too long for a slot").into_bytes(), number % 10),
    };
    let mut pairs: Vec<Pair> = (0..WORDS).map(pair).collect();
    pairs.sort();
    pairs
}

/// Hands the pairs over from two tables of each class, so that each key stands twice in the partial,
/// with half of its value.
fn fill(chunks: &Arc<ChunkPool>, partial: &Partial<u64>, pairs: &[Pair]) {
    let blocks = chunks.blocks();
    for half in [0, 1] {
        let bits = Table::<ShortKey, u64, 0>::bits_for(pairs.len());
        let mut short = Table::<ShortKey, u64, 0>::new(blocks, bits).unwrap();
        let mut long = Table::<LongKey, u64, 0>::new(blocks, bits).unwrap();
        let mut arena = ByteArena::new(chunks);
        for (word, value) in pairs {
            let value = value / 2 + half * (value % 2);
            if word.len() <= ShortKey::MOST {
                let key = ShortKey::new(word);
                short.combine(key, key.hash(), 0, |sum| *sum += value);
            } else {
                let hash = hash_bytes(word);
                let key = LongKey::new(hash, NonNull::from(&word[..]).cast(), word.len());
                let absent = || Ok(Entry { key: key.copied(&mut arena)?, value: 0 });
                long.combine_borrowed(key, hash, absent, |sum| *sum += value).unwrap();
            }
        }
        partial.hand_over(&mut short).unwrap();
        partial.hand_over(&mut long).unwrap();
    }
}

fn answer(order: Order, top: Option<usize>) -> Vec<Pair> {
    let pool = Pool::new(2, |_| ()).unwrap();
    let chunks = ChunkPool::new(BlockPool::new(Budget::new(None)));
    let partial = Partial::new(&chunks);
    fill(&chunks, &partial, &pairs());
    let (failure, pool, chunks) = (Failure::new(&Cancel::new()), &pool, &chunks);
    let stage =
        ReduceStage::<Sum<u64>> { pool, chunks, partial: &partial, failure: &failure, order, top };
    let reduced = stage.run().unwrap();
    assert_eq!(reduced.totals.keys, WORDS);
    let pieces = merge::run::<Sum<u64>>(pool, chunks, &failure, reduced.ranges, order).unwrap();
    drop(partial);
    let owned = |pair: PairRef<'_, u64>| (pair.key.to_vec(), *pair.value);
    let piece = |piece: &merge::Piece<u64>| {
        let places = 0..piece.pairs.len();
        places.map(|place| owned(piece.pairs.get(piece.number_at(place)))).collect::<Vec<_>>()
    };
    let answer = pieces.iter().flat_map(piece).collect();
    drop(reduced.long_keys);
    answer
}

#[test]
fn pairs_come_in_the_order_of_their_keys() {
    assert!(answer(Order::Key, None) == pairs());
}

#[test]
fn pairs_come_in_the_order_of_their_values_and_then_keys() {
    let mut expected = pairs();
    expected.sort_by_key(|pair| Reverse(pair.1));
    assert!(answer(Order::Value, None) == expected);
    let most = WORDS as usize / 3;
    expected.truncate(most);
    assert!(answer(Order::Value, Some(most)) == expected);
}

#[test]
fn pairs_without_order_are_all_there() {
    let mut answer = answer(Order::None, None);
    answer.sort();
    assert!(answer == pairs());
}
