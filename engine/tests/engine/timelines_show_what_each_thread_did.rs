//! A timeline is complete: the working and waiting times of a thread add up to the time that passed, no
//! moment is in two spans, and every stage that ran is in it.

use crate::jobs::Words;
use crate::support::{LITTLE, count_line, engine, file_in, folder_of, limited, pipe_written_by};
use serde_json::Value;
use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};
use tegula::timeline::{Kind, LaneRecording, Recording};
use tegula::{Cancel, Engine, Input, Options, Sort, SortTo, Timeline, WordClass};

const JOB: Words = Words(WordClass::Whitespace);

/// More words than a table takes, so that there is something to hand over and to compress.
fn text() -> String {
    (0..600_000_u64).map(|number| format!("{:x} ", number.wrapping_mul(0x9e37_79b9_7f4a))).collect()
}

fn count(engine: &Engine, input: Input, timeline: &Timeline) {
    let options = Options {
        timeline: Some(timeline.clone()),
        split_bytes: Some(64 << 10),
        ..Options::default()
    };
    let output = engine.job(&JOB).options(&options).run(input).unwrap();
    let mut written = Vec::new();
    output.write(&mut written, Path::new("a vector"), &Cancel::new(), count_line).unwrap();
    assert!(!written.is_empty());
}

fn kinds(lanes: &[LaneRecording], of: &str) -> BTreeSet<&'static str> {
    let lanes = lanes.iter().filter(|lane| lane.name.starts_with(of));
    lanes.flat_map(|lane| &lane.spans).map(|span| span.kind.name()).collect()
}

fn check(recording: &Recording) {
    for lane in &recording.lanes {
        let spans = &lane.spans;
        assert!(spans.iter().all(|span| span.begin_ns < span.end_ns), "{}", lane.name);
        assert!(spans.is_sorted_by(|a, b| a.end_ns <= b.begin_ns), "{}", lane.name);
        assert!(spans.last().unwrap().end_ns <= recording.wall_ns);
        let all = Kind::RECORDED.into_iter().chain([Kind::Idle]);
        let sum: u64 = all.map(|kind| lane.ns(kind, recording.wall_ns)).sum();
        assert_eq!(sum, recording.wall_ns, "{}", lane.name);
        assert!(spans.iter().all(|span| span.kind != Kind::Idle));
    }
}

fn json(recording: &Recording) -> Value {
    let mut json = Vec::new();
    recording.write_json(&mut json).unwrap();
    serde_json::from_slice(&json).unwrap()
}

#[test]
fn every_stage_of_a_word_count_is_seen_and_adds_up() {
    let folder = folder_of(&[text()]);
    let (engine, timeline) = (engine(2), Timeline::new("count"));
    let began = Instant::now();
    count(&engine, Input::paths([file_in(&folder, 0)]).unwrap(), &timeline);
    let took = began.elapsed();
    let recording = timeline.read();
    check(&recording);
    let expected = ["combine", "compress", "map", "merge", "read", "reduce", "write"];
    let workers = kinds(&recording.lanes, "worker-");
    assert_eq!(workers, expected.into());
    assert!(kinds(&recording.lanes, "caller").is_empty(), "a test is no main thread");
    let stages: Vec<_> = recording.stages.iter().map(|span| span.kind).collect();
    assert_eq!(stages, [Kind::Plan, Kind::Map, Kind::Reduce, Kind::Merge, Kind::Write]);
    assert!(recording.wall_ns >= took.as_nanos() as u64);
    // Nobody maps, or reads for the map, outside of the map stage.
    let map = recording.stages[1];
    for lane in recording.lanes.iter().filter(|lane| lane.name.starts_with("worker-")) {
        let of_map = |kind| matches!(kind, Kind::Map | Kind::Read | Kind::Combine);
        let spans = lane.spans.iter().filter(|span| of_map(span.kind));
        spans.for_each(|span| assert!(map.begin_ns <= span.begin_ns && span.end_ns <= map.end_ns));
    }
}

#[test]
fn jobs_that_follow_each_other_share_a_timeline_and_its_lanes() {
    let (engine, timeline) = (engine(2), Timeline::new("several"));
    for _ in 0..3 {
        count(&engine, Input::bytes("to be or not to be"), &timeline);
    }
    let recording = timeline.read();
    check(&recording);
    let names: Vec<_> = recording.lanes.iter().map(|lane| lane.name.as_str()).collect();
    assert!(names.starts_with(&["worker-0", "worker-1"]) && names.len() <= 3, "{names:?}");
    assert_eq!(recording.stages.len(), 15);
}

#[test]
fn jobs_at_once_have_timelines_of_their_own() {
    let engine = engine(2);
    let recordings: Vec<Recording> = std::thread::scope(|scope| {
        let run = |_| {
            scope.spawn(|| {
                let timeline = Timeline::new("one of two");
                count(&engine, Input::bytes(text()), &timeline);
                timeline.read()
            })
        };
        let runs: Vec<_> = (0..2).map(run).collect();
        runs.into_iter().map(|run| run.join().unwrap()).collect()
    });
    recordings.iter().for_each(check);
    let busy = |number: usize| {
        let lanes = recordings[number].lanes.iter().filter(|lane| lane.name == "worker-0");
        lanes.map(|lane| lane.sums_ns().iter().sum::<u64>()).sum::<u64>()
    };
    let wall = recordings.iter().map(|recording| recording.wall_ns).sum::<u64>();
    assert!(busy(0) > 0 && busy(1) > 0 && busy(0) + busy(1) < wall);
}

#[test]
fn a_stream_is_read_on_the_calling_thread_and_its_pauses_count_as_reading() {
    let folder = tempfile::tempdir().unwrap();
    let pause = Duration::from_millis(60);
    let (input, writer) = pipe_written_by(&folder, move |mut pipe| {
        pipe.write_all(b"to be or ").unwrap();
        std::thread::sleep(pause);
        pipe.write_all(b"not to be").unwrap();
    });
    let timeline = Timeline::new("stream");
    let run = {
        let timeline = timeline.clone();
        std::thread::Builder::new()
            .name("main".to_owned())
            .spawn(move || count(&engine(2), input, &timeline))
            .unwrap()
    };
    run.join().unwrap();
    writer.join().unwrap();
    let recording = timeline.read();
    check(&recording);
    let caller = recording.lanes.iter().find(|lane| lane.name == "caller").unwrap();
    let read = caller.ns(Kind::Read, recording.wall_ns);
    // The pause may have begun before the reading.
    assert!(Duration::from_nanos(read) >= pause / 2, "{read}");
}

#[test]
fn a_sort_reads_maps_merges_and_writes() {
    let folder = folder_of(&[text().replace(' ', "\n")]);
    let (engine, timeline) = (engine(2), Timeline::new("sort"));
    let options = Options { timeline: Some(timeline.clone()), ..Options::default() };
    let mut sorted = Vec::new();
    let to = SortTo::Writer(&mut sorted, Path::new("a vector"));
    let input = Input::paths([file_in(&folder, 0)]).unwrap();
    engine.sort(&Sort::lines(), input, to, &options).unwrap();
    let recording = timeline.read();
    check(&recording);
    assert_eq!(kinds(&recording.lanes, "worker-"), ["map", "merge", "read", "write"].into());
}

#[test]
fn what_memory_has_no_room_for_is_seen_to_spill_under_the_limit() {
    let text: String = (0..2_000_000_u64).map(|word| format!("word{word} ")).collect();
    let folder = folder_of(&[text]);
    let timeline = Timeline::new("little memory");
    let engine = limited(LITTLE);
    count(&engine, Input::paths([file_in(&folder, 0)]).unwrap(), &timeline);
    let recording = timeline.read();
    check(&recording);
    assert!(kinds(&recording.lanes, "worker-").contains("spill"));
    assert!(recording.memory_limit_bytes == Some(LITTLE));
    assert!(recording.samples.iter().any(|sample| sample.counted_bytes > 1 << 20));
}

#[test]
fn json_is_a_trace_that_holds_what_was_recorded() {
    let folder = folder_of(&[text()]);
    let timeline = Timeline::new("odd \"name\" \\ \u{7} \u{2028} <&>");
    count(&engine(2), Input::paths([file_in(&folder, 0)]).unwrap(), &timeline);
    std::thread::sleep(Duration::from_millis(130));
    let recording = timeline.read();
    let json = json(&recording);
    assert_eq!(json["otherData"]["title"], recording.title.as_str());
    assert_eq!(json["otherData"]["wall_ns"], recording.wall_ns);
    let threads = json["otherData"]["threads"].as_array().unwrap();
    assert_eq!(threads.len(), recording.lanes.len());
    for (thread, lane) in threads.iter().zip(&recording.lanes) {
        assert_eq!(thread["name"], lane.name.as_str());
        let sums = thread["ns"].as_object().unwrap();
        assert_eq!(sums.values().map(|sum| sum.as_u64().unwrap()).sum::<u64>(), recording.wall_ns);
    }
    let events = json["traceEvents"].as_array().unwrap();
    let of = |kind: &str| events.iter().filter(|event| event["ph"] == kind).collect::<Vec<_>>();
    let spans =
        recording.stages.len() + recording.lanes.iter().map(|lane| lane.spans.len()).sum::<usize>();
    assert_eq!(of("X").len(), spans);
    let mapped: f64 = of("X")
        .iter()
        .filter(|event| event["name"] == "map" && event["cat"] == "work")
        .map(|event| event["dur"].as_f64().unwrap())
        .sum();
    let expected: u64 =
        recording.lanes.iter().map(|lane| lane.ns(Kind::Map, recording.wall_ns)).sum();
    assert!((mapped - expected as f64 / 1000.0).abs() < 1.0);
    let counters: BTreeSet<_> =
        of("C").iter().map(|event| event["name"].as_str().unwrap()).collect();
    assert_eq!(counters, ["bytes_per_second", "memory_bytes", "processors"].into());
    assert!(recording.samples.len() >= 3 && recording.samples.is_sorted_by_key(|s| s.at_ns));
    for processors in of("C").iter().filter(|event| event["name"] == "processors") {
        let parts = ["busy", "user", "system", "io_wait"];
        let [busy, user, system, _] = parts.map(|part| processors["args"][part].as_f64().unwrap());
        // The kernel's part comes in whole ticks.
        assert!(user + system >= busy - 0.002, "{processors}");
    }
}

#[test]
fn a_job_that_failed_has_a_timeline_up_to_there() {
    let timeline = Timeline::new("failed");
    let options = Options { timeline: Some(timeline.clone()), ..Options::default() };
    options.cancel.cancel();
    let failed = engine(2).job(&JOB).options(&options).run(Input::bytes("a b"));
    assert!(failed.is_err());
    let recording = timeline.read();
    check(&recording);
    assert_eq!(recording.stages.first().map(|span| span.kind), Some(Kind::Plan));
}
