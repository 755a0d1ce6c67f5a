//! Fields of lines of JSON beside serde_json's. Whether a line is JSON must be answered alike: serde's `IgnoredAny` checks
//! the grammar of RFC 8259 alone, so that it takes numbers beyond all floats, escapes that are half a character, and any
//! depth, which a `Value` refuses. It does not check UTF-8, which is done before it here.

use serde::de::IgnoredAny;
use serde_json::Value;
use tegula_apps::json::{JsonLines, JsonPath};

/// What Tegula refuses though it is JSON: a line with more objects and arrays in one another than this.
const DEPTH_MOST: usize = 500;

pub(crate) fn run(bytes: &[u8]) {
    let paths: [JsonPath; 2] = ["a", "b.c"].map(|path| path.parse().unwrap());
    let lines = JsonLines::of(bytes);
    for line in bytes.split(|&byte| byte == b'\n') {
        let ours =
            [&paths[0], &paths[1]].map(|path| lines.fields(line, [path]).map(|[field]| field));
        let is_text = std::str::from_utf8(line).is_ok();
        let is_json = is_text && serde_json::from_slice::<IgnoredAny>(line).is_ok();
        for ours in &ours {
            match ours.as_ref().err().map(String::as_str) {
                Some("the line is no UTF-8, as JSON is") => assert!(!is_text),
                Some("the line is no JSON") => assert!(is_text && !is_json, "{line:?}"),
                Some("the line has too many objects in one another") => {
                    let opened = line.iter().filter(|byte| matches!(byte, b'[' | b'{'));
                    assert!(opened.count() > DEPTH_MOST);
                }
                _ => assert!(is_json, "{line:?}"),
            }
        }
        let Ok(theirs) = serde_json::from_slice::<Value>(line) else { continue };
        let pointers = ["/a", "/b/c"];
        for (ours, pointer) in ours.into_iter().zip(pointers) {
            let Some(theirs) = theirs.pointer(pointer) else {
                // An object that has a name twice has its last one there.
                continue;
            };
            if !is_once(line, pointer) {
                continue;
            }
            let ours = ours.unwrap_or_else(|cause| panic!("{line:?}: {cause}"));
            match theirs {
                Value::String(theirs) => assert_eq!(ours.bytes().unwrap(), theirs.as_bytes()),
                _ => assert_eq!(
                    &serde_json::from_slice::<Value>(&ours.bytes().unwrap()).unwrap(),
                    theirs
                ),
            }
            match theirs.as_f64() {
                Some(theirs) => assert!(is_near(ours.number().unwrap(), theirs), "{line:?}"),
                None => assert!(ours.number().is_err(), "{line:?}"),
            }
        }
    }
}

/// Whether two numbers are one text: serde_json may read the last digits in another way.
fn is_near(ours: f64, theirs: f64) -> bool {
    (ours - theirs).abs() <= theirs.abs().mul_add(1e-15, f64::MIN_POSITIVE)
}

/// Whether each name of a path is in the line once, also in other objects.
fn is_once(line: &[u8], pointer: &str) -> bool {
    let text = String::from_utf8_lossy(line);
    // An escape may make a name.
    !text.contains('\\')
        && pointer[1..].split('/').all(|name| text.matches(&format!("\"{name}\"")).count() == 1)
}
