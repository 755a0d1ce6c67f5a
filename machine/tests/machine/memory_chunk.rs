//! Lists keep their entries, and the chunks that they give back serve others.

use tegula_machine::memory::{BlockPool, Budget, ChunkList, ChunkPool};

const CHUNK_BYTES: usize = 4 << 10;

#[test]
fn pushed_and_extended_entries_are_all_there_and_chunks_are_reused() {
    let pool = ChunkPool::new(BlockPool::new(Budget::new(None)));
    let mut list = ChunkList::<[u64; 3]>::new(&pool);
    let count = if cfg!(miri) { 1500 } else { 20_000 };
    for i in 0..count {
        list.push([i, i, i]).unwrap();
    }
    let more: Vec<[u64; 3]> = (count..2 * count).map(|i| [i, i, i]).collect();
    list.extend(&more).unwrap();
    assert_eq!(list.len() as u64, 2 * count);
    assert!(list.iter().zip(0..).all(|(entry, i)| entry[0] == i));
    assert_eq!(list.get(1234)[2], 1234);
    let (chunks, used) = (pool.held_bytes() / CHUNK_BYTES, pool.blocks().budget().used());
    list.clear();
    assert_eq!((list.slices().count(), pool.held_bytes()), (0, 0));
    let mut next = ChunkList::<u8>::new(&pool);
    for _ in 0..chunks {
        next.extend(&[1; CHUNK_BYTES]).unwrap();
    }
    assert_eq!(pool.held_bytes(), chunks * CHUNK_BYTES);
    assert_eq!(pool.blocks().budget().used(), used, "no new memory");
}

#[test]
fn entries_from_any_of_them_on_are_those_of_the_list() {
    let pool = ChunkPool::new(BlockPool::new(Budget::new(None)));
    let per_chunk = CHUNK_BYTES / size_of::<u64>();
    for len in [0, 1, per_chunk - 1, per_chunk, per_chunk + 1, 3 * per_chunk] {
        let mut list = ChunkList::<u64>::new(&pool);
        list.extend(&(0..len as u64).collect::<Vec<_>>()).unwrap();
        for first in [0, 1, per_chunk - 1, per_chunk, per_chunk + 1, len, len + 1] {
            let from: Vec<u64> = list.slices_from(first).flatten().copied().collect();
            assert_eq!(from, (first as u64..len as u64).collect::<Vec<_>>(), "{first} of {len}");
            assert!(list.slices_from(first).all(|slice| !slice.is_empty()));
        }
        let mut entries = list.iter();
        for taken in 0..len.min(3) {
            assert_eq!(entries.size_hint(), (len - taken, Some(len - taken)));
            assert_eq!(entries.next(), Some(&(taken as u64)));
        }
        let rest = entries.fold(Vec::new(), |mut rest, &entry| {
            rest.push(entry);
            rest
        });
        assert_eq!(rest, (len.min(3) as u64..len as u64).collect::<Vec<_>>());
    }
}
