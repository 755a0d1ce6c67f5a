//! Blocks come back as they were written, or are refused: no damage goes unseen.

use proptest::prelude::*;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;
use tegula_pairs::combine::Sum;
use tegula_pairs::encoding::checksum;
use tegula_pairs::error::Result;
use tegula_pairs::memory::{BlockPool, Budget, ChunkPool, ValueStore};
use tegula_pairs::partial::{Accumulators, BlockReader, OpenBlock, Sealer};
use tegula_pairs::slots::PairRef;

type Pair = (Vec<u8>, u64);

const NUMBER: usize = 77;
/// Writing a byte takes so long that compressing pays, under Miri, too.
const SLOW_NS_PER_BYTE: u64 = if cfg!(miri) { 100_000_000 } else { 10_000 };

fn blocks() -> Arc<BlockPool> {
    BlockPool::new(Budget::new(None))
}

/// Returns the block of some pairs, compressed if writing is slow.
fn sealed(pairs: &[Pair], write_ns_per_byte: u64) -> Vec<u8> {
    let (mut block, mut sealer) =
        (OpenBlock::new(&blocks(), 100).unwrap(), Sealer::new(&blocks(), 100).unwrap());
    let mut bytes = Vec::new();
    // The first blocks find out whether compressing pays.
    for _ in 0..4 {
        for (key, value) in pairs {
            block.push::<Accumulators<Sum<u64>>>(PairRef { key, value }).unwrap();
        }
        bytes = sealer.seal(&mut block, NUMBER).unwrap().to_vec();
        sealer.wrote(Duration::from_nanos(write_ns_per_byte * bytes.len() as u64));
    }
    bytes
}

fn open(bytes: &[u8], number: usize) -> Result<Vec<Pair>, &'static str> {
    let mut reader = BlockReader::new(&blocks(), 100).unwrap();
    let mut read = |from: u64, into: &mut [u8]| {
        into.copy_from_slice(&bytes[from as usize..from as usize + into.len()]);
        Ok(())
    };
    let len = reader.open(number, bytes.len() as u64, &mut read).unwrap()?;
    assert_eq!(len, bytes.len() as u64);
    let mut store = ValueStore::new(&ChunkPool::new(blocks()));
    let mut pairs = Vec::new();
    while let Some(pair) = reader.next::<Accumulators<Sum<u64>>>(&mut store)? {
        pairs.push((reader.bytes()[pair.key].to_vec(), pair.value));
    }
    Ok(pairs)
}

fn some_pairs() -> Vec<Pair> {
    (0..40_u64).map(|i| (format!("key {} {i}", "long ".repeat(i as usize)).into(), i * i)).collect()
}

proptest! {
    #[test]
    fn any_pairs_come_back(
        pairs in prop::collection::vec((prop::collection::vec(any::<u8>(), 0..300), any::<u64>()), 0..50),
    ) {
        for write_ns_per_byte in [0, SLOW_NS_PER_BYTE] {
            prop_assert_eq!(open(&sealed(&pairs, write_ns_per_byte), NUMBER).unwrap(), pairs.clone());
        }
    }
}

#[test]
fn every_flipped_bit_and_every_cut_is_found() {
    for write_ns_per_byte in [0, SLOW_NS_PER_BYTE] {
        let block = sealed(&some_pairs(), write_ns_per_byte);
        assert_eq!(open(&block, NUMBER).unwrap(), some_pairs());
        let step = if cfg!(miri) { 997 } else { 1 };
        for bit in (0..8 * block.len()).step_by(step) {
            let mut damaged = block.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert!(open(&damaged, NUMBER).is_err(), "bit {bit}");
        }
        for len in (0..block.len()).step_by(step) {
            assert!(open(&block[..len], NUMBER).is_err(), "length {len}");
        }
    }
}

#[test]
fn a_block_of_another_partition_or_version_is_refused() {
    let mut block = sealed(&some_pairs(), 0);
    assert_eq!(open(&block, NUMBER + 1).unwrap_err(), "the block is of another partition");
    block[3] += 1;
    assert_eq!(open(&block, NUMBER).unwrap_err(), "the block is of another version");
}

/// A writer that is mistaken, or means harm, can make checksums that are right.
#[test]
fn a_block_whose_checksum_is_right_is_not_believed() {
    let step = if cfg!(miri) { 997 } else { 1 };
    for write_ns_per_byte in [0, SLOW_NS_PER_BYTE] {
        let block = sealed(&some_pairs(), write_ns_per_byte);
        let mut faults = BTreeSet::new();
        for at in (40..block.len()).step_by(step) {
            let mut forged = block.clone();
            forged[at] ^= 0xff;
            let sum = checksum(&forged[..32], &forged[40..]);
            forged[32..40].copy_from_slice(&sum.to_le_bytes());
            faults.extend(open(&forged, NUMBER).err());
        }
        let cannot = faults.contains("the block cannot be decompressed");
        assert!(
            cfg!(miri) || !faults.is_empty() && cannot == (write_ns_per_byte > 0),
            "{faults:?}"
        );
    }
}

#[test]
fn slow_disks_get_smaller_blocks() {
    assert!(sealed(&some_pairs(), SLOW_NS_PER_BYTE).len() < sealed(&some_pairs(), 0).len() / 2);
}
