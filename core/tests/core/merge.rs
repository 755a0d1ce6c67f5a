//! From a partial to an answer, in every order, against a sorted `BTreeMap`. It is here, and not only
//! among the engine's tests, for Miri to see that no key is read that is gone.

use std::cmp::Reverse;
use std::ptr::NonNull;
use std::sync::Arc;
use tegula_core::Order;
use tegula_core::merge::{MergeStage, Piece};
use tegula_core::reduce::{Ranking, ReduceStage};
use tegula_machine::cancel::Cancel;
use tegula_machine::error::{Error, Result};
use tegula_machine::failure::Failure;
use tegula_machine::memory::{BlockPool, Budget, ByteArena, ChunkPool};
use tegula_machine::schedule::Pool;
use tegula_machine::sizing::{Shares, TableLimits};
use tegula_machine::storage::{Disk, Scratch, Storage};
use tegula_pairs::combine::Sum;
use tegula_pairs::partial::{Answers, Folder, Outlet, Partial, RunReader, Spill, read_run};
use tegula_pairs::slots::{Entry, LongKey, PairRef, ShortKey, SlotKey, Table, hash_bytes};
use tegula_testing::{Call, Fault, Faulty};

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

/// Hands the pairs over from two tables of each class, so that each key is twice in the partial, with half of
/// its value.
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
        Outlet::new(partial).hand_over(&mut short).unwrap();
        Outlet::new(partial).hand_over(&mut long).unwrap();
    }
}

fn answer(order: Order, top: Option<usize>) -> Vec<Pair> {
    try_answer(order, top, None).unwrap()
}

/// Shares so small that runs are merged in several rounds and ranges divided more than once.
const TIGHT: Shares = Shares {
    tables: TableLimits { cached: 1, most: 1, all: 1, standing: 0, beside: 1 << 30 },
    partial_bytes: 64 << 10,
    block_bytes: 300,
    merge_bytes: 2000,
    scatter_bytes: 1500,
    sample_bytes: 5000,
    range_bytes: 20_000,
};

/// Returns the answer, from disk if there is storage to spill to.
fn try_answer(
    order: Order,
    top: Option<usize>,
    storage: Option<Arc<dyn Storage>>,
) -> Result<Vec<Pair>> {
    let pool = Pool::new(2, |_| ()).unwrap();
    let chunks = ChunkPool::new(BlockPool::new(Budget::new(None)));
    let spill = storage.map(|storage| Spill::new(Scratch::new(&storage), TIGHT, chunks.blocks()));
    let spills = spill.is_some();
    let partial = Partial::new(&chunks, spill);
    // Several times over, so that there are more runs than may be merged at once.
    for round in 0..if spills { 5 } else { 1 } {
        let values = |pair: Pair| if round == 0 { pair } else { (pair.0, 0) };
        fill(&chunks, &partial, &pairs().into_iter().map(values).collect::<Vec<_>>());
        if let Some(spill) = partial.spill() {
            assert!(spill.is_due(&chunks));
            let mut folder = Folder::<Sum<u64>>::new(&chunks)?;
            spill.relieve(&partial, &chunks, &mut folder, &mut spill.spiller(&chunks)?)?;
            assert!(!spill.is_due(&chunks));
        }
    }
    let (failure, pool, chunks) = (Failure::new(&Cancel::new()), &pool, &chunks);
    let (ranking, failure) = (Ranking::<Sum<u64>>::new(None), &failure);
    let stage =
        ReduceStage { ranking, pool, chunks, partial: &partial, failure, order, top, keeps: false };
    let reduced = stage.run()?;
    assert_eq!(reduced.totals.keys, WORDS);
    let stage = MergeStage { ranking, pool, chunks, failure, order, spill: partial.spill() };
    let pieces = stage.run(reduced.ranges)?;
    let mut answer = Vec::new();
    for piece in &pieces {
        let mut add = |pair: PairRef<'_, u64>| answer.push((pair.key.to_vec(), *pair.value));
        match (piece, partial.spill()) {
            (Piece::Held(held), _) => {
                let places = 0..held.pairs.len();
                places.for_each(|place| add(held.pairs.get(held.number_at(place))));
            }
            (Piece::Stored(run), Some(spill)) => {
                let scratch = spill.scratch();
                let mut reader = RunReader::<Answers<Sum<u64>>>::new(scratch, chunks, 300)?;
                read_run(&mut reader, run.number, &run.extents, |pair| {
                    add(pair);
                    Ok(())
                })?;
            }
            (Piece::Stored(_), None) => panic!("nothing was spilled"),
        }
    }
    drop(reduced.long_keys);
    Ok(answer)
}

fn disk() -> Arc<dyn Storage> {
    Arc::new(Disk::new(std::env::temp_dir()))
}

#[test]
#[cfg_attr(miri, ignore = "long, and all about files")]
fn an_answer_from_disk_is_that_from_memory() {
    for order in [Order::Key, Order::Value] {
        let held = answer(order, None);
        let stored = try_answer(order, None, Some(disk())).unwrap();
        assert!(stored == held, "{order:?}");
        let most = WORDS as usize / 3;
        assert!(try_answer(order, Some(most), Some(disk())).unwrap() == answer(order, Some(most)));
    }
    assert!(try_answer(Order::None, None, Some(disk())).unwrap() == answer(Order::None, None));
}

#[test]
#[cfg_attr(miri, ignore = "long, and all about files")]
fn a_failing_disk_fails_the_job_and_says_so() {
    let calls = Faulty::new(disk(), 1);
    let all: Arc<dyn Storage> = Arc::new(calls.clone());
    try_answer(Order::Key, None, Some(all)).unwrap();
    for (call, fault) in [
        (Call::Scratch, Fault::Io),
        (Call::WriteAt, Fault::Io),
        (Call::WriteAt, Fault::Full),
        (Call::WriteAt, Fault::Torn),
        (Call::ReadAt, Fault::Io),
    ] {
        let count = calls.calls(call);
        assert!(count > 0, "{call:?}");
        for nth in [1, count / 3 + 1, count - count / 3] {
            let faulty: Arc<dyn Storage> =
                Arc::new(Faulty::new(disk(), nth).fail_from(call, nth, fault));
            let error = try_answer(Order::Key, None, Some(faulty)).unwrap_err();
            assert!(matches!(error, Error::Storage(_)), "{call:?} {nth}: {error:?}");
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "long, and all about files")]
fn a_disk_that_does_things_by_halves_changes_nothing() {
    let faulty = Faulty::new(disk(), 7)
        .short(3)
        .fail_once(Call::WriteAt, 5, Fault::Interrupted)
        .fail_once(Call::ReadAt, 9, Fault::Interrupted);
    let answered = try_answer(Order::Key, None, Some(Arc::new(faulty))).unwrap();
    assert!(answered == pairs());
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
