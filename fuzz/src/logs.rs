//! Lines of logs: what is counted of all lines is the sum of what is counted of each, whatever the shape; and a line that
//! is refused is named.

use crate::{choice, named, shape};
use std::collections::BTreeMap;
use tegula::{Input, Options};
use tegula_apps::logstats::{Access, AccessKey, Logins, Requests};

const KEYS: [AccessKey; 4] = [AccessKey::Host, AccessKey::Path, AccessKey::Status, AccessKey::Hour];

/// Runs a job over the text and over each of its lines; calls `count` for each pair of an answer.
macro_rules! check {
    ($job:expr, $text:expr, $shape:expr, $value:ty, $add:expr) => {{
        let run = |text: &[u8], of: u8| {
            let (engine, options) = shape(of);
            let options = Options { skip_bad: true, ..options };
            let output =
                named(engine.job(&$job).options(&options).run(Input::bytes(text))).unwrap();
            let mut pairs: BTreeMap<Vec<u8>, $value> = BTreeMap::new();
            let insert = |key: &[u8], value| {
                pairs.insert(key.to_vec(), value);
            };
            output.for_each(insert).unwrap();
            (pairs, output.stats().bad_records)
        };
        let (whole, bad) = run($text, $shape);
        let (mut sum, mut bad_of_each) = (BTreeMap::new(), 0);
        for line in $text.split_inclusive(|&byte| byte == b'\n') {
            let (pairs, bad) = run(line, 7);
            bad_of_each += bad;
            for (key, value) in pairs {
                match sum.remove(&key) {
                    None => sum.insert(key, value),
                    Some(other) => sum.insert(key, $add(other, value)),
                };
            }
        }
        assert_eq!((whole, bad), (sum, bad_of_each));
    }};
}

pub(crate) fn run(bytes: &[u8]) {
    let Some((of, rest)) = choice(bytes) else { return };
    let Some((which, text)) = choice(rest) else { return };
    // A run for each line.
    if text.len() > 2000 {
        return;
    }
    match which % 5 {
        0 => check!(Logins, text, of, i64, |one: i64, other: i64| one + other),
        key => {
            let job = Access { key: KEYS[usize::from(key) - 1] };
            check!(job, text, of, Requests, |one: Requests, other: Requests| Requests {
                requests: one.requests + other.requests,
                bytes: one.bytes + other.bytes,
            });
        }
    }
}
