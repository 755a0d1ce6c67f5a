//! Reads a file once and hashes it, tile by tile on a number of threads: the least cost of looking for
//! changes, unless times or lengths are trusted. `hash FILE THREADS`

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::ScopedJoinHandle;
use twox_hash::XxHash3_128;

const TILE_BYTES: u64 = 4 << 20;
/// The bytes read at a time, so that they stay in a cache while they are hashed.
const PIECE_BYTES: usize = 256 << 10;
/// Their offset in a page: processors copy slowly between places in two pages that are a few bytes apart.
const APART_BYTES: usize = 64;
const PAGE_BYTES: usize = 4 << 10;

fn main() -> io::Result<()> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, path, threads] = &arguments[..] else {
        return Err(io::Error::other("give a file and a number of threads"));
    };
    let threads: usize = threads.parse().map_err(io::Error::other)?;
    let file = File::open(path)?;
    let (next, bytes) = (AtomicU64::new(0), file.metadata()?.len());
    let work = || -> io::Result<u128> {
        let (mut memory, mut all) = (vec![0; PIECE_BYTES + PAGE_BYTES + APART_BYTES], 0);
        let apart = memory.as_ptr().align_offset(PAGE_BYTES) + APART_BYTES;
        let piece = &mut memory[apart..apart + PIECE_BYTES];
        loop {
            let mut at = next.fetch_add(1, Ordering::Relaxed) * TILE_BYTES;
            if at >= bytes {
                return Ok(all);
            }
            let (end, mut state) = (bytes.min(at + TILE_BYTES), XxHash3_128::new());
            while at < end {
                let part = &mut piece[..((end - at) as usize).min(PIECE_BYTES)];
                file.read_exact_at(part, at)?;
                state.write(part);
                at += part.len() as u64;
            }
            all ^= state.finish_128();
        }
    };
    let hashes: Vec<u128> = std::thread::scope(|scope| -> io::Result<Vec<u128>> {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let ended = threads.into_iter().map(ScopedJoinHandle::join);
        ended.map(|ended| ended.map_err(|_| io::Error::other("a thread panicked"))?).collect()
    })?;
    println!("{:032x}", hashes.iter().fold(0, |all, hash| all ^ hash));
    Ok(())
}
