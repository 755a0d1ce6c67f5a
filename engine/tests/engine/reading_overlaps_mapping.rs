//! Input from sources of the caller's: read ahead of the workers, in any pace and order, and whole.

use crate::jobs::{Words, offsets};
use crate::packing::Packing;
use crate::reference;
use crate::support::{
    LITTLE, cases, count_line, engine, engines, error_saying, limited, text_of, wait_until, within,
};
use proptest::prelude::*;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;
use tegula::{
    Cut, Emit, Engine, Error, Input, InputError, Job, Options, RangeSource, Result, Split,
    TileSource, WordClass,
};

const JOB: Words = Words(WordClass::Whitespace);

/// Files in memory; each read takes as long as `pause` says of its number.
pub(crate) struct Slow {
    files: Vec<Vec<u8>>,
    pause: Box<dyn Fn(u64) -> Duration + Send + Sync>,
    reads: AtomicU64,
    /// Reads that are under way, and the most that were.
    now: AtomicUsize,
    most: AtomicUsize,
    /// The number of the read that fails.
    fails: Option<(u64, io::ErrorKind)>,
    /// From this read on, none ends before two were under way at once.
    waits: Option<u64>,
}

impl std::fmt::Debug for Slow {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Slow")
    }
}

impl Slow {
    pub(crate) fn new(
        files: Vec<Vec<u8>>,
        pause: impl Fn(u64) -> Duration + Send + Sync + 'static,
    ) -> Slow {
        let (reads, now, most) = Default::default();
        Slow { files, pause: Box::new(pause), reads, now, most, fails: None, waits: None }
    }

    pub(crate) fn input(self) -> (Input, Arc<Slow>) {
        let source = Arc::new(self);
        let files = source.files.iter().enumerate();
        let files: Vec<_> =
            files.map(|(number, file)| (format!("slow://{number}"), file.len() as u64)).collect();
        (Input::ranges(source.clone(), files), source)
    }
}

impl RangeSource for Slow {
    fn read_at(&self, name: &Path, offset: u64, into: &mut [u8]) -> io::Result<()> {
        let now = self.now.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(now, Ordering::SeqCst);
        let read = self.reads.fetch_add(1, Ordering::SeqCst);
        thread::sleep((self.pause)(read));
        if self.waits.is_some_and(|first| read >= first) {
            wait_until(|| self.most.load(Ordering::SeqCst) > 1);
        }
        self.now.fetch_sub(1, Ordering::SeqCst);
        if let Some((number, kind)) = self.fails
            && read >= number
        {
            return Err(io::Error::new(kind, "the line is dead"));
        }
        let number: usize = name.to_str().unwrap().rsplit('/').next().unwrap().parse().unwrap();
        into.copy_from_slice(&self.files[number][offset as usize..][..into.len()]);
        Ok(())
    }
}

fn text(bytes: usize) -> Vec<u8> {
    let words =
        (0_u32..).map(|number| format!("word{} ", number.wrapping_mul(2_654_435_761) >> 20));
    let mut text: Vec<u8> = words.take(bytes / 5).flat_map(String::into_bytes).collect();
    text.truncate(bytes);
    text
}

fn expected(files: &[Vec<u8>]) -> Vec<u8> {
    let texts = files.iter().map(Vec::as_slice);
    let counts = reference::count(texts, WordClass::Whitespace);
    counts.iter().fold(Vec::new(), |mut lines, (word, count)| {
        count_line(word, *count, &mut lines);
        lines
    })
}

proptest! {
    #![proptest_config(cases(24))]

    #[test]
    fn a_source_in_any_pace_gives_what_memory_gives(
        lengths in prop::collection::vec(prop_oneof![0..2000_usize, 0..400_000_usize], 0..8),
        split in prop_oneof![1..1000_u64, 1000..200_000_u64],
        micros in 0..300_u64,
    ) {
        let files: Vec<_> = lengths.iter().map(|&length| text(length)).collect();
        let expected = expected(&files);
        let split = split.max(lengths.iter().sum::<usize>() as u64 / 500);
        let options = Options { split_bytes: Some(split), ..Options::default() };
        for engine in engines() {
            let pause = move |read: u64| Duration::from_micros(read.wrapping_mul(7919) % (micros + 1));
            let (input, _) = Slow::new(files.clone(), pause).input();
            let output = engine.job(&JOB).options(&options).run(input).unwrap();
            prop_assert_eq!(text_of(&output, count_line), &expected[..]);
        }
    }
}

#[test]
fn readers_run_ahead_and_are_as_many_as_a_slow_source_is_worth() {
    let files = vec![text(24 << 20)];
    let expected = expected(&files);
    let (input, source) = Slow::new(files, |_| Duration::from_millis(30)).input();
    let output = engine(2).job(&JOB).run(input).unwrap();
    assert!(text_of(&output, count_line) == expected);
    let stats = output.stats();
    assert_eq!((stats.bytes, stats.read_ahead_bytes >= stats.bytes), (24 << 20, true));
    assert!(source.most.load(Ordering::SeqCst) >= 4 && stats.readers >= 4);
}

/// Of one compressed file, ranges are asked for while one before them is decompressed: a bounded
/// number, or one at a time where memory has no room.
#[test]
fn a_decoder_does_not_wait_for_each_range_in_turn() {
    // Too random to become much smaller.
    let numbers = (0..300_000_u64).map(|number| number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let text: Vec<u8> = numbers.flat_map(|number| format!("{number:x} ").into_bytes()).collect();
    let expected = expected(std::slice::from_ref(&text));
    for packing in [Packing::Gzip, Packing::Zstd] {
        let packed = packing.pack(&text);
        assert!(packed.len() > 2 << 20, "{} bytes", packed.len());
        for (engine, most) in [(engine(1), 2..=3), (limited(LITTLE), 1..=1)] {
            let mut source = Slow::new(vec![packed.clone()], |_| Duration::from_millis(30));
            // On a busy machine, 30 ms may be too short for another read to begin.
            source.waits = most.contains(&2).then_some(1);
            let (input, source) = source.input();
            let output = engine.job(&JOB).run(input).unwrap();
            assert!(text_of(&output, count_line) == expected);
            let seen = source.most.load(Ordering::SeqCst);
            assert!(most.contains(&seen), "{packing:?}: {seen} reads at once");
        }
    }
}

/// The earliest range that fails ends the run, and no later read stays in progress.
#[test]
fn a_range_that_fails_ahead_of_a_decoder_ends_the_run() {
    within(60, || {
        let numbers = (0..500_000_u64).map(|number| number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let text: Vec<u8> = numbers.flat_map(u64::to_le_bytes).collect();
        let mut source = Slow::new(vec![Packing::Gzip.pack(&text)], |_| Duration::from_millis(5));
        source.fails = Some((3, io::ErrorKind::ConnectionReset));
        let (input, source) = source.input();
        let engine = engine(2);
        let error = error_saying(&engine, engine.job(&JOB).run(input), &["the line is dead"]);
        assert!(matches!(error, Error::Input(_)) && error.to_string().contains("slow://0"));
        assert_eq!(source.now.load(Ordering::SeqCst), 0);
    });
}

#[test]
fn files_that_are_there_are_read_by_the_workers() {
    let folder = crate::support::folder_of(&[text(1 << 20), text(1 << 20)]);
    let output = engine(2).job(&JOB).run(Input::paths([folder.path()]).unwrap()).unwrap();
    assert!(output.stats().read_ahead_bytes < 2 << 20);
}

#[test]
fn what_is_read_ahead_stays_within_the_budget() {
    let files = vec![text(40 << 20)];
    let expected = expected(&files);
    let (input, _) = Slow::new(files, |_| Duration::from_millis(2)).input();
    let engine = limited(LITTLE);
    let output = engine.job(&JOB).run(input).unwrap();
    assert!(text_of(&output, count_line) == expected);
    let peak = output.stats().memory_counted_peak;
    assert!(peak <= LITTLE, "{peak} bytes were counted");
}

#[test]
fn a_read_that_fails_names_the_file_and_ends_the_run() {
    for (kind, words) in [
        (io::ErrorKind::NotFound, ["slow://1", "vanished"]),
        (io::ErrorKind::ConnectionReset, ["slow://", "the line is dead"]),
    ] {
        within(60, move || {
            let files = vec![text(2 << 20), text(4 << 20)];
            let mut source = Slow::new(files, |_| Duration::from_millis(1));
            source.fails = Some((3, kind));
            let engine = engine(3);
            let result = engine.job(&JOB).run(source.input().0);
            let error = error_saying(&engine, result, &words[1..]);
            assert!(matches!(error, Error::Input(_)) && error.to_string().contains("slow://"));
        });
    }
}

#[test]
fn a_source_that_panics_fails_its_job_alone() {
    within(60, || {
        let pause = |read| if read < 2 { Duration::ZERO } else { panic!("the cable was cut") };
        let (input, _) = Slow::new(vec![text(8 << 20)], pause).input();
        let engine = engine(2);
        error_saying(&engine, engine.job(&JOB).run(input), &["panicked", "the cable was cut"]);
    });
}

#[test]
fn a_cancelled_run_ends_while_its_source_is_slow() {
    within(60, || {
        let options = Options::default();
        let cancel = options.cancel.clone();
        let pause = move |read| {
            if read == 3 {
                cancel.cancel();
            }
            Duration::from_millis(20)
        };
        let (input, _) = Slow::new(vec![text(64 << 20)], pause).input();
        let result = engine(2).job(&JOB).options(&options).run(input);
        assert!(matches!(result, Err(Error::Cancelled)));
    });
}

#[test]
fn collected_values_keep_the_order_of_the_input() {
    let places = |engine: &Engine, input| {
        let options = Options { split_bytes: Some(5000), ..Options::default() };
        let output = engine.job(&offsets()).options(&options).run(input).unwrap();
        text_of(&output, |word, places, line: &mut Vec<u8>| {
            line.extend_from_slice(word);
            places.for_each(|place| line.extend_from_slice(format!(" {place}").as_bytes()));
            line.push(b'\n');
        })
    };
    let text = text(600_000);
    let expected = places(&engine(1), Input::bytes(text.clone()));
    for engine in engines() {
        let pause = |read: u64| Duration::from_micros(read.wrapping_mul(7919) % 500);
        let (input, _) = Slow::new(vec![text.clone()], pause).input();
        assert!(places(engine, input) == expected);
    }
}

/// Tiles from a list; counts the acquired ones, and keeps the released ones.
struct Tiles {
    rest: std::vec::IntoIter<Vec<u8>>,
    out: Arc<AtomicUsize>,
    back: Arc<Mutex<Vec<Vec<u8>>>>,
    fails: bool,
}

impl TileSource for Tiles {
    type Tile = Vec<u8>;

    fn acquire(&mut self) -> io::Result<Option<Vec<u8>>> {
        let Some(tile) = self.rest.next() else {
            return if self.fails { Err(io::Error::other("the camera is off")) } else { Ok(None) };
        };
        assert_eq!(self.out.fetch_add(1, Ordering::SeqCst), 0, "two tiles are out");
        Ok(Some(tile))
    }

    fn release(&mut self, tile: Vec<u8>) {
        self.out.fetch_sub(1, Ordering::SeqCst);
        self.back.lock().unwrap().push(tile);
    }
}

fn tiles(tiles: &[Vec<u8>], fails: bool) -> (Input, Arc<Mutex<Vec<Vec<u8>>>>) {
    let (out, back) = (Arc::default(), Arc::default());
    let list = tiles.to_vec();
    let source = Tiles { rest: list.into_iter(), out, back: Arc::clone(&back), fails };
    (Input::tiles("camera", source), back)
}

proptest! {
    #![proptest_config(cases(24))]

    #[test]
    fn tiles_of_the_callers_own_are_mapped_and_released(
        lengths in prop::collection::vec(prop_oneof![0..200_usize, 0..100_000_usize], 0..12),
        split in 1..50_000_u64,
    ) {
        let all: Vec<_> = lengths.iter().map(|&length| text(length)).collect();
        let expected = expected(&all);
        let options = Options { split_bytes: Some(split), ..Options::default() };
        for engine in engines() {
            let (input, back) = tiles(&all, false);
            let output = engine.job(&JOB).options(&options).run(input).unwrap();
            // A tile's end is a border: no word continues in the next tile.
            prop_assert_eq!(text_of(&output, count_line), &expected[..]);
            prop_assert_eq!(&*back.lock().unwrap(), &all);
        }
    }
}

/// The offset and the length of each split.
struct Splits(Cut);

impl Job for Splits {
    type Key = u64;
    type Combine = tegula::Sum<u64>;

    fn cut(&self) -> Cut {
        self.0
    }

    fn map<'s>(&self, split: Split<'s>, emit: &mut impl Emit<'s, Self>) -> Result<()> {
        assert_eq!(split.path(), Path::new("camera"));
        emit.emit(split.offset(), split.bytes().len() as u64);
        Ok(())
    }
}

#[test]
fn tiles_are_cut_as_the_job_says() {
    let all = [vec![b'a'; 30_000], vec![b'b'; 60_000]];
    let lengths = |cut| {
        let (input, _) = tiles(&all, false);
        let options = Options { split_bytes: Some(8192), ..Options::default() };
        let output = engine(2).job(&Splits(cut)).options(&options).run(input).unwrap();
        output.iter().unwrap().collect::<Vec<_>>()
    };
    assert_eq!(lengths(Cut::Whole), [(0, 30_000), (30_000, 60_000)]);
    let fixed = lengths(Cut::Fixed(1000));
    assert!(fixed.len() >= 2 && fixed.iter().all(|(_, length)| length.is_multiple_of(1000)));
    assert_eq!(fixed.iter().map(|(_, length)| length).sum::<u64>(), 90_000);
    let (input, _) = tiles(&all, false);
    let result = engine(1).job(&Splits(Cut::Fixed(7000))).run(input);
    assert!(matches!(result, Err(Error::Input(InputError::Ragged { length: 30_000, .. }))));
}

#[test]
fn tiles_that_fail_end_the_run_and_come_back() {
    let all = vec![text(50_000), text(70_000)];
    let (input, back) = tiles(&all, true);
    let engine = engine(2);
    error_saying(&engine, engine.job(&JOB).run(input), &["camera", "the camera is off"]);
    assert_eq!(*back.lock().unwrap(), all);
}

#[test]
fn tiles_come_back_from_a_cut_that_panics() {
    let all = vec![text(50_000), b"!".repeat(400_000)];
    let (input, back) = tiles(&all, false);
    let engine = engine(1);
    let cut = Cut::Between(|before, _| {
        assert!(before != b'!', "the cut does not like !");
        before == b' '
    });
    let options = Options { split_bytes: Some(8192), ..Options::default() };
    error_saying(
        &engine,
        engine.job(&Splits(cut)).options(&options).run(input),
        &["does not like !"],
    );
    assert_eq!(*back.lock().unwrap(), all);
}
