//! States in an object store and in HDFS: the same files, answers and errors as on a disk. A request that fails, at
//! whatever moment, costs work and nothing else; of two runs only one changes a state.

use crate::common::{settings, text};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use tegula::state::{AnswerFile, jobs_of, remove, report, verify};
use tegula::{
    Cancel, Engine, Error, Folders, Incremental, Input, Keep, Options, Renewed, Result, SaveEvery,
    State, StateError, Storage, StorageError,
};
use tegula_apps::{WordCount, Words};
use tegula_remote::Settings;
use tegula_remote_servers::{Hdfs, S3};

pub(crate) const URL: &str = "s3://bucket/states";

/// Runs a word count in tiles of 64 KiB that saves after each. Returns the answer and the bytes that were restored.
pub(crate) fn run(text: &[u8], workers: usize, state: Option<State>) -> Result<(Vec<u8>, u64)> {
    run_until(text, workers, state, Cancel::new())
}

fn run_until(
    text: &[u8],
    workers: usize,
    state: Option<State>,
    cancel: Cancel,
) -> Result<(Vec<u8>, u64)> {
    let engine = Engine::builder().workers(workers).build()?;
    let state = state.map(|state| state.save_every(SaveEvery::Tiles(1)));
    let options = Options { state, cancel, tile_bytes: Some(64 << 10), ..Options::default() };
    let job = WordCount { words: Words::Whitespace };
    let output = engine.job(&job).options(&options).run(Input::bytes(text.to_vec()))?;
    let mut answer = Vec::new();
    output.for_each(|word, count| {
        answer.extend_from_slice(word);
        answer.extend_from_slice(format!("\t{count}\n").as_bytes());
    })?;
    Ok((answer, output.stats().restored_bytes))
}

pub(crate) fn folders(settings: &Settings, url: &str) -> Arc<dyn Folders> {
    settings.folders(url, &std::env::temp_dir()).unwrap()
}

pub(crate) fn state(folders: &Arc<dyn Folders>) -> Option<State> {
    Some(State::within(Arc::clone(folders), "words"))
}

/// A server with a bucket, and few tries.
pub(crate) fn server() -> (S3, Settings) {
    let server = S3::start();
    server.put("bucket", "other", b"x");
    let settings = settings(server.endpoint()).with("TEGULA_REMOTE_TRIES", "1");
    (server, settings)
}

/// All that a state on a disk does, with a run that resumes and one that only reads.
fn a_state_is_as_on_a_disk(make: &dyn Fn() -> Arc<dyn Folders>) {
    let text = text(1 << 20);
    let (expected, _) = run(&text, 1, None).unwrap();
    assert!(matches!(jobs_of(&*make()), Err(Error::State(StateError::Missing { .. }))));
    let keep = |keep| state(&make()).map(|state| state.keep(keep));
    for restored in [false, true, true] {
        let (answer, bytes) = run(&text, 2, keep(Keep::Nothing)).unwrap();
        assert!(answer == expected && (bytes > 0) == restored, "{bytes}");
    }
    let (answer, bytes) = run(&text, 3, keep(Keep::Result)).unwrap();
    assert!(answer == expected && bytes > 0);
    let (answer, bytes) = run(&text, 1, keep(Keep::Result)).unwrap();
    assert!(answer == expected && bytes == text.len() as u64);
    let storage = make().folder("words");
    let files = storage.list().unwrap();
    assert_eq!(files[..3], ["input", "lock", "manifest"], "{files:?}");
    assert!(files[3..].iter().all(|file| file.starts_with("snapshot-")), "{files:?}");
    assert_eq!(jobs_of(&*make()).unwrap(), ["words"]);
    let found = report(&*make(), "words").unwrap().unwrap();
    assert!(found.done && found.mapped_bytes == text.len() as u64 && found.id == "words");
    assert!(verify(&*make(), "words").unwrap() > 0);
    // Another input, another job.
    let other = run(&text[1..], 1, keep(Keep::Result));
    assert!(matches!(other, Err(Error::State(StateError::OtherInput { .. }))));
    a_folder_is_as_on_a_disk(&*storage);
    remove(&*make(), "words").unwrap();
    assert!(matches!(report(&*make(), "words"), Err(Error::State(StateError::Missing { .. }))));
}

/// The calls of storage that a state makes seldom or never.
fn a_folder_is_as_on_a_disk(storage: &dyn Storage) {
    let file = storage.create("new").unwrap();
    assert!(matches!(storage.create("new"), Err(StorageError::Exists { .. })));
    file.write_all_at(b"0123456789", 0).unwrap();
    file.write_all_at(b"ab", 4).unwrap();
    assert!(storage.list().unwrap().contains(&"new".to_owned()));
    assert!(matches!(storage.open("new"), Err(StorageError::Missing { .. })), "not synced");
    file.sync().unwrap();
    let again = storage.open("new").unwrap();
    assert_eq!(again.bytes().unwrap(), 10);
    let mut bytes = [0; 10];
    again.read_exact_at(&mut bytes, 0).unwrap();
    assert_eq!(&bytes, b"0123ab6789");
    assert!(matches!(again.read_exact_at(&mut bytes, 1), Err(StorageError::Short { .. })));
    again.set_bytes(3).unwrap();
    again.write_all_at(b"x", 4).unwrap();
    again.sync().unwrap();
    let mut bytes = [0; 5];
    storage.open("new").unwrap().read_exact_at(&mut bytes, 0).unwrap();
    assert_eq!(&bytes, b"012\0x");
    storage.create("more").unwrap().sync().unwrap();
    storage.rename("new", "more").unwrap();
    assert_eq!(storage.open("more").unwrap().bytes().unwrap(), 5);
    assert!(matches!(storage.rename("new", "x"), Err(StorageError::Missing { .. })));
    storage.remove("more").unwrap();
    assert!(matches!(storage.remove("more"), Err(StorageError::Missing { .. })));
    // One that was never synced goes with its handle.
    drop(storage.create("new").unwrap());
    storage.create("new").unwrap();
    assert!(!storage.list().unwrap().contains(&"new".to_owned()));
    // Longer than a piece of an upload.
    let long: Vec<u8> = (0..9_000_000_u32).map(|number| (number % 251) as u8).collect();
    let file = storage.create("long").unwrap();
    file.write_all_at(&long, 0).unwrap();
    file.sync().unwrap();
    let mut found = vec![0; long.len()];
    storage.open("long").unwrap().read_exact_at(&mut found, 0).unwrap();
    assert!(found == long);
    storage.remove("long").unwrap();
}

#[test]
fn in_an_object_store() {
    let (_server, settings) = server();
    a_state_is_as_on_a_disk(&|| folders(&settings, URL));
}

/// One cluster for all, because it takes a while to start.
#[test]
fn in_hdfs() {
    let hdfs = Hdfs::start();
    let settings =
        Settings::new().with("TEGULA_REMOTE_TRIES", "4").with("TEGULA_STATE_LEASE_SECONDS", "4");
    let url = format!("{}/states", hdfs.root());
    let make = || folders(&settings, &url);
    a_state_is_as_on_a_disk(&make);
    // What runs that were killed elsewhere left is taken over and removed.
    let text = text(1 << 20);
    let (expected, _) = run(&text, 1, None).unwrap();
    hdfs.put("/states/words/lease-3", b"elsewhere 1 1 0\n5\n");
    hdfs.put("/states/words/lease-1", b"elsewhere 1 1 0\n5\n");
    hdfs.put("/states/words/snapshot-00000001.unfinished", b"half");
    assert!(run(&text, 2, state(&make())).unwrap().0 == expected);
    remove(&*make(), "words").unwrap();
    assert!(make().names().unwrap().is_empty());
    one_of_two_runs_has_it(&make);
    one_of_runs_at_once_has_it(&make);
    // What a run that has waited makes of a folder is left to it.
    let storage = make().make("again").unwrap();
    storage.create("new").unwrap().sync().unwrap();
    make().remove("again").unwrap();
    assert!(storage.open("new").is_ok());
    let denied = format!("{}/denied", hdfs.root());
    hdfs.put("/denied/x", b"x");
    hdfs.deny("/denied");
    let stranger = settings.with("HADOOP_USER_NAME", "stranger");
    let message = run(&text, 1, state(&folders(&stranger, &denied))).unwrap_err().to_string();
    assert!(
        message.starts_with(&denied) && message.contains("AccessControlException"),
        "{message}"
    );
}

fn one_of_two_runs_has_it(make: &dyn Fn() -> Arc<dyn Folders>) {
    let storage = make().make("two").unwrap();
    let first = storage.lock("lock").unwrap().unwrap();
    let waited = Instant::now();
    assert!(make().folder("two").lock("lock").unwrap().is_none());
    assert!(waited.elapsed() < Duration::from_secs(20));
    drop(first);
    let second = make().folder("two").lock("lock").unwrap();
    assert!(second.is_some());
}

fn one_of_runs_at_once_has_it(make: &(dyn Fn() -> Arc<dyn Folders> + Sync)) {
    let lock = || make().folder("two").lock("lock").unwrap();
    let locks: Vec<_> = thread::scope(|scope| {
        let runs: Vec<_> = (0..6).map(|_| scope.spawn(lock)).collect();
        runs.into_iter().map(|run| run.join().unwrap()).collect()
    });
    assert_eq!(locks.iter().flatten().count(), 1);
    drop(locks);
    assert!(make().folder("two").list().unwrap() == ["lock"]);
}

#[test]
fn one_of_two_runs_has_a_state() {
    let (_server, settings) = server();
    let settings = settings.with("TEGULA_STATE_LEASE_SECONDS", "2");
    one_of_two_runs_has_it(&|| folders(&settings, URL));
}

/// A lease that another machine renews is respected, one that it does not renew any more is taken.
#[test]
fn a_run_elsewhere_has_its_state_as_long_as_it_renews_its_lease() {
    let (server, settings) = server();
    let make = || folders(&settings.clone().with("TEGULA_STATE_LEASE_SECONDS", "1"), URL);
    let text = text(1 << 20);
    let (expected, _) = run(&text, 1, None).unwrap();
    let lease = |beat: u32| {
        let content = format!("elsewhere 1 1 0\n{beat}\n");
        server.put("bucket", "states/words/lease-7", content.as_bytes());
    };
    lease(0);
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            for beat in (1..).take_while(|_| !is_over.load(Ordering::Relaxed)) {
                lease(beat);
                thread::sleep(Duration::from_millis(100));
            }
        });
        let refused = run(&text, 1, state(&make()));
        is_over.store(true, Ordering::Relaxed);
        assert!(matches!(refused, Err(Error::State(StateError::InUse { .. }))));
    });
    let began = Instant::now();
    assert!(run(&text, 1, state(&make())).unwrap().0 == expected);
    assert!(began.elapsed() >= Duration::from_secs(1));
    remove(&*make(), "words").unwrap();
    assert!(make().folder("words").list().unwrap().is_empty());
}

/// A run that another one took for dead finds that before it changes anything.
#[test]
fn a_run_that_has_lost_its_state_fails() {
    let (server, settings) = server();
    let make = || folders(&settings, URL);
    let text = text(3 << 20);
    let objects = server.objects();
    server
        .after(30, move || objects.put("bucket", "states/words/lease-2", b"elsewhere 1 1 0\n5\n"));
    let message = run(&text, 1, state(&make())).unwrap_err().to_string();
    assert!(message.starts_with(URL) && message.contains("taken this state over"), "{message}");
    objects.delete("bucket", "states/words/lease-2");
    assert!(run(&text, 1, state(&make())).unwrap().0 == run(&text, 1, None).unwrap().0);
}

/// Two runs over one text: the first is cut off when it uploads its first snapshot, until the second has taken the state
/// over and ended. Returns the end of the first.
fn run_that_is_cut_off_until(
    server: &S3,
    settings: &Settings,
    text: &[u8],
    meanwhile: impl FnOnce(),
) -> Result<(Vec<u8>, u64)> {
    let (cut, is_cut) = std::sync::mpsc::channel();
    let refusals = server.refusals();
    server.before("PUT /bucket/states/words/snapshot-", move || {
        refusals.refuse_next(u32::MAX, 503, None);
        cut.send(()).unwrap();
    });
    let patient = settings.clone().with("TEGULA_REMOTE_TRIES", "100");
    thread::scope(|scope| {
        let first = scope.spawn(|| run(text, 1, state(&folders(&patient, URL))));
        is_cut.recv().unwrap();
        meanwhile();
        server.refuse_next(0, 503, None);
        first.join().unwrap()
    })
}

/// An upload that is tried again does not outlive the lease: the state is another run's by then, which has finished it.
#[test]
fn a_late_upload_harms_no_state_that_was_taken_over() {
    let (server, settings) = server();
    let settings = settings.with("TEGULA_STATE_LEASE_SECONDS", "1");
    let direct = settings.clone().with("AWS_ENDPOINT_URL", server.direct_endpoint());
    let text = text(1 << 20);
    let (expected, _) = run(&text, 1, None).unwrap();
    let make = || folders(&direct, URL);
    let late = run_that_is_cut_off_until(&server, &settings, &text, || {
        assert!(run(&text, 1, state(&make())).unwrap().0 == expected);
    });
    let message = late.unwrap_err().to_string();
    assert!(message.contains("taken this state over"), "{message}");
    assert!(verify(&*make(), "words").unwrap() > 0);
    let (answer, restored) = run(&text, 1, state(&make())).unwrap();
    assert!(answer == expected && restored == text.len() as u64, "{restored}");
}

/// A run that could not renew its lease in time goes on if no other wanted the state.
#[test]
fn a_lease_that_ran_out_is_taken_again() {
    let (server, settings) = server();
    let settings = settings.with("TEGULA_STATE_LEASE_SECONDS", "1");
    let text = text(1 << 20);
    let (expected, _) = run(&text, 1, None).unwrap();
    let late = run_that_is_cut_off_until(&server, &settings, &text, || {
        thread::sleep(Duration::from_millis(2500));
    });
    assert!(late.unwrap().0 == expected);
    let make = || folders(&settings, URL);
    assert!(verify(&*make(), "words").unwrap() > 0);
    remove(&*make(), "words").unwrap();
}

/// Each part of a long file has the tries and the seconds of a request for itself.
#[test]
fn a_part_of_a_long_upload_is_tried_again() {
    let (server, settings) = server();
    let settings = settings.with("TEGULA_REMOTE_TRIES", "4").with("TEGULA_REMOTE_SECONDS", "2");
    let storage = folders(&settings, URL).make("words").unwrap();
    let bytes: Vec<u8> = (0..17 << 20).map(|number: u32| (number % 251) as u8).collect();
    for part in [1, 2] {
        server.before(&format!("partNumber={part}&"), || thread::sleep(Duration::from_secs(1)));
    }
    let refusals = server.refusals();
    server.before("partNumber=3&", move || refusals.refuse_next(1, 503, None));
    let file = storage.create("long").unwrap();
    file.write_all_at(&bytes, 0).unwrap();
    file.sync().unwrap();
    assert_eq!(server.left_to_refuse(), 0);
    let mut found = vec![0; bytes.len()];
    storage.open("long").unwrap().read_exact_at(&mut found, 0).unwrap();
    assert!(found == bytes);
}

/// A run replaces its manifest while another program shows what was saved: that looks again.
#[test]
fn a_state_is_shown_while_its_run_saves() {
    let (server, settings) = server();
    let text = text(1 << 20);
    run(&text, 1, state(&folders(&settings, URL))).unwrap();
    let storage = folders(&settings, URL).folder("words");
    let file = storage.open("manifest").unwrap();
    let mut manifest = vec![0; file.bytes().unwrap() as usize];
    file.read_exact_at(&mut manifest, 0).unwrap();
    server.put("bucket", "states/words/manifest", b"an earlier one");
    let objects = server.objects();
    server.before("GET /bucket/states/words/manifest", move || {
        objects.put("bucket", "states/words/manifest", &manifest);
    });
    let file = storage.open("manifest").unwrap();
    let engine = Engine::builder().workers(1).build().unwrap();
    let job = WordCount { words: Words::Whitespace };
    let state = state(&folders(&settings, URL)).unwrap();
    let saved = engine.job(&job).state(state).saved().unwrap();
    assert_eq!(saved.report.mapped_bytes, text.len() as u64);
    // Who reads it once is told so.
    let message = file.read_exact_at(&mut [0; 4], 0).unwrap_err().to_string();
    assert!(
        message.starts_with(URL) && message.contains("another program changed it"),
        "{message}"
    );
    assert_eq!(message.matches(URL).count(), 1, "{message}");
}

/// The note of an answer lasts as long as the state.
#[test]
fn an_answer_that_stands_is_left() {
    let (_server, settings) = server();
    let folder = tempfile::tempdir().unwrap();
    let (text, counts) = (folder.path().join("text"), folder.path().join("counts"));
    std::fs::write(&text, "to be or not to be\n").unwrap();
    let engine = Engine::builder().workers(1).build().unwrap();
    let file = AnswerFile { path: &counts, form: b"keys" };
    for is_written in [true, false] {
        let state = state(&folders(&settings, URL)).unwrap().incremental(Incremental::default());
        let job = WordCount { words: Words::Whitespace };
        let renewed =
            engine.job(&job).state(state).renew(Input::paths([&text]).unwrap(), file, |output| {
                std::fs::write(&counts, output.stats().keys.to_string()).unwrap();
                Ok(())
            });
        assert_eq!(matches!(renewed.unwrap(), Renewed::Written(_)), is_written);
    }
}

/// From some request on, the store answers no more: the run fails with the name of the file, or has its answer, and
/// the next one resumes. Each `TEGULA_TEST_STEP`th request is tried, 15 by default.
#[test]
fn a_store_that_fails_at_any_request_costs_work_alone() {
    let (server, settings) = server();
    let text = text(400_000);
    let (expected, _) = run(&text, 1, None).unwrap();
    let (mut failed, mut restored) = (0, 0);
    let step = std::env::var("TEGULA_TEST_STEP").map_or(15, |step| step.parse().unwrap());
    for number in (0..).step_by(step) {
        let make = || folders(&settings, URL);
        let (fault, refusing) = (server.refusals(), number);
        server.after(refusing, move || fault.refuse_next(u32::MAX, 503, None));
        let result = run(&text, 2, state(&make()));
        let is_whole = server.requests() < refusing;
        server.after(u32::MAX, || ());
        server.refuse_next(0, 503, None);
        match result {
            Ok((answer, _)) => assert!(answer == expected, "{number}"),
            Err(error) => {
                failed += 1;
                let message = error.to_string();
                assert!(message.contains("s3://bucket/states"), "{message}");
                assert!(message.contains("503"), "{message}");
            }
        }
        let (answer, bytes) = run(&text, 1, state(&make())).unwrap();
        assert!(answer == expected, "{number}");
        restored += bytes;
        remove(&*make(), "words").unwrap();
        if is_whole {
            break;
        }
    }
    assert!(failed > 2 && restored > 0, "{failed} failed");
}

/// A store that is busy now and then is asked again.
#[test]
fn a_busy_store_is_asked_again() {
    let (server, settings) = server();
    let settings = settings.with("TEGULA_REMOTE_TRIES", "5");
    let text = text(1 << 20);
    let (expected, _) = run(&text, 1, None).unwrap();
    for number in (1..40).step_by(13) {
        let fault = server.refusals();
        server.after(number, move || fault.refuse_next(3, 503, Some(0)));
        assert!(run(&text, 2, state(&folders(&settings, URL))).unwrap().0 == expected);
        assert_eq!(server.left_to_refuse(), 0);
        remove(&*folders(&settings, URL), "words").unwrap();
    }
}

/// The answer to the last request of renaming is lost, and the next try finds nothing to rename.
#[test]
fn a_file_that_was_renamed_is_not_missed() {
    let (server, settings) = server();
    let settings = settings.with("TEGULA_REMOTE_TRIES", "4");
    let storage = folders(&settings, URL).make("words").unwrap();
    let write = |bytes: &[u8]| {
        let file = storage.create("new").unwrap();
        file.write_all_at(bytes, 0).unwrap();
        file.sync().unwrap();
    };
    let lose = |names: &'static [&str]| {
        let (objects, refusals) = (server.objects(), server.refusals());
        // The file is asked for, copied, removed.
        server.after(2, move || {
            names.iter().for_each(|name| objects.delete("bucket", name));
            refusals.refuse_next(1, 503, Some(0));
        });
    };
    write(b"abc");
    lose(&["states/words/new"]);
    storage.rename("new", "kept").unwrap();
    assert_eq!((server.left_to_refuse(), storage.list().unwrap()), (0, vec!["kept".to_owned()]));
    // Another program removes the copy, too.
    write(b"abc");
    lose(&["states/words/new", "states/words/kept"]);
    assert!(matches!(storage.rename("new", "kept"), Err(StorageError::Missing { .. })));
}

/// The store removes a file, the answer is lost, and the next try is told that there is no such file, as Google Cloud
/// Storage, Azure and HDFS say.
#[test]
fn what_was_removed_is_not_missed() {
    let (server, settings) = server();
    let settings = settings.with("TEGULA_REMOTE_TRIES", "4");
    let storage = folders(&settings, URL).make("words").unwrap();
    storage.create("new").unwrap().sync().unwrap();
    let (objects, refusals) = (server.objects(), server.refusals());
    server.before("POST /bucket?delete", move || {
        objects.delete("bucket", "states/words/new");
        refusals.refuse_next(1, 503, Some(0));
    });
    let refusals = server.refusals();
    server.before("POST /bucket?delete", move || refusals.refuse_next(1, 404, None));
    storage.remove("new").unwrap();
    assert_eq!((server.left_to_refuse(), storage.list().unwrap()), (0, Vec::new()));
    // One that another program removes is missed.
    storage.create("new").unwrap().sync().unwrap();
    let refusals = server.refusals();
    server.before("POST /bucket?delete", move || refusals.refuse_next(1, 404, None));
    assert!(matches!(storage.remove("new"), Err(StorageError::Missing { .. })));
}

/// A run that is cancelled has saved what it mapped, and gives its state back at once.
#[test]
fn a_cancelled_run_is_resumed() {
    let (server, settings) = server();
    let text = text(3 << 20);
    let (expected, _) = run(&text, 1, None).unwrap();
    let cancel = Cancel::new();
    let theirs = cancel.clone();
    server.after(40, move || theirs.cancel());
    let stopped = run_until(&text, 1, state(&folders(&settings, URL)), cancel);
    assert!(matches!(stopped, Err(Error::Cancelled)));
    let (answer, restored) = run(&text, 2, state(&folders(&settings, URL))).unwrap();
    assert!(answer == expected && restored > 0, "{restored}");
}
