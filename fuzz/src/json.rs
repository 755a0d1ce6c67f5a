//! Fields of lines of JSON beside serde_json's.

use serde_json::Value;
use tegula_apps::json::{JsonLines, JsonPath};

pub(crate) fn run(bytes: &[u8]) {
    let paths: [JsonPath; 2] = ["a", "b.c"].map(|path| path.parse().unwrap());
    let lines = JsonLines::of(bytes);
    for line in bytes.split(|&byte| byte == b'\n') {
        let ours =
            [&paths[0], &paths[1]].map(|path| lines.fields(line, [path]).map(|[field]| field));
        let theirs = serde_json::from_slice::<Value>(line);
        let Ok(theirs) = theirs else {
            // A number beyond all floats is JSON, and serde_json refuses it, as it does lone surrogates and what is nested
            // deep.
            continue;
        };
        let whole = ours
            .each_ref()
            .map(|field| field.as_ref().err().is_none_or(|cause| cause != "the line is no JSON"));
        assert_eq!(whole, [true; 2], "{theirs}");
        let pointers = ["/a", "/b/c"];
        for (ours, pointer) in ours.into_iter().zip(pointers) {
            let Some(theirs) = theirs.pointer(pointer) else {
                // An object that has a name twice has its last one there.
                continue;
            };
            if let (Ok(ours), Value::String(theirs)) = (&ours, theirs)
                && is_once(line, pointer)
            {
                assert_eq!(ours.bytes().unwrap(), theirs.as_bytes());
            }
        }
    }
}

/// Whether each name of a path is in the line once, also in other objects.
fn is_once(line: &[u8], pointer: &str) -> bool {
    let text = String::from_utf8_lossy(line);
    // An escape may make a name.
    !text.contains('\\')
        && pointer[1..].split('/').all(|name| text.matches(&format!("\"{name}\"")).count() == 1)
}
