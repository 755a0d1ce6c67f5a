//! `--show`: shows come beside the answer, in its form, and never in it.

use super::*;

/// Reads the shows in a file: the head and the pairs of each.
fn read_shows(path: &Path) -> Vec<(serde_json::Value, Vec<serde_json::Value>)> {
    let mut shows: Vec<(serde_json::Value, Vec<serde_json::Value>)> = Vec::new();
    for line in fs::read_to_string(path).unwrap().lines() {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        match shows.last_mut() {
            _ if line.get("show").is_some() => shows.push((line, Vec::new())),
            Some((_, pairs)) => pairs.push(line),
            None => panic!("a pair before any show: {line}"),
        }
    }
    shows
}

fn some_text() -> String {
    (0..200_000).map(|i| format!("w{} {}\n", i % 7 * (i % 11), i % 1000)).collect()
}

#[test]
fn to_a_file_with_estimates_and_since_when_the_first_are_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let (path, to) = (write(folder.path(), "text", some_text()), folder.path().join("shows"));
    let plain = answer(wordcount(&[path.as_os_str()]));
    for in_order in [&[][..], &["--show-in-order", "--tile=100k"]] {
        let mut command = tegula();
        command.arg("wordcount").arg(&path).args([
            "--show=every=10%",
            "--show-top=20",
            "--show-to",
        ]);
        let text = text(command.arg(&to).args(in_order).output().unwrap());
        assert_eq!(text.as_bytes(), plain);
        command.arg("--format=jsonl");
        answer(command.output().unwrap());
        let shows = read_shows(&to);
        assert!(shows.len() > 1);
        for (number, (head, pairs)) in shows.iter().enumerate() {
            assert_eq!(head["show"], number + 1);
            assert_eq!(head["is_last"], number + 1 == shows.len());
            assert_eq!(pairs.len(), 20);
            let since = |top: &str| head["top_since"][top]["part"].as_f64().unwrap();
            let part = head["part"].as_f64().unwrap();
            assert!(since("3") <= part && since("20") <= part && part <= 1.0);
            let values: Vec<u64> =
                pairs.iter().map(|pair| pair["value"].as_u64().unwrap()).collect();
            assert!(values.is_sorted_by(|a, b| a >= b));
            if number > 0 {
                assert!(pairs.iter().any(|pair| pair["value_within"].is_number()));
            }
        }
        for pair in &shows[shows.len() - 1].1 {
            assert_eq!(
                (&pair["value"], &pair["value_within"]),
                (&pair["value_estimate"], &0.into())
            );
        }
    }
}

#[test]
fn on_standard_error_as_lines() {
    let folder = tempfile::tempdir().unwrap();
    let path = write(folder.path(), "text", some_text());
    let mut command = tegula();
    command.arg("top").arg("3").arg(&path).args(["--separator= ", "--show=every=25%"]);
    let output = command.output().unwrap();
    assert!(output.status.success());
    assert_eq!(String::from_utf8(output.stdout).unwrap().lines().count(), 3);
    let said = String::from_utf8(output.stderr).unwrap();
    let heads: Vec<&str> = said.lines().filter(|line| line.starts_with("# show ")).collect();
    assert!(heads[0].starts_with("# show 1, "), "{said}");
    let last = heads[heads.len() - 1];
    assert!(last.contains("100.0% of the input") && last.ends_with(", complete"), "{said}");
    assert!(last.contains("top 3 since "), "{said}");
    assert_eq!(said.lines().count(), 4 * heads.len(), "{said}");
}

#[test]
fn of_an_index_and_of_a_stream() {
    let folder = tempfile::tempdir().unwrap();
    let (path, to) = (write(folder.path(), "text", some_text()), folder.path().join("shows"));
    let mut command = tegula();
    command.arg("index").arg(&path).args(["--word=w0", "--show=every=50%", "--show-to"]);
    let places = answer(command.arg(&to).output().unwrap());
    assert!(fs::read(&to).unwrap().ends_with(&places));
    let output = count_text(some_text().as_bytes(), &["--show=every=100k", "--top=1"]);
    assert!(output.status.success());
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.lines().count() >= 2 && !said.contains("% of the input, 0 B"), "{said}");
}

#[test]
fn what_cannot_be_shown_is_said_in_one_line() {
    let output = count_text(b"a b", &["--show=every=5%"]);
    check_fault(&output, 2, &["length of a stream is not known", "give a time or bytes"]);
    let folder = tempfile::tempdir().unwrap();
    let path = write(folder.path(), "text", "a b");
    let mut command = tegula();
    command.arg("wordcount").arg(&path).args(["--show=every=5%", "--show-to"]);
    let output = command.arg(folder.path().join("none/shows")).output().unwrap();
    check_fault(&output, 1, &["none/shows", "cannot be created"]);
    for arguments in [&["--show=5%"][..], &["--show=every=200%"], &["--show-top=3"]] {
        let output = tegula().arg("wordcount").arg(&path).args(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    }
}
