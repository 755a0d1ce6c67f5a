//! Blocks of partials: their checksum is made right, so that what is behind it is reached. Damage is named, and what
//! can be read has the pairs that it says.

use crate::choice;
use std::sync::Arc;
use tegula_machine::encoding::checksum;
use tegula_machine::memory::{BlockPool, Budget, ChunkPool, ValueStore};
use tegula_pairs::aggregate::Collect;
use tegula_pairs::combine::{Max, Sum};
use tegula_pairs::partial::{Accumulators, BlockReader};

const HEADER_BYTES: usize = 40;
const SUMMED_BYTES: usize = 32;

pub(crate) fn run(bytes: &[u8]) {
    let Some((which, block)) = choice(bytes) else { return };
    let mut block = block.to_vec();
    if block.len() >= HEADER_BYTES {
        block[..4].copy_from_slice(b"TgB\x01");
        // A short block is found by its length; more often its length is right.
        if which & 0x80 == 0 {
            let stored = (block.len() - HEADER_BYTES) as u64;
            block[16..24].copy_from_slice(&stored.to_le_bytes());
        }
        let sum = checksum(&block[..SUMMED_BYTES], &block[HEADER_BYTES..]);
        block[SUMMED_BYTES..HEADER_BYTES].copy_from_slice(&sum.to_le_bytes());
    }
    // A block that says it has gigabytes is refused for its memory.
    let blocks = BlockPool::new(Budget::new(Some(64 << 20)));
    let chunks = ChunkPool::new(Arc::clone(&blocks));
    let mut store = ValueStore::new(&chunks);
    let Ok(mut reader) = BlockReader::new(&blocks, 4096) else { return };
    let number = usize::from(block.get(6).copied().unwrap_or_default())
        | usize::from(block.get(7).copied().unwrap_or_default()) << 8;
    let mut read = |from: u64, into: &mut [u8]| {
        into.copy_from_slice(&block[from as usize..][..into.len()]);
        Ok(())
    };
    if !matches!(reader.open(number, block.len() as u64, &mut read), Ok(Ok(_))) {
        return;
    }
    macro_rules! drain {
        ($combine:ty) => {
            while let Ok(Some(pair)) = reader.next::<Accumulators<$combine>>(&mut store) {
                let _ = &reader.bytes()[pair.key];
            }
        };
    }
    match which % 3 {
        0 => drain!(Sum<u64>),
        1 => drain!(Max<u64>),
        _ => drain!(Collect<[u8]>),
    }
}
