//! The requests that states keep are read as they were made, and nothing else is.

use serde_json::Value;
use tegula_cli::parts::{Format, Request};

#[test]
fn a_request_is_read_as_it_was_made() {
    let keys: [&[u8]; 3] = [b"text", b"\xff\x00", b""];
    let request = Request::of("find").with("count", 3).choice("format", &Format::Jsonl);
    let request = request.list("keys", keys.into_iter());
    let read = Request::parse(&request.to_bytes());
    assert_eq!(read, Some(request.clone()));
    assert_eq!(request.listed("keys").ok(), Some(keys.map(<[u8]>::to_vec).to_vec()));
    assert_eq!(request.option("count", Value::as_u64).ok(), Some(3));
    assert!(request.option("more", Value::as_u64).is_err());
    assert!(matches!(request.chosen("format"), Ok(Format::Jsonl)));
}

#[test]
fn what_is_no_request_is_not_read() {
    let later = br#"{"command":"a","version":2,"options":{}}"#;
    for bytes in [&b"wordcount\0text"[..], b"", b"[]", b"{}", later] {
        assert_eq!(Request::parse(bytes), None, "{}", bytes.escape_ascii());
    }
}
