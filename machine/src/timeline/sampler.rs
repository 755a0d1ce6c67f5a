//! The sampler: a thread that reads, every 50 ms, the bytes that the process has read and written, its
//! processor time and its memory, as the system and the budget count them, and the time that processors waited
//! for I/O, which the system counts for the whole machine. When there is no room for more
//! samples, every second one is dropped, and the interval doubles.

use super::Clock;
use crate::memory::BlockPool;
use crate::process::process_cpu;
use crate::sync::{Condvar, Mutex};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::{Arc, Weak};
use std::thread;
use std::time::{Duration, Instant};

/// The first interval between samples.
const EVERY: Duration = Duration::from_millis(50);
/// The most samples that are kept: of 200 seconds at first.
pub(super) const SAMPLES_MOST: usize = 4096;

/// Totals of the process at a moment. A total that the system does not report is 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Sample {
    /// The moment, in nanoseconds since the timeline began.
    pub at_ns: u64,
    /// Processor time used since the process began, in nanoseconds.
    pub cpu_ns: u64,
    /// The part of it in the kernel, in nanoseconds. The system counts it in ticks, mostly of 10 ms.
    pub system_ns: u64,
    /// Time for which processors of the machine were idle since it started while some process's I/O was under way,
    /// in nanoseconds, summed over processors.
    pub io_wait_ns: u64,
    /// Bytes read by the process since it began, from wherever they came.
    pub read_bytes: u64,
    /// Bytes written by the process since it began, to wherever they went.
    pub written_bytes: u64,
    /// Bytes that storage devices read for the process, without those from the page cache.
    pub device_read_bytes: u64,
    /// Bytes that storage devices write for the process, now or later.
    pub device_written_bytes: u64,
    /// Resident memory of the process, in bytes.
    pub resident_bytes: u64,
    /// Memory that the engine counts, in bytes.
    pub counted_bytes: u64,
}

impl Sample {
    /// Sends the sample to subscribers of `tracing`.
    fn trace(&self) {
        let Sample { cpu_ns, system_ns, io_wait_ns, read_bytes, written_bytes, .. } = *self;
        let Sample { resident_bytes, counted_bytes, .. } = *self;
        tracing::trace!(
            target: "tegula::timeline::sample",
            cpu_ns,
            system_ns,
            io_wait_ns,
            read_bytes,
            written_bytes,
            resident_bytes,
            counted_bytes
        );
    }
}

/// Shared with the thread.
#[derive(Debug)]
pub(super) struct Sampler {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    clock: Clock,
    state: Mutex<State>,
    /// The timeline is gone.
    ended: Condvar,
}

#[derive(Debug, Default)]
struct State {
    samples: Vec<Sample>,
    every: Duration,
    /// The memory of the engine that runs a job, and the limit on the process.
    blocks: Weak<BlockPool>,
    limit_bytes: Option<u64>,
    ended: bool,
}

impl Sampler {
    /// Starts to look. Where no thread can be had, nothing is seen.
    pub(super) fn start(clock: Clock) -> Sampler {
        let mut samples = Vec::with_capacity(SAMPLES_MOST);
        samples.push(Eyes::open().look(clock, &Weak::new()));
        let state = Mutex::new(State { samples, every: EVERY, ..State::default() });
        let shared = Arc::new(Shared { clock, state, ended: Condvar::new() });
        let watched = Arc::clone(&shared);
        let _ = thread::Builder::new().name("sampler".to_owned()).spawn(move || watched.watch());
        Sampler { shared }
    }

    pub(super) fn watch(&self, blocks: &Arc<BlockPool>, limit_bytes: Option<u64>) {
        let mut state = self.shared.state.lock();
        state.blocks = Arc::downgrade(blocks);
        state.limit_bytes = limit_bytes;
    }

    /// Returns all samples so far with one of now, and the limit on the process.
    pub(super) fn read(&self) -> (Vec<Sample>, Option<u64>) {
        let mut state = self.shared.state.lock();
        let now = Eyes::open().look(self.shared.clock, &state.blocks);
        state.add(now);
        (state.samples.clone(), state.limit_bytes)
    }
}

impl Drop for Sampler {
    fn drop(&mut self) {
        self.shared.state.lock().ended = true;
        self.shared.ended.notify_all();
    }
}

impl Shared {
    fn watch(&self) {
        let eyes = Eyes::open();
        let mut state = self.state.lock();
        while !state.ended {
            let every = state.every;
            state = self.ended.wait_timeout(state, every);
            let sample = eyes.look(self.clock, &state.blocks);
            sample.trace();
            state.add(sample);
        }
    }
}

impl State {
    fn add(&mut self, sample: Sample) {
        if self.samples.len() == SAMPLES_MOST {
            let mut number = 0;
            self.samples.retain(|_| {
                number += 1;
                number % 2 == 1
            });
            self.every *= 2;
        }
        self.samples.push(sample);
    }
}

/// The system's files about this process and about the machine, opened once.
struct Eyes {
    io: Option<File>,
    statm: Option<File>,
    stat: Option<File>,
    machine: Option<File>,
}

impl Eyes {
    fn open() -> Eyes {
        let open = |path| File::open(path).ok();
        Eyes {
            io: open("/proc/self/io"),
            statm: open("/proc/self/statm"),
            stat: open("/proc/self/stat"),
            machine: open("/proc/stat"),
        }
    }

    fn look(&self, clock: Clock, blocks: &Weak<BlockPool>) -> Sample {
        let mut text = [0; 512];
        let io = read(self.io.as_ref(), &mut text);
        let of = |name: &str| {
            let line = io.lines().find_map(|line| line.strip_prefix(name));
            line.and_then(|count| count.trim().parse().ok()).unwrap_or(0)
        };
        let mut sample = Sample {
            at_ns: clock.ns(Instant::now()),
            cpu_ns: process_cpu().as_nanos() as u64,
            read_bytes: of("rchar:"),
            written_bytes: of("wchar:"),
            device_read_bytes: of("read_bytes:"),
            device_written_bytes: of("write_bytes:"),
            counted_bytes: blocks.upgrade().map_or(0, |blocks| blocks.budget().used()),
            ..Sample::default()
        };
        let pages = read(self.statm.as_ref(), &mut text).split_whitespace().nth(1);
        let pages: u64 = pages.and_then(|pages| pages.parse().ok()).unwrap_or(0);
        sample.resident_bytes = pages * rustix::param::page_size() as u64;
        // The name of the process, which may contain anything, ends with the last parenthesis.
        let (_, figures) = read(self.stat.as_ref(), &mut text).rsplit_once(')').unwrap_or_default();
        sample.system_ns = ticks_ns(figures, 12);
        sample.io_wait_ns = ticks_ns(read(self.machine.as_ref(), &mut text), 5);
        sample
    }
}

/// Returns a count of ticks, by its place among words, in nanoseconds.
fn ticks_ns(words: &str, place: usize) -> u64 {
    let ticks = words.split_ascii_whitespace().nth(place).and_then(|word| word.parse::<u64>().ok());
    ticks.unwrap_or(0) * (1_000_000_000 / rustix::param::clock_ticks_per_second().max(1))
}

/// Returns the present text of a short file.
fn read<'t>(file: Option<&File>, text: &'t mut [u8]) -> &'t str {
    let count = file.and_then(|file| file.read_at(text, 0).ok()).unwrap_or(0);
    std::str::from_utf8(&text[..count]).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_bounded_and_reach_from_the_first_to_the_last() {
        let mut state = State { every: EVERY, ..State::default() };
        for at_ns in 0..10 * SAMPLES_MOST as u64 {
            state.add(Sample { at_ns, ..Sample::default() });
            assert!(state.samples.len() <= SAMPLES_MOST);
        }
        assert!(state.samples.is_sorted_by_key(|sample| sample.at_ns));
        assert!(state.samples[0].at_ns == 0 && state.every >= 8 * EVERY);
        assert_eq!(state.samples.last().unwrap().at_ns, 10 * SAMPLES_MOST as u64 - 1);
    }

    #[test]
    fn this_process_is_seen_to_read_and_to_hold_memory() {
        let clock = Clock { epoch: Instant::now() };
        let first = Eyes::open().look(clock, &Weak::new());
        let _ = std::fs::read("/proc/self/maps").unwrap();
        let second = Eyes::open().look(clock, &Weak::new());
        assert!(second.at_ns > first.at_ns && second.cpu_ns >= first.cpu_ns);
        assert!(second.read_bytes > first.read_bytes && second.resident_bytes > 1 << 20);
    }

    // utime, stime and the machine's iowait are the 14th and 15th word of /proc/self/stat and the 5th number of
    // /proc/stat (proc(5)); here the first two begin after the name.
    #[test]
    fn ticks_are_found_by_their_place() {
        let tick = 1_000_000_000 / rustix::param::clock_ticks_per_second();
        let stat = "7 (a (b) 3 c) R 1 7 7 0 -1 4194304 99 0 0 0 250 31 0 0 20 0 1 0 5 6 7";
        let (_, figures) = stat.rsplit_once(')').unwrap();
        assert_eq!((ticks_ns(figures, 11), ticks_ns(figures, 12)), (250 * tick, 31 * tick));
        assert_eq!(ticks_ns("cpu  10 20 30 40 50 60 0 0 0 0\ncpu0 1 2 3 4 5", 5), 50 * tick);
        assert_eq!((ticks_ns("", 5), ticks_ns("cpu x", 1)), (0, 0));
    }

    #[test]
    fn time_in_the_kernel_is_part_of_the_processor_time() {
        let clock = Clock { epoch: Instant::now() };
        let began = Instant::now();
        let first = Eyes::open().look(clock, &Weak::new());
        let mut last = first;
        // Reading this makes the kernel work; a tick must pass.
        while last.system_ns == first.system_ns && began.elapsed() < Duration::from_secs(20) {
            let _ = std::fs::read("/proc/self/smaps").unwrap();
            last = Eyes::open().look(clock, &Weak::new());
        }
        assert!(last.system_ns > first.system_ns, "{last:?}");
        assert!(last.system_ns - first.system_ns <= last.cpu_ns - first.cpu_ns + 20_000_000);
    }
}
