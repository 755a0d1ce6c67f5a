//! Requests and bytes of lines in Common and Combined Log Format, by each key.

use super::*;
use proptest::prelude::*;
use std::collections::BTreeMap;
use tegula_apps::logstats::{Access, AccessKey, Requests};

/// A line and the key it has by host, path, status and hour.
type Line = (String, [String; 4], u64);

fn line() -> impl Strategy<Value = Line> {
    let host = prop_oneof!["10\\.0\\.0\\.[0-9]", "[a-f0-9:]{2,39}", "host[0-9]\\.example"];
    let user = prop_oneof!["-", "[a-z]{1,8}", "[a-z]{1,4} [a-z]{1,4}"];
    let path = prop_oneof!["/[a-c]", "/[a-z/%\\\\\"]{0,40}"];
    let query = prop_oneof!["", "\\?[a-z?=&]{0,9}"];
    let status = prop_oneof![Just(200_u16), 100..600_u16];
    let bytes = prop::option::weighted(0.8, 0..1_000_000_000_u64);
    let time = (1..=31_u8, 1..=12_usize, 1990..2030_u16, 0..24_u8);
    let agent = prop_oneof!["", " \"-\" \"Mozilla \\\\\"5\\\\\" [a] \\(x\\)\""];
    (host, user, (path, query), status, bytes, time, agent).prop_map(
        |(host, user, (path, query), status, bytes, (day, month, year, hour), agent)| {
            let name = [
                "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
            ][month - 1];
            let path = path.replace('\\', "\\\\").replace('"', "\\\"");
            let shown = bytes.map_or("-".to_owned(), |bytes| bytes.to_string());
            let text = format!(
                "{host} - {user} [{day:02}/{name}/{year}:{hour:02}:05:03 +0100] \
                 \"GET {path}{query} HTTP/1.1\" {status} {shown}{agent}\n"
            );
            let hour = format!("{year}-{month:02}-{day:02}T{hour:02}");
            (text, [host, path, status.to_string(), hour], bytes.unwrap_or(0))
        },
    )
}

proptest! {
    #![proptest_config(cases(60))]

    #[test]
    fn in_any_log(lines in prop::collection::vec(line(), 0..60), split in 1_u64..5000) {
        let log: String = lines.iter().map(|(text, ..)| text.as_str()).collect();
        let keys = [AccessKey::Host, AccessKey::Path, AccessKey::Status, AccessKey::Hour];
        for (place, key) in keys.into_iter().enumerate() {
            let mut expected: BTreeMap<Vec<u8>, Requests> = BTreeMap::new();
            for (_, keys, bytes) in &lines {
                let all = expected.entry(keys[place].clone().into_bytes()).or_default();
                all.requests += 1;
                all.bytes += bytes;
            }
            let found = pairs(&Access { key }, log.as_bytes(), split, &Options::default());
            prop_assert_eq!(found, expected.into_iter().collect::<Vec<_>>());
        }
    }
}

#[test]
fn requests_without_a_path_are_their_own() {
    let log = br#"::1 - - [17/May/2015:10:05:03 +0000] "-" 408 -
::1 - - [17/May/2015:10:05:03 +0000] "\x16\x03\"\x01" 400 226 "-" "-"
"#;
    let found = pairs(&Access { key: AccessKey::Path }, log, 7, &Options::default());
    let once = |bytes| Requests { requests: 1, bytes };
    assert_eq!(found, [(b"-".to_vec(), once(0)), (br#"\x16\x03\"\x01"#.to_vec(), once(226))]);
}
