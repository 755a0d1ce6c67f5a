//! The flags decide order, length and form of the answer.

use super::*;

const TEXT: &[u8] = b"d a c b c b c a d d d \"q\" \xff";

#[test]
fn order() {
    for (flags, expected) in [
        (&[][..], "a2 b2 c3 d4"),
        (&["--order=key"], "a2 b2 c3 d4"),
        (&["--order=value"], "d4 c3 a2 b2"),
        (&["--top=3"], "d4 c3 a2"),
        (&["--top=3", "--order=key"], "a2 c3 d4"),
        (&["--top=2", "--order=value"], "d4 c3"),
        (&["--top=100"], "d4 c3 a2 b2"),
    ] {
        let said = text(count_text(&TEXT[..22], flags)).replace('\t', "").replace('\n', " ");
        assert_eq!(said.trim(), expected, "{flags:?}");
    }
}

#[test]
fn no_order_is_the_same_pairs_on_every_run() {
    let first = text(count_text(&TEXT[..22], &["--order=none"]));
    assert_eq!(text(count_text(&TEXT[..22], &["--order=none", "-j2"])), first);
    let mut lines: Vec<&str> = first.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["a\t2", "b\t2", "c\t3", "d\t4"]);
}

#[test]
fn tsv_gives_bytes_as_they_are() {
    let said = answer(count_text(TEXT, &["--format=tsv"]));
    assert!(said.ends_with(b"\n\xff\t1\n"));
}

#[test]
fn jsonl_is_json_in_every_line() {
    let said = text(count_text(TEXT, &["--format=jsonl"]));
    let lines: Vec<serde_json::Value> =
        said.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines[0], serde_json::json!({"key": "\"q\"", "value": 1}));
    assert_eq!(lines[5], serde_json::json!({"key_hex": "ff", "value": 1}));
}

#[test]
fn a_file_gets_what_standard_output_would() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("out");
    let said = text(count_text(TEXT, &["-o", file.to_str().unwrap(), "--top=1"]));
    assert_eq!((said.as_str(), fs::read_to_string(&file).unwrap().as_str()), ("", "d\t4\n"));
}
