//! Strings in an arena.

use tegula_machine::memory::{BlockPool, Budget, ByteArena, CHUNK_BYTES, ChunkPool};

#[test]
fn strings_of_every_length_keep_their_place_and_bytes() {
    let pool = ChunkPool::new(BlockPool::new(Budget::new(None)));
    let mut arena = ByteArena::new(&pool);
    let lengths = [0, 1, 100, CHUNK_BYTES - 1, CHUNK_BYTES, CHUNK_BYTES + 1, 50_000, 3];
    for round in 0..3u8 {
        let mut stored = Vec::new();
        for (i, &length) in lengths.iter().enumerate() {
            let text = vec![round * 16 + i as u8; length];
            stored.push((arena.push(&text).unwrap(), text));
        }
        for (at, text) in &stored {
            // SAFETY: the arena is alive and was not cleared since the push.
            let kept = unsafe { std::slice::from_raw_parts(at.as_ptr(), text.len()) };
            assert_eq!(kept, &text[..]);
        }
        arena.clear();
    }
}
