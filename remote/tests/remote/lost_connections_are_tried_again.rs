//! Connections that are cut in the middle of an answer cost time and nothing else; when none holds,
//! the job ends within bounded time with one clear message.

use crate::common::{SOON, count, fault, settings, text};
use std::net::{IpAddr, Ipv4Addr};
use std::time::Instant;
use tegula::Input;
use tegula_remote_servers::{Proxy, S3};

const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

#[test]
fn cut_bodies_are_read_on_where_they_broke_off() {
    let server = S3::start();
    let text = text(3 << 20);
    server.put("texts", "one", &text);
    let expected = count(Input::bytes(text), 1).unwrap();
    for behind_bytes in [1, 700, 100_000] {
        let proxy = Proxy::start((LOOPBACK, 0), server.address());
        let settings = settings(format!("http://{}", proxy.address()));
        let input = settings.input("s3://texts/one").unwrap();
        proxy.cut_next(3, behind_bytes);
        assert!(count(input, 2).unwrap() == expected, "cut after {behind_bytes} bytes");
        assert_eq!(proxy.cut(), 3);
    }
}

#[test]
fn cut_lists_are_whole() {
    let server = S3::start();
    for number in 0..1500 {
        server.put("many", &format!("{number:04}"), b"x");
    }
    let proxy = Proxy::start((LOOPBACK, 0), server.address());
    proxy.cut_next(2, 5000);
    let input = settings(format!("http://{}", proxy.address())).input("s3://many").unwrap();
    assert_eq!((input.listing().count(), proxy.cut()), (1500, 2));
}

#[test]
fn what_never_works_ends_with_a_clear_message() {
    let server = S3::start();
    server.put("texts", "one", &text(1 << 20));
    let proxy = Proxy::start((LOOPBACK, 0), server.address());
    let settings = settings(format!("http://{}", proxy.address()));
    let input = settings.input("s3://texts/one").unwrap();
    proxy.cut_next(1_000_000, 2000);
    let began = Instant::now();
    let message = fault(count(input, 2));
    assert!(began.elapsed() < SOON);
    assert!(message.starts_with("s3://texts/one: byte "), "{message}");
    assert!(message.contains("no answer after 4 tries in "), "{message}");
}
