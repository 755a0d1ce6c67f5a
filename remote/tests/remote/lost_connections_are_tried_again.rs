//! Connections that are cut in the middle of an answer cost time and nothing else; when none holds,
//! the job ends within bounded time with one clear message.

use crate::common::{SOON, count, fault, listing, settings, text};
use std::io::{BufRead, BufReader, Write};
use std::net::{IpAddr, Ipv4Addr, TcpListener};
use std::thread;
use std::time::{Duration, Instant};
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

/// Names in the pages of a list, in no order, as S3 Express lists them.
const PAGES: [&[&str]; 5] = [&["f", "g"], &["h"], &["c", "e"], &["b", "d"], &["a"]];

/// Serves the pages of a bucket that has no folders, each after a pause, and closes the connection without an answer when the fourth page is asked for
/// first. Returns the URL of the server.
fn serve_pages(pause: Duration) -> String {
    let listener = TcpListener::bind((LOOPBACK, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        let mut is_lost = false;
        for mut client in listener.incoming().map_while(Result::ok) {
            let head = BufReader::new(&client).lines().map_while(Result::ok);
            let head: Vec<String> = head.take_while(|line| !line.is_empty()).collect();
            let after = |name: &str| Some(head.first()?.split_once(&format!("{name}="))?.1);
            let has_body = head.first().is_some_and(|line| line.starts_with("GET "));
            if !has_body || after("prefix").is_some() {
                let missing = match has_body {
                    true => "200 OK\r\nContent-Length: 20\r\n\r\n<ListBucketResult />",
                    false => "404 Not Found\r\n\r\n",
                };
                client.write_all(format!("HTTP/1.1 {missing}").as_bytes()).unwrap();
                continue;
            }
            let page = after("continuation-token").map_or(0, |token| token[..1].parse().unwrap());
            if page == 3 && !is_lost {
                is_lost = true;
                continue;
            }
            thread::sleep(pause);
            let start = after("start-after").map_or("", |name| &name[..1]);
            let names = PAGES[page].iter().filter(|&&name| name > start);
            let objects = names.map(|name| {
                format!(
                    "<Contents><Key>{name}</Key><Size>1</Size>\
                     <LastModified>2026-01-01T00:00:00.000Z</LastModified></Contents>"
                )
            });
            let objects: String = objects.collect();
            let next = (page + 1 < PAGES.len()).then_some(page + 1);
            let next =
                next.map(|next| format!("<NextContinuationToken>{next}</NextContinuationToken>"));
            let next = next.unwrap_or_default();
            let body = format!("<ListBucketResult>{next}{objects}</ListBucketResult>");
            let length = body.len();
            let answer = format!(
                "HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
            );
            client.write_all(answer.as_bytes()).unwrap();
        }
    });
    format!("http://{address}")
}

/// A list is read on from the page that was lost, whatever the order of its names.
#[test]
fn lists_in_no_order_are_whole() {
    for url in ["s3://many", "s3://many/*"] {
        let input = settings(serve_pages(Duration::ZERO)).input(url).unwrap();
        let names: Vec<String> = listing(&input).into_iter().map(|(name, _)| name).collect();
        let names: Vec<&str> = names.iter().map(|name| &name["s3://many/".len()..]).collect();
        assert_eq!(names, ["a", "b", "c", "d", "e", "f", "g", "h"], "{url}");
    }
}

/// The limit is one on each page: these take 2.5 seconds together.
#[test]
fn lists_may_take_longer_than_a_request() {
    for url in ["s3://many", "s3://many/*"] {
        let settings = settings(serve_pages(Duration::from_millis(500)));
        let input = settings.with("TEGULA_REMOTE_SECONDS", "2").input(url).unwrap();
        assert_eq!(input.listing().count(), 8, "{url}");
    }
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
