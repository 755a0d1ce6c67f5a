//! Pairs become lines of named fields, and totals are estimated figure by figure.

use tegula::Estimates;
use tegula_cli::parts::{Format, Line};

#[test]
fn pairs_become_lines() {
    for (format, key, line) in [
        (Format::Tsv, b"a\\\xff".as_slice(), b"a\\\xff\t7\t-1\n".as_slice()),
        (
            Format::Jsonl,
            b"q\"\\\x01\xc3\xa9",
            b"{\"key\":\"q\\\"\\\\\\u0001\xc3\xa9\",\"value\":7,\"rest\":-1}\n",
        ),
        (Format::Jsonl, b"a\xff", b"{\"key_hex\":\"61ff\",\"value\":7,\"rest\":-1}\n"),
    ] {
        let mut out = Vec::new();
        let mut made = Line::begin(format, &mut out);
        made.bytes("key", key).integer("value", 7_u64).integer("rest", -1);
        made.end();
        assert_eq!(out, line);
    }
}

#[test]
fn what_adds_up_is_estimated_figure_by_figure() {
    let mut estimates = Estimates::new();
    let mut out = Vec::new();
    for (bytes, requests, sum) in [(100, 7_u64, 0.5), (200, 14, 1.5)] {
        out.clear();
        estimates.begin(bytes, 1000);
        let mut line = Line::begin(Format::Tsv, &mut out).estimated(&mut estimates);
        line.bytes("key", b"a").total("requests", requests).float_total("sum", sum);
        line.integer("place", 3_u8);
        line.end();
    }
    let text = String::from_utf8(out).unwrap();
    let (fields, last) = (text.trim_end().split('\t').collect::<Vec<_>>(), 7);
    assert_eq!(fields[..4], ["a", "14", "70", "0"]);
    assert_eq!((fields[4], fields[5], fields[last]), ("1.5", "8", "3"));
    assert!(fields[6].parse::<u32>().unwrap() > 1, "{text}");
}
