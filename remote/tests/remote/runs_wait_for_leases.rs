//! The lease by which a run has a state: who has it renews it, who waits for it watches it, and neither takes the silence of
//! a slow store for an end.

use crate::common::text;
use crate::states_are_kept_elsewhere::{URL, folders, run, server, state};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use tegula::{Error, StateError};
use tegula_remote_servers::S3;

/// Makes the lease of a number as a run elsewhere does, for `seconds`.
fn lease_elsewhere(server: &S3, number: u32, beat: u32, seconds: u32) {
    let content = format!("elsewhere 1 1 0\n{beat}\n{seconds}\n");
    server.put("bucket", &format!("states/words/lease-{number}"), content.as_bytes());
}

/// What waits has a state that commands find, and the number that a run takes which begins at that moment.
#[test]
fn a_state_that_is_removed_while_a_run_waits_for_it_is_made_anew() {
    let (server, settings) = server();
    let settings = settings.with("TEGULA_STATE_LEASE_SECONDS", "1");
    server.put("bucket", "states/words/lock", b"");
    lease_elsewhere(&server, 5, 0, 30);
    let is_first = Arc::new(AtomicBool::new(false));
    let made = Arc::clone(&is_first);
    let storage = folders(&settings, URL).make("words").unwrap();
    let lock = thread::scope(|scope| {
        let waiting = scope.spawn(|| storage.lock("lock").unwrap());
        thread::sleep(Duration::from_millis(300));
        server.before("/states/words/lease-1 ", move || made.store(true, Ordering::Relaxed));
        for name in ["lock", "lease-5"] {
            server.objects().delete("bucket", &format!("states/words/{name}"));
        }
        waiting.join().unwrap()
    });
    assert!(lock.is_some() && is_first.load(Ordering::Relaxed));
    assert!(storage.open("lock").is_ok());
}

/// What a store answers late was asked early: the run that has the lease may have renewed it since.
#[test]
fn a_late_answer_ends_no_lease() {
    let (server, settings) = server();
    let settings = settings.with("TEGULA_STATE_LEASE_SECONDS", "2");
    lease_elsewhere(&server, 1, 0, 2);
    // A list of them has two pages, of which the first has the lease.
    for number in 0..1000 {
        server.put("bucket", &format!("states/words/x{number:04}"), b"");
    }
    let storage = folders(&settings, URL).folder("words");
    // The first list finds the lease, the next one is late.
    server.before("continuation-token", || ());
    let (is_renewed, objects) = (Arc::new(AtomicBool::new(false)), server.objects());
    let renewed = Arc::clone(&is_renewed);
    server.before("continuation-token", move || {
        objects.put("bucket", "states/words/lease-1", b"elsewhere 1 1 0\n1\n2\n");
        renewed.store(true, Ordering::Relaxed);
        thread::sleep(Duration::from_millis(2500));
    });
    assert!(storage.lock("lock").unwrap().is_none() && is_renewed.load(Ordering::Relaxed));
}

/// The answer that tells a run whether it was the first to take the next lease is lost. The run has that lease all the same.
#[test]
fn a_run_does_not_lose_its_state_to_itself() {
    let (server, settings) = server();
    let make = || folders(&settings.clone().with("TEGULA_STATE_LEASE_SECONDS", "2"), URL);
    let storage = make().make("words").unwrap();
    let lock = storage.lock("lock").unwrap().unwrap();
    server.refuse_next(u32::MAX, 503, None);
    thread::sleep(Duration::from_millis(2500));
    // It is read before the next one is made, and after that.
    let (refused, is_refused) = std::sync::mpsc::channel();
    let refusals = server.refusals();
    server.before("GET /bucket/states/words/lease-1 ", || ());
    server.before("GET /bucket/states/words/lease-1 ", move || {
        refusals.refuse_next(1, 503, None);
        refused.send(()).unwrap();
    });
    server.refuse_next(0, 503, None);
    is_refused.recv().unwrap();
    storage.create("new").unwrap().sync().unwrap();
    drop(lock);
    let began = Instant::now();
    assert!(make().folder("words").lock("lock").unwrap().is_some());
    assert!(began.elapsed() < Duration::from_secs(2));
}

/// A request of a renewal that has no answer leaves time for others.
#[test]
fn a_lease_outlives_a_renewal_that_hangs() {
    for request in [
        "PUT /bucket/states/words/lease-1 ",
        "GET /bucket?",
        "HEAD /bucket/states/words/lease-1 ",
        "GET /bucket/states/words/lease-1 ",
    ] {
        let (server, settings) = server();
        let settings = settings.with("TEGULA_STATE_LEASE_SECONDS", "4");
        let storage = folders(&settings, URL).make("words").unwrap();
        let lock = storage.lock("lock").unwrap().unwrap();
        server.before(request, || thread::sleep(Duration::from_secs(8)));
        let direct = settings.clone().with("AWS_ENDPOINT_URL", server.direct_endpoint());
        let other = folders(&direct, URL).folder("words").lock("lock").unwrap();
        assert!(other.is_none(), "{request}");
        storage.create("new").unwrap().sync().unwrap();
        drop(lock);
    }
}

/// Tries of a look-up have its time together: the second one must not begin it anew.
#[test]
fn a_lease_outlives_a_look_up_that_is_tried_again() {
    let (server, settings) = server();
    let settings =
        settings.with("TEGULA_STATE_LEASE_SECONDS", "4").with("TEGULA_REMOTE_TRIES", "8");
    let storage = folders(&settings, URL).make("words").unwrap();
    let lock = storage.lock("lock").unwrap().unwrap();
    let refusals = server.refusals();
    server.before("HEAD /bucket/states/words/lease-1 ", move || {
        thread::sleep(Duration::from_millis(1800));
        refusals.refuse_next(1, 503, None);
    });
    server.before("HEAD /bucket/states/words/lease-1 ", || thread::sleep(Duration::from_secs(8)));
    let direct = settings.clone().with("AWS_ENDPOINT_URL", server.direct_endpoint());
    let other = folders(&direct, URL).folder("words").lock("lock").unwrap();
    assert!(other.is_none());
    storage.create("new").unwrap().sync().unwrap();
    drop(lock);
}

/// A long lease has a renewal wait no longer for an answer than the user does: changes and the end of the run wait for it.
#[test]
fn a_renewal_that_hangs_is_waited_for_as_any_request() {
    let hangs = |request: &str| {
        let (server, settings) = server();
        let settings =
            settings.with("TEGULA_STATE_LEASE_SECONDS", "20").with("TEGULA_REMOTE_SECONDS", "1");
        let storage = folders(&settings, URL).make("words").unwrap();
        let lock = storage.lock("lock").unwrap().unwrap();
        let (hang, hangs) = std::sync::mpsc::channel();
        server.before(request, move || {
            hang.send(()).unwrap();
            thread::sleep(Duration::from_secs(20));
        });
        hangs.recv().unwrap();
        let began = Instant::now();
        storage.create("new").unwrap().sync().unwrap();
        drop(lock);
        assert!(began.elapsed() < Duration::from_secs(4), "{request}: {:?}", began.elapsed());
    };
    thread::scope(|scope| {
        for request in ["GET /bucket?", "HEAD /bucket/states/words/lease-1 ", "PUT /bucket/"] {
            scope.spawn(move || hangs(request));
        }
    });
}

/// The time of a lease is its run's: one that looks for a shorter time does not take it for dead.
#[test]
fn a_lease_has_its_own_time() {
    let (server, settings) = server();
    let settings = settings.with("TEGULA_STATE_LEASE_SECONDS", "1");
    let lease = |beat: u32| {
        let content = format!("elsewhere 1 1 0\n{beat}\n30\n");
        server.put("bucket", "states/words/lease-1", content.as_bytes());
    };
    lease(0);
    thread::scope(|scope| {
        scope.spawn(|| {
            thread::sleep(Duration::from_secs(3));
            lease(1);
        });
        let refused = run(b"a b", 1, state(&folders(&settings, URL)));
        assert!(matches!(refused, Err(Error::State(StateError::InUse { .. }))));
    });
}

/// No run can take a state over from a lease with the highest number, which no run has written.
#[test]
fn a_lease_with_the_highest_number_is_refused_by_its_name() {
    let (server, settings) = server();
    let settings = settings.with("TEGULA_STATE_LEASE_SECONDS", "1");
    let highest = format!("lease-{}", u64::MAX);
    server.put("bucket", &format!("states/words/{highest}"), b"elsewhere 1 1 0\n5\n");
    let text = text(100_000);
    let refused = run(&text, 1, state(&folders(&settings, URL))).unwrap_err().to_string();
    let says = format!("{URL}/words/{highest}: cannot be locked: no lease has a higher number");
    assert!(refused.starts_with(&says), "{refused}");
    server.objects().delete("bucket", &format!("states/words/{highest}"));
    assert!(run(&text, 1, state(&folders(&settings, URL))).is_ok());
}
