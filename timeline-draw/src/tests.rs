//! Pictures of any number of workers and any length of time are well-formed, contain the expected text, and
//! draw nothing over anything else.

use super::*;
use roxmltree::Document;
use tegula::timeline::{LaneRecording, Span};

/// Threads that read, map and combine in turn, and rest now and then.
fn recording(workers: usize, wall_ns: u64, title: &str) -> Recording {
    let lane = |number: usize, name: String| {
        let mut lane = LaneRecording::default();
        let unit = (wall_ns / 20_000).max(1);
        let mut at = unit * number as u64;
        let kinds = [(Kind::Read, 1), (Kind::Map, 5), (Kind::Combine, 2), (Kind::Idle, 1)];
        for (kind, units) in kinds.into_iter().cycle() {
            let end_ns = at + units * unit;
            if end_ns > wall_ns {
                break;
            }
            if kind != Kind::Idle {
                lane.spans.push(Span { kind, begin_ns: at, end_ns });
            }
            at = end_ns;
        }
        lane.name = name;
        lane
    };
    let names = (0..workers).map(|number| format!("worker-{number}"));
    let names = names.chain(["caller".to_owned(), "reader-0".to_owned()]);
    let sample = |number: u64| {
        let mut sample = Sample::default();
        sample.at_ns = wall_ns / 50 * number;
        sample.cpu_ns = wall_ns / 60 * number * workers as u64;
        (sample.system_ns, sample.io_wait_ns) = (sample.cpu_ns / 5, wall_ns / 500 * number);
        sample.read_bytes = number * 1_000_000_007;
        sample.resident_bytes = (300 << 20) + number;
        sample.counted_bytes = 200 << 20;
        sample
    };
    let stages = [Kind::Plan, Kind::Map, Kind::Write];
    let stage = |(number, kind)| Span {
        kind,
        begin_ns: wall_ns / 3 * number,
        end_ns: wall_ns / 3 * (number + 1),
    };
    let mut recording = Recording::default();
    recording.title = title.to_owned();
    recording.wall_ns = wall_ns;
    recording.stages = (0..).zip(stages).map(stage).collect();
    recording.lanes = names.enumerate().map(|(number, name)| lane(number, name)).collect();
    recording.samples = (0..=50).map(sample).collect();
    recording.memory_limit_bytes = Some(1 << 30);
    recording
}

fn picture(recording: &Recording) -> String {
    let mut svg = Vec::new();
    write_svg(recording, &mut svg).unwrap();
    String::from_utf8(svg).unwrap()
}

fn number(node: &roxmltree::Node<'_, '_>, name: &str) -> f64 {
    node.attribute(name).unwrap().parse().unwrap()
}

#[test]
fn any_number_of_workers_and_any_length_make_a_page_without_overlaps() {
    for workers in [1, 2, 8, 9, 33, 65, 129, 256] {
        for wall_ns in [10_000_000, 3_000_000_000, 20_000_000_000_000] {
            let svg = picture(&recording(workers, wall_ns, "a job"));
            assert!(svg.len() < 1 << 20, "{} bytes of {workers} workers", svg.len());
            let document = Document::parse(&svg).unwrap();
            let root = document.root_element();
            let (width, height) = (number(&root, "width"), number(&root, "height"));
            let texts = document.descendants().filter(|node| node.has_tag_name("text"));
            // Texts of one column and anchor, from top to bottom.
            let mut names: Vec<(f64, f64)> = texts
                .map(|node| (number(&node, "x"), number(&node, "y")))
                .inspect(|(x, y)| assert!((0.0..width).contains(x) && (0.0..=height).contains(y)))
                .filter(|(x, _)| *x == 16.0 || *x == 30.0)
                .collect();
            names.sort_by(|a, b| a.1.total_cmp(&b.1));
            let apart = names.windows(2).all(|pair| pair[1].1 - pair[0].1 >= 10.0);
            assert!(apart, "{workers} workers: {names:?}");
            assert!(height < 1800.0 && width > 1000.0);
        }
    }
}

#[test]
fn it_names_kinds_stages_and_limits_and_tells_each_thread() {
    let svg = picture(&recording(2, 3_000_000_000, "tegula wordcount text"));
    let document = Document::parse(&svg).unwrap();
    let of = |tag: &str| {
        let nodes = document.descendants().filter(|node| node.has_tag_name(tag));
        nodes.filter_map(|node| node.text()).collect::<Vec<_>>()
    };
    let (texts, told) = (of("text"), of("title"));
    for text in [
        "tegula wordcount text",
        "stage",
        "map",
        "output",
        "threads busy",
        "processors busy",
        "in the kernel",
        "waiting for I/O",
        "worker-1",
        "reader-0",
        "I/O per second",
        "memory",
        "limit 1.0 GiB",
        "2.0 s",
        "of the workers' time",
    ] {
        assert!(texts.contains(&text), "{text} in {texts:?}");
    }
    assert!(texts.iter().any(|text| text.starts_with("map 56")), "{texts:?}");
    assert!(
        told.iter().any(|text| text.starts_with("worker-0: read 11.1 %, map 55.5 %")),
        "{told:?}"
    );
}

#[test]
fn odd_names_leave_it_well_formed() {
    let odd = "a<b>&\"c\" 'd' ]]> \u{0}\u{1b}\u{fffe}\u{1f600} \u{202e}";
    for title in [odd, "", &"x".repeat(5000)] {
        let svg = picture(&recording(1, 1_000_000, title));
        Document::parse(&svg).unwrap();
    }
}

#[test]
fn nothing_recorded_is_a_page_too() {
    let mut empty = recording(0, 0, "nothing");
    (empty.lanes, empty.stages, empty.samples) = Default::default();
    (empty.wall_ns, empty.memory_limit_bytes) = (0, None);
    Document::parse(&picture(&empty)).unwrap();
}
