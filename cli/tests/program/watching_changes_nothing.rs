//! Progress and statistics go to standard error or a file of their own, and the answer is the same
//! with and without them.

use super::*;
use serde_json::Value;

const TEXT: &[u8] = b"a b a\n";

#[test]
fn statistics_are_a_table_on_standard_error() {
    let output = count_text(TEXT, &["--stats"]);
    let said = String::from_utf8(output.stderr).unwrap();
    for name in ["plan", "map", "reduce", "merge", "output", "workers", "input", "keys", "memory"] {
        assert!(said.lines().any(|line| line.starts_with(name)), "{name} in:\n{said}");
    }
    assert_eq!(output.stdout, b"a\t2\nb\t1\n");
}

#[test]
fn statistics_are_json_in_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("stats.json");
    let said = text(count_text(TEXT, &["--stats-json", file.to_str().unwrap()]));
    let stats: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    assert_eq!(said, "a\t2\nb\t1\n");
    assert_eq!(
        (&stats["bytes"], &stats["pairs"], &stats["keys"]),
        (&6.into(), &3.into(), &2.into())
    );
    let stages: Vec<&str> = stats["stages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|stage| stage["stage"].as_str().unwrap())
        .collect();
    assert_eq!(stages, ["plan", "map", "reduce", "merge", "output"]);
    assert_eq!(names(folder.path()), ["stats.json"]);
}

#[test]
fn progress_is_lines_or_json_or_nothing() {
    let plain = count_text(TEXT, &["--progress=plain"]);
    assert!(String::from_utf8_lossy(&plain.stderr).lines().last().unwrap().contains("output"));
    let json = count_text(TEXT, &["--progress=json"]);
    let last: Value =
        serde_json::from_str(String::from_utf8_lossy(&json.stderr).lines().last().unwrap())
            .unwrap();
    assert_eq!((&last["stage"], &last["bytes_done"]), (&"output".into(), &6.into()));
    // Standard error is no terminal here, so no bar is drawn.
    for silent in ["--progress=auto", "--progress=off"] {
        assert_eq!(text(count_text(TEXT, &[silent])), "a\t2\nb\t1\n");
    }
    assert_eq!((plain.stdout, json.stdout), (b"a\t2\nb\t1\n".to_vec(), b"a\t2\nb\t1\n".to_vec()));
}

#[test]
fn a_log_is_printed_on_standard_error_where_it_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let input = write(folder.path(), "text", TEXT);
    let run = |wanted: &str| {
        tegula().arg("wordcount").arg(&input).env("TEGULA_LOG", wanted).output().unwrap()
    };
    let output = run("tegula::stage=info");
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(
        (output.stdout.as_slice(), said.lines().count()),
        (&b"a\t2\nb\t1\n"[..], 4),
        "{said}"
    );
    assert!(said.lines().all(|line| line.contains("INFO") && line.contains("wall_s")), "{said}");
    let said = String::from_utf8(run("trace").stderr).unwrap();
    assert!(said.contains("tegula::timeline") && said.contains("read"), "{said}");
    check_fault(&run("tegula=loudly"), 2, &["TEGULA_LOG", "info"]);
}
