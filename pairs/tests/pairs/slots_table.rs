//! Tests of the module `slots::table`.

use tegula_pairs::error::MemoryError;
use tegula_pairs::memory::{BlockPool, Budget};
use tegula_pairs::slots::{Entry, ShortKey, SlotKey, Table};

fn add(table: &mut Table<ShortKey, u64, 0>, text: &str, value: u64) {
    let key = ShortKey::new(text.as_bytes());
    if !table.has_room(1) {
        table.grow(table.bits() + 1).unwrap();
    }
    table.combine(key, key.hash(), 0, |sum| *sum += value);
}

fn contents(table: &mut Table<ShortKey, u64, 0>) -> Vec<(Vec<u8>, u64)> {
    let mut all = Vec::new();
    let mut see = |entries: &mut Vec<Entry<ShortKey, u64>>| {
        all.extend(entries.iter().map(|entry| (entry.key.bytes().to_vec(), entry.value)));
        Ok(())
    };
    table.drain_sorted(&mut see).unwrap();
    all
}

#[test]
fn entries_survive_growth_and_come_in_one_order_however_they_came_in() {
    let blocks = BlockPool::new(Budget::new(None));
    // Nearly full small tables, so that runs wrap around the end; fewer for Miri, which is slow.
    let (step, most) = if cfg!(miri) { (13, 100) } else { (1, 700) };
    for count in (1..40).step_by(step).chain([most]) {
        let mut forward = Table::new(&blocks, 6).unwrap();
        let mut backward = Table::new(&blocks, 11).unwrap();
        for i in 0..3 * count {
            add(&mut forward, &format!("{count} {}", i % count), 1);
            add(&mut backward, &format!("{count} {}", (3 * count - 1 - i) % count), 1);
        }
        let (all, again) = (contents(&mut forward), contents(&mut backward));
        assert_eq!(all.len(), count);
        assert_eq!(all, again);
        assert!(all.iter().all(|pair| pair.1 == 3));
        assert!(all.iter().map(|pair| ShortKey::new(&pair.0).hash()).is_sorted());
    }
}

#[test]
fn a_crowded_table_is_spread_and_comes_in_the_same_order() {
    let blocks = BlockPool::new(Budget::new(None));
    let all = (0..20_000).map(|number| ShortKey::new(format!("{number}").as_bytes()));
    let keys: Vec<ShortKey> = all.filter(|key| key.hash() << 8 >> 60 == 7).take(900).collect();
    let in_table = |count: usize, spread: bool| {
        let mut table: Table<ShortKey, u64, 8> = Table::new(&blocks, 11).unwrap();
        for key in &keys[..count] {
            table.combine(*key, key.hash(), 0, |sum| *sum += 1);
        }
        let last = keys[count - 1];
        let crowded = table.is_crowded(last.hash());
        if spread {
            table.spread();
            assert!(table.is_spread() && !table.is_crowded(last.hash()));
            table.combine(last, last.hash(), 0, |sum| *sum += 1);
            assert_eq!((table.get(&last), table.len()), (Some(&2), count));
        }
        let mut order = Vec::new();
        let mut see = |entries: &mut Vec<Entry<ShortKey, u64>>| {
            order.extend(entries.iter().map(|entry| entry.key.bytes().to_vec()));
            Ok(())
        };
        table.drain_sorted(&mut see).unwrap();
        table.resize(11).unwrap();
        assert!(!table.is_spread());
        (crowded, order)
    };
    let (few, many) = (in_table(200, false), in_table(900, false));
    assert!(!few.0 && many.0);
    assert_eq!(in_table(900, true).1, many.1);
}

#[test]
fn a_drained_table_is_empty_at_any_size() {
    let blocks = BlockPool::new(Budget::new(None));
    let mut table = Table::new(&blocks, 8).unwrap();
    for bits in [6, 9, 7, 12, 6] {
        (0..30).for_each(|i| add(&mut table, &format!("{i}"), 2));
        let mut seen = 0;
        let see = |_: &Entry<ShortKey, u64>| {
            seen += 1;
            Ok::<(), MemoryError>(())
        };
        table.drain(see).unwrap();
        table.resize(bits).unwrap();
        assert_eq!((seen, table.len(), table.bits()), (30, 0, bits));
        (0..30).for_each(|i| add(&mut table, &format!("{i}"), 2));
        let mut batches = 0;
        let mut see = |entries: &mut Vec<Entry<ShortKey, u64>>| {
            batches += entries.len();
            Ok(())
        };
        table.drain_batches(&mut see).unwrap();
        assert_eq!((batches, table.len()), (30, 0));
        assert_eq!(contents(&mut table), []);
    }
}
