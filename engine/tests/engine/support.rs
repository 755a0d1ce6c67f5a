//! Shared by the tests: engines, texts of answers, folders of files, and deadlines.

use crate::jobs::Words;
use proptest::prelude::ProptestConfig;
use rustix::fs::{CWD, FileType, Mode, mknodat};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{OnceLock, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tegula::{
    Aggregate, Cancel, Engine, EngineBuilder, Grouping, Input, Job, Key, MemoryError, Options,
    Output, Result, Topology, WordClass,
};
use tempfile::TempDir;

/// Numbers of workers that answers are compared over.
pub(crate) const WORKERS: [usize; 4] = [1, 2, 3, 7];

pub(crate) fn engine(workers: usize) -> Engine {
    Engine::builder().workers(workers).build().unwrap()
}

/// Engines of `WORKERS`, shared by all tests that leave them whole: so each serves many jobs.
/// Those of several workers are in groups, some of them uneven.
pub(crate) fn engines() -> &'static [Engine] {
    static ENGINES: OnceLock<Vec<Engine>> = OnceLock::new();
    ENGINES.get_or_init(|| {
        let machines = ["cores 1", "groups 2, cores 1", "cores 2\ncores 1", "groups 3, cores 1"];
        let engines = WORKERS.into_iter().zip(machines);
        engines.map(|(workers, machine)| grouped(workers, machine)).collect()
    })
}

/// Returns an engine whose workers are in the groups of a machine that a text describes.
pub(crate) fn grouped(workers: usize, machine: &str) -> Engine {
    let topology = Topology::from_text(machine, Path::new("a machine")).unwrap();
    Engine::builder().workers(workers).groups(Grouping::Like(topology)).build().unwrap()
}

/// Configures `count` random cases, and no file of failed ones.
pub(crate) fn cases(count: u32) -> ProptestConfig {
    ProptestConfig { cases: count, failure_persistence: None, ..ProptestConfig::default() }
}

pub(crate) type Answer<'a, J> = <<J as Job>::Combine as Aggregate>::Output<'a>;

/// Returns the output as text, a line per pair; the same by looking at it and by writing it.
pub(crate) fn text_of<J: Job>(
    output: &Output<J>,
    line: impl Fn(<J::Key as Key>::Borrowed<'_>, Answer<'_, J>, &mut Vec<u8>) + Sync,
) -> Vec<u8> {
    let (mut seen, mut written) = (Vec::new(), Vec::new());
    output.for_each(|key, answer| line(key, answer, &mut seen)).unwrap();
    output.write(&mut written, Path::new("a vector"), &Cancel::new(), line).unwrap();
    assert!(seen == written, "for_each and write differ");
    match output.iter() {
        Ok(pairs) => {
            let count = pairs.count();
            assert_eq!((output.len(), output.is_empty()), (count, count == 0));
        }
        Err(error) => {
            assert!(
                matches!(error, MemoryError::OnDisk { .. }) && output.stats().spilled_bytes > 0
            );
        }
    }
    written
}

/// A line of a count.
pub(crate) fn count_line(key: &[u8], count: u64, text: &mut Vec<u8>) {
    text.extend_from_slice(key);
    text.extend_from_slice(format!("\t{count}\n").as_bytes());
}

/// Returns the lines of counts.
pub(crate) fn count_lines(pairs: &[(Vec<u8>, u64)]) -> Vec<u8> {
    let mut text = Vec::new();
    pairs.iter().for_each(|(key, count)| count_line(key, *count, &mut text));
    text
}

/// Returns an engine of two workers with a limit of `bytes`, which does not count the memory of other tests in this process.
pub(crate) fn limited(bytes: u64) -> Engine {
    limited_builder(bytes).build().unwrap()
}

/// Returns the builder of [`limited`], for further options.
pub(crate) fn limited_builder(bytes: u64) -> EngineBuilder {
    Engine::builder().workers(2).memory_bytes(bytes).held_bytes(0)
}

/// More than a job's least, and less than the memory of the tests' larger inputs.
pub(crate) const LITTLE: u64 = 28 << 20;

/// Files named by number, in a folder that goes when it is dropped.
pub(crate) fn folder_of<T: AsRef<[u8]>>(texts: &[T]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (number, text) in texts.iter().enumerate() {
        fs::write(file_in(&folder, number), text).unwrap();
    }
    folder
}

pub(crate) fn file_in(folder: &TempDir, number: usize) -> PathBuf {
    folder.path().join(format!("{number:03}.txt"))
}

/// Runs a small job that anyone can check: no worker, no buffer and no lock was lost.
pub(crate) fn assert_works(engine: &Engine) {
    let text = "to be or not to be ".repeat(5000);
    let options = Options { split_bytes: Some(1000), ..Options::default() };
    let job = Words(WordClass::Whitespace);
    let output = engine.job(&job).options(&options).run(Input::bytes(text)).unwrap();
    let text = text_of(&output, count_line);
    assert_eq!(text, b"be\t10000\nnot\t5000\nor\t5000\nto\t10000\n");
}

/// Returns the error of a run, whose message says all of `words`, and whose engine still works.
pub(crate) fn error_saying<R>(engine: &Engine, result: Result<R>, words: &[&str]) -> tegula::Error {
    let Err(error) = result else { panic!("the run should have failed") };
    let message = error.to_string();
    for word in words {
        assert!(message.contains(word), "`{message}` does not say `{word}`");
    }
    assert_works(engine);
    error
}

/// Fails if the work takes longer, instead of waiting for ever.
pub(crate) fn within<R: Send + 'static>(
    seconds: u64,
    work: impl FnOnce() -> R + Send + 'static,
) -> R {
    let (sender, receiver) = mpsc::channel();
    let worker = std::thread::spawn(move || sender.send(work()).unwrap());
    match receiver.recv_timeout(Duration::from_secs(seconds)) {
        Ok(result) => result,
        Err(mpsc::RecvTimeoutError::Timeout) => panic!("not done within {seconds} s"),
        Err(mpsc::RecvTimeoutError::Disconnected) => match worker.join() {
            Err(panic) => std::panic::resume_unwind(panic),
            Ok(()) => unreachable!("a worker that ended well has sent its result"),
        },
    }
}

/// Waits for something that another thread does.
pub(crate) fn wait_until(mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < Duration::from_secs(30), "not so within 30 s");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Returns a pipe in the folder as input, and the thread that opens and writes it.
pub(crate) fn pipe_written_by(
    folder: &TempDir,
    write: impl FnOnce(fs::File) + Send + 'static,
) -> (Input, JoinHandle<()>) {
    let path = folder.path().join("pipe");
    let _ = fs::remove_file(&path);
    mknodat(CWD, &path, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
    let input = Input::paths([&path]).unwrap();
    // Opening waits for the reader.
    let open = move || write(fs::OpenOptions::new().write(true).open(path).unwrap());
    (input, std::thread::spawn(open))
}

const LIMITED: &str = "TEGULA_TEST_WITH_LITTLE_ADDRESS_SPACE";

/// Runs another test in a process of its own with an address space of `kib` KiB: a limit that cannot be
/// lifted again.
pub(crate) fn with_address_space(test: &str, kib: u64) {
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(format!("ulimit -v {kib}; exec \"$0\" --exact \"$1\" --nocapture"));
    shell.arg(std::env::current_exe().unwrap()).arg(test).env(LIMITED, "1");
    let output = shell.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success() && text.contains("1 passed"), "{text}{output:?}");
}

/// Returns whether this process has such a limit.
pub(crate) fn has_little_address_space() -> bool {
    std::env::var_os(LIMITED).is_some()
}

/// Returns a text of words, a few of which are frequent.
pub(crate) fn sample_text(words: usize) -> Vec<u8> {
    let mut state = 3_u64;
    let mut text = String::new();
    for _ in 0..words {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        let number = (state >> 40) % ((state >> 20) % 997 + 1);
        text.push_str(&format!("{number:x}{}", if number.is_multiple_of(9) { '\n' } else { ' ' }));
    }
    text.into_bytes()
}
