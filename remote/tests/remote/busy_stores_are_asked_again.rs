//! A request to an overloaded store (503, 429) is tried again later, after the pause that the store names, if
//! any. If the store stays overloaded, the job ends within bounded time with the store's message.

use crate::common::{SOON, count, fault, settings, text};
use std::time::{Duration, Instant};
use tegula::Input;
use tegula_remote_servers::S3;

#[test]
fn refusals_for_now_change_nothing() {
    let server = S3::start();
    let text = text(3 << 20);
    server.put("texts", "one", &text);
    let expected = count(Input::bytes(text), 1).unwrap();
    let settings = settings(server.endpoint());
    for status in [429, 500, 502, 503, 504] {
        server.refuse_next(2, status, None);
        let input = settings.input("s3://texts/one").unwrap();
        assert_eq!(server.left_to_refuse(), 0, "the listing was refused");
        server.refuse_next(3, status, None);
        assert!(count(input, 2).unwrap() == expected, "{status}");
        assert_eq!(server.left_to_refuse(), 0, "ranges were refused");
    }
}

#[test]
fn a_store_that_says_when_is_left_alone_so_long() {
    let server = S3::start();
    server.put("texts", "one", b"a b a");
    let settings = settings(server.endpoint());
    for status in [429, 503] {
        server.refuse_next(2, status, Some(1));
        let began = Instant::now();
        let input = settings.input("s3://texts/one").unwrap();
        assert!(began.elapsed() >= Duration::from_secs(2), "{:?}", began.elapsed());
        assert_eq!(count(input, 1).unwrap(), "a\t2\nb\t1\n");
    }
    // But the pause is bounded: a quarter of the time that a request may take.
    let impatient = settings.with("TEGULA_REMOTE_SECONDS", "4");
    server.refuse_next(1, 503, Some(86_400));
    let began = Instant::now();
    assert!(impatient.input("s3://texts/one").is_ok());
    assert!((Duration::from_secs(1)..SOON).contains(&began.elapsed()));
}

#[test]
fn one_that_is_always_busy_is_given_up() {
    let server = S3::start();
    server.put("texts", "one", &text(1 << 20));
    let input = settings(server.endpoint()).input("s3://texts/one").unwrap();
    server.refuse_next(u32::MAX, 503, None);
    let began = Instant::now();
    let message = fault(count(input, 2));
    assert!(began.elapsed() < SOON);
    assert!(message.starts_with("s3://texts/one: byte 0: no answer after 4 tries"), "{message}");
    assert!(message.contains("the store answers 503: SlowDown, Reduce your rate."), "{message}");
}
