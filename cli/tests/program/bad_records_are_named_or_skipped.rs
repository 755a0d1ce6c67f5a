//! A malformed line ends the job with its file, line and byte, and nothing written; with --skip-bad
//! the answer is that of the other lines, and the skipped ones are reported at the end.

use super::*;

/// Runs a command over a file of good and bad lines.
fn run(command: &[&str], lines: &str, flags: &[&str]) -> (Output, PathBuf, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let input = write(folder.path(), "input", lines);
    let output = tegula().args(command).arg(&input).args(flags).output().unwrap();
    (output, input, folder)
}

const CASES: [(&[&str], &str, &str, &str); 7] = [
    (&["stations"], "a;1.0", "a;1", "{a=1.0/1.0/1.0}\n"),
    (&["logstats"], "a login 1", "a log 1", "a\t-2\n"),
    (
        &["logstats", "--key=host"],
        "h - - [17/May/2015:10:05:03 +0000] \"GET / HTTP/1.1\" 200 5",
        "h - -",
        "h\t2\t10\n",
    ),
    (&["top", "1", "--by=2", "-s;"], "x;a", "x", "a\t2\n"),
    (&["top", "1", "--json=u.id"], r#"{"u":{"id":"a"}}"#, r#"{"u":{"id":"a"}"#, "a\t2\n"),
    (&["top", "1", "--json=u", "--sum=n"], r#"{"u":1,"n":2}"#, r#"{"u":1,"n":"2"}"#, "1\t4\n"),
    (&["wordcount", "--json=m"], r#"{"m":"a"}"#, r#"{"m":["a"]}"#, "a\t2\n"),
];

#[test]
fn by_each_command() {
    for (command, good, bad, answer) in CASES {
        let lines = format!("{good}\n{bad}\n{good}\n");
        let place = format!("line 2, byte {}", good.len() + 1);
        let (output, input, folder) = run(command, &lines, &["-o", "/dev/null"]);
        check_fault(&output, 1, &[input.to_str().unwrap(), &place]);
        let out = folder.path().join("out");
        let output = tegula().args(command).arg(&input).arg("-o").arg(&out).output().unwrap();
        check_fault(&output, 1, &[&place]);
        assert_eq!(names(folder.path()), ["input"], "no other file remains");

        let (output, input, _folder) = run(command, &lines, &["--skip-bad"]);
        assert!(output.status.success());
        assert_eq!(String::from_utf8(output.stdout).unwrap(), answer);
        let said = String::from_utf8(output.stderr).unwrap();
        let said: Vec<&str> = said.lines().collect();
        assert_eq!(said[0], "tegula: bad records skipped: 1; the first of them:");
        let named = format!("tegula:   {}, {place}: ", input.display());
        assert!(said.len() == 2 && said[1].starts_with(&named), "{said:?}");
    }
}

#[test]
fn the_first_five_of_many_for_any_number_of_workers() {
    let lines = "a;1.0\nbad\n".repeat(50_000);
    let said = ["-j1", "-j2", "-j7"].map(|workers| {
        let (output, input, _folder) = run(&["stations"], &lines, &["--skip-bad", workers]);
        assert_eq!(output.stdout, b"{a=1.0/1.0/1.0}\n");
        String::from_utf8(output.stderr).unwrap().replace(input.to_str().unwrap(), "input")
    });
    assert!(said[0].starts_with("tegula: bad records skipped: 50000;"), "{}", said[0]);
    let places: Vec<_> =
        said[0].lines().skip(1).map(|line| line.split(": ").nth(1).unwrap().trim()).collect();
    let expected: Vec<_> =
        (0..5).map(|n| format!("input, line {}, byte {}", 2 * n + 2, 10 * n + 6)).collect();
    assert_eq!(places, expected);
    assert!(said.iter().all(|other| *other == said[0]));
}

#[test]
fn figures_hold_them_too() {
    let folder = tempfile::tempdir().unwrap();
    let figures = folder.path().join("figures");
    let flags = ["--skip-bad", "--stats", "--stats-json", figures.to_str().unwrap()];
    let (output, ..) = run(&["stations"], "a;1.0\nbad\n", &flags);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.lines().any(|line| line.split_whitespace().eq(["bad", "records", "1"])), "{said}");
    let stats: serde_json::Value = serde_json::from_slice(&fs::read(&figures).unwrap()).unwrap();
    assert_eq!(stats["bad_records"], 1);
    assert!(stats["bad_first"][0]["place"].as_str().unwrap().ends_with("line 2, byte 6"));
}
