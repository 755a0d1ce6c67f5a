//! `--events` tells other programs what a job does, and `--control` lets them steer it. Neither changes an answer, nor
//! does a reader that goes away.

use super::*;
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::process::ChildStdin;

fn lines(bytes: &[u8]) -> Vec<Value> {
    let lines = bytes.split(|&byte| byte == b'\n').filter(|line| !line.is_empty());
    lines.map(|line| serde_json::from_slice(line).unwrap()).collect()
}

fn of<'a>(events: &'a [Value], kind: &str) -> Vec<&'a Value> {
    events.iter().filter(|event| event["event"] == kind).collect()
}

/// Runs a command with events in a file, on some text; returns the events and the answer.
fn told(command: &[&str], text: &[u8]) -> (Vec<Value>, Vec<u8>) {
    let folder = tempfile::tempdir().unwrap();
    let (input, answer) = (write(folder.path(), "text", text), folder.path().join("answer"));
    let events = folder.path().join("events");
    let mut run = tegula();
    run.args(command).arg(input).arg("--events").arg(&events).arg("-o").arg(&answer);
    let output = run.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    (lines(&fs::read(events).unwrap()), fs::read(answer).unwrap())
}

#[test]
fn events_begin_and_end_and_have_the_figures_of_the_run() {
    let text = "to be or not to be\n".repeat(10_000);
    let (events, answer) = told(&["wordcount", "--tile", "16k"], text.as_bytes());
    assert_eq!(answer, plain_count(text.split_ascii_whitespace().map(str::as_bytes)));
    assert_eq!(
        (&events[0]["event"], &events[0]["command"][0]),
        (&"begin".into(), &"wordcount".into())
    );
    let end = events.last().unwrap();
    assert_eq!(
        (&end["event"], &end["result"], &end["code"]),
        (&"end".into(), &"done".into(), &0.into())
    );
    assert_eq!(end["answer"]["bytes"], answer.len());
    let stats = &of(&events, "stats")[0]["stats"];
    let progress = of(&events, "progress");
    assert_eq!(progress.last().unwrap()["bytes_done"], stats["bytes"]);
    let tiles = of(&events, "tiles");
    let tiles = tiles.last().unwrap();
    assert_eq!((&tiles["tiles"], &tiles["cells"]), (&stats["tiles"], &"m12".into()));
    let show = of(&events, "show").last().unwrap()["pairs"][0].clone();
    assert_eq!((&show["key"], &show["value"]), (&"be".into(), &20_000.into()));
    assert!(of(&events, "lanes").iter().any(|line| line["lanes"][0]["ms"].is_object()));
    assert!(events.iter().map(|event| event["at_s"].as_f64().unwrap()).all(|at_s| at_s < 60.0));
}

/// Readers find the key of a pair at its begin, whatever its name.
#[test]
fn pairs_of_a_show_begin_with_their_key() {
    let log = "host - - [17/May/2015:10:05:03 +0000] \"GET / HTTP/1.0\" 200 9007199254740993\n";
    for (command, text, begin) in [
        (&["top", "2"][..], "GET\nPUT\nGET\n", r#"[{"value":"GET","count":2,"#),
        (&["logstats"], "ann login 100\nann logout 1000\n", r#"[{"user":"ann","seconds":900,"#),
        (
            &["logstats", "--key", "host"],
            log,
            r#"[{"host":"host","requests":1,"requests_estimate":1,"requests_within":0,"bytes":9007199254740993,"#,
        ),
        (&["wordcount"], "to", r#"[{"key":"to","value":1,"#),
    ] {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), "text", text);
        let mut run = tegula();
        run.args(command).args(["text", "--events", "events", "-o", "answer"]);
        let output = run.current_dir(folder.path()).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let events = fs::read_to_string(folder.path().join("events")).unwrap();
        let show = events.lines().find(|line| line.contains("\"event\":\"show\"")).unwrap();
        assert!(show.contains(&format!("\"pairs\":{begin}")), "{show}");
    }
}

#[test]
fn every_job_has_events_and_says_which() {
    let numbers = "1\t2\n3\t4\n5\t7\n";
    for (command, shares, shows) in [
        (&["wordcount"][..], true, true),
        (&["grep", "[0-9]"], true, true),
        (&["top", "2"], true, true),
        (&["stringmatch", "--key", "a"], true, true),
        (&["index"], true, false),
        (&["sort"], false, false),
        (&["kmeans", "--means", "2"], true, false),
    ] {
        let (events, _) = told(command, numbers.as_bytes());
        let begin = &events[0];
        assert_eq!(
            (&begin["shares"], &begin["shows"]),
            (&shares.into(), &shows.into()),
            "{command:?}"
        );
        assert_eq!(!of(&events, "show").is_empty(), shows, "{command:?}");
        assert_eq!(!of(&events, "tiles").is_empty(), shares, "{command:?}");
        assert_eq!(events.last().unwrap()["result"], "done", "{command:?}");
    }
}

#[test]
fn a_run_over_nodes_tells_what_each_node_does() {
    let text = "to be or not to be\n".repeat(10_000);
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "text", text.as_bytes());
    let state = ["--state", "state", "--job", "words"];
    for (more, cell) in [(&[][..], 'm'), (&state[..], 's'), (&state[..], 'f')] {
        let mut run = tegula();
        run.args(["wordcount", "text", "--tile", "16k", "--nodes", "local:3x1"]).args(more);
        run.args(["--events", "events", "-o", "answer"]).current_dir(folder.path());
        let output = run.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let events = lines(&fs::read(folder.path().join("events")).unwrap());
        let answer = fs::read(folder.path().join("answer")).unwrap();
        assert_eq!(answer, plain_count(text.split_ascii_whitespace().map(str::as_bytes)));
        let (no, begin) = (Value::from(false), &events[0]);
        assert_eq!((&begin["shares"], &begin["shows"], &begin["tiles"]), (&no, &no, &true.into()));
        assert!(of(&events, "show").is_empty());
        assert_eq!(of(&events, "tiles").last().unwrap()["cells"], format!("{cell}12"), "{more:?}");
        assert_eq!(of(&events, "progress").last().unwrap()["bytes_done"], text.len());
        let lanes = of(&events, "lanes");
        let lanes = lanes.iter().flat_map(|line| line["lanes"].as_array().unwrap());
        let of_nodes = lanes.filter(|lane| lane["name"].as_str().unwrap().starts_with("node-"));
        // What was found is mapped by nobody, and a lease of less than half a millisecond is not told.
        assert!(cell == 'f' || of_nodes.count() > 0, "{more:?}");
        assert_eq!(events.last().unwrap()["result"], "done");
    }
}

#[test]
fn a_run_over_nodes_is_cancelled_by_a_command_and_has_no_share() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "text", "to be or not to be\n".repeat(200_000));
    write(folder.path(), "commands", "{\"share\":\"0\"}\n{\"cancel\":true}\n");
    let mut run = tegula();
    run.args(["wordcount", "text", "--tile", "16k", "--nodes", "local:2x1", "--control", "0"]);
    run.args(["--events", "events", "-o", "answer"]).current_dir(folder.path());
    let output = run.stdin(fs::File::open(folder.path().join("commands")).unwrap()).output();
    assert_eq!(output.unwrap().status.code(), Some(130));
    let events = lines(&fs::read(folder.path().join("events")).unwrap());
    assert!(of(&events, "refused")[0]["cause"].as_str().unwrap().contains("nodes do the work"));
    assert_eq!(events.last().unwrap()["result"], "cancelled");
    assert_eq!(names(folder.path()), ["commands", "events", "text"]);
}

#[test]
fn failures_and_skipped_records_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let events = folder.path().join("events");
    let mut run = tegula();
    run.args(["wordcount", "missing", "--events"]).arg(&events).current_dir(folder.path());
    assert_eq!(run.output().unwrap().status.code(), Some(1));
    let told_events = lines(&fs::read(&events).unwrap());
    let end = told_events.last().unwrap();
    assert_eq!((&end["result"], &end["code"]), (&"failed".into(), &1.into()));
    assert!(end["message"].as_str().unwrap().contains("no such file"));
    let (events, _) = told(&["stations", "--skip-bad"], b"a;1.0\nb\na;2.0\n");
    let bad = of(&events, "bad");
    assert_eq!((bad.len(), &bad[0]["records"]), (1, &1.into()));
    assert!(bad[0]["first"][0]["place"].as_str().unwrap().contains("line 2"));
}

/// Else a reader would take the end of the last run for that of this one.
#[test]
fn a_run_that_fails_before_it_has_input_tells_its_end() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    write(folder, "text", "to be\n");
    let last = "{\"event\":\"end\",\"result\":\"done\"}\n";
    let mut scripts = vec![
        ("$0 wordcount text -o no/such/x --events 3 3>>events", true),
        ("$0 wordcount text -o no/such/x --events events", false),
        ("$0 wordcount missing text --events events", false),
        ("$0 wordcount missing* --events events", false),
        ("$0 wordcount missing --events 3 3>>events", true),
        ("$0 wordcount text --events 3 --control 9 3>>events 9>&-", true),
        ("$0 wordcount text --events events --control 9 9>&-", false),
    ];
    if cfg!(feature = "streaming") {
        fs::create_dir(folder.join("out")).unwrap();
        let job = "$0 streaming -input text -output out -mapper cat --events";
        scripts.extend([
            (&*format!("{job} events").leak(), false),
            (&*format!("{job} 3 3>>events").leak(), true),
        ]);
    }
    for (script, is_appended) in scripts {
        write(folder, "events", last);
        let mut shell = Command::new("sh");
        shell.args(["-c", script, env!("CARGO_BIN_EXE_tegula")]).current_dir(folder);
        check_fault(&shell.output().unwrap(), 1, &[]);
        let mut events = lines(&fs::read(folder.join("events")).unwrap());
        if is_appended {
            assert_eq!(events.remove(0)["result"], "done", "{script}");
        }
        let (begin, end) = (&events[0], events.last().unwrap());
        assert_eq!((&begin["event"], &end["event"]), (&"begin".into(), &"end".into()), "{script}");
        assert_eq!((&end["result"], &end["code"]), (&"failed".into(), &1.into()), "{script}");
    }
}

#[test]
fn a_place_that_cannot_be_written_or_that_the_answer_needs_is_refused() {
    let at_stdout = count_text(b"a", &["--events", "1"]);
    check_fault(&at_stdout, 2, &["--events", "-o FILE"]);
    check_fault(&count_text(b"a", &["--events", "/nowhere/events"]), 1, &["/nowhere/events"]);
    check_fault(&count_text(b"a", &["--events", "77"]), 1, &["--events 77"]);
    check_fault(&count_text(b"a", &["--control", "77"]), 1, &["--control 77"]);
}

/// Starts a word count of a pipe that nobody has opened yet, with commands on standard input and events on standard
/// output.
fn steered(folder: &Path) -> (std::process::Child, ChildStdin, PathBuf) {
    let pipe = folder.join("pipe");
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    let mut run = tegula();
    run.args(["wordcount", "-j", "2", "--events", "1", "--control", "0", "-o"]);
    run.arg(folder.join("answer")).arg(&pipe);
    let run = run.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = run.spawn().unwrap();
    let control = child.stdin.take().unwrap();
    (child, control, pipe)
}

#[test]
fn shares_are_set_and_nonsense_is_refused_while_a_job_runs() {
    let folder = tempfile::tempdir().unwrap();
    let (child, mut control, pipe) = steered(folder.path());
    for line in [
        "{\"share\":\"1\"}",
        "{\"share\":\"0-9\"}",
        "{\"share\":\"x\"}",
        "{\"share\":\"1-0\"}",
        "{\"share\":3}",
        "share",
        "[]",
        "{\"more\":true}",
        "{\"cancel\":false}",
        "",
    ] {
        writeln!(control, "{line}").unwrap();
    }
    sleep(Duration::from_millis(600));
    fs::write(pipe, "to be or not to be").unwrap();
    let events = lines(&child.wait_with_output().unwrap().stdout);
    assert_eq!(of(&events, "refused").len(), 8);
    assert!(of(&events, "refused")[0]["cause"].as_str().unwrap().contains("give 0 to 1"));
    assert_eq!(of(&events, "progress").last().unwrap()["share"], "1");
    assert_eq!(fs::read(folder.path().join("answer")).unwrap(), b"be\t2\nnot\t1\nor\t1\nto\t2\n");
}

#[test]
fn a_job_is_cancelled_by_a_command() {
    let folder = tempfile::tempdir().unwrap();
    let (child, mut control, _pipe) = steered(folder.path());
    writeln!(control, "{{\"cancel\":true}}").unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    assert_eq!(names(folder.path()), ["pipe"]);
}

#[test]
fn a_job_that_is_held_ends_with_its_holder_and_another_goes_on() {
    use std::os::unix::process::ExitStatusExt;
    let folder = tempfile::tempdir().unwrap();
    let (mut child, mut control, _pipe) = steered(folder.path());
    writeln!(control, "{{\"hold\":true}}").unwrap();
    // It has obeyed when it refuses the next.
    let mut events = BufReader::new(child.stdout.take().unwrap()).lines();
    writeln!(control, "nonsense").unwrap();
    assert!(events.any(|line| line.unwrap().contains("refused")));
    drop(control);
    assert_eq!(child.wait().unwrap().signal(), Some(9));
    let other = tempfile::tempdir().unwrap();
    let (mut child, control, pipe) = steered(other.path());
    drop(control);
    drop(child.stdout.take());
    fs::write(pipe, "a").unwrap();
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_reader_that_stops_reading_delays_the_end_for_a_bounded_time() {
    let folder = tempfile::tempdir().unwrap();
    let text = write(folder.path(), "text", "to be or not to be\n".repeat(200_000).as_bytes());
    let mut run = tegula();
    // So many tiles of different states that their lines fill a pipe.
    run.args(["wordcount", "--tile", "1k", "--events", "1", "-o"])
        .arg(folder.path().join("answer"))
        .arg(text);
    let began = Instant::now();
    let mut child = run.stdout(Stdio::piped()).spawn().unwrap();
    assert!(child.wait().unwrap().success());
    assert!(began.elapsed() < Duration::from_secs(20));
    assert!(folder.path().join("answer").exists());
}
