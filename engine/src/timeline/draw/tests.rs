//! Pictures of any number of workers and any length of time are well-formed, say what they should, and
//! nothing in them stands on anything else.

use super::*;
use crate::timeline::LaneRecording;
use crate::timeline::sampler::Sample;
use crate::timeline::spans::{Span, Spans};
use roxmltree::Document;

/// Threads that read, map and combine in turn, and rest now and then.
fn recording(workers: usize, wall_ns: u64, title: &str) -> Recording {
    let lane = |number: usize, name: String| {
        let mut spans = Spans::new();
        let unit = (wall_ns / 20_000).max(1);
        let mut at = unit * number as u64;
        let kinds = [(Kind::Read, 1), (Kind::Map, 5), (Kind::Combine, 2), (Kind::Idle, 1)];
        for (kind, units) in kinds.into_iter().cycle() {
            let end_ns = at + units * unit;
            if end_ns > wall_ns {
                break;
            }
            spans.push(Span { kind, begin_ns: at, end_ns });
            at = end_ns;
        }
        let resolution_ns = spans.resolution_ns();
        let (spans, is_device) = (spans.as_slice().to_vec(), false);
        LaneRecording { name, is_device, spans, resolution_ns }
    };
    let names = (0..workers).map(|number| format!("worker-{number}"));
    let names = names.chain(["caller".to_owned(), "reader-0".to_owned()]);
    let sample = |number: u64| Sample {
        at_ns: wall_ns / 50 * number,
        cpu_ns: wall_ns / 60 * number * workers as u64,
        read_bytes: number * 1_000_000_007,
        resident_bytes: (300 << 20) + number,
        counted_bytes: 200 << 20,
        ..Sample::default()
    };
    let stages = [Kind::Plan, Kind::Map, Kind::Write];
    let stage = |(number, kind)| Span {
        kind,
        begin_ns: wall_ns / 3 * number,
        end_ns: wall_ns / 3 * (number + 1),
    };
    Recording {
        title: title.to_owned(),
        wall_ns,
        stages: (0..).zip(stages).map(stage).collect(),
        lanes: names.enumerate().map(|(number, name)| lane(number, name)).collect(),
        samples: (0..=50).map(sample).collect(),
        memory_limit_bytes: Some(1 << 30),
    }
}

fn picture(recording: &Recording) -> String {
    let mut svg = Vec::new();
    recording.write_svg(&mut svg).unwrap();
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
