//! Stations, logs, patterns and tops: the printed answers, by file and by standard input.

use super::*;
use serde_json::{Value, json};

/// Runs a command with `text` on standard input, which is its only path.
fn over(text: &[u8], arguments: &[&str]) -> Output {
    let mut command = tegula();
    command.args(arguments).arg("-").stdin(Stdio::piped());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(text).unwrap();
    child.wait_with_output().unwrap()
}

#[test]
fn stations_as_the_challenge_asks() {
    let lines = "Washington, D.C.;5.0\nAbéché;-0.3\nWashington, D.C.;20.0\nAbéché;0.4\n";
    let said = text(over(lines.as_bytes(), &["stations"]));
    assert_eq!(said, "{Abéché=-0.3/0.1/0.4, Washington, D.C.=5.0/12.5/20.0}\n");
    assert_eq!(text(over(b"", &["stations"])), "{}\n");
}

const LOGINS: &[u8] = b"ann login 100\nbob login 150\nann logout 400\nbob logout 160\n";

#[test]
fn users_by_their_time_online() {
    assert_eq!(text(over(LOGINS, &["logstats"])), "ann\t300\nbob\t10\n");
    assert_eq!(text(over(LOGINS, &["logstats", "--key=user", "--top=1"])), "ann\t300\n");
    let said = text(over(LOGINS, &["logstats", "--format=jsonl"]));
    let first: Value = serde_json::from_str(said.lines().next().unwrap()).unwrap();
    assert_eq!(first, json!({"user": "ann", "seconds": 300}));
}

const ACCESS: &[u8] =
    br#"::1 - - [17/May/2015:10:05:03 +0000] "GET /a?x=1 HTTP/1.1" 200 20 "-" "curl"
::2 - ann [17/May/2015:11:05:03 +0000] "GET /a HTTP/1.1" 200 30
::1 - - [18/May/2015:10:05:03 +0000] "GET /b HTTP/1.1" 404 -
"#;

#[test]
fn access_logs_by_key() {
    for (key, expected) in [
        ("host", "::1\t2\t20\n::2\t1\t30\n"),
        ("path", "/a\t2\t50\n/b\t1\t0\n"),
        ("status", "200\t2\t50\n404\t1\t0\n"),
        ("hour", "2015-05-17T10\t1\t20\n2015-05-17T11\t1\t30\n2015-05-18T10\t1\t0\n"),
    ] {
        assert_eq!(text(over(ACCESS, &["logstats", "--key", key])), expected, "{key}");
    }
    let said = text(over(ACCESS, &["logstats", "--key=path", "--top=1", "--format=jsonl"]));
    let only: Value = serde_json::from_str(&said).unwrap();
    assert_eq!(only, json!({"path": "/a", "requests": 2, "bytes": 50}));
}

#[test]
fn patterns_by_file_and_by_match() {
    let folder = tempfile::tempdir().unwrap();
    let one = write(folder.path(), "one", b"ab AB ab\n\xff\0ab\n");
    let two = write(folder.path(), "two", "a.b\nab");
    write(folder.path(), "none", "nothing");
    let grep = |arguments: &[&str]| {
        let output = tegula().arg("grep").args(arguments).arg(folder.path()).output().unwrap();
        text(output).replace(&format!("{}/", folder.path().display()), "")
    };
    assert_eq!(grep(&["ab"]), "one\t3\ntwo\t1\n");
    assert_eq!(grep(&["ab", "--lines"]), "one\t2\ntwo\t1\n");
    assert_eq!(grep(&["-i", "ab"]), "one\t4\ntwo\t1\n");
    assert_eq!(grep(&["a.b"]), "two\t1\n");
    assert_eq!(grep(&["-F", "a."]), "two\t1\n");
    assert_eq!(grep(&["[a-b]+", "--by=match", "--order=value"]), "ab\t4\na\t1\nb\t1\n");
    assert_eq!(grep(&["-iF", "AB", "--by=match"]), "AB\t1\nab\t4\n");
    let output = tegula().args(["grep", "b$", "--format=jsonl"]).args([&one, &two]).output();
    let said = text(output.unwrap());
    let lines: Vec<Value> = said.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines[0], json!({"file": one.to_str().unwrap(), "matches": 2}));
    assert_eq!(lines[1], json!({"file": two.to_str().unwrap(), "matches": 2}));
}

#[test]
fn fields_of_json_are_counted_added_up_and_split_into_words() {
    let lines = concat!(
        r#"{"user":{"id":"ann","tags":["x","y"]},"bytes":1,"text":"To be, or"}"#,
        "\n",
        r#"{"text":"not \u0054o\tbe","bytes":2.5,"user":{"id":"\u00e9va","tags":["y"]}}"#,
        "\n",
        r#" { "user" : { "id" : "ann" , "tags" : [ "x" ] } , "bytes" : -3 , "text" : "" } "#,
        "\r\n",
    );
    let said = |arguments: &[&str]| text(over(lines.as_bytes(), arguments));
    assert_eq!(said(&["top", "9", "--json", "user.id"]), "ann\t2\néva\t1\n");
    assert_eq!(said(&["top", "9", "--json", "user.tags.0"]), "x\t2\ny\t1\n");
    assert_eq!(said(&["top", "9", "--json", "user.id", "--sum", "bytes"]), "éva\t2.5\nann\t-2\n");
    assert_eq!(said(&["wordcount", "--json", "text"]), "To\t2\nbe\t1\nbe,\t1\nnot\t1\nor\t1\n");
    for words in ["alpha", "unicode"] {
        let all = said(&["wordcount", "--json", "text", "--words", words]);
        assert_eq!(all, "be\t2\nnot\t1\nor\t1\nto\t2\n", "{words}");
    }
}

#[test]
fn tops_by_count_and_by_sum() {
    let table = b"a;x;1\nb;x;2.5\na;y;1\nc;y;-9\n";
    let top = |arguments: &[&str]| text(over(table, &[&["top"], arguments].concat()));
    assert_eq!(top(&["2", "--separator=;"]), "a\t2\nb\t1\n");
    assert_eq!(top(&["2", "--separator", ";", "--by=2"]), "x\t2\ny\t2\n");
    assert_eq!(top(&["9", "-s;", "--by=1", "--sum=3"]), "b\t2.5\na\t2\nc\t-9\n");
    assert_eq!(top(&["1"]), "a;x;1\t1\n");
    let said = top(&["1", "-s;", "--sum=3", "--format=jsonl"]);
    assert_eq!(serde_json::from_str::<Value>(&said).unwrap(), json!({"value": "b", "sum": 2.5}));
    assert_eq!(text(over(b"a\tb\na\tc\n", &["top", "1", "-s", "\\t"])), "a\t2\n");
}

#[test]
fn keys_are_the_lines_of_a_file() {
    let folder = tempfile::tempdir().unwrap();
    for (keys, expected) in [
        ("", ""),
        ("\n", "\t2\n"),
        ("a", "a\t1\n"),
        ("a\r\nb\n", "a\t1\nb\t1\n"),
        ("a\n\n", "\t2\na\t1\n"),
    ] {
        let path = write(folder.path(), "keys", keys);
        let said = over(b"a\n\nb\n\n", &["stringmatch", "--keys", path.to_str().unwrap()]);
        assert_eq!(text(said), expected, "{keys:?}");
    }
}
