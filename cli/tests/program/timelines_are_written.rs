//! `--timeline` records a command's jobs into a file that is whole, in the form that its ending names,
//! and the answer is the same; also when the job fails, and whatever files are called.

use super::*;
use serde_json::Value;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

const TEXT: &str = "to be or not to be\n";

fn json(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

/// Names of work and of stages in a trace.
fn work(trace: &Value) -> Vec<String> {
    let events = trace["traceEvents"].as_array().unwrap().iter();
    let spans = events.filter(|event| event["ph"] == "X");
    spans.map(|event| event["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_trace_has_the_stages_of_the_job_and_the_answer_is_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let (input, file) = (write(folder.path(), "text", TEXT), folder.path().join("run.json"));
    let plain = answer(wordcount(&[&input]));
    let arguments = [input.as_os_str(), "--timeline".as_ref(), file.as_os_str()];
    assert_eq!(answer(wordcount(&arguments)), plain);
    let trace = json(&file);
    let done = work(&trace);
    for stage in ["plan", "read", "map", "reduce", "output"] {
        assert!(done.iter().any(|name| name == stage), "{stage} in {done:?}");
    }
    let title = trace["otherData"]["title"].as_str().unwrap();
    assert!(title.starts_with("tegula wordcount ") && title.contains("run.json"), "{title}");
    assert_eq!(names(folder.path()), ["run.json", "text"]);
}

#[test]
fn every_command_that_runs_jobs_draws_one() {
    let folder = tempfile::tempdir().unwrap();
    let lines = write(folder.path(), "lines", "a;1.5\nb;2.5\n");
    let points = write(folder.path(), "points", "1 2\n3 4\n5 6\n");
    let records = write(folder.path(), "records", [7; 200]);
    for (arguments, input) in [
        (&["wordcount"][..], &lines),
        (&["index"], &lines),
        (&["stations"], &lines),
        (&["grep", "a"], &lines),
        (&["top", "2", "-s", ";"], &lines),
        (&["kmeans", "-k", "2"], &points),
        (&["sort"], &lines),
        (&["sort", "--records", "terasort"], &records),
    ] {
        let file = folder.path().join("picture.svg");
        let mut command = tegula();
        command.args(arguments).arg(input).arg("--timeline").arg(&file);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        let svg = fs::read_to_string(&file).unwrap();
        let document = roxmltree::Document::parse(&svg).unwrap();
        let texts = document.descendants().filter_map(|node| node.text());
        assert!(texts.clone().any(|text| text == "worker-0"), "{arguments:?}");
        fs::remove_file(&file).unwrap();
    }
}

/// Each node has a row, which also shows how pairs come together: on the driver, or by an exchange.
#[test]
fn nodes_are_drawn_from_the_first_lease_to_the_exchange() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "text", (0..40_000).map(|at| format!("word{at} ")).collect::<String>());
    for (gather, last) in [("64M", "combine"), ("1", "reduce")] {
        let mut command = tegula();
        command.args(["wordcount", "text", "--tile", "64k", "--timeline", "run.json"]);
        command.args(["--nodes", "local:2x1", "--gather", gather]).current_dir(folder.path());
        answer(command.output().unwrap());
        let trace = json(&folder.path().join("run.json"));
        let events = trace["traceEvents"].as_array().unwrap();
        let is_node = |event: &&Value| {
            let name = event["args"]["name"].as_str().unwrap_or_default();
            event["ph"] == "M" && name.starts_with("node-")
        };
        let rows: Vec<&Value> = events.iter().filter(is_node).map(|event| &event["tid"]).collect();
        let mut drawn = 0;
        for row in rows {
            let spans = events.iter().filter(|event| event["ph"] == "X" && event["tid"] == *row);
            let spans: Vec<&str> = spans.filter_map(|span| span["name"].as_str()).collect();
            let maps = spans.iter().take_while(|span| **span == "map").count();
            // A node that came late, or whose lease another one ended first, has nothing to hand over.
            if maps > 0 {
                let whole = ["compress", last];
                assert!(whole.starts_with(&spans[maps..]), "{spans:?}");
                drawn += usize::from(spans[maps..] == whole);
            }
        }
        assert!(drawn > 0, "no node is drawn");
    }
}

#[test]
fn a_job_that_fails_leaves_its_timeline_and_says_why_it_failed() {
    let folder = tempfile::tempdir().unwrap();
    let input = write(folder.path(), "bad", "no temperature\n");
    let (file, out) = (folder.path().join("run.json"), folder.path().join("answer"));
    let mut command = tegula();
    command.arg("stations").arg(&input).arg("--timeline").arg(&file).arg("-o").arg(&out);
    check_fault(&command.output().unwrap(), 1, &["bad", "line 1"]);
    assert!(work(&json(&file)).iter().any(|name| name == "map"));
    assert_eq!(names(folder.path()), ["bad", "run.json"]);
}

#[test]
fn files_that_cannot_be_are_refused_before_the_job() {
    let folder = tempfile::tempdir().unwrap();
    let input = write(folder.path(), "text", TEXT);
    let run = |file: &OsStr| wordcount(&[input.as_os_str(), "--timeline".as_ref(), file]);
    for ending in ["run.png", "run", "svg", ".json"] {
        let output = run(folder.path().join(ending).as_os_str());
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{ending}: {said}");
        assert!(said.contains(".svg or .json"), "{said}");
    }
    let missing = run(folder.path().join("no/such/run.svg").as_os_str());
    check_fault(&missing, 1, &["no/such/run.svg"]);
    assert!(missing.stdout.is_empty());
    assert_eq!(names(folder.path()), ["text"]);
}

#[test]
fn names_that_are_no_text_are_shown_as_far_as_they_can_be() {
    let folder = tempfile::tempdir().unwrap();
    let odd = OsString::from_vec(b"<&\"\xff\x1b>.txt".to_vec());
    let input = folder.path().join(odd);
    fs::write(&input, TEXT).unwrap();
    for file in ["run.svg", "run.JSON"] {
        let file = folder.path().join(OsString::from_vec([b"\xfe", file.as_bytes()].concat()));
        answer(wordcount(&[input.as_os_str(), "--timeline".as_ref(), file.as_os_str()]));
        let text = String::from_utf8(fs::read(&file).unwrap()).unwrap();
        match text.starts_with('<') {
            true => assert!(roxmltree::Document::parse(&text).is_ok()),
            false => assert!(serde_json::from_str::<Value>(&text).is_ok()),
        }
    }
}
