//! `--show`: shows come beside the answer, in its form, and never in it.

use super::*;
use std::io::Read;

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

/// A 24-bit picture without padding.
fn picture(pixels: usize) -> Vec<u8> {
    let mut bytes = format!("P6\n{pixels} 1\n255\n").into_bytes();
    bytes.extend((0..3 * pixels).map(|at| (at * 7 % 251) as u8));
    bytes
}

/// The last show of an answer that is one document is the answer, and each one before is that of a prefix.
#[test]
fn documents_are_shown_as_a_whole() {
    let folder = tempfile::tempdir().unwrap();
    let heat: String =
        (0..60_000).map(|i| format!("s{};{}.{}\n", i % 50, i % 90, i % 10)).collect();
    let points: String = (0..60_000).map(|i| format!("{i} {}\n", i * 3 % 1009)).collect();
    let to = folder.path().join("shows");
    for (command, input) in [
        (&["stations"][..], heat.into_bytes()),
        (&["linreg"], points.into_bytes()),
        (&["linreg", "--points=bytes"], b"abcdefgh".repeat(50_000)),
        (&["histogram"], picture(400_000)),
    ] {
        let path = write(folder.path(), "input", input);
        let mut run = tegula();
        run.args(command).arg(&path).args([
            "-j1",
            "--tile=64k",
            "--show=every=25%",
            "--show-in-order",
        ]);
        let answer = answer(run.arg("--show-to").arg(&to).output().unwrap());
        let shows = fs::read(&to).unwrap();
        assert!(shows.ends_with(&answer), "{command:?}");
        let heads = shows.split(|&byte| byte == b'\n').filter(|line| line.starts_with(b"# show "));
        assert!(heads.count() >= 3, "{command:?}");
    }
    let mut run = tegula();
    let path = write(folder.path(), "one", "1 2\n");
    run.args(["linreg"]).arg(path).args(["--show=every=1%", "--show-to"]);
    check_fault(&run.arg(&to).output().unwrap(), 1, &["fewer than two"]);
    assert!(fs::read_to_string(&to).unwrap().contains("\n# no line: "));
}

#[test]
fn of_rounds() {
    let folder = tempfile::tempdir().unwrap();
    let points: String = (0..2000).map(|i| format!("{} {}\n", i * 37 % 101, i * i % 97)).collect();
    let (path, to) = (write(folder.path(), "points", points), folder.path().join("shows"));
    let kmeans = |more: &[&str]| {
        let mut run = tegula();
        run.args(["kmeans", "-k", "5", "--rounds", "7"]).arg(&path).args(more);
        run.arg("--show-to").arg(&to).output().unwrap()
    };
    for (every, expected) in [("every=round", 7), ("every=3rounds", 3)] {
        let answer = kmeans(&["--show", every]).stdout;
        let shows = fs::read(&to).unwrap();
        let text = String::from_utf8_lossy(&shows);
        let heads: Vec<&str> =
            text.lines().filter(|line| line.starts_with("# show, round ")).collect();
        assert_eq!(heads.len(), expected, "{text}");
        assert!(heads[expected - 1].ends_with(", complete") && shows.ends_with(&answer), "{text}");
        assert_eq!(text.lines().count(), expected * 6);
    }
    assert_eq!(kmeans(&["--show", "every=5%"]).status.code(), Some(2));
}

/// The reader of a pipe may leave before the first show, or in the middle of one.
#[test]
fn to_a_pipe_whose_reader_leaves() {
    let folder = tempfile::tempdir().unwrap();
    let text: String = (0..200_000).map(|i| format!("{i} {}\n", i * 37 % 101)).collect();
    let (path, pipe) = (write(folder.path(), "text", text), folder.path().join("pipe"));
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    let shown = ["--show=every=10%", "--show-top=all"];
    for (command, shown) in [
        (&["wordcount"][..], &shown[..]),
        (&["linreg"], &shown[..1]),
        (&["kmeans", "-k", "2"], &["--show=every=round"]),
    ] {
        let run = || {
            let mut run = tegula();
            run.args(command).arg(&path);
            run
        };
        let expected = answer(run().output().unwrap());
        for bytes in [0, 100] {
            let mut watched = run();
            watched.args(shown).arg("--show-to").arg(&pipe);
            let child = watched.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
            let mut some = vec![0; bytes];
            fs::File::open(&pipe).unwrap().read_exact(&mut some).unwrap();
            assert!(answer(child.wait_with_output().unwrap()) == expected, "{command:?} {bytes}");
        }
    }
}

/// The second tier counts the keys of each value.
#[test]
fn in_two_tiers() {
    let folder = tempfile::tempdir().unwrap();
    let (path, to) = (write(folder.path(), "text", some_text()), folder.path().join("shows"));
    let counts = text(tegula().arg("wordcount").arg(&path).output().unwrap());
    let mut expected: BTreeMap<&[u8], u64> = BTreeMap::new();
    for line in counts.lines() {
        *expected.entry(line.split('\t').nth(1).unwrap().as_bytes()).or_default() += 1;
    }
    for (format, line) in [("tsv", "V\tN\n"), ("jsonl", "{\"value\":\"V\",\"keys\":N}\n")] {
        let mut run = tegula();
        run.arg("wordcount").arg(&path).args([
            "--show=every=20%",
            "--show-by=value",
            "--show-top=all",
        ]);
        run.arg(format!("--format={format}")).arg("--show-to").arg(&to);
        answer(run.output().unwrap());
        let lines = expected.iter().map(|(value, keys)| {
            line.replace('V', std::str::from_utf8(value).unwrap()).replace('N', &keys.to_string())
        });
        let last: String = lines.collect();
        let shows = fs::read_to_string(&to).unwrap();
        assert!(shows.ends_with(&last), "{shows}");
        assert!(shows.matches("show").count() >= 2, "{shows}");
    }
}

/// Its field is the first one, if it is empty, too.
#[test]
fn in_two_tiers_of_an_empty_key() {
    let folder = tempfile::tempdir().unwrap();
    let lines = ["", "/b", "/c"].map(|path| {
        format!("::1 - - [17/May/2015:10:05:03 +0000] \"GET {path} HTTP/1.1\" 200 20\n")
    });
    let (path, to) = (write(folder.path(), "log", lines.concat()), folder.path().join("shows"));
    let mut run = tegula();
    run.args(["logstats", "--key=path", "--show=every=100%", "--show-by=value"]).arg(&path);
    answer(run.arg("--show-to").arg(&to).output().unwrap());
    let shows = fs::read_to_string(&to).unwrap();
    assert!(shows.ends_with(", complete\n1\t20\t3\n"), "{shows}");
}

#[test]
fn not_to_files_of_the_input() {
    let folder = tempfile::tempdir().unwrap();
    let points = write(folder.path(), "points", "1 2\n3 4\n");
    let link = folder.path().join("link");
    fs::hard_link(&points, &link).unwrap();
    for command in [
        &["wordcount", "--show=every=50%"][..],
        &["linreg", "--show=every=50%"],
        &["kmeans", "-k1", "--show=every=round"],
    ] {
        let mut run = tegula();
        let output = run.args(command).arg(&points).arg("--show-to").arg(&link).output().unwrap();
        check_fault(&output, 2, &["--show-to: ", "link is a file of the input"]);
        assert_eq!(fs::read(&points).unwrap(), b"1 2\n3 4\n", "{command:?}");
    }
    let to = folder.path().join("shows");
    fs::write(&to, "old").unwrap();
    let mut run = tegula();
    run.args(["kmeans", "-k1", "--show=every=round", "none", "--show-to"]).arg(&to);
    check_fault(&run.output().unwrap(), 1, &["none"]);
    assert_eq!(fs::read(&to).unwrap(), b"old");
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
