//! A spill that fails leaves what was not spilled as it was.

use proptest::prelude::*;
use std::sync::Arc;
use tegula_pairs::aggregate::{Aggregate, Collect};
use tegula_pairs::error::Error;
use tegula_pairs::memory::{BlockPool, Budget, ChunkPool, ValueStore};
use tegula_pairs::partial::{Folder, PARTITIONS, Partial, Spill};
use tegula_pairs::sizing::Shares;
use tegula_pairs::storage::{Disk, Scratch, Storage};
use tegula_pairs::topology::Topology;
use tegula_testing::{Call, Fault, Faulty};

type Lists = Collect<u64>;

const KEYS: u64 = 20_000;
const STORES: u64 = 3;
const VALUES_PER_STORE: u64 = 5;
/// So little memory for pairs that a spill is due.
const BUDGET_BYTES: usize = 1 << 20;

/// Puts lists into a partial, as workers hand them over: the values of a store lie beside each other whatever their
/// partition.
fn put_lists(partial: &Partial<<Lists as Aggregate>::Accumulator>, pool: &Arc<ChunkPool>) {
    for number in 0..STORES {
        let mut store = ValueStore::new(pool);
        for key in 0..KEYS {
            let mut list = Lists::identity();
            store.set_split(number as u32);
            (0..VALUES_PER_STORE).for_each(|nth| {
                Lists::absorb(&mut list, key + nth, &mut store);
            });
            partial.restore(false).put(&key.to_le_bytes(), list).unwrap();
        }
        partial.keep_values(&mut store);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn lists_that_were_not_spilled_keep_their_values(
        nth in 1..2 * PARTITIONS as u64,
        fault in prop::sample::select(vec![Fault::Full, Fault::Io]),
    ) {
        let pool = ChunkPool::new(BlockPool::new(Budget::new(None)));
        let folder = tempfile::tempdir().unwrap();
        let disk = Faulty::new(Arc::new(Disk::new(folder.path())), nth);
        let disk: Arc<dyn Storage> = Arc::new(disk.fail_once(Call::WriteAt, nth, fault));
        let shares = Shares::new(&Topology::detect(), BUDGET_BYTES, 1);
        let spill = Spill::new(Scratch::new(&disk), shares, pool.blocks());
        let partial = Partial::new(&pool, Some(spill));
        put_lists(&partial, &pool);

        let spill = partial.spill().unwrap();
        let mut folder = Folder::<Lists>::new(&pool).unwrap();
        let mut spiller = spill.spiller::<Lists>(&pool).unwrap();
        let failed = match spill.relieve(&partial, &pool, &mut folder, &mut spiller) {
            Ok(()) => false,
            Err(Error::Storage(_)) => true,
            Err(error) => panic!("{error:?}"),
        };
        // Memory that was given back is used by others.
        let mut other = ValueStore::new(&pool);
        let mut noise = Lists::identity();
        for _ in 0..KEYS * VALUES_PER_STORE * STORES {
            Lists::absorb(&mut noise, u64::MAX, &mut other);
        }

        // Other workers have tools of their own.
        let mut folder = Folder::<Lists>::new(&pool).unwrap();
        let (mut keys, mut spilled) = (0, 0);
        for number in 0..PARTITIONS {
            let mut partition = partial.partition(number);
            folder.compress(&mut partition).unwrap();
            spilled += u64::from(!partition.runs.runs_mut().is_empty());
            for pair in partition.pairs.iter() {
                let key = u64::from_le_bytes(pair.key.try_into().unwrap());
                let of_store = || key..key + VALUES_PER_STORE;
                let expected = (0..STORES).flat_map(|_| of_store());
                prop_assert!(Lists::finish(pair.value).eq(expected), "key {}", key);
                keys += 1;
            }
        }
        // A run is a write or a few, of a partition each.
        prop_assert!(failed || keys == 0 && spilled == PARTITIONS as u64);
        prop_assert!(!failed || keys > 0 && spilled < nth);
    }
}
